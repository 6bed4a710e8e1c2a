"""As much of xllamacpp as our program uses, without a model: a real server on a loopback port.

What becomes of it is written in the variable FAKE_ENGINE_FATE:

- ``missing``, ``broken``: the package cannot be imported;
- ``mute``: importing it never ends;
- ``small``: the machine has next to no memory;
- ``refuses``: loading fails as llama.cpp fails, with a log;
- ``overflows``: loading fails for a parameter that it cannot take;
- ``illegal``, ``killed``: the process dies of a signal while it loads;
- ``stuck``: loading never ends;
- ``dies``: the process dies in the middle of an answer;
- ``breaks``: it hangs up in the middle of an answer, and lives.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

FATE = os.environ.get("FAKE_ENGINE_FATE", "")
ANSWER = "I am served here."

if FATE == "missing":
    raise ModuleNotFoundError("No module named 'xllamacpp'", name="xllamacpp")
if FATE == "broken":
    raise ImportError("libgomp.so.1: cannot open shared object file")
if FATE == "mute":
    threading.Event().wait()

LOG = """\
0.00.065.750 E llama_model_load: error loading model: tensor 'a' is not within the file bounds
0.00.065.828 E llama_model_load_from_file_impl: failed to load model
0.00.132.188 E srv          init: exiting due to model loading error
"""


def get_device_info() -> list[dict[str, Any]]:
    """One processor."""
    kind = SimpleNamespace(name="GGML_BACKEND_DEVICE_TYPE_CPU")
    return [{"type": kind, "memory_total": 16 if FATE == "small" else 8 << 30}]


class CommonParams:
    """Only what the real one has can be set."""

    __slots__ = (
        "api_keys",
        "cache_ram_mib",
        "cors_origins",
        "fit_params",
        "hostnames",
        "model",
        "model_alias",
        "n_ctx",
        "n_parallel",
        "port",
        "ui",
        "use_jinja",
        "verbosity",
    )

    def __init__(self) -> None:
        self.model = SimpleNamespace(path="")


class Server:
    """Loads, or what its fate is; then serves until the process ends."""

    def __init__(self, parameters: CommonParams) -> None:
        sys.stdout.write("noise on the standard output\n")
        sys.stdout.flush()
        _meet_fate()
        settings = {name: getattr(parameters, name) for name in CommonParams.__slots__}
        settings |= {"model": parameters.model.path, "model_alias": [*settings["model_alias"]]}
        if diary := os.environ.get("FAKE_ENGINE_DIARY"):
            with open(diary, "w", encoding="utf-8") as opened:
                json.dump({**settings, "environment": sorted(os.environ)}, opened)
        self._server = _HttpServer(settings)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def listening_address(self) -> str:
        """Where it is."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"


def _meet_fate() -> None:
    match FATE:
        case "refuses":
            sys.stderr.write(LOG)
            raise RuntimeError("Failed to init server, please check the input params.")
        case "overflows":
            raise OverflowError("value too large to convert to int")
        case "illegal":
            os.kill(os.getpid(), signal.SIGILL)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stuck":
            threading.Event().wait()


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        super().__init__((settings["hostnames"][0], settings["port"]), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _HttpServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def do_GET(self) -> None:
        settings = self.server.settings
        models = [{"id": name} for name in settings["model_alias"]]
        known = {
            "/v1/models": {"object": "list", "data": models},
            "/props": {"default_generation_settings": {"n_ctx": settings["n_ctx"]}},
        }
        self._answer(known.get(self.path.partition("?")[0]))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if self.headers["authorization"] != f"Bearer {self.server.settings['api_keys'][0]}":
            self._answer(None)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self._send({"delta": {"role": "assistant", "content": ANSWER}})
        if FATE == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if FATE == "breaks":
            return
        self._send({"delta": {}, "finish_reason": "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, choice: dict[str, Any]) -> None:
        chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def _answer(self, body: object | None) -> None:
        self.send_response(404 if body is None else 200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())
