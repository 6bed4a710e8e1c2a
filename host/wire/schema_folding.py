"""The root of a tool's JSON Schema, made one plain object: models and servers want no other root.

References, ``allOf`` and unions at the root are folded into its properties, and what nothing
names any more is dropped (agent-core §6, steps 2 and 4 to 8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from host.wire.schema_normalising import empty_object, normalise, without_null_branch
from host.wire.schema_positions import POOLS, Schema, pool_entry, pools_of, resolve

_NOT_AT_ROOT = ("allOf", "anyOf", "oneOf", "enum", "not")


def fold_root(parameters: Any) -> Schema:
    """A tool's parameters as one object schema, normalised, with nothing dangling.

    Anything but an object with keywords is an empty object. The given schema is not changed.
    """
    if not isinstance(parameters, dict):
        return empty_object()
    root = normalise(_inlined(parameters, pools_of(parameters)))
    for union in ("anyOf", "oneOf"):  # arguments are never null: a reference or null is the former
        root = without_null_branch(root, union)
        root = _inlined(root, pools_of(root))
    root = _fold_all(root)
    for union in ("anyOf", "oneOf"):
        root = _fold_union(root, union)
    for keyword in _NOT_AT_ROOT:
        root.pop(keyword, None)
    root["type"] = "object"
    if not isinstance(root.get("properties"), dict):
        root["properties"] = {}
    _prune_required(root)
    return _prune_pools(root)


def _inlined(root: Schema, pools: Schema) -> Schema:
    if not isinstance(root.get("$ref"), str):
        return root
    target = resolve(root, pools)
    return empty_object() if target is None else {**target, **pools}


def _fold_all(root: Schema) -> Schema:
    branches = _branches(root, "allOf")
    resolved = [branch for branch in branches if branch is not None]
    properties = _properties(root)
    for branch in resolved:
        properties |= _properties(branch)
    if not properties:
        return root
    required = [name for schema in (root, *resolved) for name in _required(schema)]
    return _with(root, properties, required)


def _fold_union(root: Schema, union: str) -> Schema:
    branches = _branches(root, union)
    variants: dict[str, dict[str, Any]] = {}
    for branch in branches:
        for name, schema in _properties(branch or {}).items():
            variants.setdefault(name, {}).setdefault(repr(schema), schema)  # 1 is not True here
    if not variants:
        return root
    merged = {name: _one_of([*schemas.values()]) for name, schemas in variants.items()}
    always = [
        name
        for name in _required(branches[0] or {})
        if all(name in _required(branch or {}) for branch in branches)
    ]
    return _with(root, _properties(root) | merged, [*_required(root), *always])


def _one_of(variants: list[Any]) -> Any:
    """One schema for a property that branches of a union describe differently.

    The specification is silent; the last branch alone would hide the others from the model, as
    with a ``kind`` that is another constant in each.
    """
    return variants[0] if len(variants) == 1 else normalise({"anyOf": variants})


def _with(root: Schema, properties: Schema, required: list[str]) -> Schema:
    folded = {**root, "properties": properties}
    if required:
        folded["required"] = list(dict.fromkeys(required))
    return folded


def _branches(root: Schema, union: str) -> list[Schema | None]:
    branches = root.get(union)
    pools = pools_of(root)
    return [resolve(one, pools) for one in branches] if isinstance(branches, list) else []


def _properties(schema: Mapping[str, Any]) -> Schema:
    properties = schema.get("properties")
    return dict(properties) if isinstance(properties, dict) else {}


def _required(schema: Mapping[str, Any]) -> list[str]:
    required = schema.get("required")
    if not isinstance(required, list):
        return []
    return [name for name in required if isinstance(name, str)]


def _prune_required(root: Schema) -> None:
    names = [name for name in _required(root) if name in root["properties"]]
    if names:
        root["required"] = names
    else:
        root.pop("required", None)


def _prune_pools(root: Schema) -> Schema:
    pools = pools_of(root)
    reached: set[tuple[str, str]] = set()
    waiting: list[Any] = [value for keyword, value in root.items() if keyword not in POOLS]
    while waiting:
        for pointer in _pointers(waiting.pop()):
            entry = pool_entry(pools, pointer)
            if entry is not None and entry not in reached:
                reached.add(entry)
                waiting.append(pools[entry[0]][entry[1]])
    kept = {
        pool: {name: schema for name, schema in schemas.items() if (pool, name) in reached}
        for pool, schemas in pools.items()
    }
    return {
        keyword: kept.get(keyword, value)
        for keyword, value in root.items()
        if keyword not in POOLS or kept.get(keyword)
    }


def _pointers(value: Any) -> Iterator[str]:
    """Every reference anywhere in a JSON value, in data too: keeping too much harms nobody."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case dict() as record:
                pointer = record.get("$ref")
                if isinstance(pointer, str):
                    yield pointer
                waiting.extend(record.values())
            case list() | tuple() as values:
                waiting.extend(values)
            case _:
                pass
