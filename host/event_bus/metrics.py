"""A run's figures, computed from its events."""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from host.catalogue import LOAD_TOOLS
from host.records import RunEvent

Outcome = Literal["answered", "truncated", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetrics:
    """What a run cost and how it went; counts are always there, None means never reported.

    Attributes:
        steps: different step labels seen.
        turns: answered turns, as far as they were reported with their own usage.
        requests: turns and the continuations within them.
        tool_calls: every call announced, ``load_tools`` included; load_calls: only those.
        tool_errors: failed calls, by tool name.
        cache_break_reasons: how often each was given.
        cache_hit_ratio: cached share of the prompts whose uncached part was reported, 0 to 1.
        tool_seconds: call to result, summed; calls of one name are answered in order.
        first_token_seconds: the mean over the turns that reported it.
        largest_prompt_share: of the context length given, 0 to 1 (or above).
        outcome: None while no ``done`` was seen.
    """

    steps: int
    turns: int
    requests: int
    tool_calls: int
    tool_errors: Mapping[str, int]
    load_calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cache_breaks: int
    cache_break_reasons: Mapping[str, int]
    truncated_turns: int
    uncached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_hit_ratio: float | None = None
    wall_seconds: float | None = None
    prompt_seconds: float | None = None
    predicted_seconds: float | None = None
    tool_seconds: float | None = None
    slowest_turn_seconds: float | None = None
    first_token_seconds: float | None = None
    draft_total: int | None = None
    draft_accepted: int | None = None
    draft_acceptance: float | None = None
    largest_prompt_tokens: int | None = None
    largest_prompt_share: float | None = None
    outcome: Outcome | None = None


def run_metrics(events: Iterable[RunEvent], *, context_length: int | None = None) -> RunMetrics:
    """The figures of one run's events (agent-core §13).

    A turn is what a ``usage`` event carries under ``turn``: the fields of ``TurnUsage`` in
    camelCase (``promptTokens``, ``wallSeconds``, …), ``finishReason``, and, where the loop found
    out, ``cacheBroken`` and ``cacheBreakReason``. Usage without ``turn`` is not counted, and a
    value that is no finite number of zero or more counts as not reported.
    """
    seen = list(events)
    turns = _Turns([turn for event in seen if (turn := _turn(event)) is not None])
    accepted, drafted = turns.total("draftAccepted"), turns.total("draftTotal")
    firsts = turns.numbers("firstTokenSeconds")
    largest = max(turns.counts("promptTokens"), default=0) or None
    return replace(
        _counted(seen, turns),
        uncached_tokens=turns.total("uncachedTokens"),
        reasoning_tokens=turns.total("reasoningTokens"),
        cache_hit_ratio=turns.cache_hit_ratio(),
        wall_seconds=turns.seconds("wallSeconds"),
        prompt_seconds=turns.seconds("promptSeconds"),
        predicted_seconds=turns.seconds("predictedSeconds"),
        tool_seconds=_tool_seconds(seen),
        slowest_turn_seconds=max(turns.numbers("wallSeconds"), default=None),
        first_token_seconds=math.fsum(firsts) / len(firsts) if firsts else None,
        draft_total=drafted,
        draft_accepted=accepted,
        draft_acceptance=accepted / drafted if accepted is not None and drafted else None,
        largest_prompt_tokens=largest,
        largest_prompt_share=largest / context_length if largest and context_length else None,
        outcome=_outcome(seen, turns.reports),
    )


def _counted(events: list[RunEvent], turns: _Turns) -> RunMetrics:
    """The figures that are there whatever was reported."""
    calls = [event.name for event in events if event.kind == "tool-call"]
    errors = (e.name for e in events if e.kind == "tool-result" and e.ok is False)
    broken = [turn for turn in turns.reports if turn.get("cacheBroken") is True]
    reasons = (reason for turn in broken if (reason := turn.get("cacheBreakReason")))
    return RunMetrics(
        steps=len({event.step for event in events if event.step}),
        turns=len(turns.reports),
        requests=len(turns.reports) + (turns.total("continuations") or 0),
        tool_calls=len(calls),
        tool_errors=dict(Counter(errors)),
        load_calls=calls.count(LOAD_TOOLS),
        prompt_tokens=turns.total("promptTokens") or 0,
        completion_tokens=turns.total("completionTokens") or 0,
        cached_tokens=turns.total("cachedTokens") or 0,
        cache_breaks=len(broken),
        cache_break_reasons=dict(Counter(reasons)),
        truncated_turns=sum(turn.get("finishReason") == "length" for turn in turns.reports),
    )


@dataclass(frozen=True, slots=True)
class _Turns:
    """The reported turns, oldest first."""

    reports: list[Mapping[str, Any]]

    def numbers(self, key: str) -> list[float]:
        """The values reported under a key, unreadable ones left out."""
        return [value for turn in self.reports if (value := _number(turn, key)) is not None]

    def counts(self, key: str) -> list[int]:
        return [int(value) for value in self.numbers(key)]

    def total(self, key: str) -> int | None:
        counts = self.counts(key)
        return sum(counts) if counts else None

    def seconds(self, key: str) -> float | None:
        numbers = self.numbers(key)
        return math.fsum(numbers) if numbers else None

    def cache_hit_ratio(self) -> float | None:
        told = [turn for turn in self.reports if _number(turn, "uncachedTokens") is not None]
        prompt = _Turns(told).total("promptTokens")
        uncached = _Turns(told).total("uncachedTokens") or 0
        return max(0.0, 1 - uncached / prompt) if prompt else None


def _turn(event: RunEvent) -> Mapping[str, Any] | None:
    turn = event.usage.get("turn") if event.kind == "usage" and event.usage else None
    return turn if isinstance(turn, Mapping) else None


def _number(turn: Mapping[str, Any], key: str) -> float | None:
    value = turn.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _tool_seconds(events: list[RunEvent]) -> float | None:
    begun: defaultdict[str, deque[datetime]] = defaultdict(deque)
    spans: list[float] = []
    for event in events:
        if event.kind == "tool-call":
            begun[event.name].append(event.at)
        elif event.kind == "tool-result" and begun[event.name]:
            spans.append((event.at - begun[event.name].popleft()).total_seconds())
    return math.fsum(spans) if spans else None


def _outcome(events: list[RunEvent], turns: list[Mapping[str, Any]]) -> Outcome | None:
    ends = [event for event in events if event.kind == "done"]
    if not ends:
        return None
    if ends[0].ok is False:
        return "failed"
    return "truncated" if turns and turns[-1].get("finishReason") == "length" else "answered"
