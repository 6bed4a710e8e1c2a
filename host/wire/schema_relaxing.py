"""A sanitised schema without what grammar builders choke on: the second, more modest offer.

Sent after a server has said that it cannot build a grammar. ``pattern`` and ``format`` go, as
agent-core §6 has it. What llama-server (b10434) refuses whatever the model does, and would refuse
again, is mended too (ours, after endpoints "Tool schemas that the server refuses"): ``true`` as a
schema, types it does not know, impossible bounds, empty enumerations and references to nothing; so
are bounds that its grammar parser takes for insane (b10229: repetitions from 2000 on), and what
xllamacpp (2026.10) refuses besides: ``false`` as a schema, unions of nothing, references out of the
document, and keywords whose value is of no use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from host.wire.schema_positions import POOLS, Schema, map_subschemas, pool_entry, pools_of
from host.wire.schema_references import references_in
from host.wire.schema_widening import REVERSING, UNEVALUATED, without_reversals

_DROPPED = ("pattern", "format")
_BOUNDS = ("minLength", "maxLength", "minItems", "maxItems")
_MAX_BOUND = 1000
_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_UNIONS = ("anyOf", "oneOf", "allOf")
_TYPES = frozenset({"string", "number", "integer", "boolean", "null", "array", "object"})


def relax(schema: Schema) -> Schema:
    """A copy of a sanitised root schema that asks no more of a grammar than structure.

    Only keywords at schema positions are touched: a property that is named ``format`` stays. It
    accepts whatever the given one accepts: where one part of it has come to accept more, so may
    whatever refers to that, and what would accept less for it goes (`schema_widening`).
    """
    relaxed = _relaxed(schema, is_wary=False)
    return relaxed if relaxed == schema else _relaxed(schema, is_wary=True)


def _relaxed(schema: Schema, *, is_wary: bool) -> Schema:
    pools = pools_of(schema)

    def is_wider(part: Schema, plain: Schema, keyword: str) -> bool:
        if keyword not in part or part[keyword] != plain[keyword]:
            return keyword in part
        return is_wary and bool(references_in({keyword: part[keyword]}))

    def relaxed(part: Any) -> Any:
        if isinstance(part, bool):
            return {} if part else {"not": {}}
        if not isinstance(part, dict):
            return part
        if _leads_nowhere(part, schema, pools):
            return {}
        plain = map_subschemas(part, relaxed)
        if isinstance(part.get("additionalProperties"), bool):
            plain["additionalProperties"] = part["additionalProperties"]
        widened = [keyword for keyword in REVERSING if is_wider(part, plain, keyword)]
        plain = without_reversals(plain, widened)
        unfit = UNEVALUATED if is_wary else ()
        return {
            key: value for key, value in plain.items() if _fits(key, value) and key not in unfit
        }

    changed: Schema = relaxed(schema)
    return changed


def _fits(keyword: str, value: Any) -> bool:
    if keyword in _DROPPED:
        return False
    if keyword in _BOUNDS:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_BOUND
    if keyword in _LIMITS:
        return isinstance(value, int | float)
    if keyword in _UNIONS or keyword == "enum":
        return isinstance(value, list) and bool(value)
    if keyword == "type":
        return value in _TYPES if isinstance(value, str) else isinstance(value, list)
    return True


def _leads_nowhere(schema: Mapping[str, Any], root: Schema, pools: Schema) -> bool:
    pointer = schema.get("$ref")
    if not isinstance(pointer, str):
        return False
    if pointer.startswith(tuple(f"#/{pool}/" for pool in POOLS)):
        return pool_entry(pools, pointer) is None
    return not (pointer.startswith("#/") and _stands_in(root, pointer))


def _stands_in(root: Any, pointer: str) -> bool:
    """Whether a local pointer leads to an object of the document."""
    for segment in pointer.removeprefix("#/").split("/"):
        if not isinstance(root, dict) or segment not in root:
            return False
        root = root[segment]
    return isinstance(root, dict)
