"""Schemas in the form grammar builders read."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.schema_normalising import normalise
from tests.wire.schemas import DATA, NAMES, SCHEMAS, positions

Pair: TypeAlias = tuple[Any, Any]
EMPTY = {"type": "object", "properties": {}}

_PLAIN: list[Pair] = [
    ({"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 0}),
    ("array", {"type": "array"}),
    ("null", {"type": "null"}),
    ("object", EMPTY),
    ("anything", EMPTY),
    (True, True),
    (False, False),
    (None, EMPTY),
    (3, EMPTY),
    ({}, {}),
    ({"type": "object"}, EMPTY),
    ({"type": "object", "properties": ["a"]}, EMPTY),
    ({"type": ["string"]}, {"type": "string"}),
    ({"type": ["null", "string"]}, {"type": "string", "nullable": True}),
    ({"type": ["null"]}, {"type": "null", "nullable": True}),
    ({"type": [4, None]}, {"type": "null"}),
    ({"type": [4, "object"]}, EMPTY),
    ({"type": ["number", "null"], "pattern": "^(?=a)"}, {"nullable": True, "type": "number"}),
    (
        {"type": ["integer", "boolean"], "title": "t"},
        {"anyOf": [{"type": "integer"}, {"type": "boolean"}], "title": "t"},
    ),
    ({"type": ["object", "string"]}, {"anyOf": [EMPTY, {"type": "string"}]}),
    ({"pattern": "(?<!a)b"}, {}),
    ({"pattern": "^#[0-9a-f]{3}$"}, {"pattern": "^#[0-9a-f]{3}$"}),
    ({"pattern": ["(?=a)"]}, {"pattern": ["(?=a)"]}),
    ({"minimum": 0, "exclusiveMinimum": True}, {"minimum": 0}),
    ({"exclusiveMinimum": 0, "exclusiveMaximum": False}, {"exclusiveMinimum": 0}),
    ({"$ref": "#/$defs/A", "description": "d"}, {"$ref": "#/$defs/A"}),
    ({"$ref": {"type": "string"}, "title": "t"}, {"title": "t"}),
    ({"anyOf": [{"type": "string"}]}, {"anyOf": [{"type": "string"}]}),
    ({"anyOf": [{"type": "null"}]}, {"anyOf": [{"type": "null"}]}),
    ({"anyOf": [True, {"type": "null"}]}, {"anyOf": [True, {"type": "null"}]}),
    ({"anyOf": {"type": ["string"]}}, {"anyOf": {"type": "string"}}),
    ({"items": ["string", True]}, {"items": [{"type": "string"}, True]}),
]


def _wrapped(pairs: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    @st.composite
    def wrap(draw: st.DrawFn) -> Pair:
        kind = draw(st.sampled_from(["map", "single", "list", "null branch", "two branches"]))
        raw, normal = draw(pairs)
        match kind:
            case "map":
                named = draw(st.dictionaries(NAMES, pairs, max_size=3))
                keyword = draw(st.sampled_from(["properties", "$defs", "patternProperties"]))
                return (
                    {keyword: {name: one for name, (one, _) in named.items()}},
                    {keyword: {name: one for name, (_, one) in named.items()}},
                )
            case "single":
                keyword = draw(st.sampled_from(["items", "additionalProperties", "then"]))
                data = draw(st.sampled_from(DATA))
                return {keyword: raw, "default": data}, {keyword: normal, "default": data}
            case "list":
                keyword = draw(st.sampled_from(["allOf", "prefixItems"]))
                return {keyword: [raw, raw]}, {keyword: [normal, normal]}
            case "null branch":
                return _with_null_branch(draw, raw, normal)
            case _:
                fixed = [{"type": "string", "const": "x"}, {"type": "integer"}, {"type": "null"}]
                return {"anyOf": [raw, *fixed]}, {"anyOf": [normal, *fixed]}

    return wrap()


def _with_null_branch(draw: st.DrawFn, raw: Any, normal: Any) -> Pair:
    union = draw(st.sampled_from(["anyOf", "oneOf"]))
    null: Any = draw(st.sampled_from([{"type": "null"}, "null", {"type": ["null"]}]))
    branches = draw(st.permutations([raw, null]))
    if not isinstance(normal, dict) or normal.get("type") == "null" or "$ref" in normal:
        kept = [normalise(branch) for branch in branches]
        return {"anyOf": branches, "title": "outer"}, {"anyOf": kept, "title": "outer"}
    return {union: branches, "title": "outer"}, {"title": "outer", "nullable": True, **normal}


PAIRS = st.recursive(st.sampled_from(_PLAIN), _wrapped, max_leaves=10)


@pytest.mark.parametrize(("raw", "normal"), [*_PLAIN, ([{"type": "string"}], EMPTY)])
def test_every_known_shape_has_its_normal_form(raw: Any, normal: Any) -> None:
    assert normalise(raw) == normal


@given(PAIRS)
def test_hostile_shapes_are_normalised_at_any_depth(pair: Pair) -> None:
    raw, normal = pair
    assert normalise(raw) == normal


def test_a_nullable_union_takes_over_its_real_branch() -> None:
    branch = {"type": "integer", "title": "Of the branch"}
    since = {"title": "Of the union", "anyOf": [branch, {"type": "null"}]}
    assert normalise({"properties": {"since": since}}) == {
        "properties": {"since": {"nullable": True, **branch}}
    }


AHEAD = {"type": "string", "pattern": "^(?=x)"}
TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ({"not": AHEAD, "title": "t"}, {"title": "t"}),
        ({"not": {"type": "object"}}, {"not": EMPTY}),
        ({"not": {"type": ["string", "null"]}}, {"not": {**TEXT, "nullable": True}}),
        ({"not": {"type": ["string", "null"], "enum": ["x"]}}, {}),
        ({"if": AHEAD, "then": TEXT, "else": True}, {}),
        ({"if": TEXT, "then": AHEAD}, {"if": TEXT, "then": TEXT}),
        ({"oneOf": [AHEAD, "integer"]}, {"anyOf": [TEXT, {"type": "integer"}]}),
        ({"oneOf": [AHEAD, "integer"], "anyOf": [TEXT]}, {"anyOf": [TEXT]}),
        ({"oneOf": [{"type": "object"}, TEXT]}, {"oneOf": [EMPTY, TEXT]}),
        ({"oneOf": [AHEAD, "null"]}, {**TEXT, "nullable": True}),
        ({"contains": AHEAD, "maxContains": 1}, {"contains": TEXT}),
        ({"not": {"minimum": 1, "exclusiveMinimum": True}}, {}),
        ({"not": {"minimum": 1, "exclusiveMinimum": False}}, {"not": {"minimum": 1}}),
        ({"not": {"$ref": "#/x", "type": "string"}}, {}),
        ({"not": {"$ref": "#/x", "title": "t"}}, {"not": {"$ref": "#/x"}}),
        ({"not": {"anyOf": [{"enum": ["x"]}, {"type": "null"}], "enum": ["x"]}}, {}),
        ({"not": {"type": ["string", "integer"], "anyOf": [TEXT]}}, {}),
    ],
)
def test_what_would_accept_less_for_a_wider_part_gives_way(raw: Any, normal: Any) -> None:
    assert normalise(raw) == normal


def test_a_part_that_refers_to_a_wider_one_is_wider_and_what_is_unevaluated_unknown() -> None:
    schema = {
        "not": {"$ref": "#/$defs/A"},
        "unevaluatedProperties": False,
        "$defs": {"A": {"items": AHEAD}},
    }
    assert normalise(schema) == {"$defs": {"A": {"items": TEXT}}}
    exact = {**schema, "$defs": {"A": {"items": TEXT}}}
    assert normalise(exact) == exact


def test_a_union_with_null_keeps_what_is_said_beside_it() -> None:
    schema = {
        "type": ["object", "null"],
        "properties": {"a": TEXT, "b": TEXT},
        "additionalProperties": False,
        "anyOf": [{"properties": {"a": {"maxLength": 3}}}, {"type": "null"}],
    }
    assert normalise(schema) == {
        "type": "object",
        "nullable": True,
        "properties": {"a": {"maxLength": 3}, "b": TEXT},
        "additionalProperties": False,
    }


@pytest.mark.parametrize("union", ["anyOf", "oneOf"])
def test_null_beside_a_reference_stays_allowed(union: str) -> None:
    schema = {union: [{"$ref": "#/$defs/A"}, {"type": "null"}], "title": "t"}
    assert normalise(schema) == schema


def test_a_union_beside_a_list_of_types_is_kept() -> None:
    union = [{"minLength": 1}, {"minimum": 1}]
    assert normalise({"type": ["string", "integer"], "anyOf": union}) == {"anyOf": union}


def test_a_property_named_ref_is_not_a_reference() -> None:
    schema = {"type": "object", "properties": {"$ref": {"type": ["string", "null"]}, "b": True}}
    assert normalise(schema) == {
        "type": "object",
        "properties": {"$ref": {"type": "string", "nullable": True}, "b": True},
    }


@given(SCHEMAS)
def test_normalising_twice_is_normalising_once_and_changes_no_input(schema: Any) -> None:
    before = deepcopy(schema)
    once = normalise(schema)
    assert schema == before
    assert normalise(once) == once


@given(SCHEMAS)
def test_no_position_keeps_a_shape_that_servers_refuse(schema: Any) -> None:
    for part in positions(normalise(schema)):
        assert isinstance(part, dict | bool)
        if isinstance(part, dict):
            assert not isinstance(part.get("type"), list)
            assert "$ref" not in part or list(part) == ["$ref"]
            assert "(?" not in str(part.get("pattern"))
            assert part.get("type") != "object" or isinstance(part["properties"], dict)
