"""What an answer cost, read from an endpoint's reports in every spelling we know.

Counts come from the latest ``usage`` block, since some servers repeat a running total with every
chunk; times and a spare cache count come from llama.cpp's ``timings`` (agent-core §8, 7 and 10).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from host.records import TurnUsage

_BEYOND_MEASURE = 2**53


def usage_of(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> TurnUsage:
    """The usage that the latest reports state; empty mappings stand for none.

    Counts that are missing are 0, the optional figures stay None unless they were reported. A
    reported zero is a figure: a cache count of 0 is not looked up elsewhere.
    """
    prompt = _count(usage.get("prompt_tokens")) or 0
    cached = _cached(usage, timings)
    details = _mapping(usage.get("completion_tokens_details"))
    return TurnUsage(
        prompt_tokens=prompt,
        completion_tokens=_count(usage.get("completion_tokens")) or 0,
        total_tokens=_count(usage.get("total_tokens")) or 0,
        cached_tokens=cached,
        uncached_tokens=max(0, prompt - cached) if cached is not None and prompt > 0 else None,
        reasoning_tokens=_count(details.get("reasoning_tokens")),
        prompt_seconds=_seconds(timings.get("prompt_ms")),
        prompt_tokens_per_second=_number(timings.get("prompt_per_second")),
        predicted_seconds=_seconds(timings.get("predicted_ms")),
        tokens_per_second=_number(timings.get("predicted_per_second")),
        draft_total=_count(timings.get("draft_n")),
        draft_accepted=_count(timings.get("draft_n_accepted")),
    )


def _cached(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> int | None:
    details = _mapping(usage.get("prompt_tokens_details"))
    spellings = (
        details.get("cached_tokens"),  # OpenAI, vLLM, llama.cpp
        usage.get("prompt_cache_hit_tokens"),  # DeepSeek
        usage.get("cached_tokens"),  # Moonshot
        usage.get("cache_read_input_tokens"),  # Anthropic, through gateways
        timings.get("cache_n"),  # llama.cpp
    )
    counts = (_count(spelling) for spelling in spellings)
    return next((count for count in counts if count is not None), None)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # NaN compares false; an integer beyond this has no float.
    return float(value) if 0 <= value < _BEYOND_MEASURE else None


def _seconds(milliseconds: object) -> float | None:
    value = _number(milliseconds)
    return None if value is None else value / 1000


def _count(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
