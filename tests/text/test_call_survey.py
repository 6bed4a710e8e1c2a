"""The survey of a reply: where its answer stands and what of it is only quoted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.call_survey import survey_calls

TraceFunction: TypeAlias = Callable[[FrameType, str, Any], Any]
_CALL = '<tool_call>{"name":"ls"}</tool_call>'
_WRAPPINGS = {
    "plain": ("", "\n", True),
    "code": ("see `", "`\n", False),
    "fence": ("\n```xml\n", "\n```\n", False),
    "quotes": ('say "', '"\n', False),
    "block quote": ("\n> ", "\n", False),
    "other brackets": ("(", ")\n", True),
    "apostrophes": ("it's ", " that's it\n", True),
}
_PARTS = st.lists(st.sampled_from([*_WRAPPINGS, "prose", "think", "close", "open"]), max_size=8)


@given(_PARTS)
def test_exactly_the_unquoted_calls_of_the_answer_are_found_where_they_stand(
    parts: list[str],
) -> None:
    text = ""
    expected: list[int] = []
    is_thinking = False
    for part in parts:
        if part == "prose":
            text += "some words.\n"
        elif part == "think":
            text += f"<think>{_CALL}</think>\n"
            expected, is_thinking = [], False
        elif part == "close":
            text += "</think>\n"
            expected, is_thinking = [], False
        elif part == "open":
            text += "<think>\n"
            is_thinking = True
        else:
            before, after, counts = _WRAPPINGS[part]
            if counts and not is_thinking:
                expected.append(len(text) + len(before))
            text += before + _CALL + after
    survey = survey_calls(text)
    assert [span.start for span in survey.marked] == expected
    assert all(text[span.start : span.end] == _CALL for span in survey.marked)


def test_each_kind_of_span_has_its_own_place() -> None:
    assert [span.start for span in survey_calls("a <tool_call>b</tool_call>").named] == [2]
    assert [span.start for span in survey_calls("a\n```tool_code\nb()\n```").named] == [2]
    assert [span.start for span in survey_calls("a <function=ls></function>").markup] == [2]
    whole = survey_calls(' {"name":"a"} [{"name":"b"}] ').whole
    assert whole is not None
    assert (whole.start, whole.end, [call.name for call in whole.calls]) == (1, 28, ["a", "b"])
    fence = survey_calls("a\n```json\n{'name':'a'}\n```\n").fence
    assert fence is not None
    assert (fence.start, fence.end, [call.name for call in fence.calls]) == (2, 26, ["a"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        '{"a":1} b',
        "a {}",
        "```\n{}\n```\n```\n{}\n```",
        "```xml\n{}\n```",
        "```\n```",
        "`{}`",
    ],
)
def test_json_beside_anything_else_is_no_candidate(text: str) -> None:
    survey = survey_calls(text)
    assert (survey.marked, survey.markup, survey.whole, survey.fence) == ((), (), None, None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"a\n```\nthinking in an unfinished fence\n</think>{_CALL}", 1),
        (f"a\n```\nstill the unfinished fence </think>{_CALL}", 0),
        (f"```\n<think>x</think>\n{_CALL}\n```", 0),
        (f"```\n<think>x</think>\n{_CALL}", 0),
        (f"`</think>` ends it; `{_CALL}` calls", 0),
        (f"{_CALL} `</think>` ends thinking", 1),
        (f"{_CALL}</think>", 0),
        (f"“{_CALL} and “{_CALL}”", 1),
        (f"„{_CALL}“ ‚{_CALL}‘", 0),
        (f"‘{_CALL}’", 0),
        (f'"\n{_CALL}\n"', 1),
        (f'He wrote "so\n{_CALL}" to me.', 0),
        (f'A 5" disk\n{_CALL} and a 3" disk', 1),
        (f"<pre>{_CALL}</pre>{_CALL}", 1),
        (f"<pre>{_CALL}", 1),
        (f"The <code> tag. {_CALL}", 1),
        (f"<!-- {_CALL}\n-->", 0),
        (f"So:\n\n    {_CALL}\n", 0),
        (f"So:\n    {_CALL}\n", 1),
        (f"`{_CALL[:11]}\n\n{_CALL[11:]}`", 0),
        (f"<think >{_CALL}</think >{_CALL}", 1),
        (f"<think >{_CALL}", 0),
        (f"<|channel>thought\n{_CALL}<channel|>{_CALL}", 1),
        (f"<|inner_prefix|>{_CALL}", 0),
        (f"<thought>{_CALL}", 1),
        (f"```tool_call\n{_CALL}\n```", 0),
        ('```tool_call\n[{"name":"ls"}]\n```', 1),
        ('say "```tool_call {"name":"ls"}```"', 0),
    ],
)
def test_a_tag_inside_code_or_quotes_only_quotes_it(text: str, found: int) -> None:
    assert len(survey_calls(text).marked) == found


def test_a_call_right_behind_a_quotation_is_not_quoted() -> None:
    [span] = survey_calls(f'"so"{_CALL}').marked
    assert span.start == 4


@pytest.mark.parametrize(("ending", "is_found"), [("", True), ("\n```", False)])
def test_a_call_cut_off_is_forgiven_only_where_the_fence_is_cut_off_too(
    ending: str, is_found: bool
) -> None:
    survey = survey_calls('```json\n{"name":"ls","arguments":{}}\n{"name":' + ending)
    assert (survey.fence is not None) is is_found


_OPEN_BODY = "<function=put>\n<parameter=t>\nFor example:\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{_OPEN_BODY}{_CALL}", 1),
        (f"{_OPEN_BODY}{_CALL}\n{_CALL}<|im_end|>\n", 2),
        (f"{_OPEN_BODY}{_CALL} and so on", 0),
        (f"{_OPEN_BODY}{_CALL} and so on {_CALL}", 1),
        (f"{_CALL}{_OPEN_BODY}and so on", 1),
        (f"`{_OPEN_BODY}` {_CALL} and so on", 1),
        (f'"<function=put><parameter=t>" {_CALL} and so on', 1),
        (f"{_OPEN_BODY}</think>{_CALL} and so on", 1),
        (f"<tool_call>{_OPEN_BODY}</tool_call>\n{_CALL}", 1),
        (f"<tool_call>{_OPEN_BODY}</tool_call>\n{_CALL} and so on", 0),
        (f"{_OPEN_BODY}</function></tool_call>\n{_CALL} and so on", 1),
        (f"<tool_call>{_OPEN_BODY}</parameter></tool_call>\n{_CALL} and so on", 1),
        (f"<tool_call>a<arg_key>t</arg_key><arg_value>so {_CALL} and so on", 0),
        (f"{_OPEN_BODY}use <parameter=n> {_CALL}\n</parameter></function>", 0),
    ],
)
def test_behind_a_call_that_does_not_end_only_calls_with_nothing_behind_them_count(
    text: str, found: int
) -> None:
    assert len(survey_calls(text).marked) == found


@pytest.mark.parametrize(("ending", "is_found"), [("", True), ("\nand so on", False)])
def test_a_fence_in_a_call_that_does_not_end_is_part_of_it(ending: str, is_found: bool) -> None:
    fence = '```json\n{"name":"ls","arguments":{}}\n```'
    assert (survey_calls(_OPEN_BODY + fence + ending).fence is not None) is is_found


def _lines_run(text: str) -> int:
    """How many lines of Python a survey runs, the work that its loops do."""
    count = 0

    def on_line(frame: FrameType, event: str, argument: object) -> TraceFunction:
        nonlocal count
        count += event == "line"
        return on_line

    before = sys.gettrace()
    sys.settrace(on_line)
    try:
        survey_calls(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "atom",
    [
        "```{}\n``` x\n",
        "```json\n{}\n``` x\n",
        "```{}\n``` x\n~~~\n",
        "```md\n```x\n",
        "```tool_code\nf()\n```\n",
        "<function=a>\n<parameter=b>\n",
        "<tool_call><function=a><parameter=b>x</function></tool_call>\n",
        "<tool_call>a<arg_key>b</arg_key><arg_value>\n",
        "<|tool_call>call:f{a:[",
        "<pre>`",
        '"a\n',
    ],
)
def test_twice_the_text_takes_twice_the_work(atom: str) -> None:
    once, twice = (_lines_run(atom * times + "```\n") for times in (300, 600))
    assert twice < 2.5 * once
