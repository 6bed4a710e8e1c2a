"""How long an endpoint may be silent, reckoned without a clock (agent-core §8, 1; the rest ours).

A silence is an allowance for the next sign of life, and each one begins it anew, down to a comment
that carries nothing. Two bounds stand on top. Signs of life alone are no answer: where there is an
allowance, ten of them without a chunk end the wait as well. And an answer that has given its finish
reason is whole: what may still come is a report of its usage, and that is waited for briefly,
whether or not there is an allowance.
"""

from __future__ import annotations

import math

from host.errors import EndpointSilent

REPORT_SECONDS = 5.0
"""The wait for a report of the usage after a finish reason."""

DOUBTFUL_END_SECONDS = 60.0
"""The same wait while the finish reason may be none: gateways to Gemini send one with each text."""

ALLOWANCES_WITHOUT_CHUNK = 10
"""How many allowances comments alone keep a request alive."""


class Silence:
    """The deadline of one answer. All times are seconds on one steady clock.

    Args:
        idle_seconds: the longest silence; 0 or None is without end.
        first_chunk_seconds: the longest silence before something was carried; None, or 0 and less,
            is ``idle_seconds``.
    """

    def __init__(self, idle_seconds: float | None, first_chunk_seconds: float | None) -> None:
        self._idle_seconds = _allowance(idle_seconds)
        first_seconds = _allowance(first_chunk_seconds)
        self._first_seconds = first_seconds if first_seconds < math.inf else self._idle_seconds
        self._chunk_at = 0.0
        self._has_begun = False
        self._ends_at = math.inf
        self._endured = math.inf

    @property
    def is_limited(self) -> bool:
        """Whether there is an allowance at all."""
        return min(self._idle_seconds, self._first_seconds) < math.inf

    def sent(self, now: float) -> float:
        """The deadline when the request goes out."""
        return self.heard(now, has_begun=False, is_chunk=True)

    def heard(self, now: float, *, has_begun: bool, is_chunk: bool) -> float:
        """The deadline after a sign of life.

        Args:
            has_begun: something of the answer was carried, now or before.
            is_chunk: it was part of an answer, and not only a comment or a ping.
        """
        self._has_begun = has_begun
        if is_chunk:
            self._chunk_at = now
        allowance = self._idle_seconds if has_begun else self._first_seconds
        longest = ALLOWANCES_WITHOUT_CHUNK * allowance
        next_sign, next_chunk = now + allowance, self._chunk_at + longest
        self._endured = allowance if next_sign <= next_chunk else longest
        return min(next_sign, next_chunk)

    def ended(self, now: float, *, is_sure: bool) -> float:
        """The deadline after a finish reason, when the answer is whole; it never moves on.

        Args:
            is_sure: nothing speaks against the finish reason being the end.
        """
        wait = REPORT_SECONDS if is_sure else DOUBTFUL_END_SECONDS
        self._ends_at = min(self._ends_at, now + min(wait, self._idle_seconds))
        return self._ends_at

    def verdict(self) -> EndpointSilent:
        """The failure of an answer whose deadline has passed before its end."""
        return EndpointSilent(self._endured, not self._has_begun)


def _allowance(seconds: float | None) -> float:
    return seconds if seconds is not None and seconds > 0 else math.inf
