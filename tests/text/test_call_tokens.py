"""Calls behind special tokens, in the shapes that servers are seen to print."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text import call_tokens
from host.text.call_values import CallText, Reading
from tests.text.written_calls import CALLS, MARKED, Call

_ONE_CALL_EACH: dict[str, tuple[str, Callable[[CallText, int], Reading]]] = {
    "deepseek v3": (call_tokens.DEEPSEEK_OPENER, call_tokens.read_deepseek),
    "deepseek v3.1": (call_tokens.DEEPSEEK_OPENER, call_tokens.read_deepseek),
    "kimi": (call_tokens.KIMI_OPENER, call_tokens.read_kimi),
    "harmony": (call_tokens.HARMONY_OPENER, call_tokens.read_harmony),
    "harmony, role": (call_tokens.HARMONY_OPENER, call_tokens.read_harmony),
    "harmony without start": (call_tokens.HARMONY_OPENER, call_tokens.read_harmony),
    "mistral named": (r"\[TOOL_CALLS\]", call_tokens.read_mistral),
}


def _read(
    text: str, opener: str, reader: Callable[[CallText, int], Reading]
) -> tuple[list[Call], str]:
    found = re.match(opener, text)
    assert found is not None
    calls, end, *_ = reader(CallText(text), found.end())
    return [(call.name, json.loads(call.arguments)) for call in calls], text[end:]


@given(st.sampled_from(sorted(_ONE_CALL_EACH)), CALLS, st.sampled_from(["", " Done.", "\n<b>"]))
def test_each_call_of_a_row_is_read_to_the_next_opener(
    rendering: str, calls: list[Call], after: str
) -> None:
    text = MARKED[rendering](calls) + after
    for call in calls:
        read, text = _read(text, *_ONE_CALL_EACH[rendering])
        assert read == [call]
        text = text if text == after else text.removeprefix("\n")
    assert text == after


_GET = [("get_weather", {"city": "Rome"})]


@pytest.mark.parametrize(
    ("text", "calls", "rest"),
    [
        (
            (
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n"
                '```json\n{"city": "Rome"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>x'
            ),
            _GET,
            "x",
        ),
        (
            (
                "<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
                '{"city": "Rome"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>b'
            ),
            _GET,
            "<｜tool▁call▁begin｜>b",
        ),
        ('<|tool▁call▁begin|>get_weather<|tool▁sep|>{"city": "Rome"}<|tool▁call▁end|>', _GET, ""),
        ('<｜tool_call_begin｜>get_weather\n```json\n{"city": "Rome"}\n```', _GET, ""),
        (
            (
                "<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
                '```json\n{"city": "Rome"}\n```<｜tool▁call▁end｜>'
            ),
            _GET,
            "",
        ),
        ("<｜tool▁call▁begin｜>function<｜tool▁sep｜>{}", [("function", {})], ""),
        ("<｜tool▁call▁begin｜>ls<｜tool▁sep｜><｜tool▁call▁end｜>x", [("ls", {})], "x"),
        ("<｜tool▁call▁begin｜>ls<｜tool▁sep｜>```json\n```<｜tool▁call▁end｜>", [("ls", {})], ""),
        (
            (
                "<｜tool▁calls▁begin｜>function<｜tool▁sep｜>ls\n```json\n{}\n```<｜tool▁call▁end｜>\n"
                'function<｜tool▁sep｜>get_weather\n```json\n{"city": "Rome"}\n```'
                "<｜tool▁call▁end｜><｜tool▁calls▁end｜>x"
            ),
            [("ls", {}), *_GET],
            "x",
        ),
        (
            (
                "<｜tool▁calls｜><｜tool\\_call\\_begin｜>function<｜tool\\_sep｜>get_weather\n"
                '{"city": "Rome"}<｜tool\\_call\\_end｜><｜tool\\_calls\\_end｜>'
            ),
            _GET,
            "",
        ),
        (
            (
                "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>"
                '<steptml:invoke name="ls">'
                '<steptml:parameter name="d">/</steptml:parameter></steptml:invoke>'
                "<｜tool_call_end｜><｜tool_calls_end｜>"
            ),
            [("ls", {"d": "/"})],
            "",
        ),
        ("<｜tool▁call▁begin｜>ls<｜tool▁sep｜>[1]", [], None),
        ("<｜tool▁call▁begin｜>ls<｜tool▁sep｜>", [], None),
        ("<｜tool▁call▁begin｜> is a token", [], None),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_deepseek_names_a_tool_before_its_arguments(
    text: str, calls: list[Call], rest: str | None
) -> None:
    read, left = _read(text, call_tokens.DEEPSEEK_OPENER, call_tokens.read_deepseek)
    assert read == calls
    assert rest is None or left == rest


@pytest.mark.parametrize(
    ("text", "calls", "rest"),
    [
        (
            (
                "<|start|>assistant<|channel|>commentary to=functions.get_weather "
                '<|constrain|>json<|message|>{"city": "Rome"}<|call|>x'
            ),
            _GET,
            "x",
        ),
        (
            (
                "<|start|>assistant to=functions.get_weather<|channel|>commentary json"
                '<|message|>{"city": "Rome"}<|call|>'
            ),
            _GET,
            "",
        ),
        (
            (
                "<|start|> assistant to=functions.get_weather<|channel|> commentary "
                '<|constrain|>  json<|message|> {"city": "Rome"}<|end|>'
            ),
            _GET,
            "",
        ),
        ('<|channel|>analysis to=functions.get_weather<|message|>{"city": "Rome"}', _GET, ""),
        ('<|channel|>commentary to=get_weather code<|message|>{"city": "Rome"}', _GET, ""),
        ("<|channel|>commentary to=functions.now<|message|><|call|>x", [("now", {})], "x"),
        ("<|channel|>commentary to=functions.now<|message|>", [], None),
        ("<|channel|>commentary to=python<|message|>print(1)<|call|>", [], None),
        ("<|channel|>commentary to=functions.get_weather", [], None),
    ],
    ids=lambda value: value[-40:] if isinstance(value, str) else "",
)
def test_gpt_oss_addresses_a_message_to_a_function(
    text: str, calls: list[Call], rest: str | None
) -> None:
    read, left = _read(text, call_tokens.HARMONY_OPENER, call_tokens.read_harmony)
    assert read == calls
    assert rest is None or left == rest


@pytest.mark.parametrize(
    "text",
    [
        "<|start|>functions.ls to=assistant<|channel|>commentary<|message|>{}<|end|>",
        "<|channel|>commentary<|message|>I will call to=functions.ls<|end|>",
        "<|channel|>final<|message|>{}",
        "write to=functions.ls here",
    ],
)
def test_other_messages_of_gpt_oss_are_no_calls(text: str) -> None:
    found = re.search(call_tokens.HARMONY_OPENER, text)
    calls = call_tokens.read_harmony(CallText(text), found.end()).calls if found else ()
    assert calls == ()


@pytest.mark.parametrize(
    ("text", "calls", "rest"),
    [
        (
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
                '<|tool_call_argument_begin|>{"city": "Rome"}<|tool_call_end|>'
                "<|tool_calls_section_end|>x"
            ),
            _GET,
            "x",
        ),
        (
            (
                "<|tool_calls_section_begin|>\n<|tool_call_begin|>\nget_weather"
                '<|tool_call_argument_begin|>\n{"city": "Rome"}\n<|tool_call_end|>\n'
                "<|tool_call_begin|>"
            ),
            _GET,
            "\n<|tool_call_begin|>",
        ),
        (
            "<|tool_call_begin|>functions.ls:0<|tool_call_argument_begin|> <|tool_call_end|>x",
            [("ls", {})],
            "x",
        ),
        ("<|tool_call_begin|>functions.ls:0", [], None),
        ("<|tool_call_begin|>functions.ls:0<|tool_call_argument_begin|>[]", [], None),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else "",
)
def test_kimi_numbers_its_functions(text: str, calls: list[Call], rest: str | None) -> None:
    read, left = _read(text, call_tokens.KIMI_OPENER, call_tokens.read_kimi)
    assert read == calls
    assert rest is None or left == rest


_READ_PHI = call_tokens.values_before(r"<\|/tool_call\|>")
_LLAMA_4 = call_tokens.python_before(r"<\|python_end\|>")
_READ_COMMAND = call_tokens.values_before(r"<\|END_ACTION\|>")


@pytest.mark.parametrize(
    ("reader", "text", "calls", "rest"),
    [
        (_READ_PHI, '[{"name":"a","arguments":{"b":1}}]<|/tool_call|>x', [("a", {"b": 1})], "x"),
        (_READ_PHI, ' [{"name":"a"},{"name":"b"}] then', [("a", {}), ("b", {})], " then"),
        (_READ_PHI, '{"name":"a"}\n<|/tool_call|>', [("a", {})], ""),
        (_READ_PHI, '[{"name":"a"},{"name":"b","argu', [("a", {})], ',{"name":"b","argu'),
        (_READ_PHI, "[]<|/tool_call|>", [], None),
        (_READ_PHI, " is a token", [], " is a token"),
        (
            _READ_COMMAND,
            (
                '[\n    {"tool_call_id": "0", "tool_name": "a", "parameters": {"b": 1}},\n'
                '    {"tool_call_id": "1", "tool_name": "c", "parameters": {}}\n]<|END_ACTION|>'
            ),
            [("a", {"b": 1}), ("c", {})],
            "",
        ),
        (_READ_COMMAND, '{"tool_name":"a","parameters":{}}', [("a", {})], ""),
        (call_tokens.read_llama, 'web.call(q="x")<|eom_id|>', [("web", {"q": "x"})], ""),
        (call_tokens.read_llama, "[f(a=1)]<|eot_id|>x", [("f", {"a": 1})], "x"),
        (call_tokens.read_llama, "f(a=1)", [], "f(a=1)"),
        (call_tokens.read_llama, '["<tool_call>"] then', [], " then"),
        (
            _LLAMA_4,
            "[f(a=1), g()]<|python_end|>x",
            [("f", {"a": 1}), ("g", {})],
            "x",
        ),
        (_LLAMA_4, '{"name":"a","parameters":{}}<|python_end|>', [("a", {})], ""),
        (_LLAMA_4, "f(a='x')", [("f", {"a": "x"})], ""),
        (_LLAMA_4, "import os", [], "import os"),
        (call_tokens.read_mistral, 'f{"a": 1}[TOOL_CALLS]', [("f", {"a": 1})], "[TOOL_CALLS]"),
        (call_tokens.read_mistral, "f {1}", [], "f {1}"),
    ],
)
def test_the_tokens_of_the_other_families_are_read(
    reader: Callable[[CallText, int], Reading], text: str, calls: list[Call], rest: str | None
) -> None:
    read, end, *_ = reader(CallText(text), 0)
    assert [(call.name, json.loads(call.arguments)) for call in read] == calls
    assert rest is None or text[end:] == rest


@pytest.mark.parametrize(
    "token",
    ["<|im_end|>", "<|eot_id|>", "</s>", "<|end|>", "<｜end▁of▁sentence｜>", "<end_of_turn>"],
)
def test_what_ends_a_message_is_known(token: str) -> None:
    assert call_tokens.END_TOKENS.fullmatch(f"\n{token} {token}")
    assert not call_tokens.END_TOKENS.match(f" x{token}")
