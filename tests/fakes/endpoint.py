"""A scripted OpenAI-compatible endpoint in memory, under the real openai client.

A script is one `Reply` per request to ``/chat/completions``, in order. A streamed one is a list of
`Piece`s, which may wait on virtual time, break off, stay mute or carry an error event.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import openai

KEY = "sk-fake-0123456789abcdef"
BASE_URL = "http://endpoint.test/v1"

DONE = "data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is sent for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Break:
    """The connection is lost here."""

    message: str = "peer closed connection"


@dataclass(frozen=True, slots=True)
class Mute:
    """Nothing is ever sent again, and the connection stays."""


@dataclass(frozen=True, slots=True)
class Then:
    """Something of the test's own happens here."""

    act: Callable[[], object]


Piece = Mapping[str, Any] | str | bytes | Pause | Break | Mute | Then
"""A mapping is one ``data:`` event; text and bytes are sent as they are."""


@dataclass(slots=True)
class Reply:
    """One answer: a status, a body, or pieces of a stream.

    Attributes:
        before_seconds: how long the endpoint waits before it sends its headers.
        lost: the connection is refused; nothing else counts.
        closed: set as soon as the client has closed the stream.
    """

    status: int = 200
    pieces: Sequence[Piece] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    before_seconds: float = 0.0
    lost: bool = False
    closed: anyio.Event | None = None


def delta(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """One chunk with a delta of these fields."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish_reason}
    return {"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}


def text(content: str) -> dict[str, Any]:
    """A chunk that carries text."""
    return delta(content=content)


def role() -> dict[str, Any]:
    """The chunk that opens a stream and carries nothing."""
    return delta(role="assistant", content=None)


def finish(reason: str = "stop") -> dict[str, Any]:
    """The chunk that says why the answer ended."""
    return delta(reason)


def usage(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    """The chunk that reports tokens."""
    counts = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        **more,
    }
    return {"choices": [], "usage": counts}


def tool_call(
    name: str, arguments: str, *, call_id: str = "call_a", index: int = 0
) -> dict[str, Any]:
    """A chunk that carries one whole tool call."""
    function = {"name": name, "arguments": arguments}
    return delta(
        tool_calls=[{"index": index, "id": call_id, "type": "function", "function": function}]
    )


def error_event(message: str, **fields: Any) -> dict[str, Any]:
    """An error in the middle of a stream."""
    return {"error": {"message": message, **fields}}


def streamed(*pieces: Piece, before_seconds: float = 0.0) -> Reply:
    """A stream of exactly these pieces; it ends after the last of them."""
    return Reply(
        pieces=pieces,
        headers={"content-type": "text/event-stream"},
        before_seconds=before_seconds,
    )


def answer(content: str, *, prompt: int = 10, completion: int = 2) -> Reply:
    """A whole, well-behaved streamed answer."""
    return streamed(role(), text(content), finish(), usage(prompt, completion), DONE)


def whole(content: str | None, **message: Any) -> Reply:
    """A whole answer that is not streamed, as side tasks ask for."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": content, **message},
    }
    return as_json({"id": "c1", "object": "chat.completion", "choices": [choice]})


def as_json(value: object, status: int = 200, **headers: str) -> Reply:
    """A JSON body."""
    return Reply(
        status=status,
        pieces=(json.dumps(value),),
        headers={"content-type": "application/json", **headers},
    )


def refused(
    status: int, message: str, *, headers: Mapping[str, str] | None = None, **fields: Any
) -> Reply:
    """An error in the OpenAI shape."""
    reply = as_json({"error": {"message": message, **fields}}, status)
    reply.headers = {**reply.headers, **(headers or {})}
    return reply


def lost() -> Reply:
    """The connection is refused before anything is sent."""
    return Reply(lost=True)


def wire_bytes(piece: Mapping[str, Any] | str | bytes) -> bytes:
    """What one piece is on the wire."""
    if isinstance(piece, bytes):
        return piece
    if isinstance(piece, str):
        return piece.encode()
    return f"data: {json.dumps(piece)}\n\n".encode()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, reply: Reply, request: httpx2.Request) -> None:
        self._reply = reply
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._reply.pieces:
            match piece:
                case Pause(seconds=seconds):
                    await anyio.sleep(seconds)
                case Break(message=message):
                    raise httpx2.ReadError(message, request=self._request)
                case Mute():
                    await anyio.sleep_forever()
                case Then(act=act):
                    act()
                case str() | bytes() | Mapping():
                    await anyio.lowlevel.checkpoint()
                    yield wire_bytes(piece)

    async def aclose(self) -> None:
        if self._reply.closed is not None:
            self._reply.closed.set()


class FakeEndpoint:
    """Answers chat requests from its script, and everything else from ``routes``.

    Attributes:
        bodies: the JSON bodies of the chat requests, in order.
        sent_at: when each of them arrived, on the test's clock.
        paths: every path asked for, with its query, in order.
        requests: every request, in order.
    """

    def __init__(self, *script: Reply, routes: Mapping[str, Sequence[Reply]] | None = None) -> None:
        self._script = list(script)
        self._routes = {path: list(replies) for path, replies in (routes or {}).items()}
        self.bodies: list[dict[str, Any]] = []
        self.sent_at: list[float] = []
        self.paths: list[str] = []
        self.requests: list[httpx2.Request] = []

    @property
    def sends(self) -> int:
        """How many chat requests arrived."""
        return len(self.bodies)

    def asked(self, path: str) -> int:
        """How often a path was asked for, whatever its query."""
        return sum(1 for asked in self.paths if asked.split("?")[0] == path)

    def http(self) -> httpx2.AsyncClient:
        """An HTTP client that reaches only this endpoint."""
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self._serve))

    def client(self, *, key: str = KEY, base_url: str = BASE_URL) -> openai.AsyncOpenAI:
        """The real openai client on top of it, without retries of its own."""
        return openai.AsyncOpenAI(
            api_key=key, base_url=base_url, http_client=self.http(), max_retries=0, timeout=None
        )

    async def _serve(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        self.paths.append(request.url.raw_path.decode())
        reply = self._reply_to(request)
        if reply.before_seconds:
            await anyio.sleep(reply.before_seconds)
        if reply.lost:
            raise httpx2.ConnectError("All connection attempts failed", request=request)
        return httpx2.Response(
            reply.status,
            headers=dict(reply.headers),
            stream=_Body(reply, request),
            request=request,
        )

    def _reply_to(self, request: httpx2.Request) -> Reply:
        if request.url.path.endswith("/chat/completions"):
            self.bodies.append(json.loads(request.content))
            self.sent_at.append(anyio.current_time())
            assert self._script, f"nothing left to answer request {len(self.bodies)} with"
            return self._script.pop(0)
        replies = self._routes.get(request.url.path)
        if replies is None:
            return refused(404, "File Not Found")
        return replies.pop(0) if len(replies) > 1 else replies[0]
