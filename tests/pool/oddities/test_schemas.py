"""E1 to E23: schemas, given to what writes them for an endpoint and to what judges arguments."""

from __future__ import annotations

import copy
import json
import time
from typing import Any

import pytest

from host.pool.arguments import argument_problems, coerce_arguments
from host.pool.listing import read_listing
from host.text.json_text import compact_json
from host.wire.schema_compat import relax_tools, sanitize_tools
from tests.fakes.mcp_servers.echo import EchoServer, Servers, tool
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.neighbours import beside_memory
from tests.pool.pools import refused

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def takes(**properties: Any) -> dict[str, Any]:
    """The schema of an object with these properties."""
    return {"type": "object", "properties": properties}


def sent(schema: dict[str, Any], *, relaxed: bool = False) -> dict[str, Any]:
    """The schema as an endpoint is sent it; the listing and its definition keep it as it was."""
    before = copy.deepcopy(schema)
    (listed,) = read_listing([{"name": "t", "inputSchema": schema}], slug="a", label="A").tools
    assert listed.definition["function"]["parameters"] == before
    tools = sanitize_tools([listed.definition])
    (written,) = relax_tools(tools) if relaxed else tools
    assert schema == before
    parameters: dict[str, Any] = json.loads(compact_json(written))["function"]["parameters"]
    return parameters


def problems(schema: dict[str, Any], arguments: object) -> list[str]:
    """What keeps a call from being made, once the arguments have been made to fit."""
    fitted, found = coerce_arguments(schema, arguments)
    return found or argument_problems(schema, fitted)


def fitted(schema: dict[str, Any], arguments: object) -> dict[str, Any]:
    """The arguments as they are sent to the server."""
    assert problems(schema, arguments) == []
    return coerce_arguments(schema, arguments)[0]


@pytest.mark.parametrize("arguments", [{}, None, ""])
def test_a_tool_without_properties_is_callable_with_nothing(arguments: object) -> None:
    assert fitted(takes(), arguments) == {}
    assert sent(takes()) == takes()


def test_a_schema_that_names_draft_7_is_read_in_it() -> None:
    pair = {"type": "array", "items": [{"type": "number"}] * 2, "additionalItems": False}
    schema = takes(at=pair) | {"$schema": DRAFT_7}
    assert problems(schema, {"at": [1, 2]}) == []
    assert problems(schema, {"at": [1, 2, 3]}) != []
    assert sent(schema)["properties"]["at"]["items"] == [{"type": "number"}] * 2


def test_null_and_absence_are_both_taken_where_a_union_says_so() -> None:
    union = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None, "title": "N"}
    assert fitted(takes(n=union), {"n": None}) == {"n": None}
    assert fitted(takes(n=union), {}) == {}
    assert problems(takes(n=union), {"n": "x"}) != []
    simple = {"type": "integer", "nullable": True, "default": None, "title": "N"}
    assert sent(takes(n=union)) == takes(n=simple)


def test_lists_of_types_are_judged_and_sent_as_one_type_or_a_union() -> None:
    every = ["string", "number", "integer", "boolean", "array", "object", "null"]
    schema = takes(
        a={"type": ["string", "null"]}, b={"type": ["string", "number", "null"]}, c={"type": every}
    )
    given: dict[str, Any] = {"a": None, "b": 5, "c": [{}]}
    assert fitted(schema, given) == given
    assert problems(schema, {"b": []}) == ["`b` must be a string or a number or null, not []"]
    written = sent(schema)["properties"]
    assert written["a"] == {"type": "string", "nullable": True}
    assert written["b"] == {"nullable": True, "anyOf": [{"type": "string"}, {"type": "number"}]}
    assert len(written["c"]["anyOf"]) == 6


def test_a_chain_of_references_is_followed_to_its_end() -> None:
    schema = takes(
        isRevision={"$ref": "#/properties/nextThoughtNeeded", "description": "d"},
        nextThoughtNeeded={"$ref": "#/properties/last", "description": "e"},
        last={"type": "boolean"},
    )
    assert problems(schema, {"isRevision": True}) == []
    assert problems(schema, {"isRevision": 1}) == ["`isRevision` must be of type boolean, not 1"]
    written = sent(schema)["properties"]
    assert written["isRevision"] == {"$ref": "#/properties/nextThoughtNeeded"}
    assert written["nextThoughtNeeded"] == {"$ref": "#/properties/last"}


def test_a_reference_through_a_name_with_a_dollar_is_followed() -> None:
    path = "#/properties/filters/properties/$and/items/properties/x"
    clauses = {"type": "array", "items": takes(x={"type": "integer"})}
    schema = takes(filters=takes(**{"$and": clauses}), x={"$ref": path})
    assert problems(schema, {"x": 5}) == []
    assert problems(schema, {"x": "y"}) == ['`x` must be of type integer, not "y"']
    assert sent(schema)["properties"]["x"] == {"$ref": path}


def test_a_schema_inside_itself_is_followed_as_deep_as_the_value_goes() -> None:
    children = {"type": "array", "items": {"$ref": "#/$defs/def0"}}
    schema = takes(root={"$ref": "#/$defs/def0"}) | {"$defs": {"def0": takes(children=children)}}
    assert problems(schema, {"root": {"children": [{"children": []}]}}) == []
    assert problems(schema, {"root": {"children": [{"children": 5}]}}) != []
    assert sent(schema) == schema


def test_a_schema_that_says_nothing_takes_any_value() -> None:
    schema = takes(parent={}, items={"type": "array", "items": {}}, data={"description": "any"})
    given = {"parent": 1, "items": [None, "a", {}], "data": {"x": []}}
    assert fitted(schema, given) == given
    assert sent(schema) == schema


def test_a_list_of_unknown_things_takes_any_list() -> None:
    schema = takes(names={"type": "array"})
    assert fitted(schema, {"names": [1, "a", None]}) == {"names": [1, "a", None]}
    assert problems(schema, {"names": 5}) == ["`names` must be an array, not 5"]
    assert sent(schema) == schema


def test_a_fixed_value_without_a_type_keeps_working() -> None:
    workspace = takes(type={"const": "workspace"}) | {"required": ["type"]}
    page = takes(page_id={"type": "string"}) | {"required": ["page_id"]}
    parent = {"oneOf": [{"$ref": "#/$defs/a"}, workspace]}
    schema = takes(parent=parent) | {"$defs": {"a": page}}
    assert problems(schema, {"parent": {"type": "workspace"}}) == []
    assert problems(schema, {"parent": {"page_id": "x"}}) == []
    assert problems(schema, {"parent": {"type": "x"}}) != []
    assert sent(schema) == schema


def test_property_names_that_few_take_are_kept_by_all_but_the_endpoint_that_refuses_them() -> None:
    schema = takes(**{"$vectorSearch": {}, "$and": {"type": "array"}, "{{userName}}": {}})
    given = {"$vectorSearch": {"limit": 5}, "$and": [1], "{{userName}}": "x"}
    assert fitted(schema, given) == given
    assert list(sent(schema)["properties"]) == list(given)


NAMES = ["Content-Type", "x-loc-lat", "type", "properties", "items", "title", "default", "enum"]


def test_a_property_named_like_a_keyword_is_taken_for_none() -> None:
    schema = takes(**{name: {"type": "integer", "title": name} for name in NAMES})
    schema["required"] = NAMES
    assert fitted(schema, dict.fromkeys(NAMES, "5")) == dict.fromkeys(NAMES, 5)
    assert problems(schema, dict.fromkeys(NAMES[1:], 5)) == ["`Content-Type` is required"]
    assert sent(schema, relaxed=True) == schema


@pytest.mark.parametrize(
    ("values", "outside"), [(['"', "'", ""], "x"), ([18, 20, 22], 19), ([True, False], 1)]
)
def test_choices_of_every_kind_are_kept_and_judged(values: list[Any], outside: object) -> None:
    schema = takes(e={"enum": values}) | {"required": ["e"]}
    for value in values:
        assert fitted(schema, {"e": value}) == {"e": value}
    assert problems(schema, {"e": outside}) != []
    assert sent(schema, relaxed=True) == schema


def test_fields_that_need_others_are_judged() -> None:
    schema = takes(resourceName={"type": "string"}, namespaces={"type": "array"})
    schema["dependentRequired"] = {"resourceName": ["namespaces"]}
    assert problems(schema, {"resourceName": "a", "namespaces": []}) == []
    (problem,) = problems(schema, {"resourceName": "a"})
    assert "namespaces" in problem
    assert sent(schema) == schema


def test_a_pattern_that_looks_around_and_back_costs_no_time_and_no_call() -> None:
    pattern = r"^(?!.*(?:^|,)(a|b),(?:.*,)?\1(?:$|,))(a|b)(,(a|b))*$"
    schema = takes(fields={"type": "string", "pattern": pattern})
    began = time.process_time()
    for text in ("a,b", "a," * 50_000, ","):
        assert problems(schema, {"fields": text}) == []
    assert time.process_time() - began < 5
    assert sent(schema) == takes(fields={"type": "string"})


def test_the_largest_integers_stay_integers() -> None:
    most = 2**53 - 1
    schema = takes(n={"type": "integer", "maximum": most, "minimum": -most})
    assert fitted(schema, {"n": str(most)}) == {"n": most}
    assert problems(schema, {"n": most + 1}) != []
    assert '"maximum":9007199254740991' in compact_json(sent(schema))


def test_formats_that_nobody_knows_are_no_faults() -> None:
    formats = ["path", "int32", "binary", "json", "cidrv4"]
    schema = takes(**{name: {"type": "string", "format": name} for name in formats})
    assert problems(schema, dict.fromkeys(formats, "\0 anything")) == []
    assert sent(schema, relaxed=True) == takes(**{name: {"type": "string"} for name in formats})


def test_limits_in_two_parts_both_hold_and_are_both_shown() -> None:
    parts = [
        {"type": "integer", "minimum": 0, "description": "a"},
        {"maximum": 50, "type": "number"},
    ]
    schema = takes(top={"allOf": parts})
    assert problems(schema, {"top": 7}) == []
    assert problems(schema, {"top": 51}) == ["`top` must be at most 50, not 51"]
    assert problems(schema, {"top": -1}) == ["`top` must be at least 0, not -1"]
    assert sent(schema)["properties"]["top"] == {"allOf": parts}


def test_a_map_of_anything_stays_open() -> None:
    record = {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {}}
    given = {"m": {"a": 1, "b": [None]}}
    assert fitted(takes(m=record), given) == given
    assert sent(takes(m=record), relaxed=True)["properties"]["m"]["additionalProperties"] == {}


def test_leftovers_of_another_dialect_are_no_faults() -> None:
    schema = takes(n={"type": "string", "nullable": True, "x-parameter-location": "query"})
    schema["discriminator"] = {"propertyName": "n"}
    assert problems(schema, {"n": "x"}) == []
    assert fitted(schema, {"n": None}) == {}
    assert sent(schema) == schema


def test_wide_deep_and_long_schemas_are_followed() -> None:
    deep: dict[str, Any] = {"type": "integer"}
    value: Any = "5"
    for _ in range(13):
        deep, value = takes(a=deep), {"a": value}
    choice = {"type": "string", "enum": [f"c{number}" for number in range(51)]}
    wide = takes(**{f"p{number}": choice for number in range(53)}, deep=deep)
    given = {f"p{number}": "c50" for number in range(53)}
    assert fitted(wide, given | {"deep": value})["p52"] == "c50"
    assert problems(wide, {"p1": "c51"}) != []
    assert "`deep.a.a.a.a.a.a.a.a.a.a.a.a.a`" in problems(wide, {"deep": _nested("x")})[0]
    assert sent(wide) == wide


def _nested(value: Any) -> Any:
    for _ in range(13):
        value = {"a": value}
    return value


async def test_a_tool_of_85_kilobytes_is_offered_whole_and_its_weight_is_told() -> None:
    heavy = takes(**{f"p{n}": {"type": "string", "description": "d" * 800} for n in range(100)})
    server = EchoServer([tool("light"), tool("heavy", input_schema=heavy)])
    async with beside_memory(Servers(a=server)) as pool:
        watch = Watch(pool)
        assert pool.tools(names=["a__light"])
        assert watch.of("log") == []
        (declared,) = pool.tools(names=["a__heavy"])
        assert declared["function"]["parameters"] == heavy
        assert [each.tokens > 20_000 for each in state_of(pool, "a").tools] == [False, True]
        (told,) = watch.of("log")
        assert str(told.text).startswith("declaring 1 tools takes about 21.1k tokens")


async def test_arguments_that_a_model_gets_nearly_right_are_made_to_fit_or_named() -> None:
    schema = takes(n={"type": "integer"}, o=takes(a={"type": "integer"}), s={"type": "string"})
    schema |= {"additionalProperties": False, "required": ["n"]}
    server = EchoServer([tool("t", input_schema=schema)])
    async with beside_memory(Servers(a=server)) as pool:
        clumsy = {"n": "5", "o": '{"a": "1"}', "s": None}
        assert await pool.call("a__t", clumsy) == 't({"n":5,"o":{"a":1}})'
        error = await refused(pool, "a__t", {"n": "x", "o": {"a": []}})
        assert str(error) == (
            'a__t: `n` must be an integer, not "x"; `o.a` must be an integer, not []'
        )
        assert server.calls == ["t"]
    (problem,) = problems(schema, {"n": 5, "more": 1})
    assert problem == '`arguments` does not take "more"; there are "n", "o", "s"'
