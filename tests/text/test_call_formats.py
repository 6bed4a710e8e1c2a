"""Each reader against its own format: what is rendered reads as itself, what is cut does not."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from host.text.call_formats import CALL_FORMATS
from host.text.call_values import CallText, Reading
from tests.text.written_calls import CALLS, LAST_TO_CUT, MARKED, Call, can_render

_RENDERINGS = st.sampled_from(sorted(MARKED))


def _read_first(text: str) -> Reading:
    """What the format whose opener begins the text reads behind it."""
    for entry in CALL_FORMATS:
        opener = re.match(entry.opener, text)
        if opener:
            return entry.read(CallText(text), opener.end())
    raise AssertionError(text)


def _read_all(text: str) -> tuple[list[Call], str]:
    """The calls of openers in a row, and the text behind them."""
    calls: list[Call] = []
    while any(re.match(entry.opener, text) for entry in CALL_FORMATS):
        found, end, *_ = _read_first(text)
        calls += [(call.name, json.loads(call.arguments)) for call in found]
        text = text[max(end, 1) :].lstrip()
    return calls, text


@given(_RENDERINGS, CALLS, st.sampled_from(["", " Done.", "\nIt's {that}."]))
def test_calls_written_in_a_format_are_read_as_themselves(
    rendering: str, calls: list[Call], after: str
) -> None:
    assume(can_render(rendering, calls))
    assert _read_all(MARKED[rendering](calls) + after) == (calls, after.lstrip())


@given(_RENDERINGS, CALLS.filter(lambda calls: len(calls) == 1), st.data())
def test_a_call_cut_before_its_last_bracket_is_never_read(
    rendering: str, calls: list[Call], drawn: st.DataObject
) -> None:
    text = MARKED[rendering](calls)
    last = text.rfind(LAST_TO_CUT.get(rendering, "}"))
    cut = drawn.draw(st.integers(1, last))
    assume(any(re.match(entry.opener, text[:cut]) for entry in CALL_FORMATS))
    # what is left of the one call may not turn into some other call
    assert _read_first(text[:cut]).calls == ()


@pytest.mark.parametrize(
    ("text", "calls", "rest"),
    [
        ('<tool_call>{"name":"ls","arguments":{}}</tool_call>x', [("ls", {})], "x"),
        ('<tool_call>{"name":"ls"} then text', [("ls", {})], " then text"),
        (
            '<tool_call>{"name":"a"}<tool_call>{"name":"b"}</tool_call>',
            [("a", {})],
            '<tool_call>{"name":"b"}</tool_call>',
        ),
        ('<tool_call>{"name":"ls"}}</tool_call>x', [], "x"),
        ('<tool_call>[{"name":"a"},{"name":"b"}]</tool_call>', [("a", {}), ("b", {})], ""),
        ('<tool_call>{"name":"a"}\n{"name":"b"}</tool_call>', [("a", {}), ("b", {})], ""),
        ('<tool_call>"{\\"name\\":\\"a\\"}"</tool_call>', [("a", {})], ""),
        (
            (
                "<tool_call><function=put><parameter=f>\na.md\n</parameter>"
                "<parameter=n>\n4\n</parameter></function></tool_call>"
            ),
            [("put", {"f": "a.md", "n": 4})],
            "",
        ),
        (
            "<tool_call>\n<function=a>\n</function>\n<function=b></function>\n</tool_call>",
            [("a", {}), ("b", {})],
            "",
        ),
        (
            "<function=put><parameter=t>\r\n\n x </parameter>\n\n</parameter></function>",
            [],
            "put><parameter=t>\r\n\n x </parameter>\n\n</parameter></function>",
        ),
        (
            "<function=put><parameter=t>\n\n x <b>\n\n</parameter></function>",
            [("put", {"t": "\n x <b>\n"})],
            "",
        ),
        ("<function= ></function>", [], " ></function>"),
        (
            "<function=put><parameter=t></think> is a tag</parameter></function>",
            [("put", {"t": "</think> is a tag"})],
            "",
        ),
        (
            "<function=a><parameter=b></think><function=c><parameter=d>1</parameter></function>",
            [],
            "a><parameter=b></think><function=c><parameter=d>1</parameter></function>",
        ),
        (
            '<tool_call>{"name":"ls"} draft</think></tool_call>',
            [("ls", {})],
            " draft</think></tool_call>",
        ),
        ("<function=a", [], "a"),
        ("<function=a><parameter=b>c", [], "a><parameter=b>c"),
        ('[TOOL_CALLS] [{"name":"ls","arguments":{}}]', [("ls", {})], ""),
        ('[TOOL_CALLS]{"name":"ls"}', [("ls", {})], ""),
        ('[TOOL_CALLS]ls[ARGS]{"d":1}x', [("ls", {"d": 1})], "x"),
        ('[TOOL_CALLS]ls[CALL_ID]9aZ[ARGS] {"d":1}', [("ls", {"d": 1})], ""),
        ("[TOOL_CALLS]ls[ARGS][1]", [], ""),
        ("[TOOL_CALLS]ls[ARGS]", [], "ls[ARGS]"),
        ("[TOOL_CALLS]lé[ARGS]{}", [], "lé[ARGS]{}"),
        ("[TOOL_CALLS] are a token", [], " are a token"),
        ('[TOOL_CALLS] ls [ARGS] {"d": 1}x', [("ls", {"d": 1})], "x"),
        ('[TOOL_CALLS]ls {"d":1}', [("ls", {"d": 1})], ""),
        ('[TOOL_CALLS] ls{"d":1}', [("ls", {"d": 1})], ""),
        ('[TOOL_CALLS] opens {"d":1}', [], ' opens {"d":1}'),
        ("[TOOL_CALLS]ls[ARGS]{}pwd[ARGS]{} so", [("ls", {}), ("pwd", {})], " so"),
        ("[TOOL_CALLS]ls[ARGS]{}pwd[ARGS]", [("ls", {})], "pwd[ARGS]"),
        ("<tool_call>ls</tool_call>x", [("ls", {})], "x"),
        ("<tool_call>two words</tool_call>x", [], "two words</tool_call>x"),
        ('<tool_call>{"name":"ls","input":{"d":1}}</tool_call>', [("ls", {"d": 1})], ""),
        ('<tool_call>{"name":"ls","d":1}</tool_call>', [], "</tool_call>"),
        ("<function_calls>\nf(a=1)\ng()\n</function_calls>x", [("f", {"a": 1}), ("g", {})], "x"),
        ("<function_calls>f(a=1)", [("f", {"a": 1})], ""),
        ("<function_calls>f(a=1) is a call", [], "f(a=1) is a call"),
        ('functools[{"name":"a"},{"name":"b"}] x', [("a", {}), ("b", {})], " x"),
        ('>>>f\n{"a": 1}\n>>>g\n{}', [("f", {"a": 1})], "\n>>>g\n{}"),
        ('>>>f\n{"a": 1', [], 'f\n{"a": 1'),
        (
            '<|python_tag|>{"name":"ls","parameters":{}}; {"name":"pwd"}<|eom_id|>x',
            [("ls", {}), ("pwd", {})],
            "x",
        ),
        ('<|python_tag|>[{"name":"a"}] ; {"name":"b"}', [("a", {}), ("b", {})], ""),
        ('<|python_tag|>{"name":"ls"}<|eot_id|>', [("ls", {})], ""),
        ("<|python_tag|>print(1)<|eom_id|>", [], "print(1)<|eom_id|>"),
        ('<|python_tag|>{"x":1}<|eom_id|>', [], "<|eom_id|>"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_format_is_read_to_its_end(text: str, calls: list[Call], rest: str) -> None:
    found, end, *_ = _read_first(text)
    assert [(call.name, json.loads(call.arguments)) for call in found] == calls
    assert text[end:] == rest


@pytest.mark.parametrize(
    "text",
    [
        "functools[0]",
        "myfunctools[{",
        ">>>>f\n{",
        ">>>f {",
        ">>> f\n{",
        "<|tool_call>x",
    ],
)
def test_what_only_resembles_an_opener_opens_nothing(text: str) -> None:
    assert not any(re.search(entry.opener, text) for entry in CALL_FORMATS)


def test_string_arguments_stay_as_they_were_written() -> None:
    text = '<tool_call>{"name":"ls","arguments":"{\\"d\\": 1}"}</tool_call>'
    [call] = _read_first(text).calls
    assert call.arguments == '{"d": 1}'
