"""One connection to one server, from dialling to closed, in one task that owns it.

The SDK's client must be entered and left by the same task, and two of them in one task end each
other (sdk.md §2.1). So each connection has a task of its own; everybody else only awaits calls
and events, and stops it by ``stop``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio
from mcp_types import Tool
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from host.pool.attempts import Attempt, KnownEra, after_silence, next_attempt
from host.pool.bounded import Patience, bounded
from host.pool.commons import Commons
from host.pool.exchange_note import ExchangeNote, noting_exchanges
from host.pool.failure_words import (
    CallFailed,
    Failure,
    dial_failure,
    ended,
    is_closed,
    is_unreachable,
    leaf,
    reason_words,
    timed_out,
)
from host.pool.log_redaction import LogRedaction
from host.pool.rows import ServerRow
from host.pool.server_requests import ServerRequests
from host.pool.session_client import session_client
from host.pool.session_life import (
    SessionLife,
    learn_of_server,
    negotiated_era,
    read_past_output_schemas,
)
from host.pool.tasks import call_tool, has_tasks, only_as_tasks
from host.pool.tool_walk import list_all_tools
from host.pool.wire_mending import MendedTransport
from host.pool.wiring import Wiring

if TYPE_CHECKING:
    from mcp.client import Client, IncomingMessage
    from mcp_types import CallToolResult

    from host.pool.call_progress import TellProgress
    from host.pool.kept_lists import KeptLists
    from host.records.events import CloseReason

CLOSE_SECONDS = 2.0
"""How long saying goodbye may take; a child's own end is bounded elsewhere."""
GOING_SECONDS = 0.5


class Connection:
    """A dial and what became of it.

    Attributes:
        tools: as first listed; empty without an index.
        has_tasks: the server carries out calls as tasks.
        era: what was negotiated, for the next dial; None where that must negotiate anew.
        failure: why the dial failed; None when it did not.
        was_ready: it was usable at some time.
        stop_reason: why somebody here asked for the end; None when nobody did.
        users: calls and other uses under way.
        settled: set when the dial came to something: ready, failed or stopped.
        ended: set when everything of it is gone, the child included.
    """

    def __init__(
        self,
        row: ServerRow,
        commons: Commons,
        wiring: Wiring[Connection],
        *,
        connect_seconds: float | None,
        lists_tools: bool,
        client_name: str,
    ) -> None:
        self.row = row
        self.client: Client | None = None
        self.tools: tuple[Tool, ...] = ()
        self.has_tasks = False
        self.era: KnownEra | None = None
        self.failure: Failure | None = None
        self.was_ready = False
        self.stop_reason: CloseReason | None = None
        self.users = 0
        self.settled = anyio.Event()
        self.ended = anyio.Event()
        self._redactor = commons.authorities.redactor(row)
        self._commons = commons
        self._wiring = wiring
        self._requests = ServerRequests(
            row, commons.settings, self._redactor, wiring.on_event, wiring.on_notice
        )
        self._connect_seconds = math.inf if connect_seconds is None else connect_seconds
        self._lists_tools = lists_tools
        self._client_name = client_name
        self._transport: MendedTransport | None = None
        self._life: SessionLife | None = None
        self._scope = anyio.CancelScope()
        self._left = anyio.Event()
        self._listed_names: set[str] = set()
        self._only_as_tasks: frozenset[str] = frozenset()

    @property
    def pid(self) -> int | None:
        """Process id of the child; None without one."""
        return self._transport.pid if self._transport else None

    def last_words(self) -> str:
        """What the child said on stderr; "" for nothing."""
        return self._transport.last_words() if self._transport else ""

    def end_note(self) -> str:
        """Why the server's side ended, as a clause without subject; "" while it works."""
        if self.stop_reason == "shutdown":
            return "was closed with the pool"
        return self._transport.end_note() if self._transport else ""

    def end_failure(self) -> Failure:
        """The same with the child's last words, for a connection that ended by itself."""
        return ended(self.end_note(), self.last_words(), self._redactor)

    @property
    def lists(self) -> KeptLists:
        """Its resources and prompts as last listed; only once it is ready."""
        assert self._life is not None
        return self._life.lists

    @property
    def is_stopped(self) -> bool:
        """Whether somebody here asked for the end."""
        return self.stop_reason is not None

    @property
    def has_ended(self) -> bool:
        """Whether the server's side is gone: calls in flight get no answer."""
        return self.ended.is_set() or (self._life is not None and self._life.end.is_set())

    async def ends_soon(self) -> bool:
        """Whether the server's side is gone, now or in a moment: some say so before they go."""
        if not self.has_ended and self._life is not None:
            with anyio.move_on_after(GOING_SECONDS):
                await self._life.end.wait()
        return self.has_ended

    async def open(self) -> None:
        """Dial, and return when that came to something or its time is up; never raises."""
        if self.is_stopped:
            self.give_up()
            return
        self._commons.group.start_soon(self._own)
        with anyio.move_on_after(self._connect_seconds):
            await self.settled.wait()
        if not self.settled.is_set():
            said, before = self.last_words(), self.failure
            late = timed_out(self._connect_seconds, said, self._redactor, before=before)
            self.failure = self.end_failure() if self.end_note() else late
            self.settled.set()
            self._scope.cancel()
            self._commons.eras.fell_silent(self.row)

    def give_up(self) -> None:
        """End what was never dialled: nobody is left to wait for."""
        self.settled.set()
        self.ended.set()
        self._wiring.on_end(self)

    def stop(self, reason: CloseReason) -> None:
        """Ask for the end; ``ended`` tells when it has come. The first reason counts."""
        self.stop_reason = self.stop_reason or reason
        if self.was_ready and self._life is not None:
            self._life.end.set()
        else:
            self._scope.cancel()
        self.settled.set()

    @contextmanager
    def use(self) -> Iterator[None]:
        """Count as a user for this block."""
        self.users += 1
        try:
            yield
        finally:
            self.users -= 1
            if not self.users:
                self._left.set()
                self._left = anyio.Event()

    async def unused(self) -> None:
        """Wait until nobody uses it."""
        while self.users:
            await self._left.wait()

    def _gone(self, life: SessionLife) -> None:
        life.end.set()
        if self.was_ready and not self.is_stopped:
            self._wiring.on_gone(self)

    def _lose(self) -> None:
        if self.was_ready:
            self._wiring.on_lost(self)

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, object],
        patience: Patience,
        *,
        renews: bool,
        on_progress: TellProgress | None = None,
    ) -> CallToolResult:
        """The server's answer to one call, made in a task of the pool; only while it is ready.

        Args:
            renews: whether progress renews the patience, and a question to a person holds it.
            on_progress: hears of it; None for nobody.

        Raises:
            TimeoutError: the patience ran out; the server was told.
            CallFailed: anything else.
        """
        client = self.client
        assert client is not None

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            if renews:
                patience.renew()
            if on_progress is not None:
                on_progress(progress, total, message)

        report = progressed if renews or on_progress is not None else None
        as_task = name in self._only_as_tasks

        async def once() -> CallToolResult:
            return await call_tool(client, name, arguments, report, as_task=as_task)

        async def send() -> CallToolResult:
            with noting_exchanges() as note:
                try:
                    return await self._requests.with_pages(once)
                except Exception as error:  # noqa: BLE001 - raised again below, where nothing raw
                    reason = leaf(error)  # hangs on what a caller may log
            raise CallFailed(reason_words(reason, self._redactor), reason, note)

        with self.use(), self._requests.holding(patience if renews else None):
            return await bounded(self._commons.group, send, patience)

    async def _own(self) -> None:
        attempt: Attempt | None = self._commons.eras.first_attempt(self.row, self._connect_seconds)
        try:
            with LogRedaction(self._redactor):
                while attempt is not None and not self.settled.is_set():
                    attempt = await self._attempt(attempt)
        finally:
            self.client = None
            self.settled.set()
            self.ended.set()
            self._requests.end()
            self._wiring.on_end(self)

    async def _attempt(self, attempt: Attempt) -> Attempt | None:
        """Dial once and serve to the end; what to try next, if the dial failed but need not."""
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + attempt.seconds)
        with noting_exchanges(is_own=True) as note:
            try:
                with self._scope:
                    await self._serve(attempt)
            except Exception as error:  # noqa: BLE001 - containment: other connections go on
                return self._after_failure(attempt, error, note)
        return None if self.settled.is_set() else after_silence(attempt)

    async def _serve(self, attempt: Attempt) -> None:
        life = self._life = SessionLife(self.row, self._wiring.on_notice)
        transport = self._transport = MendedTransport(
            self._commons.transport(
                self.row,
                sse=attempt.sse,
                on_noise=self._hear_noise,
                on_session_lost=self._lose,
                on_broken=partial(self._gone, life),
                on_locked_out=partial(self._wiring.on_locked_out, self),
            ),
            on_notice=lambda text: self._wiring.on_notice("warning", text),
            on_end=partial(self._gone, life),
            redact=self._redactor.redact,
            elicitation_modes=self._commons.settings.elicitation_modes,
        )
        client = session_client(
            transport,
            self.row,
            mode=attempt.mode,
            discovered=attempt.discovered,
            client_name=self._client_name,
            settings=self._commons.settings,
            requests=self._requests,
            hear=self._hear,
        )
        async with client:
            read_past_output_schemas(client, self._listed_names, self._wiring.on_notice)
            if attempt.mode in MODERN_PROTOCOL_VERSIONS and attempt.discovered is None:
                await learn_of_server(client)
            if self._lists_tools:
                self.tools = await self._list(client)
            self._become_ready(client, attempt)
            await life.live(
                client,
                self._relist if self._lists_tools else None,
                learn=None if attempt.discovered is None else partial(self._learn, attempt),
            )
            self.client = None
            self._scope.deadline = anyio.current_time() + CLOSE_SECONDS

    def _become_ready(self, client: Client, attempt: Attempt) -> None:
        if self.settled.is_set():  # the time was up, or somebody stopped it
            self._scope.cancel()
            return
        self._scope.deadline = math.inf
        self._note_era(client, attempt)
        self.client, self.failure = client, None
        self.was_ready = True
        self.settled.set()

    def _note_era(self, client: Client, attempt: Attempt) -> None:
        if self.row.era == "auto":
            era = negotiated_era(client, self._commons.settings.now())
            self.era = self._commons.eras.spoke(self.row, attempt, era)

    async def _learn(self, attempt: Attempt, client: Client) -> None:
        """Ask a server that was spared the probe who it is: nobody waits for that."""
        if await learn_of_server(client):
            self._note_era(client, attempt)
        else:
            self._commons.eras.forget(self.row)
            self.era = None  # it may have gone back to an older one
        self._wiring.on_learnt(self)

    def _after_failure(
        self, attempt: Attempt, error: Exception, note: ExchangeNote
    ) -> Attempt | None:
        if self.settled.is_set():  # it failed in closing, or nobody waits for it any more
            return None
        row = self.row
        following = next_attempt(
            row,
            attempt,
            status=note.status,
            is_closed=is_closed(leaf(error)),
            is_unreachable=is_unreachable(error, note),
        )
        self.failure = dial_failure(
            error,
            note,
            end_note=self.end_note(),
            last_words=self.last_words(),
            redactor=self._redactor,
        )
        if following is None:
            self._commons.eras.failed(row, attempt)
            self.settled.set()
        return following

    async def _relist(self, client: Client) -> bool:
        with anyio.fail_after(self._connect_seconds):
            tools = await self._list(client)
        return self._wiring.on_tools(self, tools)

    async def _list(self, client: Client) -> tuple[Tool, ...]:
        tools = await list_all_tools(client)
        self._listed_names.clear()
        self._listed_names.update(tool.name for tool in tools)
        self.has_tasks = has_tasks(client)
        self._only_as_tasks = only_as_tasks(tools)
        return tuple(tools)

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, Exception):
            return  # the transport has counted it
        if self._life is not None:
            self._life.hear(message)
        self._requests.hear(message)
        self._wiring.on_notification(message)

    def _hear_noise(self, text: str) -> None:
        self._wiring.on_notice(
            "warning", f'prints on its output what is no message; skipped: "{text}"'
        )
