"""Where JSON Schemas stand inside a JSON Schema, and what its local references point at.

Only schema positions are walked: what stands under ``default``, ``enum``, ``const`` or ``examples``
is data, and the names in a map of properties are names, whatever they are called (agent-core §6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import unquote

Schema: TypeAlias = dict[str, Any]

SCHEMA_KEYWORDS = frozenset(
    {
        "items",
        "additionalProperties",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "anyOf",
        "oneOf",
        "allOf",
        "prefixItems",
    }
)
"""Keywords that hold one schema or a list of them."""

SCHEMA_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions"})
"""Keywords that hold schemas by name."""

_ELSEWHERE = frozenset(
    {"additionalItems", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
)
_MAPS_ELSEWHERE = frozenset({"dependentSchemas", "dependencies"})

POOLS = ("definitions", "$defs")
"""Keywords that hold schemas for references to point at."""


def thawed(value: Any) -> Any:
    """A copy of a JSON value in dicts and lists, whatever mappings and sequences it is made of."""
    if isinstance(value, Mapping):
        return {key: thawed(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return [thawed(inner) for inner in value]
    return value


def map_subschemas(
    schema: Mapping[str, Any], change: Callable[[Any], Any], *, everywhere: bool = False
) -> Schema:
    """A copy of a schema with ``change`` applied to everything that stands at a schema position.

    What stands there may be anything at all: booleans, strings and null occur in real listings.

    Args:
        everywhere: under the keywords too that agent-core §6 leaves alone, for references.
    """
    single = SCHEMA_KEYWORDS | _ELSEWHERE if everywhere else SCHEMA_KEYWORDS
    by_name = SCHEMA_MAPS | _MAPS_ELSEWHERE if everywhere else SCHEMA_MAPS
    copy: Schema = dict(schema)
    for keyword, value in schema.items():
        if keyword in single:
            copy[keyword] = [change(one) for one in value] if _is_list(value) else change(value)
        elif keyword in by_name and isinstance(value, dict):
            copy[keyword] = {name: change(one) for name, one in value.items()}
    return copy


def pools_of(schema: Mapping[str, Any]) -> Schema:
    """The pools of definitions a root schema has, under their keywords."""
    return {pool: schema[pool] for pool in POOLS if isinstance(schema.get(pool), dict)}


def pool_entry(pools: Mapping[str, Any], pointer: str) -> tuple[str, str] | None:
    """Pool and name of the definition a local reference leads to or into; None for any other.

    A name is looked up as written and decoded (``~1``, ``%20``), whole and up to its first slash.
    """
    for pool in POOLS:
        prefix = f"#/{pool}/"
        if pointer.startswith(prefix) and isinstance(pools.get(pool), dict):
            rest = pointer.removeprefix(prefix)
            head = rest.partition("/")[0]
            names = (rest, decoded(rest), head, decoded(head))
            return next(((pool, name) for name in names if name in pools[pool]), None)
    return None


def whole_entry(pools: Mapping[str, Any], pointer: str) -> tuple[str, str] | None:
    """Pool and name of the definition that a local reference leads to; None for any other."""
    entry = pool_entry(pools, pointer)
    if entry is None:
        return None
    pool, name = entry
    rest = pointer.removeprefix(f"#/{pool}/")
    return entry if name in (rest, decoded(rest)) else None


def resolve(schema: Any, pools: Mapping[str, Any]) -> Schema | None:
    """A schema with its own reference followed to the end, however long the chain.

    None where there is no schema to be had: a reference that leads nowhere, out of the document,
    into the inside of a definition, or in a circle.
    """
    followed: set[str] = set()
    while isinstance(schema, dict) and "$ref" in schema:
        pointer = schema["$ref"]
        if not isinstance(pointer, str) or pointer in followed:
            return None
        followed.add(pointer)
        entry = whole_entry(pools, pointer)
        if entry is None:
            return None
        pool, name = entry
        schema = pools[pool][name]
    return schema if isinstance(schema, dict) else None


def decoded(segment: str) -> str:
    """A name as it stands in a schema, of one as a reference writes it."""
    return unquote(segment).replace("~1", "/").replace("~0", "~")


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)
