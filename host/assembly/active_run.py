"""A run under way: watched, stopped, waited for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from types import TracebackType

import anyio

from host.assembly.background import Background
from host.errors import RunStopped
from host.event_bus import EventBus, EventWatch
from host.loop import AgentLoopOptions, EventSink, RunControl, run_agent_loop
from host.records import Run


class ActiveRun:
    """A run under way.

    Attributes:
        run_id: its name on the event bus.
    """

    def __init__(self, run_id: str, events: EventBus, control: RunControl, emit: EventSink) -> None:
        self.run_id = run_id
        self._events = events
        self._control = control
        self._emit = emit
        self._ended = anyio.Event()
        self._run: Run | None = None
        self._error: Exception | None = None

    def stop(self, reason: str = "") -> None:
        """Ends the run at once, with a transcript that can be handed back."""
        self._control.stop(reason)

    def events(self) -> EventWatch:
        """The run's events from its beginning on, to be entered and iterated.

        They are there as long as the run's block lasts, and for a while after it; later there are
        none.
        """
        return self._events.watch(self.run_id, is_over=self._ended.is_set)

    def events_kept(self) -> AbstractContextManager[None]:
        """A block in which its events are kept for whoever comes to watch."""
        return self._events.held(self.run_id)

    async def result(self) -> Run:
        """Waits for the run.

        Raises:
            RunFailed: an error ended it; the error carries the run so far.
            RunStopped: it was cancelled, because its block or the host was left.
        """
        await self._ended.wait()
        if self._error is not None:
            raise self._error
        assert self._run is not None  # one of the two is set before the event
        return self._run

    async def ended(self) -> None:
        """Waits for the end of the run, whatever it is."""
        await self._ended.wait()

    async def play(self, options: AgentLoopOptions) -> None:
        """Runs the loop to its end; called once, by ``Host.start``."""
        self._cut_off(Run(turn=None, messages=tuple(options.messages), stop_reason="stopped"))
        try:
            self._run = await run_agent_loop(replace(options, on_cancel=self._cut_off))
            self._error = None
        except Exception as error:  # noqa: BLE001  # result() raises it where somebody waits
            self._error = error
        finally:
            text = self._run.answer if self._run else str(self._error)
            ok = self._run is not None and self._run.stop_reason == "completed"
            self._emit(kind="done", text=text, ok=ok)
            self._ended.set()

    def _cut_off(self, so_far: Run) -> None:
        self._error = RunStopped("stopped", so_far, "the run was cancelled")


class RunStart:
    """Plays a run for as long as its block lasts; leaving early cancels it.

    Args:
        prepare: gives the run's options, when the block is entered.
        runs: holds the run while it is under way.
    """

    def __init__(
        self,
        active: ActiveRun,
        prepare: Callable[[], AgentLoopOptions],
        runs: set[ActiveRun],
    ) -> None:
        self._active = active
        self._prepare = prepare
        self._runs = runs
        self._background = Background()
        self._kept = ExitStack()

    async def __aenter__(self) -> ActiveRun:
        options = self._prepare()
        group = await self._background.__aenter__()
        self._kept.enter_context(self._active.events_kept())
        self._runs.add(self._active)
        group.start_soon(self._active.play, options)
        return self._active

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        try:
            return await self._background.__aexit__(kind, error, trace)
        finally:
            self._runs.discard(self._active)
            self._kept.close()
