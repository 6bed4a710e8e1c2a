"""The bus: one capped stream of events per run, and any number of watchers on it."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import anyio
import anyio.lowlevel

from host.records import RunEvent, RunEventKind
from host.text.json_copy import json_copy


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True, eq=False)
class _Stream:
    """One run's events; ``touched`` is the clock's reading at the last of them.

    Attributes:
        holds: how many blocks of ``EventBus.held`` last.
    """

    events: list[RunEvent] = field(default_factory=list)
    last_seq: int = 0
    ended: bool = False
    touched: float = 0.0
    watches: set[EventWatch] = field(default_factory=set)
    holds: int = 0

    @property
    def is_in_use(self) -> bool:
        return bool(self.watches) or self.holds > 0


class EventBus:
    """Keeps each run's newest events and hands them to watchers (agent-core §13).

    Old runs are dropped when the bus is touched, never by a timer: an ended run
    ``retain_seconds`` after its last event, or with its last watcher; another
    ``retain_unended_seconds`` after it; a watched or held one not at all. Limits that are not
    positive numbers count as not given.

    Args:
        max_events: how many events of a run are kept, in the backlog and for each watcher.
        trim_slack: how far over that a list may grow before it is cut back.
        retain_seconds: how long an ended run stays.
        retain_unended_seconds: how long a run without a ``done`` stays.
        now: the aware time of an event that brings none.
        clock: seconds that only grow, for the retention.
    """

    def __init__(
        self,
        max_events: float = 1000,
        trim_slack: float = 256,
        retain_seconds: float = 60,
        retain_unended_seconds: float = 1800,
        *,
        now: Callable[[], datetime] = _utc_now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_events = max(1, _positive(max_events, 1000))
        self._max_held = self._max_events + _positive(trim_slack, 256)
        self._retain_seconds = _positive(retain_seconds, 60)
        self._retain_unended_seconds = _positive(retain_unended_seconds, 1800)
        self._now = now
        self._clock = clock
        self._streams: dict[str, _Stream] = {}
        self._sweep_at = math.inf  # no stream can be due before this reading of the clock

    def emit(
        self,
        run_id: str,
        *,
        kind: RunEventKind,
        text: str = "",
        name: str = "",
        step: str = "",
        ok: bool | None = None,
        usage: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002 - the event's own field
        at: datetime | None = None,
    ) -> RunEvent:
        """Files an event under its run, wakes the watchers, and returns it.

        ``seq`` counts from 1 in each run. ``usage`` is copied; one that cannot be read is empty.
        A ``done`` ends the run's watches; what is emitted after it is still filed and numbered.
        Never raises.
        """
        self._sweep()
        stream = self._streams.setdefault(run_id, _Stream())
        stream.last_seq += 1
        event = RunEvent(
            run_id=run_id,
            seq=stream.last_seq,
            at=self._now() if at is None else at,
            kind=kind,
            text=text,
            name=name,
            step=step,
            ok=ok,
            usage=_own_copy(usage),
            id=id,
        )
        stream.events.append(event)
        if len(stream.events) > self._max_held:
            del stream.events[: -int(self._max_events)]
        stream.ended = stream.ended or kind == "done"
        stream.touched = self._clock()
        self._expect_due(stream)
        for watch in stream.watches:
            watch._push(event)
        return event

    def history(self, run_id: str) -> list[RunEvent]:
        """The run's kept events, oldest first, in a new list; ``[]`` for a run not known."""
        self._sweep()
        stream = self._streams.get(run_id)
        return list(stream.events) if stream else []

    def watch(self, run_id: str, *, is_over: Callable[[], bool] = lambda: False) -> EventWatch:
        """A watch on the run, known or not yet: ``async with bus.watch(run_id) as events``.

        Args:
            is_over: whether no more can come, as far as the caller knows: a run that was dropped
                looks like one that is still to begin.
        """
        return EventWatch(self, run_id, is_over)

    @contextmanager
    def held(self, run_id: str) -> Iterator[None]:
        """Keeps the run's backlog for whoever comes to watch it while the block lasts."""
        stream = self._streams.setdefault(run_id, _Stream())
        stream.holds += 1
        try:
            yield
        finally:
            stream.holds -= 1
            if self._streams.get(run_id) is stream and not stream.is_in_use:
                if stream.events:
                    self._expect_due(stream)
                else:
                    del self._streams[run_id]

    def end_run(self, run_id: str) -> None:
        """Drops the run; its watchers first read a ``done`` that is not ok, and finish."""
        self._sweep()
        stream = self._streams.get(run_id)
        if stream is None:
            return
        if stream.watches and not stream.ended:
            self.emit(run_id, kind="done", ok=False)
        del self._streams[run_id]

    def reset(self) -> None:
        """Drops every run as ``end_run`` does."""
        for run_id in list(self._streams):
            self.end_run(run_id)

    def _enter(self, watch: EventWatch) -> _Stream:
        self._sweep()
        stream = self._streams.setdefault(watch.run_id, _Stream())
        stream.watches.add(watch)
        return stream

    def _leave(self, watch: EventWatch, stream: _Stream) -> None:
        stream.watches.discard(watch)
        if self._streams.get(watch.run_id) is not stream or stream.is_in_use:
            return  # a newer stream has this run's name, or someone still watches or holds
        if stream.ended or not stream.events:
            del self._streams[watch.run_id]
        else:
            self._expect_due(stream)

    def _due(self, stream: _Stream) -> float:
        return stream.touched + (
            self._retain_seconds if stream.ended else self._retain_unended_seconds
        )

    def _expect_due(self, stream: _Stream) -> None:
        self._sweep_at = min(self._sweep_at, self._due(stream))

    def _sweep(self) -> None:
        """Drops the streams that are due; costs one comparison while none can be."""
        reading = self._clock()
        if reading < self._sweep_at:
            return
        self._sweep_at = math.inf
        for run_id, stream in list(self._streams.items()):
            if stream.is_in_use:
                continue
            if reading >= self._due(stream):
                del self._streams[run_id]
            else:
                self._expect_due(stream)


class EventWatch:
    """One watcher's view of a run: its backlog, then what comes, up to ``done``.

    An async context manager, entered once, that is its own async iterator. A watcher that falls
    behind (or comes when the backlog has been cut) loses the oldest events and is told once: a
    ``notice`` with their number, under the sequence number just before the next event's.
    """

    def __init__(self, bus: EventBus, run_id: str, is_over: Callable[[], bool]) -> None:
        self.run_id = run_id
        self._bus = bus
        self._is_over = is_over
        self._stream: _Stream | None = None
        self._unread: deque[RunEvent] = deque()
        self._lost = 0
        self._finished = False
        self._wake: anyio.Event | None = None

    async def __aenter__(self) -> EventWatch:
        self._stream = self._bus._enter(self)
        self._unread.extend(self._stream.events)
        self._lost = self._unread[0].seq - 1 if self._unread else 0
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stream is not None:
            self._bus._leave(self, self._stream)
        self._finished = True
        self._unread.clear()

    def __aiter__(self) -> EventWatch:
        return self

    async def __anext__(self) -> RunEvent:
        """The next event, when there is one.

        Raises:
            StopAsyncIteration: after ``done``, and outside ``async with``.
        """
        await anyio.lowlevel.checkpoint()
        while not self._unread:
            # An ended run with nothing unread: its ``done`` was among the events lost.
            if self._finished or self._stream is None or self._stream.ended or self._is_over():
                raise StopAsyncIteration
            self._wake = anyio.Event()
            await self._wake.wait()
        if self._lost:
            return self._gap()
        event = self._unread.popleft()
        if event.kind == "done":
            self._finished = True
            self._unread.clear()
        return event

    def _push(self, event: RunEvent) -> None:
        """Takes a new event in; called by the bus."""
        if self._finished:
            return
        self._unread.append(event)
        if len(self._unread) > self._bus._max_held:
            while len(self._unread) > self._bus._max_events:
                self._unread.popleft()
                self._lost += 1
        if self._wake is not None:
            self._wake.set()

    def _gap(self) -> RunEvent:
        lost, self._lost = self._lost, 0
        following = self._unread[0]
        return RunEvent(
            run_id=self.run_id,
            seq=following.seq - 1,
            at=following.at,
            kind="notice",
            text=f"{lost} earlier {'event was' if lost == 1 else 'events were'} dropped unread",
            step=following.step,
        )


def _own_copy(usage: Mapping[str, Any] | None) -> dict[str, Any] | None:
    try:
        return None if usage is None else dict(json_copy(usage))
    except Exception:  # noqa: BLE001  # a mapping of any kind, with methods of its own
        return {}


def _positive(value: object, otherwise: float) -> float:
    """The value where it is a positive number (infinity is one), else the other."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return otherwise
    return value
