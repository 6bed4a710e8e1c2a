"""The run so far: usage that adds up, transcripts that are closed."""

from __future__ import annotations

from dataclasses import fields
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.run_record import RunRecord, usage_sum
from host.loop.transcript import STOPPED_TEXT, assistant_message, tool_call, tool_message
from host.records import Message, ToolCallOutcome, TurnUsage

COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
RATES = {"prompt_tokens_per_second": "prompt_seconds", "tokens_per_second": "predicted_seconds"}
OPTIONAL = [f.name for f in fields(TurnUsage) if f.name not in COUNTS and f.name not in RATES]

USAGES = st.builds(
    lambda counts, optional: TurnUsage(**counts, **optional),
    st.fixed_dictionaries({name: st.integers(0, 99) for name in COUNTS}),
    st.fixed_dictionaries({}, optional={name: st.integers(0, 99) for name in OPTIONAL}),
)


@given(st.lists(USAGES, max_size=5))
def test_a_sum_is_the_sum_of_what_was_reported(usages: list[TurnUsage]) -> None:
    total = TurnUsage()
    for usage in usages:
        total = usage_sum(total, usage)
    for name in (*COUNTS, *OPTIONAL):
        reported = [value for usage in usages if (value := getattr(usage, name)) is not None]
        expected = sum(reported) if reported or name in COUNTS else None
        assert getattr(total, name) == expected


@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 9), st.integers(1, 9))
def test_a_rate_is_tokens_over_time(rate_a: int, rate_b: int, time_a: int, time_b: int) -> None:
    total = usage_sum(
        TurnUsage(tokens_per_second=rate_a, predicted_seconds=time_a),
        TurnUsage(tokens_per_second=rate_b, predicted_seconds=time_b),
    )
    assert total.tokens_per_second is not None
    assert total.predicted_seconds == time_a + time_b
    tokens = total.tokens_per_second * total.predicted_seconds
    assert tokens == pytest.approx(rate_a * time_a + rate_b * time_b)


def test_a_rate_without_its_time_yields_to_one_with_it() -> None:
    known = TurnUsage(tokens_per_second=9, predicted_seconds=2)
    assert usage_sum(known, TurnUsage(tokens_per_second=1)).tokens_per_second == 9
    assert usage_sum(TurnUsage(tokens_per_second=1), known).tokens_per_second == 9
    assert usage_sum(TurnUsage(), known) == known


def test_a_record_gives_the_run_as_it_stands() -> None:
    messages: list[Message] = [
        {"role": "user", "content": "q"},
        assistant_message("", [tool_call("a", "f", {}), tool_call("b", "f", {})]),
        tool_message("a", "r"),
    ]
    record = RunRecord(messages=messages, max_tool_iterations=4)
    record.used.update({"f": None, "g": None})
    record.loaded = ("f",)
    missing = record.unanswered("stopped")
    assert [message["tool_call_id"] for message in missing] == ["b"]
    run = record.run("stopped")
    assert (run.messages, run.used, run.loaded) == (tuple(messages), ("f", "g"), ("f",))
    assert (run.stop_reason, run.max_tool_iterations, run.turn) == ("stopped", 4, None)
    record.messages.append(missing[0])
    assert len(run.messages) == 3


@given(
    st.lists(st.sampled_from(["written", "answered", "under way", "not begun"]), max_size=6),
    st.sampled_from(["stopped", None]),
)
def test_a_run_that_breaks_off_says_of_each_call_what_is_known_of_it(
    states: list[str], reason: Literal["stopped"] | None
) -> None:
    ids = [f"c{number}" for number in range(len(states))]
    asked = assistant_message("", [tool_call(call_id, "call_tool", {}) for call_id in ids])
    record = RunRecord(messages=[asked], tools=["a__x"])
    for call_id, state in zip(ids, states, strict=True):
        done = ToolCallOutcome(name="a__x", ok=True, id=call_id, seconds=2)
        if state != "not begun":
            record.dispatched[call_id] = "a__x"
        if state in ("written", "answered"):
            record.settled[call_id] = ("Here.", done)
        if state == "written":
            record.messages.append(tool_message(call_id, "Here."))
            record.note_call(done)
    record.break_off(reason)
    texts = {
        message["tool_call_id"]: message["content"]
        for message in record.messages
        if message["role"] == "tool"
    }
    assert len(record.messages) == 1 + len(ids) == 1 + len(texts)
    known = {"written": "Here.", "answered": "Here.", "under way": STOPPED_TEXT}
    for call_id, state in zip(ids, states, strict=True):
        if state == "not begun":
            assert "never made" in str(texts[call_id])
        else:
            assert texts[call_id] == known[state]
    begun = {call_id: state for call_id, state in zip(ids, states, strict=True) if state in known}
    assert {one.id: one.ok for one in record.tool_calls} == {
        call_id: state != "under way" for call_id, state in begun.items()
    }
    assert set(record.used) == ({"a__x"} if begun else set())


@given(st.lists(st.lists(st.sampled_from("abcd"), unique=True), max_size=5))
def test_no_id_of_a_run_is_free_again_when_its_transcript_is_replaced(
    transcripts: list[list[str]],
) -> None:
    record = RunRecord(messages=[])
    seen: set[str] = set()
    for ids in transcripts:
        record.rewrite([assistant_message("", [tool_call(one, "f", {}) for one in ids])])
        seen.update(ids)
        assert record.taken_ids == seen
