"""What a server reports of a call under way, made fit to be told: seldom, clean, finite."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from host.pool.rate_limit import RateLimit
from host.text.terminal_text import one_line
from host.text.truncation import preview

INTERVAL_SECONDS = 0.5
"""The least time between two reports of one call that are told."""
MAX_TEXT_CHARS = 200
PROGRESS_METHOD = "notifications/progress"

_MOST = 1.7976931348623157e308

TellProgress = Callable[[float, float | None, str | None], None]
"""Hears how far a call is, where it ends (None for unknown), and what it is at (None likewise)."""


def with_floats(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The parameters of a report, without numbers too large for a float: they end the session.

    The SDK makes floats of them where nothing is caught.
    """
    if params is None:
        return None
    return {name: _MOST if _is_too_large(value) else value for name, value in params.items()}


class CallProgress:
    """The reports of one call; none is told after ``end``, and most of a flood is not.

    Args:
        tell: hears what is left of them.
        redact: takes secrets out of a text.
        clock: seconds.
    """

    def __init__(
        self, tell: TellProgress, redact: Callable[[str], str], clock: Callable[[], float]
    ) -> None:
        self._tell = tell
        self._redact = redact
        self._clock = clock
        self._limit = RateLimit(1, INTERVAL_SECONDS)
        self._has_ended = False

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Take one report; a number that is none (NaN, infinity) drops it or its total."""
        if self._has_ended or not math.isfinite(progress) or not self._limit.admits(self._clock()):
            return
        if total is not None and not (math.isfinite(total) and total > 0):
            total = None
        text = preview(one_line(self._redact(message or "")), MAX_TEXT_CHARS)
        self._tell(progress, total, text or None)

    def end(self) -> None:
        """The call is over; what is still under way comes too late."""
        self._has_ended = True


def _is_too_large(value: object) -> bool:
    return isinstance(value, int) and abs(value) > _MOST
