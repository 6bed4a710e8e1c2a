"""The live servers of a pool: dialled, rested, lost and found again.

Every change of map, status and index is one plain synchronous step; what takes time runs in tasks
of the pool, one chain per server: a new connection is dialled when the one before it has ended.
Servers never wait for each other (design §8 "No queue across servers").
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from host.pool.commons import Commons
from host.pool.entry import Entry
from host.pool.failure_words import Failure
from host.pool.listing_cache import ListingCache
from host.pool.pool_events import PoolEvents
from host.pool.result_cache import ResultCache
from host.pool.sdk_loading import has_sdk, load_sdk
from host.pool.wiring import Wiring
from host.records.events import CloseReason, PoolEventKind

if TYPE_CHECKING:
    from mcp_types import ServerNotification, Tool

    from host.pool.connection import Connection
    from host.pool.row_secrets import RowRedactor
    from host.pool.rows import ServerRow

logger = logging.getLogger(__name__)

SLOT_SECONDS = 2.0
"""How long a dial keeps its place among those that start at once."""
SHORT_WAIT_SECONDS = 1.0
"""How long a call waits for a failed server to be due, rather than be refused."""
RETIRE_SECONDS = 5.0
"""How long a lost session may go on answering what it was asked."""
FORGOTTEN = "has forgotten our session several times in a row"
"""Why a server that answers is not dialled at once."""


class Fleet:
    """Entries by id, in configuration order, and what happens to them.

    Attributes:
        on_change: called after each step that may change what is offered.
        is_closed: the pool is being closed, or is so already.
        listings: what is saved of the servers.
    """

    def __init__(self, commons: Commons, events: PoolEvents, cache: ResultCache | None) -> None:
        self.entries: dict[str, Entry] = {}
        self.on_change: Callable[[], None] = lambda: None
        self.is_closed = False
        commons.authorities.on_notice = partial(events.notice, None)
        self._commons = commons
        self._events = events
        self._cache = cache
        self._settings = commons.settings
        self._slots = anyio.Semaphore(max(1, commons.settings.max_concurrent_dials))
        self._closing: set[Connection] = set()
        self.listings = ListingCache(commons, events)

    def has(self, entry: Entry) -> bool:
        """Whether the entry is still its row's, and was neither replaced nor removed."""
        return self.entries.get(entry.id) is entry

    def begin_dial(self, entry: Entry) -> None:
        """Start dialling, unless a dial is under way, or the row is disabled or gone."""
        if entry.status in ("connecting", "disabled", "ready") or not self.has(entry):
            return
        if entry.status == "error":
            entry.clock.redialled(anyio.current_time())
        entry.status, entry.failure = "connecting", None
        entry.retry_at = None
        if entry.settled.is_set():
            entry.settled = anyio.Event()
        if has_sdk():
            self._connect(entry)
        else:
            self._commons.group.start_soon(self._connect_when_possible, entry, entry.settled)

    def redactor_of(self, row: ServerRow) -> RowRedactor:
        """What takes a row's secrets out of texts, and those that come up in its connections."""
        return self._commons.authorities.redactor(row)

    async def look_again(self, entry: Entry) -> None:
        """Begin to dial a server that needs a person if one has logged in meanwhile."""
        auth = self._commons.authorities.of(entry.row) if entry.status == "needs-auth" else None
        if auth is not None and await auth.has_news() and entry.status == "needs-auth":
            self.begin_dial(entry)

    async def ensure(self, entry: Entry) -> None:
        """Have the server connected if it is due, or soon will be; waits for a dial under way."""
        if entry.connection is None:
            await entry.settled.wait()  # what is saved of it may be on its way
        await self.look_again(entry)
        if entry.status == "error":
            wait = entry.clock.wait_seconds(anyio.current_time())
            if wait is not None and 0 < wait <= SHORT_WAIT_SECONDS:
                await anyio.sleep(wait)
        if entry.is_due(anyio.current_time()):
            self.begin_dial(entry)
        await entry.settled.wait()
        self.touch(entry)

    def wake(self, entry: Entry) -> None:
        """Begin to dial if that is due: it will be used in a moment."""
        if entry.is_due(anyio.current_time()):
            self.begin_dial(entry)

    def touch(self, entry: Entry) -> None:
        """Count now as the last use."""
        entry.last_used = anyio.current_time()

    def detach(self, entry: Entry, reason: CloseReason) -> Connection | None:
        """Take the connection away from its entry and begin to close it."""
        connection, entry.connection = entry.connection, None
        entry.settled.set()
        entry.stir()
        self._clear_cache(entry)
        if connection is not None:
            entry.previous, entry.words = connection, connection.last_words()
            connection.stop(reason)
        entry.started_at = None
        return connection

    def park(self, entry: Entry, reason: CloseReason) -> Connection | None:
        """Put the server to rest; its tools stay known, and the next use wakes it."""
        if entry.row.enabled:
            entry.status = "idle"
            entry.stale = bool(entry.listing)
        entry.failure, entry.retry_at = None, None
        entry.clock.reset()
        connection = self.detach(entry, reason)
        self.on_change()
        return connection

    async def close_all(self) -> None:
        """Forget every server, close what is open, side by side, and wait for all of it."""
        self.is_closed = True
        entries = list(self.entries.values())
        self.entries.clear()
        self.on_change()
        for entry in entries:
            self.detach(entry, "shutdown")
        for connection in list(self._closing):
            connection.stop("shutdown")  # those that were lost and go on with their answers, too
        for connection in list(self._closing):
            await connection.ended.wait()
        await self.listings.flush()

    async def closed(self) -> None:
        """Wait until whatever is being closed now has ended."""
        for connection in list(self._closing):
            if connection.is_stopped:
                await connection.ended.wait()

    def _lost(self, entry: Entry, connection: Connection) -> None:
        """Give up a session the server has forgotten; what it was asked before it may answer.

        The use that met this dials anew, if that is due. Its dial does not wait for the old
        connection, so that a call made inside ``use`` cannot hold up its own redial.
        """
        if entry.connection is not connection or entry.status != "ready":
            return
        now = anyio.current_time()
        entry.clock.lost(now)
        self._fall(entry, connection, Failure(text=FORGOTTEN))
        entry.previous = None
        if entry.clock.wait_seconds(now) == 0:
            entry.status, entry.failure, entry.retry_at = "idle", None, None
        self._commons.group.start_soon(self._retire, connection)

    async def _retire(self, connection: Connection, reason: CloseReason = "redial") -> None:
        with anyio.move_on_after(RETIRE_SECONDS):
            await connection.unused()
        connection.stop(reason)

    async def _connect_when_possible(self, entry: Entry, settled: anyio.Event) -> None:
        await load_sdk()
        if not settled.is_set():  # else it was stopped or replaced meanwhile
            self._connect(entry)

    def _connect(self, entry: Entry) -> None:
        connection = self._connection(entry)
        entry.connection = connection
        self._closing.add(connection)
        self._commons.group.start_soon(self._dial, entry, connection, entry.previous)

    def _connection(self, entry: Entry) -> Connection:
        from host.pool.connection import Connection

        row, settings = entry.row, self._settings
        wiring: Wiring[Connection] = Wiring(
            on_gone=partial(self._crashed, entry),
            on_end=partial(self._ended, entry),
            on_lost=partial(self._lost, entry),
            on_locked_out=partial(self._locked_out, entry),
            on_tools=partial(self._relisted, entry),
            on_learnt=partial(self._learnt, entry),
            on_notification=partial(self._notified, entry),
            on_event=partial(self._told, entry),
            on_notice=partial(self._notice, entry),
        )
        seconds = entry.seconds(row.connect_timeout_ms, settings.connect_timeout_seconds)
        asked_seconds = self._commons.authorities.asked_seconds(row)
        return Connection(
            row,
            self._commons,
            wiring,
            connect_seconds=None if seconds is None else seconds + asked_seconds,
            lists_tools=settings.index_tools,
            client_name=settings.client_name,
        )

    async def _dial(
        self, entry: Entry, connection: Connection, previous: Connection | None
    ) -> None:
        try:
            if previous is not None:
                await previous.ended.wait()
            await self._slots.acquire()
        except BaseException:  # the pool is being left, which waits for the end of each connection
            connection.give_up()
            raise
        self._commons.group.start_soon(self._hold_slot, connection)
        began = anyio.current_time()
        await connection.open()
        if entry.connection is not connection:
            return  # stopped or replaced meanwhile; whoever did it has seen to the entry
        seconds = anyio.current_time() - began
        try:
            self._came_to(entry, connection, seconds)
        except Exception:  # containment: one server's oddity is not the pool's end
            logger.exception("server %r could not be taken in", entry.id)
            self._failed(entry, connection, Failure(text="sent what could not be read"), seconds)
        entry.settled.set()

    async def _hold_slot(self, connection: Connection) -> None:
        try:
            with anyio.move_on_after(SLOT_SECONDS):
                await connection.settled.wait()
        finally:
            self._slots.release()

    def _came_to(self, entry: Entry, connection: Connection, seconds: float) -> None:
        if connection.client is None:
            failure = connection.failure or connection.end_failure()
            self._failed(entry, connection, failure, seconds)
            return
        names = [tool.name for tool in entry.listing]
        before: str | None = None
        notices: tuple[str, ...] = ()
        if self._settings.index_tools:
            entry.has_tasks = connection.has_tasks
            before, notices = entry.take_listing(connection.tools)
        self._introduce(entry, connection)
        entry.status = "ready"
        entry.clock.came_up(anyio.current_time())
        entry.started_at = self._settings.now()
        self.touch(entry)
        self.on_change()
        self._commons.group.start_soon(self._reap_when_idle, entry, connection)
        for notice in notices:
            self._notice(entry, "warning", notice)
        self._events.emit("connect", entry.id, seconds=seconds, tools=len(entry.listing))
        saved = self.listings.keep(entry, connection)
        if before not in (None, entry.fingerprint, saved):
            self._tools_changed(entry, before, names)

    def _introduce(self, entry: Entry, connection: Connection) -> None:
        if connection.client is not None:
            declared = connection.client.server_capabilities.model_dump(exclude_none=True)
            entry.take_introduction(connection.client.instructions, declared)

    def _learnt(self, entry: Entry, connection: Connection) -> None:
        if entry.connection is connection and entry.status == "ready":
            self._introduce(entry, connection)
            self.listings.keep(entry, connection)

    def _failed(
        self, entry: Entry, connection: Connection, failure: Failure, seconds: float
    ) -> None:
        if not failure.needs_person:
            entry.clock.failed(anyio.current_time())
        failure = self._fall(entry, connection, failure)
        connection.stop("crash")
        self._events.emit("connect-failed", entry.id, seconds=seconds, error=failure.text)

    def _fall(self, entry: Entry, connection: Connection, failure: Failure) -> Failure:
        """Note a failure; the last known tools stay, marked stale (design §8)."""
        redact = entry.redactor.redact
        entry.failure = replace(failure, text=redact(failure.text), detail=redact(failure.detail))
        entry.words = entry.failure.detail
        entry.status = "needs-auth" if failure.needs_person else "error"
        entry.connection, entry.previous = None, connection
        entry.started_at = None
        entry.stale = bool(entry.listing)
        if not failure.needs_person:
            wait = entry.clock.wait_seconds(anyio.current_time())
            waits = timedelta(seconds=wait or 0)
            entry.retry_at = None if wait is None else self._settings.now() + waits
        self._clear_cache(entry)
        entry.stir()
        self.on_change()
        return entry.failure

    def _ended(self, entry: Entry, connection: Connection) -> None:
        """A connection is gone with all that belongs to it: told to, or by itself."""
        self._closing.discard(connection)
        if connection.stop_reason is None:
            self._crashed(entry, connection)
        elif connection.was_ready:
            self._events.emit("close", entry.id, reason=connection.stop_reason)

    def _crashed(self, entry: Entry, connection: Connection) -> None:
        if entry.connection is connection and entry.status == "ready":
            entry.clock.failed(anyio.current_time())
            failure = self._fall(entry, connection, connection.end_failure())
            self._events.emit("close", entry.id, reason="crash", error=failure.text)

    def _locked_out(self, entry: Entry, connection: Connection, text: str) -> None:
        """A login came to its end: what was asked before may still be answered."""
        if entry.connection is connection and entry.status == "ready":
            failure = self._fall(entry, connection, Failure(text=text, needs_person=True))
            self._notice(entry, "warning", failure.text)
            self._commons.group.start_soon(self._retire, connection, "needs-auth")

    async def _reap_when_idle(self, entry: Entry, connection: Connection) -> None:
        while entry.connection is connection:
            seconds = entry.seconds(entry.row.idle_timeout_ms, self._settings.idle_timeout_seconds)
            stirred = entry.stirred
            if not seconds:
                await stirred.wait()
                continue
            left = entry.last_used + seconds - anyio.current_time()
            if left <= 0 and connection.users == 0:
                self.park(entry, "idle")
                return
            with anyio.move_on_after(left if left > 0 else seconds):
                await stirred.wait()

    def _relisted(self, entry: Entry, connection: Connection, tools: Sequence[Tool]) -> bool:
        if entry.connection is not connection:
            return False
        names = [tool.name for tool in entry.listing]
        before, notices = entry.take_listing(tools)
        if before == entry.fingerprint:
            return False
        self._clear_cache(entry)
        self.on_change()
        for notice in notices:
            self._notice(entry, "warning", notice)
        self.listings.keep(entry, connection)
        self._tools_changed(entry, before, names)
        return True

    def _tools_changed(self, entry: Entry, before: str | None, names: Sequence[str]) -> None:
        after = [tool.name for tool in entry.listing]
        self._events.emit(
            "tools-changed",
            entry.id,
            before=before,
            after=entry.fingerprint,
            tools=len(after),
            added=tuple(name for name in after if name not in names),
            removed=tuple(name for name in names if name not in after),
        )

    def _notified(self, entry: Entry, notification: ServerNotification) -> None:
        if notification.method != "notifications/progress":
            self._events.notified(entry.id, notification)

    def _told(self, entry: Entry, kind: PoolEventKind, **fields: Any) -> None:
        self._events.emit(kind, entry.id, **fields)

    def _notice(self, entry: Entry, level: str, text: str) -> None:
        self._events.notice(entry.id, level, entry.redactor.redact(text))

    def _clear_cache(self, entry: Entry) -> None:
        if self._cache is not None:
            self._cache.clear_server(entry.id)
