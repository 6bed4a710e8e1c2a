"""What an HTTP server can do to a request instead of answering it, one function for each way.

A fault is given to ``FaultyHttpServer.faults`` for a method; everything else is answered.
"""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from tests.fakes.mcp_servers.http_server import (
    PlainHandler,
    PlainHttpServer,
    _answer,
    serving,
)

PAGE = b"<html>\r\n<head><title>Gateway: no backend</title></head>\r\n<body>nginx</body></html>"
TICK_SECONDS = 0.02


class FaultyHandler(PlainHandler):
    """Hands a message over to its fault, if there is one."""

    server: FaultyHttpServer

    def take(self, message: dict[str, Any]) -> None:
        fault = self.server.faults.get(message.get("method", ""))
        if fault is None or ("id" in message and not self.path.startswith("/messages")):
            super().take(message)
            return
        self.server.methods.append(message["method"])
        fault(self, message)

    def _respond(self, message: dict[str, Any]) -> None:
        fault = self.server.faults.get(message["method"])
        if fault is None:
            super()._respond(message)
            return
        self.server.suffered.append(message["method"])
        try:
            fault(self, message)
        except OSError:  # the client has hung up
            self.close_connection = True

    def do_GET(self) -> None:  # noqa: N802 - the base's name
        self.server.gets.append(self.headers.get("last-event-id"))
        fault = self.server.faults.get("GET")
        if fault is None:
            super().do_GET()
            return
        try:
            fault(self, {})
        except OSError:
            self.close_connection = True

    def begin(self, status: int, kind: str, **headers: str) -> None:
        """The head of an answer without a length."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.close_connection = True

    def whole(self, status: int, kind: str, body: bytes, **headers: str) -> None:
        """A whole answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._send(status, body, extra={"Content-Type": kind, **named})

    def right_answer(self, message: dict[str, Any]) -> bytes:
        """What would have been answered."""
        return json.dumps(_answer(self.server, message)).encode()


Fault: TypeAlias = Callable[[FaultyHandler, dict[str, Any]], None]


class FaultyHttpServer(PlainHttpServer):
    """The plain server with faults.

    Attributes:
        faults: by method; ``GET`` for the stream of the session era.
        suffered: methods that met a fault, in order.
        gets: the last event's id of each GET, None for none.
        pending: an answer that is kept for later.
        closing: set at the end, for faults that go on until then.
    """

    def __init__(self, port: int = 0) -> None:
        super().__init__(port, FaultyHandler)
        self.faults: dict[str, Fault] = {}
        self.suffered: list[str] = []
        self.gets: list[str | None] = []
        self.pending = b""
        self.closing = threading.Event()


@contextmanager
def faulty_server() -> Iterator[FaultyHttpServer]:
    """A running server for a block."""
    with serving(FaultyHttpServer()) as server:
        try:
            yield server
        finally:
            server.closing.set()


def status(code: int, body: bytes = b"", kind: str = "text/plain", **headers: str) -> Fault:
    """Answers with a status."""
    return lambda handler, _: handler.whole(code, kind, body, **headers)


def never(handler: FaultyHandler, _message: dict[str, Any]) -> None:
    """Takes the request and is never heard of again: half of the connection is gone."""
    handler.server.closing.wait()
    handler.close_connection = True


def hang_up(handler: FaultyHandler, _message: dict[str, Any]) -> None:
    """Takes the request and closes."""
    handler.close_connection = True


def truncated(handler: FaultyHandler, message: dict[str, Any]) -> None:
    """Announces a body and sends half of it."""
    body = handler.right_answer(message)
    handler.begin(200, "application/json", Content_Length=str(len(body)))
    handler.wfile.write(body[: len(body) // 2])


def slow_head(handler: FaultyHandler, _message: dict[str, Any]) -> None:
    """Sends a header now and then, without an end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    count = 0
    while not handler.server.closing.wait(TICK_SECONDS):
        count += 1
        handler.wfile.write(f"X-Wait-{count}: 1\r\n".encode())
    handler.close_connection = True


def slow_body(handler: FaultyHandler, _message: dict[str, Any]) -> None:
    """Sends a body a blank at a time, without an end."""
    handler.begin(200, "application/json")
    while not handler.server.closing.wait(TICK_SECONDS):
        handler.wfile.write(b" ")


def endless_body(handler: FaultyHandler, _message: dict[str, Any]) -> None:
    """Sends blanks as fast as they are taken."""
    handler.begin(200, "application/json")
    blanks = b" " * (1 << 20)
    while not handler.server.closing.is_set():
        handler.wfile.write(blanks)


def bomb(handler: FaultyHandler, _message: dict[str, Any]) -> None:
    """Sends a little that unpacks to a lot."""
    packed = gzip.compress(b" " * (20 << 20))
    handler.whole(200, "application/json", packed, Content_Encoding="gzip")


def endless_refusal(handler: FaultyHandler, _message: dict[str, Any]) -> None:
    """Refuses in a body without an end."""
    handler.begin(503, "text/plain")
    handler.wfile.write(b"come back later\n")
    while not handler.server.closing.wait(TICK_SECONDS):
        handler.wfile.write(b"x")


def endless_events(handler: FaultyHandler, _message: dict[str, Any]) -> None:
    """Keeps a stream of events alive and never sends the answer."""
    handler.begin(200, "text/event-stream")
    while not handler.server.closing.wait(TICK_SECONDS):
        handler.wfile.write(b": still here\n\n")


def events_without_answer(handler: FaultyHandler, _message: dict[str, Any]) -> None:
    """Ends a stream of events before the answer."""
    handler.begin(200, "text/event-stream")
    handler.wfile.write(b": that was all\n\n")


def priming(handler: FaultyHandler, _message: dict[str, Any]) -> None:
    """Opens a stream of events with an id to go on from, and ends it: again and again."""
    handler.begin(200, "text/event-stream")
    handler.wfile.write(b"id: 1\nretry: 1\ndata:\n\n")


def primed(handler: FaultyHandler, message: dict[str, Any]) -> None:
    """Does the same where a stream is asked for again; there is none of the server's own."""
    if handler.headers.get("last-event-id") is None:
        handler.whole(405, "text/plain", b"")
    else:
        priming(handler, message)


def answer_on_resumption(handler: FaultyHandler, message: dict[str, Any]) -> None:
    """Ends the first stream after its id; give it to the call and ``resumed`` to ``GET``."""
    handler.server.pending = handler.right_answer(message)
    priming(handler, message)


def resumed(handler: FaultyHandler, _message: dict[str, Any]) -> None:
    """Sends what ``answer_on_resumption`` kept."""
    if handler.headers.get("last-event-id") is None:
        handler.whole(405, "text/plain", b"")
        return
    handler.begin(200, "text/event-stream")
    handler.wfile.write(b"id: 2\nevent: message\ndata: " + handler.server.pending + b"\n\n")


def late(seconds: float) -> Fault:
    """Answers rightly, after a while."""

    def fault(handler: FaultyHandler, message: dict[str, Any]) -> None:
        time.sleep(seconds)
        handler.whole(200, "application/json", handler.right_answer(message))

    return fault
