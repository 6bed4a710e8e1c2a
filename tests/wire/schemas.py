"""JSON Schemas as hostile servers write them, for property tests of everything that reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

KEYWORD_NAMES = ["$ref", "type", "properties", "format", "pattern", "required", "items", "$defs"]
NAMES = st.sampled_from([*KEYWORD_NAMES, "a", "b", "kind"])
TYPES = ["string", "number", "integer", "boolean", "null", "array", "object"]
SINGLE = ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"]
LISTS = ["anyOf", "oneOf", "allOf", "prefixItems"]
MAPS = ["properties", "patternProperties", "$defs", "definitions"]
POINTERS = [
    "#/$defs/A",
    "#/$defs/B",
    "#/definitions/A",
    "#/$defs/A/properties/a",
    "#/$defs/Missing",
    "#/properties/a",
    "#",
    "https://example.org/schema.json",
]
DATA: list[Any] = [
    None,
    1,
    "x",
    [1, "format"],
    {"pattern": "^(?=a)", "format": "uri", "type": ["string", "null"]},
    {"$ref": "#/$defs/B", "anyOf": [{"type": "null"}, {"type": "string"}]},
]


def _keywords(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    shapes = {
        "type": st.sampled_from(TYPES) | st.lists(st.sampled_from([*TYPES, 3]), max_size=3),
        "format": st.sampled_from(["uri", "date"]),
        "pattern": st.sampled_from(["^a$", "^(?!a)b", "(?<=x)y"]),
        "required": st.lists(NAMES | st.just(3), max_size=3),
        "nullable": st.booleans(),
        "$ref": st.sampled_from(POINTERS) | st.just({"type": "string"}),
        "default": st.sampled_from(DATA),
        "const": st.sampled_from(DATA),
        "enum": st.lists(st.sampled_from(DATA), max_size=2),
        "description": st.just("d"),
        **{keyword: schemas | st.lists(schemas, max_size=2) for keyword in SINGLE},
        **{keyword: st.lists(schemas, max_size=3) | schemas for keyword in LISTS},
        **{keyword: st.dictionaries(NAMES, schemas, max_size=3) for keyword in MAPS},
    }
    return st.lists(st.sampled_from(sorted(shapes)), unique=True, max_size=5).flatmap(
        lambda keywords: st.fixed_dictionaries({keyword: shapes[keyword] for keyword in keywords})
    )


_LEAVES: st.SearchStrategy[Any] = st.sampled_from(
    [True, False, None, 7, [], "string", "object", "whatever", {}]
) | st.sampled_from([{"type": name} for name in TYPES])

SCHEMAS = st.recursive(_LEAVES, _keywords, max_leaves=12)
"""Anything that may stand at a schema position, keywords in every place."""


@st.composite
def roots(draw: st.DrawFn) -> dict[str, Any]:
    """A tool's parameters: any keywords, usually with definitions that point at each other."""
    root = draw(_keywords(SCHEMAS))
    for pool in ("$defs", "definitions"):
        if draw(st.booleans()):
            root[pool] = draw(st.dictionaries(st.sampled_from(["A", "B", "C"]), SCHEMAS))
    return root


def positions(schema: Any) -> Iterator[Any]:
    """Everything that stands at a schema position, the root first."""
    yield schema
    if not isinstance(schema, dict):
        return
    for keyword in (*SINGLE, *LISTS):
        if keyword in schema:
            value = schema[keyword]
            for one in value if isinstance(value, list) else [value]:
                yield from positions(one)
    for keyword in MAPS:
        if isinstance(schema.get(keyword), dict):
            for one in schema[keyword].values():
                yield from positions(one)
