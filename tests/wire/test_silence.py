"""Deadlines of one answer, from what was heard of it and when."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.silence import (
    ALLOWANCES_WITHOUT_CHUNK,
    DOUBTFUL_END_SECONDS,
    REPORT_SECONDS,
    Silence,
)

_allowances = st.sampled_from([None, -1.0, 0.0, 0.5, 30.0, 150.0])
_signs = st.lists(st.tuples(st.floats(0, 1000), st.booleans(), st.booleans()), max_size=8)


@given(_allowances, _allowances, _signs)
def test_every_sign_of_life_gives_one_allowance_and_chunks_alone_give_more_than_ten(
    idle: float | None, first: float | None, signs: list[tuple[float, bool, bool]]
) -> None:
    silence = Silence(idle, first)
    silence.sent(0.0)
    now = chunk_at = 0.0
    for pause, has_begun, is_chunk in signs:
        now += pause
        chunk_at = now if is_chunk else chunk_at
        deadline = silence.heard(now, has_begun=has_begun, is_chunk=is_chunk)
        allowance = idle if has_begun or not first or first < 0 else first
        if not allowance or allowance < 0:
            assert deadline == math.inf
        else:
            longest = ALLOWANCES_WITHOUT_CHUNK * allowance
            assert deadline == min(now + allowance, chunk_at + longest)
            assert silence.verdict().seconds in (allowance, longest)
        assert silence.verdict().before_first is not has_begun


@given(_allowances, st.lists(st.tuples(st.floats(0, 100), st.booleans()), min_size=1, max_size=6))
def test_the_wait_after_the_end_is_bounded_and_never_grows(
    idle: float | None, signs: list[tuple[float, bool]]
) -> None:
    silence, now, earlier = Silence(idle, None), 0.0, math.inf
    for pause, is_sure in signs:
        now += pause
        deadline = silence.ended(now, is_sure=is_sure)
        assert deadline <= earlier
        assert deadline <= now + (REPORT_SECONDS if is_sure else DOUBTFUL_END_SECONDS)
        earlier = deadline


@pytest.mark.parametrize(
    ("idle", "is_sure", "waited"),
    [(None, True, 5), (30, True, 5), (2, True, 2), (None, False, 60), (30, False, 30)],
)
def test_a_report_is_waited_for_as_long_as_the_allowance_or_a_few_seconds(
    idle: float | None, is_sure: bool, waited: float
) -> None:
    assert Silence(idle, 150).ended(100, is_sure=is_sure) == 100 + waited


def test_the_failure_says_what_was_endured() -> None:
    silence = Silence(30, 150)
    assert silence.sent(0) == 150
    assert (silence.verdict().seconds, silence.verdict().before_first) == (150, True)
    silence.heard(100, has_begun=True, is_chunk=True)
    assert (silence.verdict().seconds, silence.verdict().before_first) == (30, False)
    assert silence.heard(395, has_begun=True, is_chunk=False) == 400
    assert silence.verdict().seconds == 300


@pytest.mark.parametrize(
    ("idle", "first", "limited"),
    [(None, None, False), (0, -1, False), (1, None, True), (None, 1, True)],
)
def test_an_allowance_of_either_kind_is_a_limit(
    idle: float | None, first: float | None, limited: bool
) -> None:
    assert Silence(idle, first).is_limited is limited
