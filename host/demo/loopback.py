"""A small HTTP/1.1 server on the loopback interface, on a port the system picks."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import anyio
import anyio.abc
import h11

_MAX_BODY_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 1 << 16
_JSON = "application/json"
_EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request, read whole; ``path`` is without a query, header names are in lower case."""

    method: str
    path: str
    body: bytes
    headers: Mapping[str, str]


class HttpReply:
    """The reply to one request: either whole, or begun, sent in events and ended."""

    def __init__(self, connection: h11.Connection, stream: anyio.abc.ByteStream) -> None:
        self._connection = connection
        self._stream = stream

    @property
    def begun(self) -> bool:
        """Whether anything was sent yet."""
        return self._connection.our_state is not h11.SEND_RESPONSE

    async def whole(self, status: int, body: bytes, content_type: str = _JSON) -> None:
        """Sends a reply with its body and its length."""
        headers = [("content-type", content_type), ("content-length", str(len(body)))]
        head = h11.Response(status_code=status, headers=headers)
        await self._send(head, h11.Data(data=body), h11.EndOfMessage())

    async def json(self, status: int, value: Any) -> None:
        """Sends a JSON value."""
        await self.whole(status, json.dumps(value).encode())

    async def error(self, status: int, message: str, kind: str) -> None:
        """Sends an error as OpenAI's endpoints do."""
        error = {"message": message, "type": kind, "param": None, "code": kind}
        await self.json(status, {"error": error})

    async def begin_events(self) -> None:
        """Begins a stream of server-sent events."""
        headers = [("content-type", _EVENTS), ("cache-control", "no-cache")]
        await self._send(h11.Response(status_code=200, headers=headers))

    async def send_event(self, payload: str) -> None:
        """Sends one event, a ``data:`` line for each line of the payload."""
        lines = "".join(f"data: {line}\n" for line in payload.split("\n"))
        await self._send(h11.Data(data=f"{lines}\n".encode()))

    async def end(self) -> None:
        """Ends a stream."""
        await self._send(h11.EndOfMessage())

    async def _send(self, *events: h11.Event) -> None:
        await self._stream.send(b"".join(self._connection.send(event) or b"" for event in events))


Respond = Callable[[HttpRequest, HttpReply], Awaitable[None]]


class LoopbackServer:
    """Serves while its context is open; entered and left in one task.

    Args:
        respond: answers each request; a reply it leaves unfinished closes the connection.

    Attributes:
        base_url: where it listens, with ``/v1``; known once entered.
    """

    def __init__(self, respond: Respond) -> None:
        self.base_url = ""
        self._respond = respond
        self._group: anyio.abc.TaskGroup | None = None

    async def __aenter__(self) -> LoopbackServer:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self._group = await anyio.create_task_group().__aenter__()
        self._group.start_soon(self._serve, listener, self._group)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if self._group is None:
            return None
        self._group.cancel_scope.cancel()
        if error is None or isinstance(error, anyio.get_cancelled_exc_class()):
            return await self._group.__aexit__(kind, error, trace)
        # The body's own error is not the group's: it goes on as it is, not in an ExceptionGroup.
        await self._group.__aexit__(None, None, None)
        return None

    async def _serve(
        self, listener: anyio.abc.Listener[anyio.abc.ByteStream], group: anyio.abc.TaskGroup
    ) -> None:
        async with listener:
            await listener.serve(self._converse, group)

    async def _converse(self, stream: anyio.abc.ByteStream) -> None:
        """Answers the requests of one connection; a client that leaves or babbles ends it."""
        connection = h11.Connection(h11.SERVER)
        async with stream:
            try:
                while request := await _next_request(connection, stream):
                    await self._respond(request, HttpReply(connection, stream))
                    if connection.our_state is not h11.DONE:
                        return
                    connection.start_next_cycle()
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, h11.RemoteProtocolError):
                return


async def _next_request(
    connection: h11.Connection, stream: anyio.abc.ByteStream
) -> HttpRequest | None:
    """The next request, whole; None when the client is done or sends too much."""
    head: h11.Request | None = None
    body = bytearray()
    while len(body) <= _MAX_BODY_BYTES:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            await _receive(connection, stream)
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            return _request(head, bytes(body))
        else:  # the connection is closed, or paused for good
            return None
    return None


def _request(head: h11.Request, body: bytes) -> HttpRequest:
    return HttpRequest(
        method=head.method.decode("ascii"),
        path=head.target.decode("ascii").partition("?")[0],
        body=body,
        headers={name.decode("ascii"): value.decode("latin-1") for name, value in head.headers},
    )


async def _receive(connection: h11.Connection, stream: anyio.abc.ByteStream) -> None:
    if connection.they_are_waiting_for_100_continue:
        go_on = h11.InformationalResponse(status_code=100, headers=[])
        await stream.send(connection.send(go_on) or b"")
    try:
        connection.receive_data(await stream.receive(_CHUNK_BYTES))
    except anyio.EndOfStream:
        connection.receive_data(b"")
