"""The ladder of reasoning efforts: what a refusal of one value teaches, and what to ask instead."""

from __future__ import annotations

import re
from collections.abc import Collection

EFFORT_LADDER = ("none", "minimal", "low", "medium", "high")
"""From cheapest to dearest. Other names (``xhigh``) have no place on it and are never replaced."""

_PUBLISHED = re.compile(r"supported values are:\s*([^.\n]*)", re.I)
_REFUSED = re.compile(
    r"(?:reasoning_effort['\"`]?\s*(?:does not support|:)|is not supported with)"
    r"\s*['\"`]?(\w+)",
    re.I | re.A,
)
_WORD = re.compile(r"\w+", re.A)


def next_effort(
    effort: str, *, refused: Collection[str] = (), supported: Collection[str] | None = None
) -> str | None:
    """The cheapest effort strictly above ``effort`` that is not refused; None when there is none.

    Args:
        supported: the values the endpoint published; None when it published none.
    """
    if effort not in EFFORT_LADDER:
        return None
    above = EFFORT_LADDER[EFFORT_LADDER.index(effort) + 1 :]
    allowed = (rung for rung in above if supported is None or rung in supported)
    return next((rung for rung in allowed if rung not in refused), None)


def published_efforts(text: str) -> tuple[str, ...] | None:
    """The efforts a refusal lists as supported, cheapest first; None when it lists none we know."""
    listed = _PUBLISHED.search(text)
    words = {word.lower() for word in _WORD.findall(listed[1])} if listed else set()
    return tuple(rung for rung in EFFORT_LADDER if rung in words) or None


def refused_effort(text: str) -> str | None:
    """The effort a refusal names as the one it does not take; None when it names none we know."""
    named = (word.lower() for word in _REFUSED.findall(text))
    return next((word for word in named if word in EFFORT_LADDER), None)
