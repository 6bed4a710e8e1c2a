"""Servers on the bare MCP SDK, used as it should be: the floor for the pool's benchmarks.

One owner task enters and leaves each client, everybody else only calls; HTTP clients share one TLS
context and have no limit on connections. Nothing of the pool is used.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import anyio.abc
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

READ_SECONDS = 300.0


class SdkServer:
    """One server: dialled and listed when ``ready`` is set."""

    def __init__(self, source: StdioServerParameters | str, context: ssl.SSLContext) -> None:
        self.ready = anyio.Event()
        self.client: Client
        self._source = source
        self._context = context
        self._stop = anyio.Event()

    async def own(self) -> None:
        """Enters the client, lists every page, and leaves it when told to."""
        async with AsyncExitStack() as opened:
            self.client = Client(await self._transport(opened), read_timeout_seconds=READ_SECONDS)
            await opened.enter_async_context(self.client)
            page = await self.client.list_tools()
            while page.next_cursor:
                page = await self.client.list_tools(cursor=page.next_cursor)
            self.ready.set()
            await self._stop.wait()

    def stop(self) -> None:
        """Lets the owner leave."""
        self._stop.set()

    async def _transport(self, opened: AsyncExitStack) -> StdioServerParameters | Transport:
        if isinstance(self._source, StdioServerParameters):
            return self._source
        http = httpx2.AsyncClient(
            verify=self._context,
            timeout=httpx2.Timeout(30, read=READ_SECONDS),
            limits=httpx2.Limits(max_connections=None),
        )
        await opened.enter_async_context(http)
        return streamable_http_client(self._source, http_client=http)


@asynccontextmanager
async def sdk_servers(
    sources: Sequence[StdioServerParameters | str],
) -> AsyncIterator[list[SdkServer]]:
    """The servers, all being dialled at once."""
    context = httpx2.create_ssl_context()
    servers = [SdkServer(source, context) for source in sources]
    async with anyio.create_task_group() as owners:
        for server in servers:
            owners.start_soon(server.own)
        try:
            yield servers
        finally:
            for server in servers:
                server.stop()
