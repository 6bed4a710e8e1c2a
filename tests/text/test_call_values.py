"""JSON values found in text, and the calls they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.call_values import (
    CallText,
    ParsedCall,
    Reading,
    calls_of,
    is_definition,
    parsed_call,
)
from tests.text.written_calls import ARGUMENTS, CALLS, Call

_AROUND = st.sampled_from(["", " ", "Look: ", "</tool_call>", "it's ", "}", ']"', "[TOOL_CALLS]"])


@given(_AROUND, ARGUMENTS | st.lists(ARGUMENTS, max_size=2), _AROUND)
def test_a_value_ends_where_its_json_ends_whatever_follows(
    before: str, value: Any, after: str
) -> None:
    written = json.dumps(value)
    source = CallText(before + written + after)
    assert source.value_at(len(before)) == (value, len(before) + len(written))
    assert not source.is_exhausted


@given(
    st.lists(ARGUMENTS, min_size=1, max_size=4), st.sampled_from(["", " ", "\n", ";", " ; ", ", "])
)
def test_values_in_a_row_are_read_one_by_one(values: list[Any], between: str) -> None:
    text = between.join(json.dumps(value) for value in values) + " and so on"
    assert [value for value, _ in CallText(text).values_from(0)] == values


@given(CALLS, st.sampled_from(["arguments", "parameters", "args"]), st.booleans())
def test_records_of_every_shape_are_the_calls_they_name(
    calls: list[Call], key: str, is_wrapped: bool
) -> None:
    records = [{"name": name, key: args} for name, args in calls]
    value = [{"type": "function", "function": record} for record in records]
    read = calls_of(value if is_wrapped else records)
    assert [(call.name, json.loads(call.arguments)) for call in read] == calls
    assert calls_of([*records, {"note": "no call"}]) == ()


@pytest.mark.parametrize(
    ("value", "call"),
    [
        ({"name": "ls"}, ("ls", "{}")),
        ({"name": "ls", "arguments": None, "parameters": {"d": 1}}, ("ls", '{"d":1}')),
        ({"name": "ls", "arguments": None, "args": [1.0]}, ("ls", "[1]")),
        ({"name": "ls", "arguments": "{'d': 1}"}, ("ls", "{'d': 1}")),
        ({"name": "ls", "arguments": ""}, ("ls", "")),
        ({"function": {"name": "ls"}}, ("ls", "{}")),
        ({"type": "function", "id": "c1", "index": 0, "function": {"name": "ls"}}, ("ls", "{}")),
        ({"name": "ls", "version": "1.0", "arguments": {"d": 1}}, ("ls", '{"d":1}')),
        ({"function": "ls", "name": "x"}, ("x", "{}")),
        ({"name": "ls", "version": "1.0"}, None),
        ({"name": "ls", "arguments": None, "d": "/"}, None),
        ({"function": {"name": "ls", "d": "/"}}, None),
        ({"function": {"name": "ls"}, "d": "/"}, None),
        ({"name": "ls", "input": {"d": 1}}, None),
        ({"name": ""}, None),
        ({"name": " "}, None),
        ({"name": 7}, None),
        ({"function": {}}, None),
        ({}, None),
        (["ls"], None),
        ("ls", None),
        (None, None),
    ],
)
def test_a_record_with_a_name_is_a_call(value: object, call: tuple[str, str] | None) -> None:
    expected = (ParsedCall(name=call[0], arguments=call[1]),) if call else ()
    assert calls_of(value) == expected


@given(CALLS, st.sampled_from(["input", "arguments"]), st.sampled_from(["d", "version", "input"]))
def test_what_else_an_object_says_is_never_dropped_beside_a_name(
    calls: list[Call], key: str, other: str
) -> None:
    named = [{"name": name, key: args} for name, args in calls]
    read = calls_of(named, is_marked=True)
    assert [(call.name, json.loads(call.arguments)) for call in read] == calls
    for name, args in calls:
        assert calls_of({"name": name, other: args}) == ()
        assert bool(calls_of({"name": name, other: args}, is_marked=True)) is (other == "input")


@pytest.mark.parametrize("value", [[], [[{"name": "ls"}]], [{"name": "ls"}, 3], 3, None])
def test_what_is_not_wholly_calls_is_none(value: object) -> None:
    assert calls_of(value) == ()


def test_arguments_that_cannot_be_printed_make_no_call() -> None:
    assert parsed_call("ls", {"n": float("nan")}) is None


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ({"name": "ls", "parameters": {"type": "object", "properties": {}}}, True),
        ({"function": {"name": "ls", "parameters": {"type": "object", "properties": {}}}}, True),
        ({"name": "ls", "parameters": {"type": "object"}}, False),
        ({"name": "ls", "arguments": {"type": "object", "properties": {}}}, False),
        ({"name": "ls"}, False),
        ("ls", False),
    ],
)
def test_a_tool_described_by_its_schema_is_a_definition(value: object, is_one: bool) -> None:
    assert is_definition(value) is is_one


@pytest.mark.parametrize(
    "text", ["{", '{"a": [1}', '{"a": "}', "{<", '{"a": 1 <tool_call>}', "[oops]", "7", "x{}", ""]
)
def test_what_does_not_close_or_does_not_parse_is_no_value(text: str) -> None:
    assert CallText(text).value_at(0) is None


def test_reading_in_vain_is_allowed_only_so_often() -> None:
    text = "{" * 1000
    source = CallText(text)
    for start in range(5):
        assert not source.is_exhausted
        assert source.value_at(start) is None
    assert source.is_exhausted
    assert source.value_at(999) is None


def test_calls_are_read_up_to_the_first_value_that_is_none() -> None:
    text = '{"name":"a"}; {"name":"b"}; {"x":1}; {"name":"c"}'
    calls, end, *_ = CallText(text).calls_from(0)
    assert [call.name for call in calls] == ["a", "b"]
    assert text[end:] == '; {"x":1}; {"name":"c"}'


def test_a_first_value_that_is_no_call_is_passed_over() -> None:
    text = ' {"x": "<tool_call>"} rest'
    assert CallText(text).calls_from(0) == Reading((), len(text) - len(" rest"))


@pytest.mark.parametrize(
    ("ending", "values"), [(', {"name"', [{"name": "a"}]), (" and so on", []), (', {"b": 1} x', [])]
)
def test_of_a_list_that_stays_open_the_entries_count_only_where_the_text_ends(
    ending: str, values: list[object]
) -> None:
    text = '[{"name":"a"}' + ending
    assert [value for value, _ in CallText(text).values_from(0)] == values
