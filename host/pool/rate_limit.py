"""So many in so long: what keeps a stranger's flood from becoming ours."""

from __future__ import annotations


class RateLimit:
    """Lets the first ``times`` things of each stretch of time pass and counts the rest.

    A stretch begins with the first thing after the one before it has ended.

    Args:
        times: at least 1.
        seconds: how long a stretch is.
    """

    def __init__(self, times: int, seconds: float) -> None:
        self._times = times
        self._seconds = seconds
        self._ends = float("-inf")
        self._passed = 0
        self._left_out = 0

    def admits(self, now: float) -> bool:
        """Whether a thing that happens now passes."""
        if now >= self._ends:
            self._ends, self._passed = now + self._seconds, 0
        if self._passed < self._times:
            self._passed += 1
            return True
        self._left_out += 1
        return False

    def take_left_out(self) -> int:
        """How many did not pass since this was last asked."""
        count, self._left_out = self._left_out, 0
        return count
