"""The connected client of a server, for callers of the host itself. Source: pool spec §16."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import anyio

from host.errors import PoolError, PoolErrorCode
from host.pool.entry import Entry
from host.pool.exchange_note import noting_exchanges
from host.pool.fleet import Fleet
from host.pool.tool_finder import is_up

if TYPE_CHECKING:
    from mcp import Client

    from host.pool.connection import Connection

T = TypeVar("T")


class DirectUse:
    """Hands out clients, dialling where it is due. There is no scope here: names are the host's."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    async def client(self, server_id: str) -> Client:
        """See ``ServerPool.client``."""
        client = (await self.connection(server_id)).client
        assert client is not None
        return client

    async def use(self, server_id: str, run: Callable[[Client], Awaitable[T]]) -> T:
        """See ``ServerPool.use``."""
        with noting_exchanges() as note:
            try:
                return await self._run(server_id, run)
            except Exception:
                if not note.session_lost:
                    raise
        return await self._run(server_id, run)

    async def awake(self, server_id: str) -> None:
        """Wait until a server is connected, dialling it if it is due or soon will be.

        Raises:
            PoolError: it is not; the text says why.
        """
        while True:
            entry = self.known(server_id)
            await self._fleet.ensure(entry)
            if self._fleet.has(entry):
                break  # else it was replaced meanwhile, and its successor is what is wanted
        if not is_up(entry):
            raise _error("connect-failed", entry, "is not connected: ")

    async def _run(self, server_id: str, run: Callable[[Client], Awaitable[T]]) -> T:
        connection = await self.connection(server_id)
        client = connection.client
        assert client is not None
        try:
            with connection.use():
                return await run(client)
        finally:
            entry = self._fleet.entries.get(server_id)
            if entry is not None:
                self._fleet.touch(entry)

    async def connection(self, server_id: str) -> Connection:
        """The connection whose client ``client`` gives.

        Raises:
            PoolError: see ``ServerPool.client``.
        """
        while True:
            entry = self.known(server_id)
            if entry.connection is None:
                await entry.settled.wait()  # what is saved of it may be on its way
            await self._fleet.look_again(entry)
            if not self._fleet.has(entry):
                continue
            if entry.is_due(anyio.current_time()):
                self._fleet.begin_dial(entry)
            elif entry.status == "error":
                raise _error("backoff", entry, "failed a short while ago and is not dialled yet: ")
            await entry.settled.wait()
            if self._fleet.has(entry):
                break
        if entry.connection is None or not is_up(entry):
            raise _error("connect-failed", entry, "could not be connected: ")
        self._fleet.touch(entry)
        return entry.connection

    def known(self, server_id: str) -> Entry:
        """The entry of an enabled server.

        Raises:
            PoolError: ``unknown-server`` or ``disabled``; ``connect-failed`` as the pool closes.
        """
        if self._fleet.is_closed:
            raise PoolError("connect-failed", "the pool was closed", server_id=server_id)
        entry = self._fleet.entries.get(server_id)
        if entry is None:
            raise PoolError(
                "unknown-server", f'no server "{server_id}" is configured', server_id=server_id
            )
        if not entry.row.enabled:
            raise _error("disabled", entry, "is disabled in its row")
        return entry


def _error(code: PoolErrorCode, entry: Entry, what: str) -> PoolError:
    why = entry.error or ("it was stopped" if what.endswith(": ") else "")
    retry_at = entry.retry_at.timestamp() if code == "backoff" and entry.retry_at else None
    return PoolError(
        code,
        f'server "{entry.row.effective_label}" {what}{why}',
        server_id=entry.id,
        detail=(entry.failure.detail if entry.failure else "") or None,
        retry_at=retry_at,
    )
