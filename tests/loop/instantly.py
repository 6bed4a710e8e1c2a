"""Running a test's main function on a clock that only ever jumps, for peers in memory alone."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import anyio

Answer = TypeVar("Answer")

BACKENDS = ["asyncio", "trio"]

START = datetime(2026, 1, 1, tzinfo=UTC)
"""What ``now`` reads at second 0 of the event loop's clock."""


class _InstantSelector(selectors.DefaultSelector):
    """Never waits for a time: the loop's clock is there at once."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, Any]]:
        ready = super().select(timeout if timeout is None else 0)
        if not ready and timeout:
            self.seconds += timeout
        return ready


class _InstantLoop(asyncio.SelectorEventLoop):
    """Its clock stands still unless everybody waits for a time."""

    def __init__(self) -> None:
        self._instant = _InstantSelector()
        super().__init__(self._instant)

    def time(self) -> float:
        return self._instant.seconds


def instantly(main: Callable[[], Awaitable[Answer]], backend: str) -> Answer:
    """What ``main`` returns. Threads, sockets and processes would not get their turn."""
    if backend == "asyncio":
        return anyio.run(main, backend_options={"loop_factory": _InstantLoop})
    from trio.testing import MockClock

    clock = MockClock(autojump_threshold=0)
    return anyio.run(main, backend="trio", backend_options={"clock": clock})


def now() -> datetime:
    """The wall clock that goes with the event loop's."""
    return START + timedelta(seconds=anyio.current_time())
