"""What an answer cost, in every spelling."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.records import TurnUsage
from host.wire.usage_report import usage_of


def test_without_a_report_every_count_is_zero_and_nothing_was_measured() -> None:
    assert usage_of({}, {}) == TurnUsage()


def test_every_figure_is_read_under_its_name() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "total_tokens": 107,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    timings = {
        "cache_n": 1,
        "prompt_ms": 500,
        "prompt_per_second": 80.5,
        "predicted_ms": 2000.0,
        "predicted_per_second": 3.5,
        "draft_n": 10,
        "draft_n_accepted": 0,
    }
    assert usage_of(usage, timings) == TurnUsage(
        prompt_tokens=100,
        completion_tokens=7,
        total_tokens=107,
        cached_tokens=60,
        uncached_tokens=40,
        reasoning_tokens=3,
        prompt_seconds=0.5,
        prompt_tokens_per_second=80.5,
        predicted_seconds=2.0,
        tokens_per_second=3.5,
        draft_total=10,
        draft_accepted=0,
    )


@pytest.mark.parametrize(
    ("usage", "timings", "cached", "uncached"),
    [
        ({"prompt_tokens": 9}, {}, None, None),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}}, {"cache_n": 7}, 0, 9),
        ({"prompt_tokens": 9, "prompt_tokens_details": None}, {"cache_n": 7}, 7, 2),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, {"cache_n": 7}, 4, 5),
        (
            {
                "prompt_tokens": 9,
                "prompt_cache_hit_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 3},
            },
            {},
            3,
            6,
        ),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 20}, {}, 20, 0),
        ({"prompt_tokens": 9, "cached_tokens": 6}, {"cache_n": 7}, 6, 3),
        ({"prompt_tokens": 9, "cache_read_input_tokens": 0}, {"cache_n": 7}, 0, 9),
        ({"prompt_tokens": 9, "prompt_tokens_details": {}, "cached_tokens": 2}, {}, 2, 7),
        ({}, {"cache_n": 7}, 7, None),
        ({"prompt_tokens": 0, "prompt_cache_hit_tokens": 0}, {}, 0, None),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": "4"}, {"cache_n": True}, None, None),
    ],
)
def test_a_cache_count_is_read_from_the_first_place_that_reports_one(
    usage: dict[str, Any], timings: dict[str, Any], cached: int | None, uncached: int | None
) -> None:
    turn = usage_of(usage, timings)
    assert (turn.cached_tokens, turn.uncached_tokens) == (cached, uncached)


NO_NUMBERS: list[Any] = [None, "x", True, [], {}, math.nan, math.inf, -1, -0.5, 10**400]
USAGE_KEYS = ["prompt_tokens", "completion_tokens", "total_tokens", "prompt_cache_hit_tokens"]
TIMING_KEYS = ["cache_n", "prompt_ms", "prompt_per_second", "predicted_ms", "draft_n"]
GOOD = st.integers(0, 10**6) | st.integers(0, 1000).map(float)
BAD = st.sampled_from(NO_NUMBERS)


def reports(keys: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(keys), GOOD | BAD)


@given(reports(USAGE_KEYS), reports(TIMING_KEYS))
def test_what_is_no_count_reads_as_if_it_were_not_there(
    usage: dict[str, Any], timings: dict[str, Any]
) -> None:
    def clean(report: dict[str, Any]) -> dict[str, Any]:
        bad = [str(one) for one in NO_NUMBERS]
        return {key: value for key, value in report.items() if str(value) not in bad}

    turn = usage_of(usage, timings)
    assert turn == usage_of(clean(usage), clean(timings))
    assert isinstance(turn.prompt_tokens, int)
    if turn.uncached_tokens is not None:
        assert 0 <= turn.uncached_tokens <= turn.prompt_tokens
