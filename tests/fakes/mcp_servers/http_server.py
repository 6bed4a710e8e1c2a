"""An MCP server over HTTP on a loopback port, of the standard library, as bad as it is told to be.

``/mcp`` is streamable HTTP of the session era, ``/sse`` the older transport with a GET stream.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from host.pool.rows import HttpServerRow

READ_TOOL = {
    "name": "read",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}
WRITE_TOOL = {"name": "write", "inputSchema": {"type": "object"}}


S = TypeVar("S", bound="PlainHttpServer")


class PlainHttpServer(ThreadingHTTPServer):
    """The server and what it should do.

    Attributes:
        session: the session id it knows; another one is answered 404.
        status: answer every message of these methods with this status.
        delays: seconds before the answer, by method.
        break_call: "half" breaks off the body of a call's answer, "garbage" sends no JSON.
        calls: names of the tools called.
        headers_seen: of each POST.
        speaks_streamable: False answers POSTs to /mcp with 405.
    """

    daemon_threads = True

    def __init__(self, port: int, handler: type[PlainHandler] | None = None) -> None:
        super().__init__(("127.0.0.1", port), handler or PlainHandler)
        self.session = "one"
        self.status: dict[str, int] = {}
        self.retry_after = ""
        self.delays: dict[str, float] = {}
        self.break_call = ""
        self.calls: list[str] = []
        self.methods: list[str] = []
        self.headers_seen: list[dict[str, str]] = []
        self.speaks_streamable = True
        self.sockets: list[socket.socket] = []
        self.streams: list[queue.Queue[dict[str, Any] | None]] = []

    def url(self, path: str = "/mcp") -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def row(self, identifier: str = "web", path: str = "/mcp", **fields: Any) -> HttpServerRow:
        """A row for it."""
        return HttpServerRow(id=identifier, url=self.url(path), **fields)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Remember each connection, to be able to end it."""
        connection, address = super().get_request()
        self.sockets.append(connection)
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class PlainHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PlainHttpServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def do_POST(self) -> None:
        self.take(json.loads(self.body()))

    def body(self) -> bytes:
        """What was posted."""
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def take(self, message: dict[str, Any]) -> None:
        """Answer one message, or do not."""
        method = message.get("method", "")
        server = self.server
        server.methods.append(method)
        server.headers_seen.append({name.lower(): value for name, value in self.headers.items()})
        time.sleep(server.delays.get(method, 0))
        if self.path.startswith("/messages"):
            server.streams[-1].put(_answer(server, message))
            self._send(202, b"")
        elif not server.speaks_streamable:
            self._send(405, b"")
        elif method in server.status or "*" in server.status:
            extra = {"Retry-After": server.retry_after} if server.retry_after else {}
            self._send(server.status.get(method) or server.status["*"], b"no", extra=extra)
        elif method not in ("initialize", "server/discover") and (
            self.headers.get("mcp-session-id") != server.session
        ):
            self._send(404, b"unknown session")
        elif "id" not in message:
            self._send(202, b"")
        else:
            self._respond(message)

    def do_GET(self) -> None:
        if self.path != "/sse":
            self._send(405, b"")
            return
        answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.server.streams.append(answers)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"event: endpoint\ndata: /messages?session=1\n\n")
        while (answer := answers.get()) is not None:
            if answer:
                self.wfile.write(b"event: message\ndata: " + json.dumps(answer).encode() + b"\n\n")
        self.close_connection = True

    def do_DELETE(self) -> None:
        self.server.methods.append("DELETE")
        self._send(200, b"")

    def _respond(self, message: dict[str, Any]) -> None:
        server = self.server
        body = json.dumps(_answer(server, message)).encode()
        if message["method"] == "tools/call" and server.break_call:
            self._break(body)
            return
        extra = {"Content-Type": "application/json"}
        if message["method"] == "initialize":
            extra["Mcp-Session-Id"] = server.session
        self._send(200, body, extra=extra)

    def _break(self, body: bytes) -> None:
        if self.server.break_call == "garbage":
            self._send(200, b"<html>", extra={"Content-Type": "application/json"})
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2])
        self.close_connection = True

    def _send(self, status: int, body: bytes, *, extra: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (extra or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _answer(server: PlainHttpServer, message: dict[str, Any]) -> dict[str, Any]:
    identifier, method = message.get("id"), message.get("method")
    if identifier is None:
        return {}
    results: dict[Any, Any] = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "1"},
        },
        "tools/list": {"tools": [READ_TOOL, WRITE_TOOL]},
    }
    if method == "tools/call":
        server.calls.append(message["params"]["name"])
        result: Any = {"content": [{"type": "text", "text": "called"}]}
    elif method in results:
        result = results[method]
    else:
        error = {"code": -32601, "message": "Method not found"}
        return {"jsonrpc": "2.0", "id": identifier, "error": error}
    return {"jsonrpc": "2.0", "id": identifier, "result": result}


@contextmanager
def http_server(port: int = 0) -> Iterator[PlainHttpServer]:
    """A running server for a block."""
    with serving(PlainHttpServer(port)) as server:
        yield server


@contextmanager
def serving(server: S) -> Iterator[S]:
    """The server, running for a block."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        for stream in server.streams:
            stream.put(None)
        server.shutdown()
        server.server_close()
        for connection in server.sockets:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        thread.join()
