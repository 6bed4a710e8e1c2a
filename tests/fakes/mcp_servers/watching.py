"""Waiting for what a pool tells."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from host.pool.server_pool import ServerPool
from host.pool.server_state import ServerState
from host.records.events import PoolEvent


class Watch:
    """Every event of a pool since the watch began."""

    def __init__(self, pool: ServerPool) -> None:
        self.events: list[PoolEvent] = []
        self._next = anyio.Event()
        pool.subscribe(self._note)

    def _note(self, event: PoolEvent) -> None:
        self.events.append(event)
        self._next.set()
        self._next = anyio.Event()

    def of(self, kind: str, server_id: str | None = None) -> list[PoolEvent]:
        """The events of a kind, of one server or of all."""
        return [
            event
            for event in self.events
            if event.kind == kind and server_id in (None, event.server_id)
        ]

    def kinds(self, server_id: str) -> list[str]:
        """What happened to a server, with the reasons of closes; calls and log lines left out."""
        return [
            f"{event.kind} {event.reason}" if event.reason else event.kind
            for event in self.events
            if event.server_id == server_id and event.kind not in ("call", "log")
        ]

    async def until(self, happened: Callable[[], bool], *, seconds: float = 10) -> None:
        """Wait for a fact that comes with an event."""
        with anyio.fail_after(seconds):
            while not happened():
                await self._next.wait()


def state_of(pool: ServerPool, server_id: str) -> ServerState:
    """The state of one server."""
    return next(state for state in pool.state() if state.id == server_id)
