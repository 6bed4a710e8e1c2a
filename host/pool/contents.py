"""Asking a server for its resources and prompts. Sources: pool spec §12 and §16."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from host.errors import PoolError
from host.pool.bounded import Patience, WorkAbandoned, bounded, checked_seconds
from host.pool.commons import Commons
from host.pool.content_reading import prompt_of, resource_of, template_of, without_secrets
from host.pool.direct_use import DirectUse
from host.pool.entry import Entry
from host.pool.exchange_note import noting_exchanges
from host.pool.failure_words import CallFailed, is_closed, leaf, reason_words, request_failure
from host.pool.fleet import Fleet
from host.pool.kept_lists import CAPABILITIES, ListKind
from host.pool.tool_walk import all_pages
from host.text.redaction import Redactor

if TYPE_CHECKING:
    from mcp import Client

    from host.pool.connection import Connection

T = TypeVar("T")


class ContentRequests:
    """Makes requests that only read, each within one limit of time, on a connected server."""

    def __init__(self, commons: Commons, fleet: Fleet, direct: DirectUse) -> None:
        self._commons = commons
        self._fleet = fleet
        self._direct = direct

    async def listed(self, server_id: str, kind: ListKind, seconds: float | None) -> list[Any]:
        """All of a list, from the connection's memory where it is known to be good.

        A server that has not declared the capability is not asked, and one that knows no such
        method has an empty list: real servers declare what they do not serve.

        Raises:
            PoolError: see ``ServerPool.list_resources``.
        """

        async def walk(connection: Connection) -> list[Any]:
            kept = connection.lists.get(kind)
            if kept is None:
                mark = connection.lists.mark(kind)
                kept = await _walked(_client(connection), kind)
                connection.lists.keep(kind, kept, mark)
            return list(kept)

        return await self._answered(server_id, walk, seconds)

    async def asked(
        self,
        server_id: str,
        ask: Callable[[Client], Awaitable[object]],
        read: Callable[[object], T],
        seconds: float | None,
    ) -> T:
        """What a server answers, read; asked once more where it had forgotten our session.

        Raises:
            PoolError: see ``ServerPool.read_resource``.
        """

        async def answer(connection: Connection) -> T:
            return read(await ask(_client(connection)))

        return await self._answered(server_id, answer, seconds)

    async def _answered(
        self, server_id: str, ask: Callable[[Connection], Awaitable[T]], seconds: float | None
    ) -> T:
        checked_seconds("timeout_seconds", seconds)
        for is_last in (False, True):
            connection = await self._direct.connection(server_id)
            entry = self._fleet.entries[server_id]
            try:
                return await self._once(entry, connection, ask, seconds)
            except CallFailed as failed:
                if failed.note.session_lost and not is_last:
                    continue
                if is_closed(failed.reason):
                    await connection.ends_soon()
                raise _error(entry, connection, failed) from failed.bare()
        raise AssertionError("unreachable")

    async def _once(
        self,
        entry: Entry,
        connection: Connection,
        ask: Callable[[Connection], Awaitable[T]],
        seconds: float | None,
    ) -> T:
        if seconds is None:
            settings = self._commons.settings
            seconds = entry.seconds(entry.row.call_timeout_ms, settings.call_timeout_seconds)
        work = partial(_noted, ask, connection, entry.redactor)
        try:
            with connection.use():
                answer = await bounded(self._commons.group, work, Patience(seconds))
        except TimeoutError as error:
            raise PoolError(
                "timeout",
                f'server "{entry.row.effective_label}" did not answer within {seconds:g} s',
                server_id=entry.id,
                timeout_seconds=seconds,
            ) from error
        except WorkAbandoned as error:
            raise PoolError("tool-error", str(error), server_id=entry.id) from error
        finally:
            self._fleet.touch(entry)
        return without_secrets(answer, entry.redactor.for_models)


def _client(connection: Connection) -> Client:
    if connection.client is None:
        raise PoolError("tool-error", "was stopped meanwhile")
    return connection.client


async def _noted(
    ask: Callable[[Connection], Awaitable[T]], connection: Connection, redactor: Redactor
) -> T:
    with noting_exchanges() as note:
        try:
            return await ask(connection)
        except Exception as error:  # noqa: BLE001 - raised again below, where nothing raw
            reason = leaf(error)  # hangs on what a caller may log
    raise CallFailed(reason_words(reason, redactor), reason, note)


def _error(entry: Entry, connection: Connection, failed: CallFailed) -> PoolError:
    why = request_failure(
        failed.reason, failed.note, end_note=connection.end_note(), redactor=entry.redactor
    )
    words = connection.last_words() if connection.has_ended else ""
    return PoolError(
        "tool-error",
        f'server "{entry.row.effective_label}" {why}',
        server_id=entry.id,
        detail=entry.redactor.redact(words) or None,
    )


async def _walked(client: Client, kind: ListKind) -> tuple[Any, ...]:
    if getattr(client.server_capabilities, CAPABILITIES[kind]) is None:
        return ()
    match kind:
        case "resources":
            resources = await all_pages(
                lambda cursor: client.list_resources(cursor=cursor), "list of resources"
            )
            return tuple(resource_of(entry) for page in resources for entry in page.resources)
        case "templates":
            templates = await all_pages(
                lambda cursor: client.list_resource_templates(cursor=cursor),
                "list of resource templates",
            )
            return tuple(
                template_of(entry) for page in templates for entry in page.resource_templates
            )
        case "prompts":
            prompts = await all_pages(
                lambda cursor: client.list_prompts(cursor=cursor), "list of prompts"
            )
            return tuple(prompt_of(entry) for page in prompts for entry in page.prompts)
