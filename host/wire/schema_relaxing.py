"""A sanitised schema without what grammar builders choke on: the second, more modest offer.

Sent after a server has said that it cannot build a grammar. ``pattern`` and ``format`` go, as
agent-core §6 has it. What llama-server (b10434) refuses whatever the model does, and would refuse
again, is mended too (ours, after endpoints "Tool schemas that the server refuses"): ``true`` as a
schema, types it does not know, impossible bounds, empty enumerations and references to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from host.wire.schema_positions import POOLS, Schema, map_subschemas, pool_entry, pools_of

_DROPPED = ("pattern", "format")
_BOUNDS = ("minLength", "maxLength", "minItems", "maxItems")
_TYPES = frozenset({"string", "number", "integer", "boolean", "null", "array", "object"})


def relax(schema: Schema) -> Schema:
    """A copy of a sanitised root schema that asks no more of a grammar than structure.

    Only keywords at schema positions are touched: a property that is named ``format`` stays.
    """
    pools = pools_of(schema)

    def relaxed(part: Any) -> Any:
        if part is True:
            return {}
        if not isinstance(part, dict):
            return part
        if _leads_nowhere(part, pools):
            return {}
        plain = map_subschemas(part, relaxed)
        if part.get("additionalProperties") is True:
            plain["additionalProperties"] = True
        return {keyword: value for keyword, value in plain.items() if _fits(keyword, value)}

    changed: Schema = relaxed(schema)
    return changed


def _fits(keyword: str, value: Any) -> bool:
    if keyword in _DROPPED:
        return False
    if keyword in _BOUNDS:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if keyword == "type":
        return value in _TYPES if isinstance(value, str) else True
    return not (keyword == "enum" and value == [])


def _leads_nowhere(schema: Mapping[str, Any], pools: Schema) -> bool:
    pointer = schema.get("$ref")
    if not isinstance(pointer, str):
        return False
    into_pools = pointer.startswith(tuple(f"#/{pool}/" for pool in POOLS))
    return pointer == "#" or (into_pools and pool_entry(pools, pointer) is None)
