"""When a server that failed may be dialled again (design §8 "Redial"). No clock of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

MAX_DELAY_SECONDS = 60.0
STEADY_SECONDS = 60.0
"""A connection that held this long makes earlier failures forgotten."""
BROKEN = "it failed too often and waits to be reconnected"
MAX_REDIALS = 10
REDIAL_WINDOW_SECONDS = 3600.0


def redial_delay(failures: int, first_seconds: float, chance: float) -> float:
    """Seconds to wait after so many failures in a row: doubling, a minute at most, half by chance.

    Args:
        failures: 1 for the first.
        first_seconds: the delay after one failure, before chance takes up to half of it.
        chance: from 0 to 1.
    """
    doublings = min(max(failures, 1) - 1, 30)
    longest = max(MAX_DELAY_SECONDS, first_seconds)
    return min(longest, first_seconds * 2.0**doublings) * (0.5 + chance / 2)


class RedialClock:
    """The failures of one server, and when it is due again.

    Only dials after a failure count towards the breaker, so that a server that is put to rest and
    woken often stays reachable. One that comes up each time and dies again is stopped by it, too.
    All times are seconds of one clock that only grows.

    Attributes:
        is_broken: True when it failed too often; only ``reset`` makes it due again.
    """

    def __init__(self, first_seconds: float, jitter: Callable[[], float]) -> None:
        self.is_broken = False
        self._first_seconds = first_seconds
        self._jitter = jitter
        self._failures = 0
        self._due_at = 0.0
        self._up_since: float | None = None
        self._redials: deque[float] = deque()

    def redialled(self, now: float) -> None:
        """A dial begins that follows a failure."""
        self._redials.append(now)

    def came_up(self, now: float) -> None:
        """A dial succeeded."""
        self._up_since = now

    def failed(self, now: float) -> None:
        """A dial failed, or a connection ended by itself."""
        self._went_down(now)
        self._failures += 1
        self._wait(now, self._failures)

    def lost(self, now: float) -> None:
        """A server that answers forgot its session: the first time it is due again at once.

        Sessions run out at rest, too: what held for long counts neither now nor for the breaker.
        """
        was_steady = self._went_down(now)
        if not self._failures and not was_steady:
            self._redials.append(now)
        self._wait(now, self._failures)
        self._failures += 1

    def _went_down(self, now: float) -> bool:
        """Note that it is down; whether it was up for so long that what was before is forgotten."""
        was_steady = self._up_since is not None and now - self._up_since >= STEADY_SECONDS
        if was_steady:
            self._failures = 0
        self._up_since = None
        return was_steady

    def _wait(self, now: float, failures: int) -> None:
        delay = redial_delay(failures, self._first_seconds, self._jitter()) if failures else 0.0
        self._due_at = now + delay
        while self._redials and self._redials[0] <= now - REDIAL_WINDOW_SECONDS:
            self._redials.popleft()
        self.is_broken = len(self._redials) > MAX_REDIALS

    def wait_seconds(self, now: float) -> float | None:
        """How long until it is due, 0 when it is; None for not before a ``reset``."""
        return None if self.is_broken else max(0.0, self._due_at - now)

    def reset(self) -> None:
        """Forget all failures."""
        self._failures, self._due_at, self._up_since = 0, 0.0, None
        self._redials.clear()
        self.is_broken = False
