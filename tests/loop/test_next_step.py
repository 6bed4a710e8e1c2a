"""What a loop does next: the precedence of its limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.next_step import (
    stop_after_call,
    stop_after_turn,
    stop_before_call,
    stop_before_request,
)
from host.loop.stop_reasons import Budget, Deadline


@given(st.booleans(), st.booleans(), st.one_of(st.none(), st.integers(-1, 2)))
def test_before_a_request_a_person_wins_over_the_hour_and_the_hour_over_the_count(
    stopped: bool, late: bool, left: int | None
) -> None:
    reason = stop_before_request(
        Deadline(at_seconds=10), 10 if late else 9, stopped=stopped, requests_left=left
    )
    held = {
        "stopped": stopped,
        "deadline": late,
        "backstop": left is not None and left < 1,
    }
    assert reason == next((name for name, holds in held.items() if holds), None)


@given(
    st.integers(0, 2),
    st.one_of(st.none(), st.integers(-1, 2)),
    st.sampled_from([None, Budget(), Budget(max_cost=1, spent=1), Budget(max_cost=2, spent=1)]),
)
def test_after_a_turn_an_answer_wins_over_the_count_and_the_count_over_the_budget(
    calls: int, left: int | None, budget: Budget | None
) -> None:
    held = {
        "completed": calls == 0,
        "backstop": left is not None and left < 1,
        "budget": budget is not None and budget == Budget(max_cost=1, spent=1),
    }
    reason = stop_after_turn(calls, tool_turns_left=left, budget=budget)
    assert reason == next((name for name, holds in held.items() if holds), None)


@pytest.mark.parametrize(
    ("length", "after", "stuck"), [(2, 3, False), (3, 3, True), (4, 3, True), (9, 0, False)]
)
def test_the_nth_identical_call_is_not_made(length: int, after: int, stuck: bool) -> None:
    assert (stop_before_call(length, after) == "stuck-loop") is stuck


def test_a_budget_of_nothing_is_spent_by_the_first_call() -> None:
    assert stop_after_call(Budget(max_cost=0).charged(0)) == "budget"
    assert stop_after_call(Budget().charged(5)) is None
