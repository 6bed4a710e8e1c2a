"""The bytes of an answer's body: their payloads, and their end."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from types import TracebackType

import anyio
import httpx2

from host.errors import StreamBroken
from host.wire.failure import CONNECTION_FAILURES
from host.wire.sse import MAX_EVENT_BYTES, SseDecoder

DRAIN_SECONDS = 0.1
"""How long the rest of a finished answer is waited for, to keep its connection usable."""

_WHITESPACE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_OPENS_WHOLE_BODY = (b"{", b"[", b"<")


class AnswerDecoder:
    """Turns bytes into payloads, whether they are events or one body as a whole.

    Endpoints that do not stream answer with a JSON object, wrong addresses with a page. Neither
    can begin an event, so the first visible byte decides; content types are often wrong.

    Args:
        max_bytes: the longest event, and the longest body that comes as a whole.
    """

    def __init__(self, *, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._whole_bytes = 0
        self._head = b""
        self._events: SseDecoder | None = None
        self._whole: list[bytes] | None = None

    def feed(self, received: bytes) -> list[str]:
        """The payloads that ``received`` completes.

        Raises:
            StreamBroken: an event is longer than any answer.
        """
        if self._whole is not None:
            self._hold(received)
            return []
        if self._events is not None:
            return self._events.feed(received)
        self._head += received
        visible = self._head.removeprefix(_BOM).lstrip(_WHITESPACE)
        if visible.startswith(_OPENS_WHOLE_BODY):
            self._whole = []
            self._hold(visible)
            return []
        if visible and not _BOM.startswith(visible):
            self._events = SseDecoder(max_event_bytes=self._max_bytes)
            return self._events.feed(self._head)
        return []

    @property
    def is_in_payload(self) -> bool:
        """Whether a payload has begun to arrive and is not yet complete."""
        return self._whole is not None or (self._events is not None and self._events.is_in_event)

    def finish(self) -> list[str]:
        """The payload that only the end of the body completes, if any."""
        if self._whole is not None:
            return [b"".join(self._whole).decode(errors="replace")]
        return self._events.finish() if self._events is not None else []

    def _hold(self, received: bytes) -> None:
        self._whole_bytes += len(received)
        if self._whole is None or self._whole_bytes > self._max_bytes:
            raise StreamBroken(f"the answer is longer than {self._max_bytes} bytes")
        self._whole.append(received)


class AnswerBytes:
    """A response's body to iterate over; leaving it closes everything below.

    What is left of the body is read for a moment when the scope is left normally, and not at all
    when it is left by an exception. Reading on under a deadline also ends the generators inside
    the HTTP client, which stay open behind a reader that just stops (httpx2 2.16 on trio).
    """

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._bytes: AsyncGenerator[bytes, None] = response.aiter_bytes()

    async def __aenter__(self) -> AsyncGenerator[bytes, None]:
        return self._bytes

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            with anyio.move_on_after(DRAIN_SECONDS if kind is None else 0):
                async for _ in self._bytes:
                    pass
        except CONNECTION_FAILURES:
            pass  # the answer is complete, or its failure is already on its way
        finally:
            await self._bytes.aclose()
            await self._response.aclose()
