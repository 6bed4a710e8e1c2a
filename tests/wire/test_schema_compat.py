"""Tool lists as they are sent, and what a grammar failure sounds like."""

from __future__ import annotations

import sys
from copy import deepcopy
from random import Random
from types import MappingProxyType
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.records import ToolDefinition
from host.text.json_text import compact_json
from host.wire.schema_compat import (
    MAX_REMEMBERED_LISTS,
    is_grammar_error,
    relax_schema,
    relax_tools,
    sanitize_schema,
    sanitize_tools,
)
from tests.wire.instances import Candidates, judge
from tests.wire.schemas import SCHEMAS, roots
from tests.wire.tool_roots import ToolRoots

STRING_FROZEN = MappingProxyType({"type": "string", "format": "date"})
EMPTY = {"type": "object", "properties": {}}


def tool(name: str = "t", **function: Any) -> ToolDefinition:
    return cast("ToolDefinition", {"type": "function", "function": {"name": name, **function}})


@given(roots())
def test_only_the_parameters_of_a_tool_change_and_only_in_the_copy(
    parameters: dict[str, Any],
) -> None:
    given_tool = tool(description="d", parameters=parameters, strict=True)
    before = deepcopy(given_tool)
    [sanitized] = sanitize_tools([given_tool])
    [relaxed] = relax_tools([sanitized])
    assert given_tool == before
    expected = sanitize_schema(parameters)
    assert sanitized == tool(description="d", parameters=expected, strict=True)
    assert relaxed == tool(description="d", parameters=relax_schema(expected), strict=True)


@given(st.integers(0, 2**64))
def test_what_a_schema_accepts_its_sent_forms_accept(seed: int) -> None:
    made = ToolRoots(Random(seed))
    for _ in range(20):
        parameters = made.draw()
        original = judge(parameters)
        candidates = Candidates(parameters, Random(seed))
        drawn = [made.arguments() if number % 2 else candidates.draw() for number in range(16)]
        accepted = [one for one in drawn if isinstance(one, dict) and original.is_valid(one)]
        sanitized = sanitize_schema(parameters)
        for form in (sanitized, relax_schema(sanitized)):
            sent = judge(form, as_sent=True)
            assert [one for one in accepted if not sent.is_valid(one)] == [], (parameters, form)


def test_a_frozen_tool_keeps_its_parameters() -> None:
    parameters = {"type": "object", "properties": {"a": {"type": "string", "format": "date"}}}
    frozen = MappingProxyType({**parameters, "properties": MappingProxyType({"a": STRING_FROZEN})})
    function = MappingProxyType({"name": "t", "parameters": frozen})
    given_tool = cast(
        "ToolDefinition", MappingProxyType({"type": "function", "function": function})
    )
    [sanitized] = sanitize_tools([given_tool])
    assert sanitized == tool(parameters=parameters)
    compact_json(sanitized)
    [relaxed] = relax_tools([given_tool])
    assert relaxed["function"]["parameters"]["properties"] == {"a": {"type": "string"}}


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    assert sanitize_tools([tool()]) == [tool(parameters=EMPTY)]


def test_the_same_tools_give_the_same_entries_in_a_new_list() -> None:
    tools = [tool("a"), tool("b")]
    first, second = sanitize_tools(tools), sanitize_tools(tools)
    assert first is not second
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert sanitize_tools(reversed_list := tools[::-1]) == first[::-1]
    assert sanitize_tools(reversed_list)[0] is first[1]


def test_lists_that_differ_only_in_the_middle_are_told_apart() -> None:
    first, last = tool("first"), tool("last")
    for name in ("a", "b", "a"):
        sanitized = sanitize_tools([first, tool(name), last])
        assert [one["function"]["name"] for one in sanitized] == ["first", name, "last"]


def test_emptying_a_returned_list_does_not_empty_the_next() -> None:
    tools = [tool("a")]
    sanitize_tools(tools).clear()
    assert len(sanitize_tools(tools)) == 1


def test_relaxed_tools_are_remembered_apart_from_sanitised_ones() -> None:
    sanitized = sanitize_tools([tool("a"), tool("b")])
    relaxed = relax_tools(sanitized)
    assert all(one is not other for one, other in zip(relaxed, sanitized, strict=True))
    assert relax_tools(sanitized)[0] is relaxed[0]


def test_equal_tools_that_are_two_objects_are_two_entries() -> None:
    one, other = sanitize_tools([tool("a"), tool("a")])
    assert one == other
    assert one is not other


@pytest.mark.parametrize(
    "stranger",
    [{"type": "custom", "custom": {"name": "x"}}, {"type": "function"}, {"function": {}}],
)
def test_what_is_no_function_passes_as_itself(stranger: dict[str, Any]) -> None:
    tools = [cast("ToolDefinition", stranger)]
    assert sanitize_tools(tools)[0] is stranger
    assert relax_tools(tools)[0] is stranger


def test_more_lists_than_are_remembered_still_give_the_same_entries() -> None:
    tools = [tool(f"t{number}") for number in range(MAX_REMEMBERED_LISTS + 5)]
    first = [sanitize_tools([one])[0] for one in tools]
    assert all(sanitize_tools([one])[0] is known for one, known in zip(tools, first, strict=True))


def test_the_tools_of_a_list_that_is_no_longer_remembered_are_let_go() -> None:
    kept = tool("kept")
    sanitize_tools([kept])
    held = sys.getrefcount(kept)
    for number in range(MAX_REMEMBERED_LISTS):
        sanitize_tools([tool(f"t{number}")])
    assert sys.getrefcount(kept) == held - 1


def test_an_id_that_was_given_away_does_not_bring_back_another_tools_schema() -> None:
    for number in range(200):
        [sanitized] = sanitize_tools([tool(f"t{number}")])
        assert sanitized["function"]["name"] == f"t{number}"


def test_no_tools_are_no_tools() -> None:
    assert sanitize_tools([]) == []
    assert relax_tools(()) == []


@pytest.mark.parametrize("schema", [None, True, "object", [], 3])
def test_a_bare_schema_that_is_none_is_an_empty_object(schema: object) -> None:
    assert sanitize_schema(schema) == EMPTY
    assert relax_schema(schema) == EMPTY


def test_a_schema_nested_beyond_reason_is_an_empty_object() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(20_000):
        schema = {"type": "object", "properties": {"a": schema}}
    assert sanitize_schema(schema) == EMPTY
    assert relax_schema(schema) == EMPTY


def test_a_hundred_levels_are_followed() -> None:
    schema: dict[str, Any] = {"type": ["string", "null"], "format": "date"}
    for _ in range(100):
        schema = {"type": "object", "properties": {"a": schema}}
    relaxed: Any = relax_schema(sanitize_schema(schema))
    for _ in range(100):
        relaxed = relaxed["properties"]["a"]
    assert relaxed == {"type": "string", "nullable": True}


@given(SCHEMAS)
def test_a_bare_schema_is_sanitised_and_relaxed_as_a_tools_root_is(schema: Any) -> None:
    [sanitized] = sanitize_tools([tool(parameters=schema)])
    [relaxed] = relax_tools([sanitized])
    assert sanitized["function"]["parameters"] == sanitize_schema(schema)
    assert relaxed["function"]["parameters"] == relax_schema(sanitize_schema(schema))


NO_PARSER = "Unable to generate parser for this template. Automatic parser generation failed"
FAILURES = [
    # llama-server b10434 and its successor
    "Failed to initialize samplers: failed to parse grammar",
    f"{NO_PARSER}: JSON schema conversion failed:\nPattern must start with '^' and end with '$'",
    'Unrecognized schema: {"type":"str"}',
    "Unrecognized schema: true",
    f"{NO_PARSER}: JSON schema error at #/properties/x: unrecognized type str",
    "unable to generate parser; see the chat template",
    "JSON schema conversion failed: Error resolving ref #/$defs/Missing: $defs not in {}",
]
OTHERS = [
    "",
    "invalid schema for function 'f'",
    "unable to generate parser",
    "the template is broken",
    "no user query found in messages",
    "No User Query Found; the grammar of this template needs one",
    "No user query found: unable to generate parser for this template",
]


@given(
    st.sampled_from([(text, True) for text in FAILURES] + [(text, False) for text in OTHERS]),
    st.sampled_from([str, str.upper, str.lower, str.title]),
    st.sampled_from(["{}", "Error code: 400 - {}", "{}\n"]),
)
def test_a_grammar_failure_is_known_in_any_case_and_dress(
    text: tuple[str, bool], cased: Any, dress: str
) -> None:
    assert is_grammar_error(dress.format(cased(text[0]))) is text[1]
