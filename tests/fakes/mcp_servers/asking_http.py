"""An MCP server on a loopback port that asks its client in the middle of calls, in either era.

In the era of sessions a call's answer is a stream of events: first the question, and the result
once the client has posted what it answers. With ``modern`` the question is the answer, and the
client calls again. The question is the call's arguments (``method``, ``params``).
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from host.pool.rows import HttpServerRow

COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("ask", "ping")]


class AskingHttpServer(ThreadingHTTPServer):
    """The server; ``answers`` has what the client answered in the era of sessions."""

    daemon_threads = True

    def __init__(self, *, modern: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.modern = modern
        self.answers: queue.Queue[Any] = queue.Queue()

    def row(self, identifier: str, **fields: Any) -> HttpServerRow:
        """A row for it."""
        url = f"http://127.0.0.1:{self.server_address[1]}/mcp"
        return HttpServerRow(id=identifier, url=url, **fields)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: AskingHttpServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def do_GET(self) -> None:
        self._send(405, b"")

    def do_DELETE(self) -> None:
        self._send(200, b"")

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        identifier, method = message.get("id"), message.get("method")
        params = message.get("params") or {}
        if method is None:
            self.server.answers.put(message.get("result", message.get("error")))
            self._send(202, b"")
        elif identifier is None:
            self._send(202, b"")
        elif method == "tools/call" and params["name"] == "ask":
            self._ask(identifier, params)
        else:
            self._answer(identifier, self._result(method))

    def _ask(self, identifier: Any, params: dict[str, Any]) -> None:
        if not self.server.modern:
            self._ask_in_stream(identifier, params["arguments"])
        elif "inputResponses" in params:
            self._answer(identifier, text_result(json.dumps(params["inputResponses"]["k"])))
        else:
            requests = {"k": params["arguments"]}
            self._answer(
                identifier,
                {"resultType": "input_required", "inputRequests": requests, "requestState": "s"},
            )

    def _ask_in_stream(self, identifier: Any, question: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self._event({"id": "q1", **question})
        answered = self.server.answers.get(timeout=30)
        self._event({"id": identifier, "result": text_result(json.dumps(answered))})
        self.close_connection = True

    def _event(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.wfile.write(b"event: message\ndata: " + body + b"\n\n")
        self.wfile.flush()

    def _result(self, method: str) -> dict[str, Any] | None:
        about = {"name": "asking", "version": "1"}
        legacy = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": about,
            }
        }
        modern = {
            "server/discover": {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                **COMPLETE,
            }
        }
        own: dict[str, Any] = modern if self.server.modern else legacy
        listing = {"tools": TOOLS, **(COMPLETE if self.server.modern else {})}
        return {**own, "tools/list": listing, "tools/call": text_result("pong")}.get(method)

    def _answer(self, identifier: Any, result: dict[str, Any] | None) -> None:
        told: dict[str, Any] = {"result": result}
        if result is None:
            told = {"error": {"code": -32601, "message": "Method not found"}}
        self._send(200, json.dumps({"jsonrpc": "2.0", "id": identifier, **told}).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        if not self.server.modern:
            self.send_header("Mcp-Session-Id", "one")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def text_result(text: str) -> dict[str, Any]:
    """A tool's answer."""
    return {"content": [{"type": "text", "text": text}], "resultType": "complete"}


@contextmanager
def asking_http_server(*, modern: bool) -> Iterator[AskingHttpServer]:
    """A running server for a block."""
    server = AskingHttpServer(modern=modern)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.answers.put(None)
        server.shutdown()
        server.server_close()
        thread.join()
