"""Guided discovery reads calls from transcripts, values from answers, and makes turns of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.catalogue.guided import Exchange, GuidedStep
from host.loop import READ_RESULT
from host.loop.guided_steps import (
    call_turn,
    exchange_before,
    failures_in_a_row,
    new_reads,
    reply_in,
    steps_in,
)
from host.loop.transcript import assistant_message, tool_call, tool_message
from host.records import Message, ToolCallOutcome, Turn, TurnUsage

ARGS = st.dictionaries(st.sampled_from("abc"), st.integers() | st.text(max_size=5), max_size=2)
CALLS = st.lists(
    st.tuples(st.sampled_from(["a__x", "b__y"]), ARGS, st.none() | st.text(max_size=8)),
    max_size=5,
)


@given(CALLS)
def test_every_answered_call_is_a_step_in_the_order_of_answers(
    calls: list[tuple[str, dict[str, Any], str | None]],
) -> None:
    messages: list[Message] = []
    for number, (name, args, result) in enumerate(calls):
        messages.append(assistant_message("", [tool_call(str(number), name, args)]))
        if result is not None:
            messages.append(tool_message(str(number), result))
    steps = steps_in(messages)
    assert [(step.name, dict(step.args), step.result) for step in steps.values()] == [
        call for call in calls if call[2] is not None
    ]
    assert list(steps) == [str(number) for number, call in enumerate(calls) if call[2] is not None]


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ('{"topic": "Music"}', {"topic": "Music"}),
        ("{'topic': 'Music',}", {"topic": "Music"}),
        ("Music", None),
        ("", None),
    ],
)
def test_an_answer_is_read_as_far_as_it_is_json(content: str, value: object) -> None:
    assert reply_in(Turn(content=content)) == value


def test_arguments_become_the_turns_only_call() -> None:
    usage = TurnUsage(prompt_tokens=7)
    turn = call_turn(Turn(content='{"n": 1}', usage=usage), "a__x", {"n": 1}, number=2)
    [call] = turn.tool_calls
    assert call["function"]["name"] == "a__x"
    assert json.loads(call["function"]["arguments"]) == {"n": 1}
    assert (turn.content, turn.usage, turn.finish_reason) == ("", usage, "tool_calls")


@given(st.lists(st.booleans(), max_size=8))
def test_failures_in_a_row_are_those_behind_the_last_success(oks: list[bool]) -> None:
    outcomes = [ToolCallOutcome(name="a__x", ok=ok, id="c") for ok in oks]
    said = "".join("." if ok else "x" for ok in oks)
    assert failures_in_a_row(outcomes) == len(said) - len(said.rstrip("x"))


WRITTEN = st.lists(
    st.tuples(
        st.sampled_from([READ_RESULT, "a__x"]),
        st.sampled_from(['{"page":1}', '{"page": 1}', '{"page":2}', "{}", "", "[1", "7"]),
    ),
    max_size=6,
)


@given(WRITTEN, st.lists(st.integers(1, 2), max_size=2))
def test_a_place_is_read_once(calls: list[tuple[str, str]], known: list[int]) -> None:
    steps = [GuidedStep(name=READ_RESULT, args={"page": page}, result="") for page in known]
    places = {'{"page":1}': 1, '{"page": 1}': 1, '{"page":2}': 2, "{}": 0, "": 0}
    wanted: list[int] = []
    for name, raw in calls:
        place = places.get(raw)
        if name == READ_RESULT and place is not None and place not in [*known, *wanted]:
            wanted.append(place)
    found = new_reads(
        [
            {"id": str(at), "type": "function", "function": {"name": name, "arguments": raw}}
            for at, (name, raw) in enumerate(calls)
        ],
        steps,
    )
    assert [places[call["function"]["arguments"]] for call in found] == wanted
    assert all(call["function"]["name"] == READ_RESULT for call in found)


TALK = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.sampled_from(["", " ", "a", "b"])),
    max_size=8,
)


@given(TALK, st.integers(-1, 9))
def test_what_was_said_before_is_the_last_question_and_its_last_answer(
    talk: list[tuple[str, str]], index: int
) -> None:
    messages: list[Message] = [
        tool_message("c", text) if role == "tool" else {"role": role, "content": text}  # type: ignore[misc]
        for role, text in talk
    ]
    found = exchange_before(messages, index)
    earlier = [(r, t.strip()) for r, t in talk[: max(index, 0)] if r != "tool" and t.strip()]
    if found is None:
        assert not earlier or earlier[-1][0] == "user" or not any(r == "user" for r, _ in earlier)
    else:
        question, answer = ("user", found.question), ("assistant", found.answer)
        assert earlier[-1] == answer
        last = max(n for n, said in enumerate(earlier) if said[0] == "user")
        assert earlier[last] == question
        assert isinstance(found, Exchange)
