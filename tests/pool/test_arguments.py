from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.arguments import argument_problems, coerce_arguments


def one(schema: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    return {"properties": {"x": schema}, "required": ["x"] if required else []}


@pytest.mark.parametrize(
    ("types", "sent", "kept"),
    [
        ("integer", "5", 5),
        ("integer", " -07 ", -7),
        ("integer", 5, 5),
        ("integer", 5.0, 5),
        ("number", "5.5", 5.5),
        ("number", ".5", 0.5),
        ("number", "5.", 5),
        ("number", "+1e2", 100),
        ("number", "0x10", 16),
        ("number", "0b11", 3),
        ("number", "0o17", 15),
        ("number", "9007199254740993", 9007199254740993),
        ("boolean", "TRUE", True),
        ("boolean", " false ", False),
        ("null", "null", None),
        ("array", " [1, 2] ", [1, 2]),
        ("object", '{"a": 1}', {"a": 1}),
        ("string", 5, "5"),
        ("string", 5.0, "5"),
        ("string", 1.5, "1.5"),
        ("string", True, "true"),
        ("string", False, "false"),
        (["string", "null"], None, None),
        (["integer", "string"], "5", "5"),
        (["integer", "boolean"], "true", True),
        (["boolean", "integer"], "7", 7),
        (["null", "string"], 7, "7"),
        (["number", "null"], "null", None),
    ],
)
def test_a_value_becomes_what_the_type_asks_for(types: object, sent: object, kept: object) -> None:
    arguments, problems = coerce_arguments(one({"type": types}), {"x": sent})

    assert problems == []
    assert arguments == {"x": kept}
    assert type(arguments["x"]) is type(kept)


@pytest.mark.parametrize(
    ("types", "sent"),
    [
        ("integer", True),
        ("integer", "5.0"),
        ("integer", 5.5),
        ("integer", "٣"),
        ("integer", "5\n6"),
        ("integer", "1_000"),
        ("integer", "+5"),
        ("integer", ""),
        pytest.param("integer", "9" * 5000, id="an integer of 5000 digits"),
        ("number", "nan"),
        ("number", "inf"),
        ("number", "Infinity"),
        ("number", "1_000"),
        ("number", "1e999"),
        ("number", "-0x10"),
        pytest.param("number", "9" * 400, id="a number of 400 digits"),
        pytest.param("number", "9" * 5000, id="a number of 5000 digits"),
        ("number", False),
        ("number", math.nan),
        ("boolean", 0),
        ("boolean", 1),
        ("boolean", "yes"),
        ("null", "NULL"),
        ("null", ""),
        ("array", "1"),
        ("array", 1),
        ("array", '{"a": 1}'),
        ("array", "[1,"),
        pytest.param("array", "[" * 100_000, id="a deep array"),
        ("object", "[]"),
        ("string", None),
        ("string", ["a"]),
        pytest.param("string", 10**5000, id="a string from an endless integer"),
        ("string", math.inf),
    ],
)
def test_nothing_else_is_converted(types: str, sent: Any) -> None:
    arguments, problems = coerce_arguments(one({"type": types}), {"x": sent})

    assert arguments["x"] is sent
    assert len(problems) == 1
    assert problems[0].startswith("`x` must be ")
    assert len(problems[0]) < 120


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "any"},
        {"type": ["integer", "any"]},
        {"type": 5},
        {"type": []},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"$ref": "#/properties/y"},
        {"format": "int32"},
        {"enum": [{"a": 1}, "b"]},
        {"enum": []},
        {"items": {"type": "integer"}},
        {"type": "array", "items": [{"type": "integer"}]},
        {"type": "string", "format": "date"},
        True,
        "integer",
    ],
)
@pytest.mark.parametrize("sent", ["5", "", None, ["5"], {"a": "1"}])
def test_what_is_not_a_plain_type_is_left_to_the_server(schema: Any, sent: object) -> None:
    has_type = isinstance(schema, dict) and schema.get("type") in ("array", "string")
    if has_type and not isinstance(sent, str if schema["type"] == "string" else list):
        return
    assert coerce_arguments(one(schema, required=False), {"x": sent}) == ({"x": sent}, [])


@pytest.mark.parametrize(
    ("schema", "sent", "kept"),
    [
        ({"type": "integer"}, "", {}),
        ({"type": "integer"}, None, {}),
        ({"type": ["integer", "null"]}, None, {"x": None}),
        ({"type": ["integer", "null"]}, "", {}),
        ({"type": "string"}, "", {"x": ""}),
        ({"type": "string"}, None, {}),
        ({"properties": {}}, None, {}),
        ({"enum": ["a", None]}, None, {"x": None}),
        ({"anyOf": [{"type": "null"}]}, None, {"x": None}),
    ],
)
def test_an_optional_property_may_be_sent_empty_instead_of_left_out(
    schema: dict[str, Any], sent: object, kept: dict[str, Any]
) -> None:
    assert coerce_arguments(one(schema, required=False), {"x": sent}) == (kept, [])


@pytest.mark.parametrize("sent", ["", None])
def test_a_required_property_sent_empty_is_kept_and_judged(sent: object) -> None:
    arguments, problems = coerce_arguments(one({"type": "integer"}), {"x": sent})

    assert arguments == {"x": sent}
    assert problems == [f"`x` must be an integer, not {json.dumps(sent)}"]


@pytest.mark.parametrize(
    ("schema", "sent", "fits"),
    [
        ({"enum": ["a", "b"]}, "a", True),
        ({"enum": ["a", "b"]}, "c", False),
        ({"enum": [1]}, True, False),
        ({"enum": [True]}, 1, False),
        ({"enum": [0]}, False, False),
        ({"enum": [1]}, 1.0, True),
        ({"enum": [1]}, "1", False),
        ({"enum": [None, "x"]}, None, True),
        ({"type": "integer", "enum": [1, 2]}, "2", True),
        ({"type": "integer", "enum": [1, 2]}, "3", False),
        ({"enum": ['"', "'", ""]}, "", True),
    ],
)
def test_an_enum_of_simple_values_is_enforced_strictly(
    schema: dict[str, Any], sent: object, fits: bool
) -> None:
    problems = coerce_arguments(one(schema), {"x": sent})[1]

    assert (problems == []) is fits
    assert all(problem.startswith("`x` must be one of [") for problem in problems)


def test_an_enum_is_not_judged_after_a_wrong_type() -> None:
    _, problems = coerce_arguments(one({"type": "integer", "enum": [1]}), {"x": "z"})

    assert problems == ['`x` must be an integer, not "z"']


@pytest.mark.parametrize(
    ("arguments", "kept", "problem"),
    [
        (None, {}, None),
        ("", {}, None),
        (" \n ", {}, None),
        (' {"x": "5"} ', {"x": 5}, None),
        ("null", {}, None),
        ("[1]", {}, "`arguments` must be a JSON object, not [1]"),
        ('"x"', {}, '`arguments` must be a JSON object, not "x"'),
        ("{'x': 1}", {}, "`arguments` must be a JSON object, not \"{'x': 1}\""),
        ([1], {}, "`arguments` must be a JSON object, not [1]"),
        (5, {}, "`arguments` must be a JSON object, not 5"),
        pytest.param('{"x": ' + "9" * 5000 + "}", {}, "`arguments` must be", id="endless digits"),
        pytest.param("{" * 100_000, {}, "`arguments` must be", id="endless nesting"),
    ],
)
def test_arguments_may_come_as_text_or_not_at_all(
    arguments: object, kept: dict[str, Any], problem: str | None
) -> None:
    schema = one({"type": "integer"}, required=False)

    found, problems = coerce_arguments(schema, arguments)

    assert found == kept
    assert len(problems) == (problem is not None)
    assert problem is None or problems[0].startswith(problem)


def test_the_root_is_an_object_whatever_the_schema_says() -> None:
    schema = {"type": "string", "properties": {"x": {"type": "integer"}}}

    assert coerce_arguments(schema, {"x": "1"}) == ({"x": 1}, [])
    assert coerce_arguments(None, {"x": "1"}) == ({"x": "1"}, [])
    assert coerce_arguments({}, {"x": "1"}) == ({"x": "1"}, [])


def test_problems_name_their_place_and_missing_names_come_last() -> None:
    schema = {
        "properties": {
            "filter": {
                "properties": {
                    "tags": {"type": "array", "items": {"type": "integer"}},
                    "$and": {"type": "boolean"},
                },
                "required": ["who"],
            },
            "limit": {"type": "integer"},
        },
        "required": ["query"],
    }
    sent = {"filter": {"tags": ["1", 2, "x"], "$and": 1}, "limit": "many"}

    arguments, problems = coerce_arguments(schema, sent)

    assert arguments == {"filter": {"tags": [1, 2, "x"], "$and": 1}, "limit": "many"}
    assert problems == [
        '`filter.tags[2]` must be an integer, not "x"',
        "`filter.$and` must be true or false, not 1",
        "`filter.who` is required",
        '`limit` must be an integer, not "many"',
        "`query` is required",
    ]


@pytest.mark.parametrize("name", ["type", "properties", "items", "required", "enum", "$ref"])
def test_a_property_named_like_a_keyword_is_a_property(name: str) -> None:
    schema = {"properties": {name: {"type": "integer"}}, "required": [name]}

    assert coerce_arguments(schema, {name: "5"}) == ({name: 5}, [])


def test_a_schema_that_goes_on_for_ever_is_left_at_some_depth() -> None:
    schema: dict[str, Any] = {}
    schema["properties"] = {"x": schema}
    sent: dict[str, Any] = {}
    for _ in range(200):
        sent = {"x": sent}

    assert coerce_arguments(schema, sent) == (sent, [])


SIMPLE = st.sampled_from(
    [None, True, 5, 5.0, 5.5, "", "5", "true", "null", "[1]", '{"x":"5"}', "z"]
)
VALUES = st.recursive(
    SIMPLE,
    lambda v: st.lists(v, max_size=2) | st.dictionaries(st.sampled_from("xyz"), v),
    max_leaves=6,
)
NODES = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(
                ["string", "integer", "number", "boolean", "null", "array", "object"]
            )
            | st.lists(st.sampled_from(["string", "integer", "null", "array"]), min_size=1),
            "enum": st.just(["5", 5, None]),
        },
    ),
    lambda node: (
        st.fixed_dictionaries(
            {"properties": st.dictionaries(st.sampled_from("xyz"), node, max_size=3)},
            optional={
                "type": st.just("object"),
                "required": st.lists(st.sampled_from("xyz"), unique=True),
            },
        )
        | st.fixed_dictionaries({"type": st.just("array"), "items": node})
    ),
    max_leaves=6,
)


@given(schema=NODES, sent=st.dictionaries(st.sampled_from("xyz"), VALUES))
def test_coercion_settles_and_never_touches_its_input(schema: Any, sent: dict[str, Any]) -> None:
    schema = {name: each for name, each in schema.items() if name not in ("type", "enum")}
    kept = copy.deepcopy((schema, sent))

    once, problems = coerce_arguments(schema, sent)

    assert (schema, sent) == kept
    assert coerce_arguments(schema, once) == (once, problems)
    assert coerce_arguments(schema, json.dumps(sent)) == (once, problems)
    if not problems:
        # What has no problems here has none for an independent judge of the same keywords.
        assert argument_problems({**schema, "type": "object"}, once) == []
