"""An HTTP client under which a failed exchange stays the failure of one call (sdk.md §2.2).

The SDK's transport lets a network error end the whole session, and forgets status and headers of
a refusal. ``SoftClient`` answers in the server's stead when a request fails, lets a body that
breaks off end instead of raise, and leaves a note of what happened for whoever sent the message.
"""

from __future__ import annotations

import math
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Any

import anyio
import httpx2
from mcp_types import CONNECTION_CLOSED

from host.pool.auth.not_authorised import NotAuthorised
from host.pool.exchange_note import ExchangeNote, current_note
from host.pool.line_splitter import MAX_LINE_BYTES
from host.pool.message_text import EscapeMender
from host.pool.refusal_text import refusal_line

CONNECT_SECONDS = 30.0
"""To connect, to send, to get a connection; reading is bounded by each call's own limit."""

REFUSAL_SECONDS = 2.0
MAX_REFUSAL_BYTES = 1 << 16
"""How long, and how far, the body of a refusal is read for what it says."""
FREE_RESUMPTIONS = 5
RESUME_SECONDS = 1.0
"""After so many, a stream of answers is asked for again at most so often."""

LEAVE_SECONDS = 1.0
NOTICE_SECONDS = 10.0
"""How long a server may take to accept what is no request."""

_UNWANTED = "nobody waits for the answer any more"
_HEAD_BYTES = 400
_NO_REQUEST = re.compile(
    rb'\{"jsonrpc":"2\.0",(?:"method":"notifications/|"id":(?:\d+|"[^"]*"),"(?:result|error)":)'
)
"""How a message begins that is a notification, or answers a request of the server's."""
_SESSION_HEADER = "mcp-session-id"
_OF_THE_BODY = ("content-length", "content-encoding", "transfer-encoding")


class _Wanted:
    """Ends the waiting in its block when what it is for is over, or the time is up."""

    def __init__(self, note: ExchangeNote, seconds: float = math.inf) -> None:
        self._note = note
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + seconds)

    def __enter__(self) -> None:
        self._note.waits.add(self._scope.cancel)
        self._scope.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self._note.waits.discard(self._scope.cancel)
        return bool(self._scope.__exit__(kind, error, trace))


class SoftStream(httpx2.AsyncByteStream):
    """A body that ends where it broke off; the reader then finds the answer unfinished."""

    def __init__(self, inner: httpx2.AsyncByteStream, note: ExchangeNote) -> None:
        self._inner = inner
        self._note = note

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        """The chunks, as far as they came and somebody wants them."""
        chunks, is_left = self._inner.__aiter__(), True
        try:
            while True:
                chunk = None
                with _Wanted(self._note):
                    chunk = await anext(chunks, None)
                if chunk is None:
                    is_left = False
                    return
                yield chunk
        except httpx2.HTTPError as error:
            is_left = False
            self._note.broken_body = True
            self._note.failure = _words(error)
        finally:
            if is_left:
                await self._leave(chunks)

    async def _leave(self, chunks: AsyncIterator[bytes]) -> None:
        """Have the generators inside one another end that read from a socket, now closed."""
        with anyio.move_on_after(LEAVE_SECONDS, shield=True):
            await self._inner.aclose()
            with suppress(Exception):
                await anext(chunks, None)
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()

    async def aclose(self) -> None:
        """Close the body and free its connection."""
        await self._inner.aclose()


class SoftClient(httpx2.AsyncClient):
    """An HTTP client whose ``send`` does not raise for what network or server do.

    Args:
        on_session_lost: called when a request of a session was refused with 404, unless it was
            one of the pool's own.
        on_post_failed: called when a message was not delivered, or refused.
        on_locked_out: called with the reason when no message will be let in any more.
    """

    def __init__(
        self,
        *,
        on_session_lost: Callable[[], None],
        on_post_failed: Callable[[], None] = lambda: None,
        on_locked_out: Callable[[str], None] = lambda _: None,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._on_session_lost = on_session_lost
        self._on_post_failed = on_post_failed
        self._on_locked_out = on_locked_out

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The server's answer, or a 503 of our own that says what failed."""
        note = current_note()
        if request.method == "GET":
            await _pace(note)
            if note.is_over:
                return _stand_in(request, _UNWANTED)
        try:
            response = await self._sent(request, note, options)
        except NotAuthorised as error:
            return self._turned_away(request, error, note)
        except Exception as error:  # noqa: BLE001 - containment: whatever a network, a proxy, TLS
            # or an auth flow raises would end the session's task group, and every call in it.
            note.failure = _words(error)
            if request.method == "POST":
                self._on_post_failed()
            return _stand_in(request, note.failure)
        if response is None:
            return _stand_in(request, _UNWANTED)
        if options.get("stream") and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = SoftStream(response.stream, note)
            _mend_body(response, note)
        if request.method == "POST":
            note.status, note.failure = None, ""
            if response.status_code >= 400:
                response = await _begun(request, response)
                self._note_refusal(request, response, note)
            else:  # after a lock-out the SDK tries what is refused for reasons of its own
                note.not_authorised = None
        return response

    async def _sent(
        self, request: httpx2.Request, note: ExchangeNote, options: Mapping[str, Any]
    ) -> httpx2.Response | None:
        """The server's answer; None when nobody wants it any more.

        The SDK would wait for the answer to a call that was given up long ago, and sends nothing
        else while the server does not take a notification.
        """
        seconds = math.inf if _wants_answer(request) else NOTICE_SECONDS
        with _Wanted(note, seconds):
            return await super().send(request, **options)
        return None

    def _turned_away(
        self, request: httpx2.Request, error: NotAuthorised, note: ExchangeNote
    ) -> httpx2.Response:
        note.status, note.failure, note.not_authorised = None, "", error
        if request.method == "POST" and error.ends_session:
            self._on_locked_out(error.words)
        elif request.method == "POST":
            self._on_post_failed()
        return _stand_in(request, error.words)

    def _note_refusal(
        self, request: httpx2.Request, response: httpx2.Response, note: ExchangeNote
    ) -> None:
        note.status = response.status_code
        note.said = refusal_line(response.content, status=response.status_code)
        note.retry_after = response.headers.get("retry-after")
        is_of_session = _SESSION_HEADER in request.headers and _wants_answer(request)
        if response.status_code == 404 and is_of_session and not note.is_own:
            note.session_lost = True
            self._on_session_lost()
        self._on_post_failed()


def soft_client(
    ssl_context: ssl.SSLContext,
    headers: Mapping[str, str] | None,
    *,
    auth: httpx2.Auth | None = None,
    on_session_lost: Callable[[], None],
    on_post_failed: Callable[[], None] = lambda: None,
    on_locked_out: Callable[[str], None] = lambda _: None,
) -> SoftClient:
    """A client for one server: as many connections as calls, no limit on silence."""
    return SoftClient(
        on_session_lost=on_session_lost,
        on_post_failed=on_post_failed,
        on_locked_out=on_locked_out,
        auth=auth,
        headers=dict(headers or {}),
        verify=ssl_context,
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
        limits=httpx2.Limits(max_connections=None),
    )


async def _pace(note: ExchangeNote) -> None:
    """Hold back a stream that is asked for again and again: a server may end it at once each time.

    The SDK asks as soon as the server wants it to (sdk.md §5, #2393), and goes on when nobody
    waits any more.
    """
    times, last = note.resumed
    if times >= FREE_RESUMPTIONS:
        await anyio.sleep(last + RESUME_SECONDS - anyio.current_time())
    note.resumed = (times + 1, anyio.current_time())


async def _begun(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """The refusal with as much of its body as comes at once: its words are worth a moment."""
    if response.is_closed:
        return response
    body = b""
    with anyio.move_on_after(REFUSAL_SECONDS):
        async with aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) >= MAX_REFUSAL_BYTES:
                    break
    await response.aclose()
    kept = [
        (name, value)
        for name, value in response.headers.multi_items()
        if name.lower() not in _OF_THE_BODY
    ]
    return httpx2.Response(response.status_code, headers=kept, content=body, request=request)


def _mend_body(response: httpx2.Response, note: ExchangeNote) -> None:
    """Have the body read without halves of surrogate pairs, over which the SDK would stumble.

    After the decoding, since the body may be compressed; text and events are read from there. Of
    one answer there is an end to what is read; streams of events have their own.
    """
    kind = response.headers.get("content-type", "").lower()
    if not kind.startswith(("application/json", "text/event-stream")):
        return
    most = MAX_LINE_BYTES if kind.startswith("application/json") else math.inf
    decoded = response.aiter_bytes

    async def mended(chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        mender, read = EscapeMender(), 0
        async with aclosing(decoded(chunk_size)) as chunks:
            async for chunk in chunks:
                read += len(chunk)
                if read > most:
                    note.is_too_long = True
                    return
                if whole := mender.feed(chunk):
                    yield whole
        if rest := mender.close():
            yield rest

    response.aiter_bytes = mended  # type: ignore[method-assign] # no other way in


def _wants_answer(request: httpx2.Request) -> bool:
    """Whether a message may be a request, and is no notification nor an answer of ours."""
    return request.method != "POST" or _NO_REQUEST.match(request.content, 0, _HEAD_BYTES) is None


def _words(error: Exception) -> str:
    """The error's class and its text; that of what caused it where it has none of its own."""
    inner: BaseException | None = error
    while inner is not None and not str(inner):
        inner = inner.__cause__ or inner.__context__
    name = type(error).__name__
    return name if inner is None else f"{name}: {inner}"


def _stand_in(request: httpx2.Request, failure: str) -> httpx2.Response:
    """A JSON-RPC error the SDK hands to the call; it fills in the id (sdk.md §9)."""
    error = {"code": CONNECTION_CLOSED, "message": failure}
    return httpx2.Response(
        503, request=request, json={"jsonrpc": "2.0", "id": None, "error": error}
    )
