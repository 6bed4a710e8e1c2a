"""An HTTP client under which a failed exchange stays the failure of one call (sdk.md §2.2).

The SDK's transport lets a network error end the whole session, and forgets status and headers of
a refusal. ``SoftClient`` answers in the server's stead when a request fails, lets a body that
breaks off end instead of raise, and leaves a note of what happened for whoever sent the message.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp_types import CONNECTION_CLOSED

from host.pool.message_text import EscapeMender

CONNECT_SECONDS = 30.0
"""To connect, to send, to get a connection; reading is bounded by each call's own limit."""

_SESSION_HEADER = "mcp-session-id"


@dataclass(slots=True)
class ExchangeNote:
    """What became of the HTTP exchanges of one call or one dial; the last failure counts.

    Attributes:
        status: of the last answer that was an error; None for none.
        retry_after: the server's header of that name, as sent.
        session_lost: a session id was refused: nothing was dispatched.
        failure: what kept a request from being answered; "" for nothing.
        broken_body: an answer's body broke off.
    """

    status: int | None = None
    retry_after: str | None = None
    session_lost: bool = False
    failure: str = ""
    broken_body: bool = False


_note: ContextVar[ExchangeNote | None] = ContextVar("exchange_note", default=None)


@contextmanager
def noting_exchanges() -> Iterator[ExchangeNote]:
    """Collect, in the note handed out, what happens to requests made for this block."""
    note = ExchangeNote()
    token = _note.set(note)
    try:
        yield note
    finally:
        _note.reset(token)


class SoftStream(httpx2.AsyncByteStream):
    """A body that ends where it broke off; the reader then finds the answer unfinished."""

    def __init__(self, inner: httpx2.AsyncByteStream, note: ExchangeNote) -> None:
        self._inner = inner
        self._note = note

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        """The chunks, as far as they came."""
        chunks = self._inner.__aiter__()
        try:
            async for chunk in chunks:
                yield chunk
        except httpx2.HTTPError as error:
            self._note.broken_body = True
            self._note.failure = _words(error)
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()

    async def aclose(self) -> None:
        """Close the body and free its connection."""
        await self._inner.aclose()


class SoftClient(httpx2.AsyncClient):
    """An HTTP client whose ``send`` does not raise for what network or server do.

    Args:
        on_session_lost: called when a message of a session was refused with 404.
        on_post_failed: called when a message was not delivered, or refused.
    """

    def __init__(
        self,
        *,
        on_session_lost: Callable[[], None],
        on_post_failed: Callable[[], None] = lambda: None,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._on_session_lost = on_session_lost
        self._on_post_failed = on_post_failed

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The server's answer, or a 503 of our own that says what failed."""
        note = _note.get() or ExchangeNote()
        try:
            response = await super().send(request, **options)
        except Exception as error:  # noqa: BLE001 - containment: whatever a network, a proxy, TLS
            # or an auth flow raises would end the session's task group, and every call in it.
            note.failure = _words(error)
            if request.method == "POST":
                self._on_post_failed()
            return _stand_in(request, note.failure)
        if options.get("stream") and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = SoftStream(response.stream, note)
            _mend_escapes(response)
        if request.method == "POST":
            note.status, note.failure = None, ""
            if response.status_code >= 400:
                self._note_refusal(request, response, note)
        return response

    def _note_refusal(
        self, request: httpx2.Request, response: httpx2.Response, note: ExchangeNote
    ) -> None:
        note.status = response.status_code
        note.retry_after = response.headers.get("retry-after")
        if response.status_code == 404 and _SESSION_HEADER in request.headers:
            note.session_lost = True
            self._on_session_lost()
        self._on_post_failed()


def soft_client(
    ssl_context: ssl.SSLContext,
    headers: Mapping[str, str] | None,
    *,
    on_session_lost: Callable[[], None],
    on_post_failed: Callable[[], None] = lambda: None,
) -> SoftClient:
    """A client for one server: as many connections as calls, no limit on silence."""
    return SoftClient(
        on_session_lost=on_session_lost,
        on_post_failed=on_post_failed,
        headers=dict(headers or {}),
        verify=ssl_context,
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
        limits=httpx2.Limits(max_connections=None),
    )


def _mend_escapes(response: httpx2.Response) -> None:
    """Have the body read without halves of surrogate pairs, over which the SDK would stumble.

    After the decoding, since the body may be compressed; text and events are read from there.
    """
    kind = response.headers.get("content-type", "").lower()
    if not kind.startswith(("application/json", "text/event-stream")):
        return
    decoded = response.aiter_bytes

    async def mended(chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        mender = EscapeMender()
        async with aclosing(decoded(chunk_size)) as chunks:
            async for chunk in chunks:
                if whole := mender.feed(chunk):
                    yield whole
        if rest := mender.close():
            yield rest

    response.aiter_bytes = mended  # type: ignore[method-assign] # no other way in


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _stand_in(request: httpx2.Request, failure: str) -> httpx2.Response:
    """A JSON-RPC error the SDK hands to the call; it fills in the id (sdk.md §9)."""
    error = {"code": CONNECTION_CLOSED, "message": failure}
    return httpx2.Response(
        503, request=request, json={"jsonrpc": "2.0", "id": None, "error": error}
    )
