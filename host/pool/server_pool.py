"""The pool: long-lived connections to MCP servers, shared by all runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.abc

from host.pool.auth.pool_logins import PoolLogins
from host.pool.bounded import checked_seconds
from host.pool.calling import NO_OUTPUT, Caller, CallOptions
from host.pool.commons import Commons
from host.pool.contents import ContentRequests
from host.pool.direct_use import DirectUse
from host.pool.fleet import Fleet
from host.pool.hook_runner import run_hooks
from host.pool.offering import Offering
from host.pool.pool_contents import PoolContents
from host.pool.pool_events import NotificationListener, PoolEvents, PoolListener
from host.pool.pool_reading import PoolReading
from host.pool.probing import probe_with, row_connect_seconds
from host.pool.result_cache import ResultCache
from host.pool.roster import Roster
from host.pool.rows import ServerRow
from host.pool.server_state import ProbeReport
from host.pool.settings import PoolSettings
from host.pool.syncing import Load, Syncing, loaded_rows
from host.pool.tool_finder import ToolFinder
from host.pool.tool_index import IndexedTool, scope_of
from host.records import HookContext, HookEvent, HookOutcome

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

T = TypeVar("T")


class ServerPool(PoolReading, PoolContents, PoolLogins):
    """Connected servers, their tools, and calls to them. Made by ``ServerPool.open``.

    Nothing here connects in the background: servers are dialled by a sync and by use. ``servers``
    is everywhere the ids a run may reach: None for all, empty for none. A closed pool raises
    ``RuntimeError``.
    """

    def __init__(
        self, group: anyio.abc.TaskGroup, load: Load | None, settings: PoolSettings
    ) -> None:
        self._settings = settings
        self._is_open = True
        self._commons = Commons(settings, group)
        self._events = PoolEvents(settings.now)
        cache = None
        if settings.result_cache is not None:
            cache = ResultCache(
                ttl_seconds=settings.result_cache.ttl_seconds,
                max_entries=settings.result_cache.max_entries,
                clock=anyio.current_time,
            )
        self._fleet = Fleet(self._commons, self._events, cache)
        self._offering = Offering(self._fleet, self._events, settings.tools_token_warning)
        roster = Roster(group, self._fleet, self._events, settings)
        self._syncing = Syncing(group, self._fleet, roster, self._events, load)
        finder = ToolFinder(self._fleet, lambda: self._offering.index, indexes=settings.index_tools)
        self._caller = Caller(self._fleet, finder, self._events, cache, settings)
        self._direct = DirectUse(self._fleet)
        self._requests = ContentRequests(self._commons, self._fleet, self._direct)

    @classmethod
    def open(
        cls,
        rows: Iterable[ServerRow] | None = None,
        *,
        load: Load | None = None,
        settings: PoolSettings | None = None,
    ) -> AbstractAsyncContextManager[ServerPool]:
        """A pool for a block; its servers are being dialled when the block begins.

        Without rows they are what ``load`` gives; without either there are none until a sync.
        ``wait_ready`` waits for the dials. Leaving the block closes every connection and ends
        every child, whatever made it leave.
        """
        return _Opening(rows, load, settings or PoolSettings())

    def start(self, rows: Iterable[ServerRow]) -> None:
        """Take over the rows and begin to dial; returns at once."""
        self._check_open()
        self._syncing.start(rows)

    async def wait_ready(self, timeout_seconds: float | None = None) -> bool:
        """Wait until no server is being dialled, or the time is up; whether none is any more.

        Raises:
            ValueError: ``timeout_seconds`` is NaN.
        """
        with anyio.move_on_after(checked_seconds("timeout_seconds", timeout_seconds)):
            await self._syncing.settled()
        return all(entry.settled.is_set() for entry in self._fleet.entries.values())

    async def sync(self, rows: Iterable[ServerRow] | None = None) -> None:
        """Make the live servers those of the rows, and wait until that is done.

        Args:
            rows: None asks ``load``; an empty list closes and forgets all.

        Raises:
            PoolError: ``no-configs`` without rows and without ``load``; nothing was touched.
            Exception: what ``load`` raised; nothing was touched.
        """
        self._check_open()
        await self._syncing.sync(rows)

    def sync_soon(self) -> None:
        """Sync in a moment; several in a row are one. A failure is told as an event, not raised."""
        self._check_open()
        self._syncing.sync_soon()

    async def flush(self) -> None:
        """Do now what ``sync_soon`` put off, and wait until nothing is under way; never raises."""
        await self._syncing.flush()

    async def stop(self, server_id: str) -> None:
        """Put a server to rest and wait for its end; an unknown id is fine.

        It stays at rest across syncs, its tools stay known, and the next use wakes it.
        """
        self._check_open()
        entry = self._fleet.entries.get(server_id)
        connection = self._fleet.park(entry, "stop") if entry else None
        if connection is not None:
            await connection.ended.wait()

    async def reconnect(self, server_id: str, rows: Iterable[ServerRow] | None = None) -> None:
        """Close a server, forget what is known of it, sync, and dial it even on a lazy pool.

        A load that fails leaves everything as it was. An unknown id is fine.

        Raises:
            PoolError: ``no-configs`` without rows and without ``load``.
            Exception: what ``load`` raised.
        """
        self._check_open()
        await self._syncing.reconnect(server_id, rows)

    def wake(self, names: Iterable[str], *, servers: Iterable[str] | None = None) -> None:
        """Begin to dial the servers of these tools, which will be called; returns at once.

        Unknown, hidden and out-of-scope names are passed over, as are servers that failed a short
        while ago.
        """
        scope = scope_of(servers)
        for name in names if self._is_open else ():
            found = self._offering.index.resolve(name, scope=scope)
            if isinstance(found, IndexedTool):
                self._fleet.wake(self._fleet.entries[found.server_id])

    async def call(
        self,
        name: str,
        arguments: object = None,
        *,
        servers: Iterable[str] | None = None,
        timeout_seconds: float | None = None,
        coerce: bool | None = None,
        max_result_chars: int | None = None,
        cache: bool = True,
        hidden: bool = False,
        written_for: Mapping[str, Any] | None = None,
    ) -> str:
        """The answer of a tool as text; ``(no output)`` for none. Connects its server if due.

        What of it surely is a secret of the server's row is marked ``***``: it goes to a model.

        Args:
            arguments: an object, its JSON text, or None for no arguments.
            timeout_seconds, coerce, max_result_chars: None leaves them to row and pool.
            cache: False asks even where an answer is kept.
            hidden: True reaches tools that are kept from the model.
            written_for: the schema that the arguments were written for, where the tool may have
                another one by now: they are then judged by that one, and not sent blindly.

        Raises:
            PoolError: ``unknown-tool``, ``out-of-scope``, ``invalid-arguments``, ``timeout``, or
                ``tool-error``: the tool said so, or the server failed during the call.
            ValueError: ``timeout_seconds`` is NaN; nothing was asked.
        """
        self._check_open()
        options = CallOptions(
            scope=scope_of(servers),
            timeout_seconds=timeout_seconds,
            coerce=coerce,
            max_result_chars=max_result_chars,
            cache=cache,
            hidden=hidden,
            written_for=written_for,
        )
        return await self._caller.text(name, arguments, options) or NO_OUTPUT

    async def call_raw(
        self,
        name: str,
        arguments: object = None,
        *,
        servers: Iterable[str] | None = None,
        timeout_seconds: float | None = None,
        coerce: bool | None = None,
        hidden: bool = False,
    ) -> CallToolResult:
        """The answer of a tool as the protocol has it, an ``is_error`` one included, never cached.

        It is as it was sent, whatever the server repeats in it.

        Raises:
            PoolError: as ``call``, except for what the tool itself calls an error.
            ValueError: as ``call``.
        """
        self._check_open()
        options = CallOptions(
            scope=scope_of(servers),
            timeout_seconds=timeout_seconds,
            coerce=coerce,
            hidden=hidden,
            raw=True,
        )
        return await self._caller.raw(name, arguments, options)

    async def client(self, server_id: str) -> Client:
        """The connected client of a server, for what the pool has no method for.

        Raises:
            PoolError: ``unknown-server``, ``disabled``, ``connect-failed``, or ``backoff`` when
                it failed a short while ago.
        """
        self._check_open()
        return await self._direct.client(server_id)

    async def use(self, server_id: str, run: Callable[[Client], Awaitable[T]]) -> T:
        """What ``run`` makes of the server's client; run again if the session was lost under it.

        Raises:
            PoolError: as ``client``.
            Exception: what ``run`` raised.
        """
        self._check_open()
        return await self._direct.use(server_id, run)

    async def probe(self, row: ServerRow) -> ProbeReport:
        """Dial a row once and hang up; stores nothing and never raises.

        Patience is the row's connect timeout, else the pool's for probes, else for connects.
        """
        self._check_open()
        patience = self._settings.probe_timeout_seconds
        if patience is None:
            patience = self._settings.connect_timeout_seconds
        return await probe_with(self._commons, row, row_connect_seconds(row, patience))

    async def run_hooks(
        self,
        event: HookEvent,
        context: HookContext,
        *,
        servers: Iterable[str] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> list[HookOutcome]:
        """What the hooks of an event did, in configuration order; raises only a cancellation."""
        self._check_open()
        return await run_hooks(
            [entry.row for entry in self._fleet.entries.values()],
            event,
            context,
            self._call_hook,
            ready=self._direct.awake,
            now=self._settings.now,
            servers=scope_of(servers),
            on_notice=on_notice,
        )

    def subscribe(self, listener: PoolListener) -> Callable[[], None]:
        """Tell the listener of every event, synchronously; the call returned ends that."""
        return self._events.subscribe(listener)

    def on_notification(self, listener: NotificationListener) -> Callable[[], None]:
        """Hand the listener (server id, notification) of what servers say by themselves."""
        return self._events.on_notification(listener)

    async def _call_hook(
        self, server_id: str, name: str, arguments: dict[str, Any], seconds: float | None
    ) -> str:
        options = CallOptions(scope=scope_of([server_id]), timeout_seconds=seconds, hidden=True)
        return await self._caller.text(name, arguments, options)

    async def _close(self) -> None:
        self._is_open = False
        self._syncing.end()
        await self._fleet.close_all()

    def _check_open(self) -> None:
        if not self._is_open:
            raise RuntimeError("the pool is closed")


class _Opening:
    """Enters the pool's task group and leaves it with nothing behind."""

    def __init__(
        self, rows: Iterable[ServerRow] | None, load: Load | None, settings: PoolSettings
    ) -> None:
        self._rows = rows
        self._load = load
        self._settings = settings
        self._group: anyio.abc.TaskGroup
        self._pool: ServerPool

    async def __aenter__(self) -> ServerPool:
        rows = self._rows
        if rows is None:
            rows = await loaded_rows(self._load) if self._load else ()
        self._group = await anyio.create_task_group().__aenter__()
        self._pool = ServerPool(self._group, self._load, self._settings)
        self._pool.start(rows)
        return self._pool

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # asyncio's own cancellation passes any shield; the group still waits for every child.
        try:
            with anyio.CancelScope(shield=True):
                await self._pool._close()
        finally:
            self._group.cancel_scope.cancel()
            try:
                await self._group.__aexit__(None, None, None)
            finally:
                await self._pool._commons.guard.aclose()
