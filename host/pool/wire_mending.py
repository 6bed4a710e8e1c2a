"""A transport round a transport that mends what a server answers, and notices its end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    PROTOCOL_VERSION_META_KEY,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from host.pool.advertising import correct_capabilities
from host.pool.call_progress import PROGRESS_METHOD, with_floats
from host.pool.content_mending import mend_answer
from host.pool.result_mending import MENDED_METHODS
from host.pool.transports import ServerTransport
from host.text.redaction import without_quoted_input

if TYPE_CHECKING:
    from contextvars import Context

    from mcp.client._transport import ReadStream, TransportStreams, WriteStream

MAX_NOTICES = 1000
"""How many lines one connection is told of; no server may fill a log."""


class MendedTransport:
    """A server's transport with its answers mended.

    Args:
        on_notice: told each line about something that was dropped or changed, once.
        on_end: called once when the server's side has ended, whatever the reason.
        redact: takes secrets out of what errors say, which the SDK puts into logs and traces.
        elicitation_modes: the kinds of question that requests may say are put to a person.
    """

    def __init__(
        self,
        inner: ServerTransport,
        *,
        on_notice: Callable[[str], None],
        on_end: Callable[[], None],
        redact: Callable[[str], str] = str,
        elicitation_modes: Collection[str] = (),
    ) -> None:
        self._inner = inner
        self._elicitation_modes = elicitation_modes
        self._redact = redact
        self._on_notice = on_notice
        self._on_end = on_end
        self._asked: dict[RequestId, tuple[str, str | None]] = {}
        self._found: tuple[str, str] | None = None
        self._told: set[str] = set()

    @property
    def pid(self) -> int | None:
        """Process id of the server's process, if it has one of ours."""
        return self._inner.pid

    def end_note(self) -> str:
        """Why the server's side ended, as it was before we closed ours; "" while it works."""
        return self._found[0] if self._found else ""

    def last_words(self) -> str:
        """The child's stderr, without what it says of being stopped by us."""
        return self._found[1] if self._found else self._inner.stderr_tail()

    async def __aenter__(self) -> TransportStreams:
        """Open the inner transport."""
        read, write = await self._inner.__aenter__()
        return _Reading(read, self._mend, self._ended), _Writing(write, self._remember)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        if self._found is None:
            self._found = ("", self._inner.stderr_tail())
        await self._inner.__aexit__(exc_type, exc, traceback)

    def _ended(self) -> None:
        if self._found is None:
            self._found = (self._inner.end_note(), self._inner.stderr_tail())
            self._on_end()

    def _remember(self, item: SessionMessage) -> None:
        match item.message:
            case JSONRPCRequest(id=identifier, method=method, params=params):
                correct_capabilities(params or {}, self._elicitation_modes)
                version = ((params or {}).get("_meta") or {}).get(PROTOCOL_VERSION_META_KEY)
                if version is not None or method in MENDED_METHODS:
                    self._asked[identifier] = (method, version)
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                self._asked.pop((params or {}).get("requestId", ""), None)
            case _:
                pass

    def _mend(self, item: SessionMessage | Exception) -> None:
        if isinstance(item, Exception):
            return
        message = item.message
        if isinstance(message, JSONRPCResponse):
            asked = self._forget(message.id)
            if asked is not None:
                message.result, notices = mend_answer(*asked, message.result)
                self._tell(notices)
        elif isinstance(message, JSONRPCError):
            message.error.message = self._redact(without_quoted_input(message.error.message))
            if message.id is not None:
                self._forget(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == PROGRESS_METHOD:
            message.params = with_floats(message.params)

    def _tell(self, notices: Iterable[str]) -> None:
        """Tell what has not been told of this connection; a list may be asked for many times."""
        for notice in notices:
            if notice not in self._told and len(self._told) < MAX_NOTICES:
                self._told.add(notice)
                self._on_notice(notice)

    def _forget(self, identifier: RequestId) -> tuple[str, str | None] | None:
        """What was asked under this id; a server may send a number back as text (sdk coerces)."""
        if isinstance(identifier, str) and identifier.isdecimal():
            identifier = int(identifier) if identifier not in self._asked else identifier
        return self._asked.pop(identifier, None)


class _Reading:
    """The read stream of the SDK's protocol; mends each item and tells of the end."""

    def __init__(
        self,
        inner: ReadStream[SessionMessage | Exception],
        mend: Callable[[SessionMessage | Exception], None],
        on_end: Callable[[], None],
    ) -> None:
        self._inner = inner
        self._mend = mend
        self._on_end = on_end

    @property
    def last_context(self) -> Context | None:
        """The sender's context variables, where the transport keeps them."""
        context: Context | None = getattr(self._inner, "last_context", None)
        return context

    async def receive(self) -> SessionMessage | Exception:
        try:
            item = await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._on_end()
            raise
        self._mend(item)
        return item

    def __aiter__(self) -> _Reading:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> _Reading:
        return self

    async def __aexit__(self, *_exc: Any) -> None:
        await self.aclose()


class _Writing:
    """The write stream of the SDK's protocol; remembers what is asked."""

    def __init__(
        self, inner: WriteStream[SessionMessage], remember: Callable[[SessionMessage], None]
    ) -> None:
        self._inner = inner
        self._remember = remember

    async def send(self, item: SessionMessage, /) -> None:
        self._remember(item)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> _Writing:
        return self

    async def __aexit__(self, *_exc: Any) -> None:
        await self.aclose()
