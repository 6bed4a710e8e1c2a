"""What happens in an open session beside calls: changes of the lists, log levels."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Coroutine
from datetime import datetime
from typing import TYPE_CHECKING, Any

import anyio
from mcp import MCPError
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import (
    CallToolResult,
    DiscoverResult,
    EmptyResult,
    ServerNotification,
    SetLevelRequest,
    SetLevelRequestParams,
    SubscriptionFilter,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from host.pool.attempts import KnownEra
from host.pool.failure_words import reason_words
from host.pool.kept_lists import KeptLists
from host.pool.row_secrets import row_redactor

if TYPE_CHECKING:
    from mcp.client import Client

    from host.pool.rows import ServerRow

QUIET_SECONDS = 0.5
"""How long a burst of changes must have paused before the tools are listed again."""
MAX_QUIET_SECONDS = 30.0
"""The same for a server that keeps telling of changes that are none."""
MAX_BURST_SECONDS = 5.0
_LISTEN_SECONDS = 1.0
_MAX_LISTEN_SECONDS = 60.0

Learn = Callable[["Client"], Coroutine[Any, Any, None]]
"""Asks the server who it is, beside its calls."""
Relist = Callable[["Client"], Awaitable[bool]]
"""Lists the tools again; True when that changed something."""


class SessionLife:
    """One session between ready and closed.

    Attributes:
        end: set it to end the session; it is set when the server's side ends.
        lists: the server's resources and prompts as last listed.
    """

    def __init__(self, row: ServerRow, on_notice: Callable[[str, str], None]) -> None:
        self.end = anyio.Event()
        self.lists = KeptLists()
        self._row = row
        self._redactor = row_redactor(row)
        self._on_notice = on_notice
        self._changed = anyio.Event()
        self._quiet_seconds = QUIET_SECONDS

    def hear(self, notification: ServerNotification) -> None:
        """Take note of what the server says of its lists."""
        if isinstance(notification, ToolListChangedNotification):
            self._changed.set()
        self.lists.hear(notification.method)

    async def live(
        self, client: Client, relist: Relist | None, *, learn: Learn | None = None
    ) -> None:
        """Serve until ``end``; without ``relist`` changes of the tools are not looked at."""
        async with anyio.create_task_group() as tasks:
            if learn is not None:
                tasks.start_soon(learn, client)
            promised = _promised_changes(client, tools=relist is not None)
            if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                if promised:
                    tasks.start_soon(self._listen, client, promised)
            else:
                self.lists.watch(promised)
                if self._row.log_level and client.server_capabilities.logging:
                    tasks.start_soon(self._set_log_level, client)
            if relist is not None:
                tasks.start_soon(self._watch, client, relist)
            await self.end.wait()
            tasks.cancel_scope.cancel()

    async def _watch(self, client: Client, relist: Relist) -> None:
        while True:
            await self._changed.wait()
            await self._pause()
            try:
                changed = await relist(client)
            except Exception as error:  # noqa: BLE001 - containment: the old list stays good
                self._on_notice(
                    "warning", f"could not list its tools again; it {self._words(error)}"
                )
                changed = False
            doubled = min(2 * self._quiet_seconds, MAX_QUIET_SECONDS)
            self._quiet_seconds = QUIET_SECONDS if changed else doubled

    async def _pause(self) -> None:
        """Wait for the end of a burst of changes."""
        last = anyio.current_time() + max(MAX_BURST_SECONDS, self._quiet_seconds)
        while self._changed.is_set():
            self._changed = anyio.Event()
            deadline = min(anyio.current_time() + self._quiet_seconds, last)
            with anyio.move_on_after(deadline - anyio.current_time()):
                await self._changed.wait()
            if anyio.current_time() >= last:
                self._changed = anyio.Event()

    async def _listen(self, client: Client, promised: frozenset[str]) -> None:
        """Keep the stream of changes open that 2026-07-28 has; its events reach ``hear``."""
        delay, opened = _LISTEN_SECONDS, False
        while True:
            try:
                async with client.listen(
                    tools_list_changed="tools" in promised,
                    resources_list_changed="resources" in promised,
                    prompts_list_changed="prompts" in promised,
                ) as changes:
                    if opened and "tools" in promised:
                        self._changed.set()  # something may have been missed
                    opened, delay = True, _LISTEN_SECONDS
                    self.lists.watch(_heard_changes(changes.honored))
                    async for _ in changes:
                        pass
            except MCPError:
                if not opened:
                    return  # it does not offer the stream
            except SubscriptionLost:
                pass
            self.lists.watch(())
            await anyio.sleep(delay)
            delay = min(2 * delay, _MAX_LISTEN_SECONDS)

    async def _set_log_level(self, client: Client) -> None:
        level = self._row.log_level
        assert level is not None
        request = SetLevelRequest(params=SetLevelRequestParams(level=level))
        try:
            await client.session.send_request(request, EmptyResult)
        except (MCPError, ValueError) as error:
            self._on_notice("info", f"does not set its log level; it {self._words(error)}")

    def _words(self, error: Exception) -> str:
        return reason_words(error, self._redactor)


def _promised_changes(client: Client, *, tools: bool) -> frozenset[str]:
    """The lists whose changes the server would tell of, by capability; tools only if wanted."""
    declared = client.server_capabilities
    changes = {
        "tools": tools and declared.tools and declared.tools.list_changed,
        "resources": declared.resources and declared.resources.list_changed,
        "prompts": declared.prompts and declared.prompts.list_changed,
    }
    return frozenset(capability for capability, is_told in changes.items() if is_told)


def _heard_changes(honoured: SubscriptionFilter) -> frozenset[str]:
    """The lists whose changes the server has agreed to tell of."""
    agreed = {
        "resources": honoured.resources_list_changed,
        "prompts": honoured.prompts_list_changed,
    }
    return frozenset(capability for capability, is_heard in agreed.items() if is_heard)


async def learn_of_server(client: Client) -> bool:
    """Ask a server that was not probed who it is; whether it answered.

    The SDK assumes instead of asking: capabilities and instructions would stay unknown, or old.
    A server that does not answer is taken as it was assumed to be.
    """
    session = client.session
    try:
        answer = await session.send_discover(client.protocol_version)
        session.adopt(DiscoverResult.model_validate(answer, by_name=False))
    except (MCPError, ValueError, RuntimeError):
        return False
    return True


def negotiated_era(client: Client, asked_at: datetime) -> KnownEra:
    """The era a client speaks in, so that the next one need not ask."""
    found = client.session.discover_result
    if found is None or client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return KnownEra(mode="legacy", asked_at=asked_at)
    said = found.model_dump(mode="json", by_alias=True, exclude_none=True)
    return KnownEra(mode=client.protocol_version, discovered=said, asked_at=asked_at)


def read_past_output_schemas(
    client: Client, listed: Container[str], on_notice: Callable[[str, str], None]
) -> None:
    """Hand results on that do not fit the tool's output schema, and tell of the first of each.

    The SDK turns such a result into an error, though the tool has run, and lists the tools again
    for one it does not know (sdk.md §1, #2626: there is no switch).

    Args:
        listed: names of the tools listed, kept up to date by the caller.
    """
    session = client.session
    check = session.validate_tool_result
    told: set[str] = set()

    async def tolerant(name: str, result: CallToolResult) -> None:
        if name not in listed:
            return
        try:
            await check(name, result)
        except RuntimeError as error:
            if name not in told:
                told.add(name)
                first = str(error).partition("\n")[0]
                on_notice("warning", f'tool "{name}" does not keep to its output schema: {first}')

    session.validate_tool_result = tolerant  # type: ignore[method-assign] # no other way in
