from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.event_bus import RunMetrics, run_metrics
from host.records import RunEvent, RunEventKind

START = datetime(2026, 3, 1, tzinfo=UTC)


def event(kind: RunEventKind, *, after: float = 0, **rest: Any) -> RunEvent:
    return RunEvent(run_id="r", seq=1, at=START + timedelta(seconds=after), kind=kind, **rest)


def usage(**turn: Any) -> RunEvent:
    return event("usage", usage={"promptTokens": 999, "completionTokens": 999, "turn": turn})


def test_no_events_are_all_zero_and_nothing_else_is_claimed() -> None:
    assert run_metrics([]) == RunMetrics(
        steps=0,
        turns=0,
        requests=0,
        tool_calls=0,
        tool_errors={},
        load_calls=0,
        prompt_tokens=0,
        completion_tokens=0,
        cached_tokens=0,
        cache_breaks=0,
        cache_break_reasons={},
        truncated_turns=0,
    )


def test_usage_without_its_turn_is_not_counted() -> None:
    metrics = run_metrics([event("usage", usage={"promptTokens": 5}), event("usage")])
    assert (metrics.turns, metrics.requests, metrics.prompt_tokens) == (0, 0, 0)


def test_turns_are_summed_and_continuations_are_requests_too() -> None:
    metrics = run_metrics(
        [
            usage(promptTokens=100, completionTokens=7, cachedTokens=60, continuations=2),
            usage(promptTokens=200, completionTokens=3, reasoningTokens=1, finishReason="length"),
        ]
    )
    assert (metrics.turns, metrics.requests) == (2, 4)
    assert (metrics.prompt_tokens, metrics.completion_tokens) == (300, 10)
    assert (metrics.cached_tokens, metrics.reasoning_tokens) == (60, 1)
    assert metrics.truncated_turns == 1


def test_tools_are_counted_with_their_errors_and_loads() -> None:
    metrics = run_metrics(
        [
            event("tool-call", name="load_tools", step="1"),
            event("tool-result", name="load_tools", ok=True, step="1"),
            event("tool-call", name="a", step="2"),
            event("tool-call", name="a", step="2"),
            event("tool-result", name="a", ok=False, step="2"),
            event("tool-result", name="a", ok=False, step="2"),
            event("tool-call", name="b", step="2"),
            event("tool-result", name="b", ok=False, step="2"),
        ]
    )
    assert (metrics.steps, metrics.tool_calls, metrics.load_calls) == (2, 4, 1)
    assert metrics.tool_errors == {"a": 2, "b": 1}


def test_calls_of_one_name_are_paired_in_order() -> None:
    metrics = run_metrics(
        [
            event("tool-call", name="a", after=0),
            event("tool-call", name="b", after=1),
            event("tool-call", name="a", after=2),
            event("tool-result", name="a", after=5, ok=True),
            event("tool-result", name="b", after=5, ok=True),
            event("tool-result", name="a", after=6, ok=True),
            event("tool-result", name="never-asked", after=100, ok=True),
        ]
    )
    assert metrics.tool_seconds == 5 + 4 + 4


def test_times_are_summed_over_the_turns_that_reported_them() -> None:
    metrics = run_metrics(
        [
            usage(wallSeconds=2.0, promptSeconds=0.5, firstTokenSeconds=1.0),
            usage(wallSeconds=5.0, predictedSeconds=4.0, firstTokenSeconds=2.0),
            usage(),
        ]
    )
    assert (metrics.wall_seconds, metrics.slowest_turn_seconds) == (7.0, 5.0)
    assert (metrics.prompt_seconds, metrics.predicted_seconds) == (0.5, 4.0)
    assert metrics.first_token_seconds == 1.5


def test_the_cache_ratio_looks_only_at_turns_that_reported_the_uncached_part() -> None:
    metrics = run_metrics(
        [
            usage(promptTokens=100, cachedTokens=75, uncachedTokens=25),
            usage(promptTokens=100, cachedTokens=25, uncachedTokens=75),
            usage(promptTokens=1000),
        ]
    )
    assert metrics.cache_hit_ratio == 0.5
    assert metrics.uncached_tokens == 100


def test_cache_breaks_are_counted_by_reason() -> None:
    metrics = run_metrics(
        [
            usage(cacheBroken=True, cacheBreakReason="tools-changed"),
            usage(cacheBroken=True, cacheBreakReason="tools-changed"),
            usage(cacheBroken=True),
            usage(cacheBroken=False, cacheBreakReason="system-changed"),
        ]
    )
    assert metrics.cache_breaks == 3
    assert metrics.cache_break_reasons == {"tools-changed": 2}


def test_draft_acceptance_is_over_all_turns() -> None:
    metrics = run_metrics([usage(draftTotal=10, draftAccepted=9), usage(draftTotal=10)])
    assert (metrics.draft_total, metrics.draft_accepted) == (20, 9)
    assert metrics.draft_acceptance == 0.45
    assert run_metrics([usage(draftTotal=0, draftAccepted=0)]).draft_acceptance is None


def test_the_largest_prompt_is_shown_against_the_window() -> None:
    events = [usage(promptTokens=100), usage(promptTokens=300)]
    assert run_metrics(events).largest_prompt_share is None
    metrics = run_metrics(events, context_length=1200)
    assert (metrics.largest_prompt_tokens, metrics.largest_prompt_share) == (300, 0.25)


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([usage(finishReason="stop")], None),
        ([usage(finishReason="stop"), event("done", ok=True)], "answered"),
        ([usage(finishReason="length"), event("done", ok=True)], "truncated"),
        ([usage(finishReason="length"), usage(), event("done", ok=True)], "answered"),
        ([usage(finishReason="length"), event("done", ok=False)], "failed"),
        ([event("done")], "answered"),
    ],
)
def test_the_outcome_is_read_from_done_and_the_last_turn(
    events: list[RunEvent], outcome: str | None
) -> None:
    assert run_metrics(events).outcome == outcome


@pytest.mark.parametrize("junk", [math.nan, math.inf, -1, True, "12", None, [], {}])
def test_a_value_that_is_no_count_is_not_reported(junk: object) -> None:
    metrics = run_metrics([usage(promptTokens=junk, uncachedTokens=junk, wallSeconds=junk)])
    assert metrics.prompt_tokens == 0
    assert metrics.uncached_tokens is None
    assert metrics.wall_seconds is None
    assert metrics.cache_hit_ratio is None


TURNS = st.lists(
    st.fixed_dictionaries(
        {"promptTokens": st.integers(0, 5000), "completionTokens": st.integers(0, 500)},
        optional={
            "uncachedTokens": st.integers(0, 5000),
            "reasoningTokens": st.integers(0, 50),
            "finishReason": st.sampled_from(["stop", "length", "tool_calls"]),
            "continuations": st.integers(0, 3),
        },
    ),
    max_size=8,
)
CALLS = st.lists(
    st.tuples(st.sampled_from(["load_tools", "a", "b"]), st.booleans(), st.integers(0, 9)),
    max_size=10,
)


@given(TURNS, CALLS)
def test_figures_are_the_sums_of_what_was_reported(
    turns: list[dict[str, Any]], calls: list[tuple[str, bool, int]]
) -> None:
    events = [usage(**turn) for turn in turns]
    for name, ok, seconds in calls:
        events.append(event("tool-call", name=name))
        events.append(event("tool-result", name=name, ok=ok, after=seconds))
    metrics = run_metrics(events)
    assert metrics.prompt_tokens == sum(turn["promptTokens"] for turn in turns)
    assert metrics.completion_tokens == sum(turn["completionTokens"] for turn in turns)
    assert metrics.requests == len(turns) + sum(turn.get("continuations", 0) for turn in turns)
    told = [turn["reasoningTokens"] for turn in turns if "reasoningTokens" in turn]
    assert metrics.reasoning_tokens == (sum(told) if told else None)
    assert metrics.cache_hit_ratio is None or 0 <= metrics.cache_hit_ratio <= 1
    assert metrics.tool_errors == Counter(name for name, ok, _ in calls if not ok)
    assert metrics.load_calls == sum(name == "load_tools" for name, _, _ in calls)
    assert metrics.tool_seconds == (sum(s for _, _, s in calls) if calls else None)
