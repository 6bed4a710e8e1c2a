from __future__ import annotations

import time
import warnings
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rpds import HashTrieMap

from host.pool.arguments import argument_problems
from host.pool.bounded_validation import Violation, violations

DRAFTS = [
    "http://json-schema.org/draft-03/schema#",
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
]
LEAVES: st.SearchStrategy[Any] = st.sampled_from([None, True, 0, 5, 5.5, "", "ab", "a-b", [], {}])
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "x-1"]), inner, max_size=3)
    ),
    max_leaves=6,
)
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "string", "integer", ["array", "null"]]),
            "enum": st.lists(LEAVES, min_size=1, unique_by=repr),
            "minimum": st.integers(0, 6),
            "maxLength": st.integers(0, 2),
            "pattern": st.sampled_from(["^a", "b$", "^[a-z]+-[a-z]+$"]),
            "$ref": st.sampled_from(["#/$defs/d", "#/$defs/d", "#/$defs/loop"]),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner),
            "patternProperties": st.dictionaries(st.sampled_from(["^x", "b"]), inner),
            "additionalProperties": st.booleans() | inner,
            "required": st.lists(st.sampled_from(["a", "b"]), unique=True, min_size=1),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "oneOf": st.lists(inner, min_size=1, max_size=3),
            "not": inner,
            "unevaluatedProperties": st.just(False),
        },
    ),
    max_leaves=5,
)
DEFINITIONS = {"d": {"type": "string"}, "loop": {"items": {"$ref": "#/$defs/loop"}}}


@given(schema=SCHEMAS, value=VALUES, draft=st.sampled_from(DRAFTS[1:]))
def test_small_schemas_are_judged_as_jsonschema_judges_them(
    schema: Any, value: Any, draft: str
) -> None:
    schema = {**schema, "$defs": DEFINITIONS, "$schema": draft}
    judge = jsonschema.validators.validator_for(schema)
    assert bool(violations(schema, value)) is not judge(schema).is_valid(value)


@pytest.mark.parametrize(
    ("draft", "fits"),
    [(draft, draft != DRAFTS[4] and draft != DRAFTS[5]) for draft in DRAFTS]
    + [("https://json-schema.org/draft-07/schema", True), ("urn:unknown", False), (None, False)],
)
def test_a_schema_is_read_in_its_own_draft(draft: str | None, fits: bool) -> None:
    # Up to draft 7 what stands beside a reference does not count.
    schema: dict[str, Any] = {
        "properties": {"n": {"$ref": "#/definitions/any", "type": "integer"}},
        "definitions": {"any": {}},
    }
    if draft is not None:
        schema["$schema"] = draft

    assert (violations(schema, {"n": "x"}) == []) is fits


def test_tuples_of_draft_7_are_tuples() -> None:
    schema = {
        "$schema": DRAFTS[3],
        "items": [{"type": "number"}, {"type": "number"}],
        "additionalItems": False,
    }

    assert violations(schema, [1, 2]) == []
    assert violations(schema, [1, 2, 3]) != []


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        # E3, E4: nullable in both spellings
        ({"properties": {"n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}, {"n": None}, 1),
        ({"properties": {"n": {"type": ["string", "null"]}}}, {"n": 5}, 0),
        # E5, E6: references into properties, in a chain and through odd names
        (
            {
                "properties": {
                    "a": {"$ref": "#/properties/b", "description": "d"},
                    "b": {"$ref": "#/properties/c"},
                    "c": {"type": "boolean"},
                }
            },
            {"a": 1},
            0,
        ),
        (
            {
                "properties": {
                    "f": {"properties": {"$and": {"items": {"type": "integer"}}}},
                    "g": {"$ref": "#/properties/f/properties/$and/items"},
                }
            },
            {"g": "x"},
            0,
        ),
        # E7, recursion
        (
            {
                "$defs": {"d": {"properties": {"c": {"items": {"$ref": "#/$defs/d"}}}}},
                "$ref": "#/$defs/d",
            },
            {"c": [{"c": [{"c": [{}]}]}]},
            1,
        ),
        # E8, E9: any value
        (
            {"properties": {"p": {}, "q": {"items": {}}, "r": {"type": "array"}}},
            {"p": 1, "r": []},
            1,
        ),
        # E10, E13: const and enum
        ({"oneOf": [{"properties": {"t": {"const": "w"}}, "required": ["t"]}]}, {"t": "w"}, 1),
        ({"oneOf": [{"properties": {"t": {"const": "w"}}, "required": ["t"]}]}, {"t": "x"}, 0),
        ({"properties": {"e": {"enum": [1]}}}, {"e": True}, 0),
        # E12: properties named like keywords
        ({"properties": {"properties": {"type": "string"}, "type": {}}}, {"properties": 1}, 0),
        # E14: dependent fields
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, 0),
        # E16: large limits stay integers
        ({"properties": {"n": {"maximum": 2**53 - 1}}}, {"n": 2**53}, 0),
        # E17, E20: formats and foreign keywords say nothing
        ({"properties": {"n": {"format": "int32", "nullable": True}}}, {"n": "x"}, 1),
        ({"properties": {"n": {"format": "date"}}}, {"n": "no date"}, 1),
        # E18, limits in allOf
        ({"allOf": [{"type": "integer", "minimum": 0}, {"maximum": 50}]}, 7, 1),
        ({"allOf": [{"type": "integer", "minimum": 0}, {"maximum": 50}]}, 51, 0),
        # E19: open maps
        ({"propertyNames": {"type": "string"}, "additionalProperties": {}}, {"a": 1}, 1),
        # E23: an extra key
        ({"properties": {"a": {}}, "additionalProperties": False}, {"b": 1}, 0),
        # numbers
        ({"type": "integer"}, 1.0, 1),
        ({"type": "integer"}, True, 0),
        ({"type": "number"}, True, 0),
    ],
)
def test_schemas_of_real_servers(schema: dict[str, Any], value: Any, fits: int) -> None:
    assert (violations(schema, value) == []) is bool(fits)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strnig"},
        {"type": 5},
        {"required": "ab"},
        {"properties": {"a": {"required": True}}},
        {"minimum": "5"},
        {"$ref": "#/nowhere"},
        {"$ref": "https://schemas.invalid/x.json"},
        {"$id": "https://schemas.invalid/a", "$ref": "other.json"},
        {"$ref": "#"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"$ref": "#/description", "description": "text"},
        {"$schema": 5},
        {"pattern": "("},
    ],
)
def test_a_schema_that_gives_no_verdict_fits(schema: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")  # jsonschema warns before it fetches

        assert violations(schema, {"a": {}}) == []
        assert violations(schema, "x") == []
    assert caught == []


def test_references_inside_an_identified_schema_are_followed() -> None:
    schema = {
        "$id": "https://schemas.invalid/a",
        "$defs": {"n": {"type": "integer"}},
        "properties": {"n": {"$ref": "#/$defs/n"}, "m": {"$ref": "https://schemas.invalid/a"}},
    }

    assert violations(schema, {"n": "x"}) != []
    assert violations(schema, {"m": {"n": "x"}}) != []


HANGS = "^(a+)+$"
NEVER_AT_ONCE = {"a" * 60 + "!": 1}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": HANGS}, "a" * 60 + "!"),
        ({"items": {"pattern": "^(?!x)a"}}, ["b"]),
        ({"pattern": "a*a*a*a*a*a*$"}, "a" * 5_000 + "!"),
        ({"patternProperties": {HANGS: False}}, NEVER_AT_ONCE),
        ({"patternProperties": {HANGS: False}, "additionalProperties": False}, NEVER_AT_ONCE),
        (
            {"allOf": [{"patternProperties": {HANGS: {}}}], "unevaluatedProperties": False},
            NEVER_AT_ONCE,
        ),
        ({"propertyNames": {"pattern": HANGS}}, NEVER_AT_ONCE),
        (
            {"default": {"pattern": HANGS}, "properties": {"x": {"$ref": "#/default"}}},
            {"x": "a" * 60},
        ),
        ({"items": {"pattern": "a*a*$"}}, ["a" * 400 + "!"] * 2_000),
        (
            {
                "$defs": {str(n): {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)}
                | {"40": {"type": "integer"}},
                "$ref": "#/$defs/0",
            },
            "x",
        ),
    ],
)
def test_a_hostile_schema_is_done_soon(schema: dict[str, Any], value: Any) -> None:
    started = time.process_time()

    violations(schema, value)

    assert time.process_time() - started < 10


def test_an_ordinary_pattern_is_judged_beside_a_hostile_one() -> None:
    schema = {"properties": {"a": {"pattern": HANGS}, "b": {"pattern": "^[a-z]+$"}}}

    assert violations(schema, {"a": "a" * 60 + "!", "b": "B"}) == [
        Violation(path=("b",), text='must match the pattern "^[a-z]+$", not "B"')
    ]


def test_there_are_twenty_violations_at_most() -> None:
    assert len(violations({"items": {"type": "string"}}, list(range(100)))) == 20


def test_problems_name_the_place_and_are_told_once() -> None:
    schema = {
        "type": "object",
        "properties": {
            "filter": {"properties": {"n": {"type": "integer"}}, "required": ["q", "r"]}
        },
        "additionalProperties": False,
    }

    assert argument_problems(schema, {"filter": {"n": "x"}, "other": 1}) == [
        '`arguments` does not take "other"; there are "filter"',
        '`filter` lacks "q", "r"',
        '`filter.n` must be of type integer, not "x"',
    ]


def test_references_inside_each_other_end_before_the_interpreter_does() -> None:
    schema = {"items": {"$ref": "#"}, "type": "array"}
    value: list[Any] = ["x"]
    for _ in range(40):
        value = [value]
    assert len(violations(schema, value)) == 1
    for _ in range(40):
        value = [value]
    assert violations(schema, value) == []


class Odd:
    """A key that cannot be compared, as any cannot at the recursion limit."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        raise RecursionError


class Panicking(dict[str, int]):
    def __contains__(self, key: object) -> bool:
        return Odd() in HashTrieMap({Odd(): 1})


class Interrupted(dict[str, int]):
    def __contains__(self, key: object) -> bool:
        raise KeyboardInterrupt


def test_a_panic_in_rust_gives_no_verdict_and_an_interrupt_goes_through() -> None:
    schema = {"properties": {"a": {"type": "string"}}}
    with pytest.raises(BaseException, match="__eq__ failed") as panic:
        Panicking().__contains__("a")
    assert not isinstance(panic.value, Exception)
    assert violations(schema, Panicking(a=1)) == []
    with pytest.raises(KeyboardInterrupt):
        violations(schema, Interrupted(a=1))
