"""A scripted OpenAI-compatible endpoint in a thread, for hosts that are processes of their own."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.fakes.endpoint import Break, Mute, Pause, Reply, Then, as_json, refused, wire_bytes

WAIT_SECONDS = 30.0


class HttpEndpoint:
    """Listens on a free loopback port for a block; one reply of its script a chat request.

    Args:
        models: what ``/v1/models`` lists; None answers 404 there.
        key: the key it insists on; "" for none.

    Attributes:
        base_url: for the client.
        bodies: the chat requests so far.
    """

    def __init__(
        self, *script: Reply, models: Sequence[str] | None = ("fake-model",), key: str = ""
    ) -> None:
        self._script = list(script)
        self._models = models
        self._key = key
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self.bodies: list[dict[str, Any]] = []
        self._server = _Server(self)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def requests(self) -> int:
        """How many chat requests arrived."""
        return len(self.bodies)

    def wait_for_requests(self, count: int) -> None:
        """Returns once so many chat requests have arrived."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: self.requests >= count, WAIT_SECONDS)
        assert arrived, f"{self.requests} of {count} requests came within {WAIT_SECONDS:g} s"

    def reply_to(self, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """What a request is answered with."""
        if self._key and headers.get("authorization") != f"Bearer {self._key}":
            return refused(401, "Incorrect API key provided")
        if path == "/v1/models" and self._models is not None:
            return as_json({"object": "list", "data": [{"id": name} for name in self._models]})
        if path != "/v1/chat/completions":
            return refused(404, "File Not Found")
        with self._changed:
            self.bodies.append(json.loads(body))
            self._changed.notify_all()
            return self._script.pop(0) if self._script else refused(400, "the script is at its end")

    def stay_mute(self) -> None:
        """Returns when the endpoint is closed."""
        self._closing.wait()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, endpoint: HttpEndpoint) -> None:
        self.endpoint = endpoint
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("content-length", 0))))

    def _answer(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.endpoint.reply_to(self.path.partition("?")[0], headers, body)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in reply.pieces:
            match piece:
                case Break():
                    self._hang_up()
                    return
                case Mute():
                    self.server.endpoint.stay_mute()
                    self._hang_up()
                    return
                case Pause():
                    raise AssertionError("nothing here waits on the clock")
                case Then(act=act):
                    act()
                case str() | bytes() | Mapping():
                    self._send(wire_bytes(piece))
        self._send(b"")

    def _send(self, chunk: bytes) -> None:
        self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
        self.wfile.flush()

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
