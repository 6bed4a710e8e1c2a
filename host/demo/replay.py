"""A recorded model behind a real HTTP endpoint, for a demonstration that has no model."""

from __future__ import annotations

import json
from importlib import resources
from types import TracebackType
from typing import Any

from host.demo.loopback import HttpReply, HttpRequest, LoopbackServer
from host.demo.recording import Recording, RecordingMismatch, answer_to, read_recording
from host.errors import ConfigError

DEMO_RECORDING = "demo"
MISMATCH_STATUS = 409
MISMATCH_TYPE = "recording_mismatch"


def bundled_recording(name: str) -> Recording:
    """The recording of that name that comes with the package.

    Raises:
        ConfigError: there is none, or it cannot be read.
    """
    file = resources.files("host.demo") / "recordings" / f"{name}.json"
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(name, ["no recording of this name comes with the package"]) from None
    return read_recording(text, f"{name}.json")


def recorded_endpoint() -> ReplayEndpoint:
    """The endpoint of the demonstration's recording, not yet opened.

    The entry point ``recorded-endpoint`` (group ``agent_host.demo``) names this function.

    Raises:
        ConfigError: the package comes without that recording, or it cannot be read.
    """
    return ReplayEndpoint(bundled_recording(DEMO_RECORDING))


class ReplayEndpoint:
    """Serves a recording as ``GET /v1/models`` and ``POST /v1/chat/completions`` (streamed).

    A request whose tool results are not the recorded ones, or that the recording does not hold,
    is answered with HTTP 409 and one line that says what differs.

    Attributes:
        mismatch: that line, from the last request so answered; None while all agreed.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.mismatch: str | None = None
        self._server = LoopbackServer(self._respond)

    @property
    def base_url(self) -> str:
        """Where it listens, with ``/v1``; known once entered."""
        return self._server.base_url

    async def __aenter__(self) -> ReplayEndpoint:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._server.__aexit__(kind, error, trace)

    async def _respond(self, request: HttpRequest, reply: HttpReply) -> None:
        match request.method, request.path:
            case "GET", "/v1/models":
                await reply.json(200, self._models())
            case "POST", "/v1/chat/completions":
                await self._complete(request, reply)
            case method, path:
                await reply.error(404, f"the recording serves no {method} {path}", "not_found")

    async def _complete(self, request: HttpRequest, reply: HttpReply) -> None:
        body = chat_body(request.body)
        if body is None or body.get("stream") is not True:
            wanted = "a JSON body with a list of messages and stream: true is needed"
            await reply.error(400, wanted, "invalid_request_error")
            return
        try:
            recorded = answer_to(self.recording, body["messages"])
        except RecordingMismatch as mismatch:
            self.mismatch = str(mismatch)
            await reply.error(MISMATCH_STATUS, self.mismatch, MISMATCH_TYPE)
            return
        await reply.begin_events()
        for payload in recorded.payloads:
            await reply.send_event(payload)
        await reply.end()

    def _models(self) -> dict[str, Any]:
        recording = self.recording
        model = {"id": recording.model, "object": "model", "owned_by": recording.engine}
        return {"object": "list", "data": [model]}


def chat_body(body: bytes) -> dict[str, Any] | None:
    """A chat request's JSON body; None when it is not one with a list of message objects."""
    try:
        held = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(held, dict):
        return None
    messages = held.get("messages")
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        return None
    return held
