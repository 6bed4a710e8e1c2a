"""Keywords under which a schema that accepts more makes the one around it accept less (ours).

Whatever is rewritten here accepts at least what it accepted before: under most keywords that is
enough. What is not one thing or exactly one of several, and what decides between two others, has
to be taken care of.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from host.wire.schema_positions import Schema

REVERSING = ("not", "if", "contains", "oneOf")
"""Keywords whose parts must not simply accept more."""

UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
"""Keywords that depend on which other parts of the schema are there at all."""

_DROPPED_WITH = {"not": {"not"}, "if": {"if", "then", "else"}, "contains": {"maxContains"}}
_STANDING_TOGETHER = (
    {"items", "prefixItems", "additionalItems"},
    {"contains", "minContains", "maxContains"},
    {"if", "then", "else"},
)
_BY_NAME = ("properties", "patternProperties")


def without_reversals(schema: Schema, widened: Collection[str]) -> Schema:
    """A schema that accepts all it did before what stands under ``widened`` came to accept more.

    ``oneOf`` becomes ``anyOf``, or goes where there is one already; the others go.
    """
    dropped = {name for keyword in widened for name in _DROPPED_WITH.get(keyword, ())}
    kept = {keyword: value for keyword, value in schema.items() if keyword not in dropped}
    if "oneOf" not in widened or "oneOf" not in kept:
        return kept
    if "anyOf" in kept:
        del kept["oneOf"]
    return {"anyOf" if keyword == "oneOf" else keyword: value for keyword, value in kept.items()}


def laid_over(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> Schema:
    """One schema that accepts whatever two both accept; where both speak, ``inner`` is heard.

    Keywords that only mean something together come from one of them, and what either says of
    properties is kept, since another may close the object to all that are not named.
    """
    silenced = {name for group in _STANDING_TOGETHER if group & inner.keys() for name in group}
    silenced.update(UNEVALUATED)
    merged = {keyword: value for keyword, value in outer.items() if keyword not in silenced}
    merged |= inner
    for keyword in _BY_NAME:
        ours, theirs = outer.get(keyword), inner.get(keyword)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            merged[keyword] = {**ours, **theirs}
    return merged
