"""Stopping a run from outside, at once, without losing what it has done."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import anyio

from host.loop.next_step import stop_before_request
from host.loop.own_task import Attempt
from host.loop.stop_reasons import Deadline
from host.records import StopReason

Answer = TypeVar("Answer")


class Interrupted(Exception):
    """What was being awaited has been cut off; the loop turns this into its stop reason."""

    def __init__(self, reason: StopReason) -> None:
        self.reason: StopReason = reason
        super().__init__(reason)


class RunControl:
    """A stop button: hand it to a run in its options, press it from another task.

    The run ends at once with ``stop_reason="stopped"``: the request or the calls under way are
    cancelled, and its transcript can be replayed. Belongs to one event loop; is not for threads.
    """

    def __init__(self) -> None:
        self._reason: str | None = None
        self._scopes: set[anyio.CancelScope] = set()

    @property
    def stopped(self) -> bool:
        """Whether ``stop`` was called."""
        return self._reason is not None

    @property
    def reason(self) -> str:
        """What the first ``stop`` gave as its reason; "" before it."""
        return self._reason or ""

    @property
    def words(self) -> str:
        """What to tell whoever watches of the stop."""
        return f"stopped: {self._reason}" if self._reason else "stopped"

    def stop(self, reason: str = "") -> None:
        """Stops the runs that hold this control, now or as soon as they begin.

        Args:
            reason: a line for whoever watches. Only the first call's counts.
        """
        if self._reason is None:
            self._reason = reason
        for scope in tuple(self._scopes):
            scope.cancel()

    @contextmanager
    def attached(self, scope: anyio.CancelScope) -> Iterator[None]:
        """Lets ``stop`` cancel the scope while the block runs."""
        self._scopes.add(scope)
        try:
            yield
        finally:
            self._scopes.discard(scope)


@dataclass(slots=True, kw_only=True, eq=False)
class Interruption:
    """What may cut a run short from outside: a person, or the hour.

    Attributes:
        deadline: when time is up, as things stand: never while ``paused``, and later after it.
    """

    control: RunControl = field(default_factory=RunControl)
    deadline: Deadline = field(default_factory=Deadline)
    _timed: set[anyio.CancelScope] = field(default_factory=set, init=False)
    _pauses: int = field(default=0, init=False)
    _paused_from: tuple[Deadline, float] = field(default=(Deadline(), 0.0), init=False)

    def due(self) -> StopReason | None:
        """Why nothing may be begun now; None when it may."""
        now = anyio.current_time()
        return stop_before_request(self.deadline, now, stopped=self.control.stopped)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Lets no time run out while the block waits for a person; a stop cuts as ever.

        Afterwards the deadline is later by as long as the block took, also for what was under way
        all the while. Of blocks that overlap the time counts once.
        """
        if self._pauses == 0:
            self._paused_from = self.deadline, anyio.current_time()
            self._move(math.inf)
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if self._pauses == 0:
                before, since = self._paused_from
                self._move(before.at_seconds + (anyio.current_time() - since))

    async def cut_short(self, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """Awaits ``work()`` until it ends, the run is stopped, or its time is up.

        What ``work`` had finished when the stop came is returned all the same; an error it
        raises while it is being cut off is part of that, and not the run's failure. It runs in a
        task of its own (see ``own_task``).

        Raises:
            Interrupted: the work was cancelled, or must not begin any more.
            StrayCancellation: it was cancelled by itself.
        """
        reason = self.due()
        if reason is None:
            attempt: Attempt[Answer] = Attempt()
            with anyio.CancelScope(deadline=self.deadline.at_seconds) as scope:
                self._timed.add(scope)
                try:
                    with self.control.attached(scope):
                        await attempt.make(work)
                finally:
                    self._timed.discard(scope)
            if attempt.is_over and not (scope.cancel_called and attempt.has_failed):
                return attempt.result()
            reason = "stopped" if self.control.stopped else "deadline"
        raise Interrupted(reason)

    def _move(self, at_seconds: float) -> None:
        self.deadline = Deadline(at_seconds=at_seconds)
        for scope in self._timed:
            scope.deadline = at_seconds
