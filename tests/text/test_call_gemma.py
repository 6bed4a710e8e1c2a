"""Gemma's calls: bare keys, text between marks, and nothing that is not wholly there."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.call_gemma import GEMMA_OPENER, read_gemma
from host.text.call_values import CallText
from tests.text.written_calls import CALLS, MARKED, Call


def _read(text: str) -> tuple[list[Call], str]:
    opener = re.match(GEMMA_OPENER, text)
    assert opener is not None
    calls, end, *_ = read_gemma(CallText(text), opener.end())
    return [(call.name, json.loads(call.arguments)) for call in calls], text[end:]


@given(st.sampled_from(["gemma 4", "functiongemma"]), CALLS, st.sampled_from(["", " Done.", "\n}"]))
def test_a_call_is_read_as_itself_and_up_to_its_end(
    rendering: str, calls: list[Call], after: str
) -> None:
    text = MARKED[rendering](calls[:1]) + after
    assert _read(text) == (calls[:1], after)


@pytest.mark.parametrize(
    ("text", "calls", "rest"),
    [
        (
            '<|tool_call>call:f{city:<|"|>São "P"<|"|>,n:[1,{a:true}],e:{}}<tool_call|>x',
            [("f", {"city": 'São "P"', "n": [1, {"a": True}], "e": {}})],
            "x",
        ),
        ('<|tool_call> call:f{"city": "a}b", n: -1.5e2}', [("f", {"city": "a}b", "n": -150})], ""),
        ('<|tool_call>call:f{t:<|"|>}<tool_call|><|"|>}', [("f", {"t": "}<tool_call|>"})], ""),
        ("<start_function_call>call:f{}<end_function_call>", [("f", {})], ""),
        ("<|tool_call>call:f{city:Paris}", [], None),
        ('<|tool_call>call:f{city:<|"|>Paris}', [], None),
        ("<|tool_call>call:f{city:<b>}", [], None),
        ("<|tool_call>call:f{a:1", [], None),
        ("<|tool_call>call:f[1]", [], None),
        ("<|tool_call>call:f", [], None),
    ],
)
def test_only_a_whole_object_makes_a_call(text: str, calls: list[Call], rest: str | None) -> None:
    read, left = _read(text)
    assert read == calls
    assert rest is None or left == rest


@pytest.mark.parametrize("atom", ["call:f{", '<|"|>', "<escape>", "call:f{a:<escape>"])
def test_reading_in_vain_uses_up_the_patience_with_a_text(atom: str) -> None:
    source = CallText("call:f{" + atom * 500)
    for _ in range(5):
        assert read_gemma(source, 0).calls == ()
    assert source.is_exhausted
