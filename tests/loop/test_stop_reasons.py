"""Limits as values, held against naive models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.stop_reasons import Budget, Deadline, Repetition, Streak, call_key, flat_signature

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "passed"),
    [
        (None, False),
        (NOW, True),
        (NOW + timedelta(seconds=1), False),
        (NOW - timedelta(seconds=1), True),
        (NOW.timestamp(), True),
        (NOW.timestamp() + 1, False),
        (0, True),
        (math.inf, False),
    ],
)
def test_a_deadline_has_passed_from_its_moment_on(
    moment: datetime | float | None, passed: bool
) -> None:
    assert Deadline.of(moment, now=NOW, clock_seconds=500.0).passed(500.0) is passed


def test_milliseconds_are_not_seconds() -> None:
    deadline = Deadline.of(NOW.timestamp() * 1000, now=NOW, clock_seconds=0)
    assert not deadline.passed(1_000_000)


@pytest.mark.parametrize("moment", [NOW.replace(tzinfo=None), math.nan])
def test_a_deadline_that_is_no_moment_is_refused(moment: datetime | float) -> None:
    with pytest.raises(ValueError, match="deadline"):
        Deadline.of(moment, now=NOW, clock_seconds=0)


@given(st.integers(-10_000, 10_000), st.integers(0, 10_000), st.integers(0, 20_000))
def test_a_deadline_is_the_same_moment_on_either_clock(ahead: int, clock: int, waited: int) -> None:
    moment = NOW + timedelta(seconds=ahead)
    by_date = Deadline.of(moment, now=NOW, clock_seconds=clock)
    by_epoch = Deadline.of(moment.timestamp(), now=NOW, clock_seconds=clock)
    assert by_date.passed(clock + waited) == by_epoch.passed(clock + waited) == (waited >= ahead)


@given(st.lists(st.integers(0, 5), max_size=8), st.one_of(st.none(), st.integers(0, 20)))
def test_a_budget_is_spent_up_when_the_sum_reaches_it(
    costs: list[int], ceiling: int | None
) -> None:
    budget = Budget(max_cost=ceiling)
    for cost in costs:
        budget = budget.charged(cost)
    assert budget.spent_up == (ceiling is not None and sum(costs) >= ceiling)


def _trips_at(calls: list[str], limit: int) -> int | None:
    """Where a call is the limit-th of a run of equal ones, by looking back."""
    for end in range(limit, len(calls) + 1):
        if len(set(calls[end - limit : end])) == 1:
            return end - 1
    return None


@given(st.lists(st.sampled_from("ab"), max_size=12), st.integers(2, 4))
def test_a_flat_streak_trips_where_looking_back_finds_equal_calls(
    calls: list[str], limit: int
) -> None:
    streak, tripped = Streak(), None
    for position, call in enumerate(calls):
        streak = streak.after(call)
        if tripped is None and streak.length >= limit:
            tripped = position
    assert tripped == _trips_at(calls, limit)


@given(
    st.lists(st.lists(st.sampled_from(["a", "b", None]), max_size=4), max_size=8),
    st.integers(2, 4),
)
def test_a_step_counts_its_identical_calls_once(steps: list[list[str | None]], limit: int) -> None:
    flat: list[str] = []
    repetition = Repetition()
    for number, step in enumerate(steps):
        for position, call in enumerate(step):
            if call is None:
                flat.append(f"exempt {number} {position}")
            elif call not in step[:position]:
                flat.append(call)
        repetition, longest, _ = repetition.after_step(step)
        if longest >= limit:
            assert _trips_at(flat, limit) is not None
            return
        assert _trips_at(flat, limit) is None


@pytest.mark.parametrize(
    ("steps", "longest"),
    [
        ([["a", "a", "a"]], 1),
        ([["a"], ["a"], ["a"]], 3),
        ([["a", "b"], ["a", "b"], ["a", "b"]], 1),
        ([["a"], ["a"], ["a", "b"]], 3),
        ([["a"], ["a"], ["b", "a"]], 1),
        ([["a"], [None], ["a"], [None], ["a"]], 1),
    ],
)
def test_a_step_streak_by_example(steps: list[list[str | None]], longest: int) -> None:
    repetition, length = Repetition(), 0
    for step in steps:
        repetition, length, _ = repetition.after_step(step)
    assert length == longest


def _pairs_at(calls: Sequence[str], limit: int) -> bool:
    """Whether somewhere two calls come ``limit`` times by turns, found by looking everywhere."""
    windows = (calls[i : i + 2 * limit] for i in range(len(calls) - 2 * limit + 1))
    return any(w[0] != w[1] and list(w) == [w[0], w[1]] * limit for w in windows)


@given(st.lists(st.sampled_from("abc"), max_size=16), st.integers(2, 4))
def test_calls_by_turns_are_seen_where_looking_back_finds_them(
    calls: list[str], limit: int
) -> None:
    repetition, tripped = Repetition(), False
    for call in calls:
        repetition, _, alternation = repetition.after_step([call])
        tripped = tripped or alternation >= 2 * limit
    assert tripped == _pairs_at(calls, limit)


@pytest.mark.parametrize(
    ("steps", "longest"),
    [
        ([["a", "b"], ["a", "b"], ["a", "b"]], 6),
        ([["a"], ["b"], ["a"], ["b"], ["a"], ["b"]], 6),
        ([["a"], ["a"], ["b"], ["a"]], 3),
        ([["a"], ["b"], [None], ["a"], ["b"]], 2),
        ([["a"], ["b"], ["c"], ["a"], ["b"], ["c"]], 2),
    ],
)
def test_turns_of_two_calls_by_example(steps: list[list[str | None]], longest: int) -> None:
    repetition, most = Repetition(), 0
    for step in steps:
        repetition, _, alternation = repetition.after_step(step)
        most = max(most, alternation)
    assert most == longest


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"n": 1}, {"n": 1.0}, True),
        ({"n": 1}, {"n": True}, False),
        ({"o": {"a": 1, "b": 2}}, {"o": {"b": 2, "a": 1}}, False),
        ({"l": [1, 2]}, {"l": [2, 1]}, False),
        ({"n": math.nan}, {"n": math.nan}, True),
        ({"n": math.nan}, {"n": 0}, False),
        ({1: "a", "b": 2}, {"b": 2, 1: "a"}, True),
        ({"s": {1}}, {"s": {2}}, False),
    ],
)
def test_a_flat_signature_sorts_top_level_keys_only(
    one: dict[str, Any], other: dict[str, Any], same: bool
) -> None:
    assert (flat_signature("t", one) == flat_signature("t", other)) is same
    assert flat_signature("t", one) != flat_signature("u", one)


VALUES = st.recursive(
    st.one_of(st.integers(-2, 2), st.booleans(), st.sampled_from(["a", "b"])),
    lambda inner: st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3), st.randoms())
def test_a_call_key_does_not_depend_on_the_order_of_keys(args: dict[str, Any], chance: Any) -> None:
    def shuffled(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        items = list(value.items())
        chance.shuffle(items)
        return {key: shuffled(item) for key, item in items}

    assert call_key("t", shuffled(args)) == call_key("t", args)
