"""The root of a tool's JSON Schema, made one plain object: models and servers want no other root.

References, ``allOf`` and unions at the root are folded into its properties, and what nothing
names any more is dropped (agent-core §6, steps 2 and 4 to 8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from host.wire.schema_normalising import empty_object, normalised, without_null_branch
from host.wire.schema_positions import POOLS, Schema, pool_entry, pools_of, resolve, thawed
from host.wire.schema_references import NOWHERE, target_of, with_targets
from host.wire.schema_shapes import Shape, Shapes

_BRANCHES = ("allOf", "anyOf", "oneOf")
_NOT_AT_ROOT = frozenset({*_BRANCHES, "enum", "not"})


def fold_root(parameters: Any) -> Schema:
    """A tool's parameters as one object schema, normalised, with nothing dangling.

    It accepts every object that the given one accepts, which is not changed and may be made of any
    mappings and sequences. Anything but an object with keywords is an empty object.
    """
    if not isinstance(parameters, Mapping):
        return empty_object()
    original = thawed(parameters)
    root, normalise = normalised(_inlined(original, pools_of(original)))
    for union in ("anyOf", "oneOf"):  # arguments are never null: a reference or null is the former
        root = without_null_branch(_with_target(root, union), union)

    def normal_target(pointer: str) -> Any:
        target = target_of(original, pointer)
        return target if target is NOWHERE else normalise(target)

    folded = _as_object(root, Shapes(normal_target).of_object(root))
    return _prune_pools(with_targets(folded, original, normalise))


def _inlined(root: Schema, pools: Schema) -> Schema:
    if not isinstance(root.get("$ref"), str):
        return root
    target = resolve(root, pools)
    return empty_object() if target is None else {**target, **pools}


def _with_target(root: Schema, union: str) -> Schema:
    """The root with each reference of a union replaced by what it leads to."""
    branches, pools = root.get(union), pools_of(root)
    if not isinstance(branches, list):
        return root
    return {**root, union: [resolve(branch, pools) or branch for branch in branches]}


def _as_object(root: Schema, shape: Shape) -> Schema:
    folded = {keyword: value for keyword, value in root.items() if keyword not in _NOT_AT_ROOT}
    if any(keyword in root for keyword in _BRANCHES):
        # What the branches evaluated cannot be told any more.
        folded.pop("unevaluatedProperties", None)
    folded |= {"type": "object", "properties": dict(shape.properties)}
    folded.pop("required", None)
    if required := [name for name in shape.required if name in shape.properties]:
        folded["required"] = required
    return folded


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
