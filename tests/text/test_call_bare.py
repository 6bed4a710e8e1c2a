"""Calls without a marker: all of it or nothing, except for one that was cut off."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from host.text.call_bare import read_alone, read_bare
from host.text.call_values import CallText
from tests.text.written_calls import CALLS, WHOLE_REPLY, Call

_RENDERINGS = st.sampled_from(sorted(WHOLE_REPLY))


def _alone(text: str, *, may_be_cut: bool = False) -> list[Call]:
    reading = read_alone(CallText(text), may_be_cut=may_be_cut)
    return [(call.name, json.loads(call.arguments)) for call in reading.calls]


@given(_RENDERINGS, CALLS, st.sampled_from(["", " ", "\n"]), st.sampled_from(["x", "}", ": ok"]))
def test_calls_that_are_the_whole_text_are_read_and_others_are_not(
    rendering: str, calls: list[Call], space: str, other: str
) -> None:
    text = space + WHOLE_REPLY[rendering](calls) + space
    assert _alone(text) == calls
    assert _alone(f"{text} {other}") == []
    assert _alone(f"{other} {text}") == []


@given(_RENDERINGS, CALLS, st.data())
def test_of_calls_cut_off_anywhere_only_whole_ones_are_read(
    rendering: str, calls: list[Call], drawn: st.DataObject
) -> None:
    text = WHOLE_REPLY[rendering](calls)
    cut = drawn.draw(st.integers(0, len(text)))
    read = _alone(text[:cut], may_be_cut=True)
    assert read == calls[: len(read)]
    assume(cut < len(text))
    assert len(read) < len(calls) or text[cut:].strip() == "]"


@given(CALLS.filter(lambda calls: len(calls) > 1), st.data())
def test_the_calls_before_the_cut_one_are_read(calls: list[Call], drawn: st.DataObject) -> None:
    lines = [WHOLE_REPLY["bare"]([call]) for call in calls]
    last = lines.pop()
    text = "\n".join([*lines, last[: drawn.draw(st.integers(0, len(last) - 1))]])
    assert _alone(text, may_be_cut=True) == calls[:-1]


@pytest.mark.parametrize(
    ("text", "calls", "rest", "is_cut"),
    [
        ('{"name":"a"}', ["a"], "", True),
        ('{"name":"a"} {"name":"b","argu', ["a"], ' {"name":"b","argu', True),
        ('[{"name":"a"}, {"na', ["a"], ', {"na', True),
        ('[{"name":"a"},', ["a"], ",", True),
        ('{"name":"a"} {and so on', ["a"], " {and so on", False),
        ('{"name":"a"} thanks', ["a"], " thanks", False),
        ('[{"name":"a"}, 3, {"na', [], None, False),
        ('{"name":"a"} {"note":1}', [], "", False),
        ('{"name":"a","parameters":{"type":"object","properties":{}}}', [], "", False),
        ('[{"name":"a","parameters":{"type":"object","properties":{}}},{"na', [], None, False),
        ('{"name":"a","description":"Does it.","parameters":{}}', [], "", False),
        ('{"type":"function","function":{"name":"a","description":"x"}}', [], "", False),
        ('{"name":"a","inputSchema":{"type":"object"}}', [], "", False),
        ('{"name":"a","input_schema":{"type":"object"}}', [], "", False),
        ('{"name":"a","description":"x","arguments":{}}', ["a"], "", True),
        ('{"name":"a","description":"x","args":{}}', ["a"], "", True),
        ('{"name":"a","description":"x","parameters":{"n":1}}', ["a"], "", True),
        ("f(a=1)\ng(b=", ["f"], "g(b=", True),
        ("f(a=1)\nthanks", ["f"], "thanks", False),
        ("[f(a=1), thanks", ["f"], ", thanks", True),
        ('{"name":"a"', [], None, False),
        ("some words", [], None, False),
    ],
)
def test_what_stands_behind_the_calls_is_told(
    text: str, calls: list[str], rest: str | None, is_cut: bool
) -> None:
    reading = read_bare(CallText(text), 0)
    assert [call.name for call in reading.calls] == calls
    assert rest is None or text[reading.end :] == rest
    assert reading.is_cut is is_cut
