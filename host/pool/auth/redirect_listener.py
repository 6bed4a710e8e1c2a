"""Waits on this machine for the browser to come back from a login (RFC 8252 §7.3)."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from types import TracebackType

import anyio
import anyio.abc

from host.pool.auth.redirects import PATH, Redirect, redirect_in

HOST = "127.0.0.1"
MAX_HEAD_BYTES = 16_384
HEAD_SECONDS = 10.0

_HUNG_UP = (OSError, TimeoutError, anyio.BrokenResourceError, anyio.EndOfStream)
"""How a connection ends that a browser opened in advance, or was closed under."""

_PAGE = (
    "<!doctype html><meta charset=utf-8><title>agent-host</title>"
    "<p>{text} You may close this page and go back to agent-host."
)


class PortTaken(Exception):
    """The port that a row or a registration asks for is in use."""


class RedirectListener:
    """A listener on a port of the loopback address; open for a block.

    Args:
        port: 0 for any that is free.
    """

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self._listener: anyio.abc.Listener[anyio.abc.SocketStream]

    @property
    def uri(self) -> str:
        """Where the authorization server is to send the browser."""
        return f"http://{HOST}:{self._port}{PATH}"

    async def __aenter__(self) -> RedirectListener:
        """Begin to listen.

        Raises:
            PortTaken: the port is in use.
        """
        try:
            self._listener = await anyio.create_tcp_listener(local_host=HOST, local_port=self._port)
        except OSError as error:
            raise PortTaken from error
        self._port = self._listener.extra(anyio.abc.SocketAttribute.local_port)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop to listen."""
        await self._listener.aclose()

    async def answer(self, state: str, send: Callable[[], Awaitable[None]]) -> Redirect:
        """What the browser brings back, once ``send`` has sent it off; waits for ever.

        Other pages it asks for do not count. Raises what ``send`` raises, in a group.
        """
        answers: list[Redirect] = []

        async def serve(stream: anyio.abc.SocketStream) -> None:
            found = None
            with contextlib.suppress(*_HUNG_UP):
                async with stream:
                    found = redirect_in(await _head(stream), state)
                    await stream.send(_page(found))
            if found is not None:
                answers.append(found)
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listener.serve, serve)
            await send()
            await anyio.sleep_forever()
        return answers[0]


async def _head(stream: anyio.abc.SocketStream) -> str:
    """The head of a request; the rest is not read."""
    head = b""
    with anyio.fail_after(HEAD_SECONDS):
        while b"\r\n\r\n" not in head and len(head) < MAX_HEAD_BYTES:
            head += await stream.receive()
    return head.decode("latin-1")


def _page(found: Redirect | None) -> bytes:
    """What the browser shows. Nothing of what it sent stands in it."""
    if found is None:
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    text = "The login did not succeed." if found.problem else "The login went through."
    body = _PAGE.format(text=text).encode()
    head = (
        f"HTTP/1.1 {'400 Bad Request' if found.problem else '200 OK'}\r\n"
        "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
