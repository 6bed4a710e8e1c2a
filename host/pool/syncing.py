"""When the rows are read and applied: at once, in a moment, or before going on. Pool spec §4."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

import anyio
import anyio.abc

from host.errors import PoolError
from host.pool.fleet import Fleet
from host.pool.pool_events import PoolEvents
from host.pool.roster import Roster
from host.pool.rows import ServerRow

Load = Callable[[], Iterable[ServerRow] | Awaitable[Iterable[ServerRow]]]
"""Reads the rows anew, for a sync that is given none."""

DEBOUNCE_SECONDS = 0.05


async def loaded_rows(load: Load) -> list[ServerRow]:
    """The rows that ``load`` gives, awaited if it must be."""
    rows = load()
    return list(await rows if inspect.isawaitable(rows) else rows)


class Syncing:
    """Syncs of one pool. Rows are applied in one step; dials and closes then run by themselves."""

    def __init__(
        self,
        group: anyio.abc.TaskGroup,
        fleet: Fleet,
        roster: Roster,
        events: PoolEvents,
        load: Load | None,
    ) -> None:
        self._group = group
        self._fleet = fleet
        self._roster = roster
        self._events = events
        self._load = load
        self._moment = anyio.CancelScope()
        self._is_owed = False
        self._running = 0
        self._rest = anyio.Event()

    def start(self, rows: Iterable[ServerRow]) -> None:
        """See ``ServerPool.start``."""
        self._roster.apply(rows)

    async def sync(self, rows: Iterable[ServerRow] | None) -> None:
        """See ``ServerPool.sync``."""
        with self._counted():
            self._roster.apply(await self._wanted(rows))
            await self._came_to_rest()

    async def reconnect(self, server_id: str, rows: Iterable[ServerRow] | None) -> None:
        """See ``ServerPool.reconnect``."""
        with self._counted():
            wanted = await self._wanted(rows)
            self._roster.forget(server_id)
            self._roster.apply(wanted)
            entry = self._fleet.entries.get(server_id)
            if entry is not None:
                self._fleet.begin_dial(entry)
            await self._came_to_rest()

    def sync_soon(self) -> None:
        """See ``ServerPool.sync_soon``."""
        self._moment.cancel()
        self._moment = anyio.CancelScope()
        self._is_owed = True
        self._group.start_soon(self._sync_after, self._moment)

    async def flush(self) -> None:
        """See ``ServerPool.flush``."""
        if self._is_owed:
            await self._pay()
        while self._running:
            await self._rest.wait()
        await self._came_to_rest()

    async def settled(self) -> None:
        """Wait until no server is being dialled."""
        for entry in list(self._fleet.entries.values()):
            await entry.settled.wait()

    def end(self) -> None:
        """Nothing is owed any more."""
        self._moment.cancel()
        self._is_owed = False

    async def _came_to_rest(self) -> None:
        await self.settled()
        await self._fleet.closed()

    async def _wanted(self, rows: Iterable[ServerRow] | None) -> list[ServerRow]:
        if rows is not None:
            return list(rows)
        if self._load is None:
            raise PoolError("no-configs", "there are no rows to sync to, and nothing loads them")
        return await loaded_rows(self._load)

    async def _sync_after(self, moment: anyio.CancelScope) -> None:
        with moment:
            await anyio.sleep(DEBOUNCE_SECONDS)
        if not moment.cancel_called and self._is_owed:
            await self._pay()

    async def _pay(self) -> None:
        self._is_owed = False
        try:
            await self.sync(None)
        except Exception as error:  # noqa: BLE001 - containment: nobody waits for a sync put off
            self._events.notice(None, "error", f"the servers could not be synced: {error}")

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._rest.set()
                self._rest = anyio.Event()
