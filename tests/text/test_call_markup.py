"""Calls written as elements, family by family."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from host.pool.arguments import coerce_arguments
from host.text.call_markup import (
    FUNCTION,
    INVOKE,
    read_any_markup,
    read_function,
    read_invoke,
    read_pairs,
)
from host.text.call_values import CallText, Reading
from tests.text.written_calls import CALLS, MARKED, UNMARKED, Call, can_render

_ALONE = {"markup alone": read_function, "function json": read_function}
_ALONE["invoke markup alone"] = read_invoke
_OPENER = re.compile(f"{FUNCTION.opener}|{INVOKE.opener}")


def _read(text: str) -> tuple[list[Call], str]:
    opener = _OPENER.match(text)
    assert opener is not None
    reader = read_function if opener[0] == FUNCTION.opener else read_invoke
    calls, end, *_ = reader(CallText(text), opener.end())
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
        (
            (
                "<function=put>\n<parameter=path>\na.md\n<parameter=content>\n\nx\n"
                "</parameter>\n</function>"
            ),
            [("put", {"path": "a.md", "content": "\nx"})],
            "",
        ),
        (
            (
                '<invoke name="put"><parameter name="a">1\n'
                '  <parameter name="b">2</parameter></invoke>'
            ),
            [("put", {"a": 1, "b": 2})],
            "",
        ),
        (
            (
                '<｜DSML｜invoke name="a"><｜DSML｜parameter name="b" string="true">1\n'
                '<｜DSML｜parameter name="c" string="true">2</｜DSML｜parameter></｜DSML｜invoke>'
            ),
            [("a", {"b": "1", "c": "2"})],
            "",
        ),
        (
            (
                '<invoke name="a"><parameter name="b">\n<parameter name="c" d="e"/>\n'
                "</parameter></invoke>"
            ),
            [("a", {"b": '<parameter name="c" d="e"/>'})],
            "",
        ),
        (
            "<function=a><parameter=b>1</function></tool_call>\n<tool_call><function=c></function>",
            [("a", {"b": 1})],
            "\n<tool_call><function=c></function>",
        ),
        (
            "<function=a><parameter=b>1</function>\n<function=c></function>",
            [("a", {"b": 1}), ("c", {})],
            "",
        ),
        ("<function=a><parameter=b>1</function>", [], None),
        ("<function=a><parameter=b>1 <parameter=c>2</parameter></function>", [], None),
        ("<function=a><parameter=b>1\n<parameter=b>2</parameter></function>", [], None),
        ("<function=a><parameter=b>1</tool_call>\n<tool_call>{}", [], None),
        ("<function=a><parameter=b>1</parameter></tool_call>x", [], "</tool_call>x"),
        (
            '<function=\'a\'><parameter="b"> "c" </parameter></function>',
            [("a", {"b": ' "c" '})],
            "",
        ),
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
        (
            "ls<arg_key>d</arg_key><arg_value>a\n<arg_key>e</arg_key><arg_value>b</arg_value></tool_call>",
            [("ls", {"d": "a", "e": "b"})],
            "</tool_call>",
        ),
        (
            "ls<arg_key>d</arg_key><arg_value>a\n</tool_call>\n<tool_call>pwd\n</tool_call>",
            [("ls", {"d": "a"})],
            "</tool_call>\n<tool_call>pwd\n</tool_call>",
        ),
        (
            "ls<arg_key>d</arg_key><arg_value>a<arg_key>e</arg_key><arg_value>b</arg_value></tool_call>",
            [],
            None,
        ),
        ("ls<arg_key>d</arg_key><arg_value>a\n<arg_value>b</arg_value></tool_call>", [], None),
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
    read, end, *_ = read_pairs(CallText(text), 0)
    assert [(call.name, json.loads(call.arguments)) for call in read] == calls
    assert rest is None or text[end:] == rest


def test_any_family_is_read_where_it_stands_and_nothing_else() -> None:
    for text in ("\n<function=a></function>", ' <invoke name="a"></invoke>'):
        calls, end, *_ = read_any_markup(CallText(text), 0)
        assert [call.name for call in calls] == ["a"]
        assert end == len(text)
    assert read_any_markup(CallText("<b>"), 0) == Reading((), 0)


def test_elements_read_in_vain_use_up_the_patience_with_a_text() -> None:
    source = CallText("<function=a><parameter=b>" * 20)
    for _ in range(5):
        assert read_function(source, len("<function=")).calls == ()
    assert source.is_exhausted


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("5", 5),
        ("-1.5", -1.5),
        ("true", True),
        ("null", None),
        ('"a"', "a"),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ('{"a": 1.0}', {"a": 1}),
        ("[1, 2]", [1, 2]),
        ("1.10", "1.10"),
        ("1.0", "1.0"),
        ("12e4", "12e4"),
        ("0.1234567890123456789", "0.1234567890123456789"),
        ("-0", "-0"),
        (" 5", " 5"),
        ('"caf\\u00e9"', '"caf\\u00e9"'),
        ("True", "True"),
        ("NaN", "NaN"),
    ],
)
def test_a_body_is_read_as_json_only_where_nothing_is_lost(body: str, value: object) -> None:
    read, _ = _read(f"<function=a><parameter=b>{body}</parameter></function>")
    assert read == [("a", {"b": value})]


_WRITTEN = st.text(alphabet='0123456789.e+-"tfalsru ', max_size=6)


@given(_WRITTEN | st.from_regex(r"-?[0-9]{1,3}(\.[0-9]{1,3})?(e[0-9])?", fullmatch=True))
def test_what_a_string_parameter_is_sent_is_what_was_written(written: str) -> None:
    assume(not (len(written) > 1 and written[0] == written[-1] == '"'))
    for text, reader in (
        (f"f><parameter=p>{written}</parameter></function>", read_function),
        (f"f<arg_key>p</arg_key><arg_value>{written}</arg_value></tool_call>", read_pairs),
    ):
        [call] = reader(CallText(text), 0).calls
        sent, problems = coerce_arguments(
            {"properties": {"p": {"type": "string"}}, "required": ["p"]}, call.arguments
        )
        assert problems == []
        assert sent == {"p": written}
