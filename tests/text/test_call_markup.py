"""Calls written as elements, family by family."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from host.text.call_markup import (
    FUNCTION,
    INVOKE,
    read_any_markup,
    read_function,
    read_invoke,
    read_pairs,
)
from host.text.call_values import CallText
from tests.text.written_calls import CALLS, MARKED, UNMARKED, Call, can_render

_ALONE = {"markup alone": read_function, "function json": read_function}
_ALONE["invoke markup alone"] = read_invoke
_OPENER = re.compile(f"{FUNCTION.opener}|{INVOKE.opener}")


def _read(text: str) -> tuple[list[Call], str]:
    opener = _OPENER.match(text)
    assert opener is not None
    reader = read_function if opener[0] == FUNCTION.opener else read_invoke
    calls, end = reader(CallText(text), opener.end())
    return [(call.name, json.loads(call.arguments)) for call in calls], text[end:]


@given(st.sampled_from(sorted(_ALONE)), CALLS, st.sampled_from(["", " Done.", "\n<b>x</b>"]))
def test_elements_in_a_row_are_read_as_themselves(
    rendering: str, calls: list[Call], after: str
) -> None:
    assume(can_render(rendering, calls))
    assert _read(UNMARKED[rendering](calls) + after) == (calls, after)


@given(CALLS, st.data())
def test_pairs_are_read_only_when_none_is_missing(calls: list[Call], drawn: st.DataObject) -> None:
    assume(can_render("glm markup", calls))
    text = MARKED["glm markup"](calls[:1]).removeprefix("<tool_call>")
    cut = drawn.draw(st.integers(0, len(text)))
    read = read_pairs(CallText(text[:cut]), 0)
    is_whole = cut == len(text)
    assert [(call.name, json.loads(call.arguments)) for call in read.calls] == calls[:1] * is_whole
    assert not is_whole or text[read.end :].strip() == "</tool_call>"


@pytest.mark.parametrize(
    ("text", "calls", "rest"),
    [
        (
            '<function=put>{"f": "a.md", "n": [1, 2]}</function>',
            [("put", {"f": "a.md", "n": [1, 2]})],
            "",
        ),
        ("<function=ls>\n{}\n</function> so", [("ls", {})], " so"),
        ("<function=ls>{}{}</function>", [], None),
        ("<function=ls>{</function>", [], None),
        ("<function=a></function>\n</tool_call>\nx", [("a", {})], "\nx"),
        ('<invoke name="a"></invoke></tool_call>', [("a", {})], "</tool_call>"),
        (
            (
                '<invoke name="get_weather">\n<parameter name="city">Rome</parameter>\n'
                '<parameter name="days">3</parameter>\n</invoke>'
            ),
            [("get_weather", {"city": "Rome", "days": 3})],
            "",
        ),
        (
            "<invoke name='a'><parameter name=b>\n\n x\n</parameter></invoke>",
            [("a", {"b": "\n x"})],
            "",
        ),
        (
            (
                '<｜DSML｜invoke name="a">\n<｜DSML｜parameter name="code" string="true">\n007'
                '</｜DSML｜parameter>\n<｜DSML｜parameter name="n" string="false">7'
                "</｜DSML｜parameter>\n</｜DSML｜invoke>"
            ),
            [("a", {"code": "\n007", "n": 7})],
            "",
        ),
        ('<invoke name="a"></invoke>x', [("a", {})], "x"),
        ('<invoke name=""></invoke>', [], None),
        ('<invoke name="a"><parameter name="b">cut', [], None),
        ('<invoke name="a"><parameter name="b">1</parameter>', [], None),
        ('<invoke name="a">text</invoke>', [], None),
        (
            '<invoke name="a"><parameter name="b"></think><invoke name="c"></parameter></invoke>',
            [],
            None,
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_elements_are_read_to_their_end(text: str, calls: list[Call], rest: str | None) -> None:
    read, left = _read(text)
    assert read == calls
    assert rest is None or left == rest


@pytest.mark.parametrize(
    ("text", "calls", "rest"),
    [
        (
            (
                "get_weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n"
                "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>x"
            ),
            [("get_weather", {"city": "Rome", "days": 3})],
            "\n</tool_call>x",
        ),
        (
            "ls <arg_key>dir</arg_key> <arg_value>/a b</arg_value> </tool_call>",
            [("ls", {"dir": "/a b"})],
            " </tool_call>",
        ),
        (
            "ls<arg_key>d</arg_key><arg_value> x\n</arg_value></tool_call>",
            [("ls", {"d": " x\n"})],
            "</tool_call>",
        ),
        ("ls\n</tool_call>", [("ls", {})], "</tool_call>"),
        ("ls", [], None),
        ("name</tool_call>", [], None),
        ("...\n</tool_call>", [], None),
        ("two words</tool_call>", [], None),
        ("ls<arg_key>d</arg_key></tool_call>", [], None),
        ("ls<arg_key>d</arg_key><arg_value>1</arg_value>", [], None),
        ("ls<arg_key>d</arg_key><arg_value>1</arg_value><arg_key>e", [], None),
        ("ls<arg_key>d</arg_key><arg_value></think><tool_call></arg_value></tool_call>", [], None),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_pairs_of_keys_and_values_are_read_up_to_the_closing_tag(
    text: str, calls: list[Call], rest: str | None
) -> None:
    read, end = read_pairs(CallText(text), 0)
    assert [(call.name, json.loads(call.arguments)) for call in read] == calls
    assert rest is None or text[end:] == rest


def test_any_family_is_read_where_it_stands_and_nothing_else() -> None:
    for text in ("\n<function=a></function>", ' <invoke name="a"></invoke>'):
        calls, end = read_any_markup(CallText(text), 0)
        assert [call.name for call in calls] == ["a"]
        assert end == len(text)
    assert read_any_markup(CallText("<b>"), 0) == ((), 0)


def test_elements_read_in_vain_use_up_the_patience_with_a_text() -> None:
    source = CallText("<function=a><parameter=b>" * 20)
    for _ in range(5):
        assert read_function(source, len("<function=")).calls == ()
    assert source.is_exhausted
