"""Waiting for work without being bound to it (design §8, "Bounding a call")."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio
import anyio.abc

T = TypeVar("T")


def checked_seconds(name: str, seconds: float | None) -> float | None:
    """The seconds themselves.

    Raises:
        ValueError: they are not a number (NaN); the text names the argument.
    """
    if seconds is not None and math.isnan(seconds):
        raise ValueError(f"{name} must be a number of seconds or None, not NaN")
    return seconds


class Patience:
    """How long a caller waits; progress may renew it, and a question hold it.

    Args:
        seconds: from the start, and again from each renewal; None waits for ever.
        max_seconds: over all renewals; None sets no limit.
    """

    def __init__(self, seconds: float | None, max_seconds: float | None = None) -> None:
        self.seconds = seconds
        self._max_seconds = math.inf if max_seconds is None else max_seconds
        self._scope = anyio.CancelScope()
        self._last = math.inf
        self._is_held = False

    def start(self) -> anyio.CancelScope:
        """The scope to wait in; the clock runs from here."""
        self._last = anyio.current_time() + self._max_seconds
        self.renew()
        return self._scope

    def renew(self) -> None:
        """Start the clock anew, unless it is held."""
        if self.seconds is not None:
            wait = math.inf if self._is_held else self.seconds
            self._scope.deadline = min(anyio.current_time() + wait, self._last)

    def hold(self) -> None:
        """Stop the clock until it is released; the limit over all renewals stands."""
        self._is_held = True
        self.renew()

    def release(self) -> None:
        """Start the clock anew."""
        self._is_held = False
        self.renew()


class WorkAbandoned(Exception):
    """The group the work ran in was cancelled: the pool is closing."""

    def __init__(self) -> None:
        super().__init__("the pool was closed meanwhile")


class _Work(Generic[T]):
    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        self.results: list[T] = []
        self.error: Exception | None = None
        self._work = work

    async def run(self) -> None:
        try:
            with self.scope:
                self.results.append(await self._work())
        except Exception as error:  # noqa: BLE001 - executor: raised again where it is awaited
            self.error = error
        finally:
            self.done.set()


async def bounded(
    group: anyio.abc.TaskGroup, work: Callable[[], Awaitable[T]], patience: Patience
) -> T:
    """The result of work run in ``group``; waits for it, and for nothing after the time is up.

    On time-out, and when the caller is cancelled, the work is cancelled and left to unwind by
    itself: neither a server nor a blocked write holds the caller. About 65 µs.

    Raises:
        TimeoutError: the patience ran out.
        WorkAbandoned: the group was cancelled.
        Exception: whatever the work raised.
    """
    running = _Work(work)
    group.start_soon(running.run)
    try:
        with patience.start():
            await running.done.wait()
    finally:
        if not running.done.is_set():
            running.scope.cancel()
    if running.error is not None:
        raise running.error
    if not running.results:
        raise WorkAbandoned if running.done.is_set() else TimeoutError
    return running.results[0]
