"""Schemas without what no grammar holds."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.schema_relaxing import relax
from tests.wire.schemas import DATA, KEYWORD_NAMES, NAMES, SCHEMAS

Pair: TypeAlias = tuple[Any, Any]

_PLAIN: list[Pair] = [
    ({"type": "string", "format": "uri"}, {"type": "string"}),
    ({"type": "string", "pattern": r"^\d+$", "minLength": 2}, {"type": "string", "minLength": 2}),
    ({"enum": ["a", "b"]}, {"enum": ["a", "b"]}),
    ({"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}),
    ({"$ref": "#/$defs/A/properties/b"}, {"$ref": "#/$defs/A/properties/b"}),
    ({"additionalProperties": True}, {"additionalProperties": True}),
    ({"additionalProperties": False}, {"additionalProperties": False}),
    ({"minimum": 1.5, "exclusiveMaximum": True}, {"minimum": 1.5, "exclusiveMaximum": True}),
    # llama-server b10434 refuses what stands on the left of these.
    (True, {}),
    ({"type": "str", "title": "t"}, {"title": "t"}),
    ({"type": "any"}, {}),
    ({"type": "string", "minLength": -1}, {"type": "string"}),
    ({"type": "string", "maxLength": 2000}, {"type": "string"}),
    ({"type": "string", "maxLength": 1000}, {"type": "string", "maxLength": 1000}),
    ({"type": "array", "maxItems": "2"}, {"type": "array"}),
    ({"type": "array", "maxItems": True}, {"type": "array"}),
    ({"enum": []}, {}),
    ({"$ref": "#"}, {}),
    ({"$ref": "#/$defs/Missing"}, {}),
    ({"$ref": "#/definitions/A"}, {}),
    # And xllamacpp 2026.10 of these.
    (False, {"not": {}}),
    ({"anyOf": [], "title": "t"}, {"title": "t"}),
    ({"oneOf": []}, {}),
    ({"allOf": []}, {}),
    ({"anyOf": {"type": "string"}}, {}),
    ({"enum": "a"}, {}),
    ({"enum": None}, {}),
    ({"type": 5}, {}),
    ({"maximum": "9", "minimum": 1}, {"minimum": 1}),
    ({"$ref": "https://example.org/a.json"}, {}),
    ({"$ref": "#/properties/nobody"}, {}),
]


@st.composite
def _wrap(draw: st.DrawFn, pairs: st.SearchStrategy[Pair]) -> Pair:
    shared = {"required": draw(st.lists(NAMES)), "default": draw(st.sampled_from(DATA))}
    keyword = draw(st.sampled_from(["items", "anyOf", "properties", "patternProperties", "then"]))
    raw, relaxed = draw(pairs)
    match keyword:
        case "anyOf":
            return {**shared, keyword: [raw, raw]}, {**shared, keyword: [relaxed, relaxed]}
        case "properties" | "patternProperties":
            named = draw(st.dictionaries(NAMES, pairs, max_size=3))
            return (
                {**shared, keyword: {name: one for name, (one, _) in named.items()}},
                {**shared, keyword: {name: one for name, (_, one) in named.items()}},
            )
        case _:
            return {**shared, keyword: raw, "format": "x"}, {**shared, keyword: relaxed}


PAIRS = st.recursive(st.sampled_from(_PLAIN), _wrap, max_leaves=8)


@pytest.mark.parametrize(("raw", "relaxed"), _PLAIN)
def test_what_no_grammar_holds_goes_and_the_rest_stays(raw: Any, relaxed: Any) -> None:
    pool = {"A": {"type": "string"}}
    kept = {"properties": {"a": relaxed}, "$defs": pool}
    assert relax({"properties": {"a": raw}, "$defs": pool}) == kept


@given(st.dictionaries(NAMES, PAIRS, max_size=4))
def test_only_keywords_at_schema_positions_go(properties: dict[str, Pair]) -> None:
    pool = {"A": {"type": "string"}}
    raw = {"properties": {name: one for name, (one, _) in properties.items()}, "$defs": pool}
    kept = {"properties": {name: one for name, (_, one) in properties.items()}, "$defs": pool}
    assert relax(raw) == kept


DATED = {"type": "string", "format": "date"}
TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("raw", "relaxed"),
    [
        ({"not": DATED, "title": "t"}, {"title": "t"}),
        ({"not": TEXT}, {"not": TEXT}),
        ({"if": DATED, "then": TEXT, "else": True}, {}),
        ({"if": TEXT, "then": DATED}, {"if": TEXT, "then": TEXT}),
        ({"oneOf": [DATED, {"type": "null"}]}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"oneOf": [DATED], "anyOf": [TEXT]}, {"anyOf": [TEXT]}),
        ({"oneOf": [TEXT, {"type": "null"}]}, {"oneOf": [TEXT, {"type": "null"}]}),
        ({"contains": DATED, "maxContains": 1}, {"contains": TEXT}),
        ({"contains": TEXT, "maxContains": 1}, {"contains": TEXT, "maxContains": 1}),
        ({"not": {"$ref": "#/$defs/A"}}, {}),
        ({"not": {"$ref": "#/$defs/Missing"}}, {}),
        ({"properties": {"b": DATED}, "unevaluatedProperties": False}, {"properties": {"b": TEXT}}),
    ],
)
def test_what_would_accept_less_for_it_goes_too(raw: Any, relaxed: Any) -> None:
    schema = {"properties": {"a": raw}, "$defs": {"A": {"items": DATED}}}
    assert relax(schema)["properties"]["a"] == relaxed


def test_a_reference_to_what_did_not_change_may_be_forbidden() -> None:
    schema = {"properties": {"a": {"not": {"$ref": "#/$defs/A"}}}, "$defs": {"A": TEXT}}
    assert relax(schema) == schema


@pytest.mark.parametrize(
    ("pointer", "stays"),
    [
        ("#/properties/a", True),
        ("#/properties/a/properties/b", True),
        ("#/properties/a/properties", True),
        ("#/properties/a/type", False),
        ("#/properties/c", False),
        ("#/properties/a/type/x", False),
        ("a.json#/properties/a", False),
    ],
)
def test_a_reference_stays_where_it_leads_somewhere_in_the_document(
    pointer: str, stays: bool
) -> None:
    inner = {"type": "object", "properties": {"b": {"type": "string"}}}
    schema = {"properties": {"a": inner, "d": {"$ref": pointer}}}
    relaxed = relax(schema)["properties"]["d"]
    assert relaxed == ({"$ref": pointer} if stays else {})


@pytest.mark.parametrize("name", [*KEYWORD_NAMES, "enum", "minLength"])
def test_a_property_named_like_a_keyword_stays_and_stays_required(name: str) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    assert relax(schema) == schema


@pytest.mark.parametrize("keyword", ["default", "const", "enum", "examples"])
def test_data_is_left_as_it_is(keyword: str) -> None:
    data = [{"pattern": "a", "format": "b", "items": True}]
    assert relax({"properties": {"a": {keyword: data}}}) == {"properties": {"a": {keyword: data}}}


@given(st.dictionaries(NAMES, SCHEMAS, max_size=4))
def test_relaxing_twice_is_relaxing_once_and_changes_no_input(properties: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": properties, "$defs": {"A": True}}
    before = deepcopy(schema)
    once = relax(schema)
    assert schema == before
    assert relax(once) == once
    assert set(once["properties"]) == set(properties)
