"""Delays double to a minute, steady connections start anew, and too many redials break."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.redial import (
    MAX_REDIALS,
    REDIAL_WINDOW_SECONDS,
    STEADY_SECONDS,
    RedialClock,
    redial_delay,
)

CHANCE = st.floats(0, 1)


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (50, 60), (10**9, 60)]
)
def test_the_delay_doubles_up_to_a_minute(failures: int, seconds: float) -> None:
    assert redial_delay(failures, 1.0, 1.0) == seconds


@given(st.integers(1, 100), st.floats(0.01, 600), CHANCE)
def test_chance_takes_up_to_half_of_the_delay(failures: int, first: float, chance: float) -> None:
    whole = redial_delay(failures, first, 1.0)
    assert whole / 2 <= redial_delay(failures, first, chance) <= whole
    assert whole <= max(60.0, first)


@given(st.lists(st.floats(0.1, 59), min_size=1, max_size=8), CHANCE)
def test_short_lived_connections_wait_longer_each_time(lives: list[float], chance: float) -> None:
    clock, now = RedialClock(1.0, lambda: chance), 1000.0
    for count, life in enumerate(lives, start=1):
        clock.came_up(now)
        now += life
        clock.failed(now)
        wait = clock.wait_seconds(now)
        assert wait == pytest.approx(redial_delay(count, 1.0, chance))


def test_a_steady_connection_makes_earlier_failures_forgotten() -> None:
    clock = RedialClock(1.0, lambda: 1.0)
    for _ in range(5):
        clock.failed(0)
    clock.came_up(100)
    clock.failed(160)
    assert clock.wait_seconds(160) == 1


def test_it_is_due_when_the_delay_is_over() -> None:
    clock = RedialClock(4.0, lambda: 1.0)
    assert clock.wait_seconds(0) == 0
    clock.failed(10)
    assert clock.wait_seconds(12) == 2
    assert clock.wait_seconds(14) == 0


def test_too_many_redials_in_an_hour_break_it_until_reset() -> None:
    clock = RedialClock(1.0, lambda: 1.0)
    for minute in range(MAX_REDIALS):
        clock.redialled(60.0 * minute)
        clock.failed(60.0 * minute)
    assert clock.wait_seconds(10**6) == 0
    clock.redialled(3000)
    clock.failed(3000)
    assert clock.is_broken
    assert clock.wait_seconds(10**6) is None
    clock.reset()
    assert clock.wait_seconds(0) == 0


def test_redials_of_more_than_an_hour_ago_do_not_count() -> None:
    clock = RedialClock(1.0, lambda: 1.0)
    for half_hour in range(50):
        clock.redialled(1800.0 * half_hour)
        clock.failed(1800.0 * half_hour)
        assert not clock.is_broken


@given(st.lists(st.tuples(st.floats(0.1, 1000), st.floats(0, 1000)), min_size=1, max_size=40))
def test_dials_after_failures_are_so_many_an_hour_whether_they_succeed_or_not(
    turns: list[tuple[float, float]],
) -> None:
    clock, now, dials = RedialClock(1.0, lambda: 1.0), 0.0, list[float]()
    clock.failed(now)
    for wait, up in turns:
        now += max(wait, clock.wait_seconds(now) or 0)
        if clock.wait_seconds(now) is None:
            recent = [dial for dial in dials if dial > dials[-1] - REDIAL_WINDOW_SECONDS - 1000]
            assert len(recent) > MAX_REDIALS
            break
        clock.redialled(now)
        dials.append(now)
        clock.came_up(now)
        now += up
        clock.failed(now)
    for dial in dials:
        assert (
            sum(dial - REDIAL_WINDOW_SECONDS < other <= dial for other in dials) <= 1 + MAX_REDIALS
        )


def test_a_lost_session_is_renewed_at_once_and_one_that_is_lost_again_ever_later() -> None:
    clock, waits = RedialClock(1.0, lambda: 1.0), []
    for now in range(5):
        clock.came_up(now)
        clock.lost(now)
        waits.append(clock.wait_seconds(now))
    assert waits == [0, 1, 2, 4, 8]


def test_a_session_lost_after_a_failure_is_not_renewed_at_once() -> None:
    clock = RedialClock(1.0, lambda: 1.0)
    clock.failed(0)
    clock.came_up(1)
    clock.lost(2)
    assert clock.wait_seconds(2) == 1


@given(st.lists(st.floats(STEADY_SECONDS + 1, 1000), min_size=1, max_size=50))
def test_sessions_that_run_out_after_steady_times_are_always_renewed_at_once(
    lives: list[float],
) -> None:
    clock, now = RedialClock(1.0, lambda: 1.0), 0.0
    for life in lives:
        clock.came_up(now)
        now += life
        clock.lost(now)
        assert clock.wait_seconds(now) == 0


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=30))
def test_unsteady_connections_break_the_clock_whether_they_end_or_forget_us(
    lives: list[tuple[bool, float]],
) -> None:
    clock, now, dials = RedialClock(1.0, lambda: 1.0), 0.0, 0
    for is_loss, life in lives:
        clock.came_up(now)
        now += life
        (clock.lost if is_loss else clock.failed)(now)
        wait = clock.wait_seconds(now)
        if wait is None:
            break
        if dials or not is_loss:  # the first renewal is counted with the loss
            clock.redialled(now + wait)
        now, dials = now + wait, dials + 1
    assert dials == min(len(lives), MAX_REDIALS + 1)
    assert clock.is_broken == (dials < len(lives))
