"""The two HTTP transports of the SDK, opened over a client that contains failures."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from host.pool.http_containment import SoftClient, soft_client
from host.pool.line_splitter import MAX_LINE_BYTES

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

    from host.pool.auth.server_auth import ServerAuth
    from host.pool.rows import HttpServerRow


class HttpTransport:
    """Streamable HTTP, or the older transport with a GET stream for the answers (``sse``).

    Nothing is asked of the server before the first message, except by ``sse``, which opens its
    stream on entry.
    """

    pid: int | None = None

    def __init__(
        self,
        row: HttpServerRow,
        *,
        ssl_context: ssl.SSLContext,
        auth: ServerAuth | None = None,
        on_session_lost: Callable[[], None],
        on_broken: Callable[[], None] = lambda: None,
        on_locked_out: Callable[[str], None] = lambda _: None,
        sse: bool = False,
    ) -> None:
        self._row = row
        self._ssl_context = ssl_context
        self._auth = auth
        self._on_session_lost = on_session_lost
        self._on_broken = on_broken
        self._on_locked_out = on_locked_out
        self._sse = sse
        self._opened = AsyncExitStack()

    def stderr_tail(self) -> str:
        """Nothing: there is no child."""
        return ""

    def end_note(self) -> str:
        """Why the transport ended, as a clause without subject."""
        return "closed the connection"

    async def __aenter__(self) -> TransportStreams:
        """Open the transport; raises what the SDK raises where it cannot be opened."""
        streams: TransportStreams
        if self._auth is not None:
            await self._auth.opened()
        async with AsyncExitStack() as opened:
            if self._sse:
                streams = await opened.enter_async_context(
                    sse_client(
                        self._row.url,
                        headers=dict(self._row.headers or {}),
                        httpx_client_factory=self._sse_client,
                    )
                )
            else:
                client = soft_client(
                    self._ssl_context,
                    self._row.headers,
                    auth=self._auth,
                    on_session_lost=self._on_session_lost,
                    on_locked_out=self._on_locked_out,
                )
                streams = await opened.enter_async_context(
                    streamable_http_client(
                        self._row.url,
                        http_client=await opened.enter_async_context(client),
                        max_sse_event_size=MAX_LINE_BYTES,
                    )
                )
            self._opened = opened.pop_all()
        return streams

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it; a session is given back to the server."""
        await self._opened.__aexit__(exc_type, exc, traceback)

    def _sse_client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> SoftClient:
        """A client whose failed message ends the transport, where the SDK would leave it mute."""
        return soft_client(
            self._ssl_context,
            headers,
            auth=self._auth,
            on_session_lost=self._on_broken,
            on_post_failed=self._on_broken,
            on_locked_out=self._on_locked_out,
        )
