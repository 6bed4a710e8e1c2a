"""The order of dials against a model of it, and each way on its own."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.attempts import (
    PROBE_SECONDS,
    Attempt,
    KnownEra,
    after_silence,
    first_attempt,
    next_attempt,
)
from host.pool.rows import HttpServerRow, ServerRow, StdioServerRow

ROWS = st.sampled_from(
    [
        row.model_copy(update={"era": era})
        for era in ("auto", "legacy", "2026-07-28")
        for row in (
            StdioServerRow(id="a", command="x"),
            HttpServerRow(id="a", url="http://a.test"),
            HttpServerRow(id="a", url="http://a.test", transport_fallback="sse"),
        )
    ]
)
STATUSES = st.none() | st.integers(min_value=400, max_value=599)


@given(ROWS, st.booleans(), st.lists(st.tuples(STATUSES, st.booleans()), min_size=5, max_size=5))
def test_a_dial_that_fails_every_time_is_given_up_after_two_attempts_that_differ(
    row: ServerRow, is_legacy: bool, faults: list[tuple[int | None, bool]]
) -> None:
    attempt: Attempt | None = first_attempt(row, is_legacy=is_legacy, connect_seconds=60.0)
    made: list[tuple[str, bool]] = []
    for status, is_closed in faults:
        if attempt is None:
            break
        made.append((attempt.mode, attempt.sse))
        attempt = next_attempt(row, attempt, status=status, is_closed=is_closed)
    assert attempt is None
    assert len(made) == len(set(made)) <= 2
    assert row.era == "auto" or all(mode == row.era for mode, _ in made)


@pytest.mark.parametrize(
    ("row", "status", "is_closed", "expected"),
    [
        (StdioServerRow(id="a", command="x"), None, True, ("legacy", False)),
        (StdioServerRow(id="a", command="x"), None, False, None),
        (StdioServerRow(id="a", command="x", era="2026-07-28"), None, True, None),
        (HttpServerRow(id="a", url="http://a.test"), 405, False, None),
        (HttpServerRow(id="a", url="http://a.test", transport_fallback="sse"), 503, False, None),
        (
            HttpServerRow(id="a", url="http://a.test", transport_fallback="sse"),
            405,
            False,
            ("auto", True),
        ),
    ],
)
def test_what_follows_a_failed_first_attempt(
    row: ServerRow, status: int | None, is_closed: bool, expected: tuple[str, bool] | None
) -> None:
    first = first_attempt(row, is_legacy=False, connect_seconds=60.0)
    found = next_attempt(row, first, status=status, is_closed=is_closed)
    assert (found and (found.mode, found.sse)) == expected


@given(st.floats(min_value=0, exclude_min=True) | st.just(math.inf))
def test_a_child_that_may_be_dumb_to_the_probe_gets_half_the_time_but_enough(
    connect_seconds: float,
) -> None:
    row = StdioServerRow(id="a", command="x")
    seconds = first_attempt(row, is_legacy=False, connect_seconds=connect_seconds).seconds
    halved = 0 if math.isinf(connect_seconds) else connect_seconds / 2
    assert seconds == max(PROBE_SECONDS, halved)
    assert first_attempt(row, is_legacy=True, connect_seconds=1.0).seconds == math.inf


ERAS = st.sampled_from(
    [
        KnownEra(mode="legacy", asked_at=datetime.now(UTC)),
        KnownEra(mode="2026-07-28", discovered={"ttlMs": 0}, asked_at=datetime.now(UTC)),
    ]
)


@given(ROWS, ERAS, st.lists(st.tuples(STATUSES, st.booleans()), min_size=5, max_size=5))
def test_a_known_era_saves_the_probe_and_costs_one_more_attempt_where_it_is_wrong(
    row: ServerRow, known: KnownEra, faults: list[tuple[int | None, bool]]
) -> None:
    first = first_attempt(row, is_legacy=False, connect_seconds=60.0, known=known)
    if row.era != "auto":
        assert (first.mode, first.known) == (row.era, None)
        return
    assert (first.mode, first.known) == (known.mode, known)
    (status, is_closed), *others = faults
    assert after_silence(first) == Attempt(mode="auto")
    second = next_attempt(row, first, status=status, is_closed=is_closed)
    assert second == Attempt(mode="auto")
    unreachable = next_attempt(row, first, status=None, is_closed=False, is_unreachable=True)
    assert unreachable is None
    assert after_silence(second) == Attempt(mode="legacy")
    (status, is_closed), *_ = others
    plain = first_attempt(row, is_legacy=False, connect_seconds=60.0)
    assert next_attempt(row, second, status=status, is_closed=is_closed) == (
        next_attempt(row, replace(plain, seconds=math.inf), status=status, is_closed=is_closed)
    )
