"""The same script over a real loopback socket, for what only sockets show: who hangs up when."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

import anyio
import anyio.abc
import h11

from tests.fakes.endpoint import Break, Mute, Pause, Reply, Then, wire_bytes


class LoopbackEndpoint:
    """Listens on a free loopback port while its scope is open; one reply of its script a request.

    Args:
        hangs_up: each connection serves one request and closes when it hears another, as
            llama-server in effect does after a stream.

    Attributes:
        base_url: for the client.
        connections: how many were opened.
        answering: set when the first piece of a reply has been sent.
        hung_up: set when a client closed its connection in the middle of a reply.
    """

    def __init__(self, *script: Reply, hangs_up: bool = False) -> None:
        self._script = list(script)
        self._hangs_up = hangs_up
        self._group = anyio.create_task_group()
        self.base_url = ""
        self.connections = 0
        self.answering = anyio.Event()
        self.hung_up = anyio.Event()

    async def __aenter__(self) -> Self:
        self._listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port = self._listener.extra(anyio.abc.SocketAttribute.local_port)
        self.base_url = f"http://127.0.0.1:{port}/v1"
        await self._group.__aenter__()
        self._group.start_soon(self._listener.serve, self._serve)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        self._group.cancel_scope.cancel()
        try:
            return await self._group.__aexit__(kind, error, trace)
        finally:
            await self._listener.aclose()

    async def _serve(self, stream: anyio.abc.SocketStream) -> None:
        self.connections += 1
        async with stream:
            connection = h11.Connection(h11.SERVER)
            while await _request_arrived(stream, connection):
                if not await self._answered(stream, connection, self._script.pop(0)):
                    return
                connection.start_next_cycle()
                if self._hangs_up:
                    await _request_arrived(stream, connection)
                    return

    async def _answered(
        self, stream: anyio.abc.SocketStream, connection: h11.Connection, reply: Reply
    ) -> bool:
        with anyio.move_on_after(reply.before_seconds):
            await self._wait_for_hang_up(stream)
            return False
        headers = [*reply.headers.items(), ("transfer-encoding", "chunked")]
        response = h11.Response(status_code=reply.status, headers=headers)
        await stream.send(connection.send(response) or b"")
        for piece in reply.pieces:
            match piece:
                case Pause(seconds=seconds):
                    await anyio.sleep(seconds)
                case Break():
                    return False
                case Mute():
                    await self._wait_for_hang_up(stream)
                    return False
                case Then(act=act):
                    act()
                case str() | bytes() | Mapping():
                    await stream.send(connection.send(h11.Data(data=wire_bytes(piece))) or b"")
                    self.answering.set()
        await stream.send(connection.send(h11.EndOfMessage()) or b"")
        return True

    async def _wait_for_hang_up(self, stream: anyio.abc.SocketStream) -> None:
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            self.hung_up.set()


async def _request_arrived(stream: anyio.abc.SocketStream, connection: h11.Connection) -> bool:
    """Reads one whole request; False when the client closed the connection instead."""
    while True:
        event = connection.next_event()
        if isinstance(event, h11.EndOfMessage):
            return True
        if isinstance(event, h11.ConnectionClosed):
            return False
        if event is h11.NEED_DATA:
            try:
                connection.receive_data(await stream.receive())
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                connection.receive_data(b"")
