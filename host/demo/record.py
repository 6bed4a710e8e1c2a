"""Records a run of a real model: a proxy that passes requests on and writes down the answers.

    python -m host.demo.record --base-url URL --engine NAME --question TEXT --out FILE
    agent-host demo --base-url PRINTED_URL --model MODEL     (in another terminal)

The file is written after every answer. Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import anyio
import httpx2

from host.demo.atomic_file import replace_text
from host.demo.loopback import HttpReply, HttpRequest, LoopbackServer
from host.demo.recording import (
    RecordedRequest,
    Recording,
    RecordingMismatch,
    check_question,
    recording_text,
    request_index,
    seen_results,
)
from host.demo.replay import MISMATCH_STATUS, MISMATCH_TYPE, chat_body


def _utc_now() -> datetime:
    return datetime.now(UTC)


class RecordingProxy:
    """Passes requests on to a real endpoint and keeps each streamed answer that ends well.

    A request that is sent again replaces its earlier answer, and whatever followed that.

    Args:
        base_url: the real endpoint, with ``/v1``.
        question: what will be asked; another question is refused.
        engine: the server behind it, with its version, for the file.
        out: the file to write.
        api_key: sent as a bearer token, if given.
        now: the aware time, for the file's date.
    """

    def __init__(
        self,
        *,
        base_url: str,
        question: str,
        engine: str,
        out: Path,
        api_key: str | None = None,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._upstream = base_url.rstrip("/")
        self._question = question
        self._engine = engine
        self._out = out
        self._now = now
        self._requests: list[RecordedRequest] = []
        self._server = LoopbackServer(self._respond)
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        # A model on a small computer may think for minutes before its first token.
        self._client = httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30, read=None))

    @property
    def base_url(self) -> str:
        """Where it listens, with ``/v1``; known once entered."""
        return self._server.base_url

    async def __aenter__(self) -> RecordingProxy:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        try:
            return await self._server.__aexit__(kind, error, trace)
        finally:
            with anyio.CancelScope(shield=True):
                await self._client.aclose()

    async def _respond(self, request: HttpRequest, reply: HttpReply) -> None:
        try:
            await self._pass_on(request, reply)
        except httpx2.HTTPError as error:
            # In the middle of a stream the reply stays unfinished, and the client sees it break.
            if not reply.begun:
                await reply.error(502, f"the real endpoint failed: {error}", "upstream_error")

    async def _pass_on(self, request: HttpRequest, reply: HttpReply) -> None:
        body = chat_body(request.body) if request.path == "/v1/chat/completions" else None
        if body is not None:
            try:
                check_question(self._question, body["messages"])
            except RecordingMismatch as mismatch:
                await reply.error(MISMATCH_STATUS, str(mismatch), MISMATCH_TYPE)
                return
        url = self._upstream + request.path.removeprefix("/v1")
        content_type = {"content-type": "application/json"} if request.body else {}
        async with self._client.stream(
            request.method, url, content=request.body, headers=content_type
        ) as answer:
            kind = answer.headers.get("content-type", "application/json")
            if body is None or answer.status_code != 200 or "event-stream" not in kind:
                await reply.whole(answer.status_code, await answer.aread(), kind)
                return
            payloads = await _passed_events(answer, reply)
        if payloads is not None:
            self._keep(body["messages"], str(body.get("model", "")), payloads)

    def _keep(self, messages: list[dict[str, object]], model: str, payloads: list[str]) -> None:
        index = request_index(messages)
        answered = RecordedRequest(results=seen_results(messages), payloads=tuple(payloads))
        self._requests[index:] = [answered]
        recording = Recording(
            model=model,
            engine=self._engine,
            date=self._now().date().isoformat(),
            question=self._question,
            requests=tuple(self._requests),
        )
        replace_text(self._out, recording_text(recording))


async def _passed_events(answer: httpx2.Response, reply: HttpReply) -> list[str] | None:
    """Passes a stream of events on as it comes; their payloads, or None when the client left."""
    payloads: list[str] = []
    await reply.begin_events()
    # Cancelled rather than left, the response's own generators unwind at once.
    with anyio.CancelScope() as reading:
        rest = b""
        async for piece in answer.aiter_bytes():
            # Not aiter_lines: it also breaks lines at U+2028 and its like, inside JSON strings.
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if not line.startswith(b"data:"):
                    continue
                payloads.append(line[5:].strip().decode(errors="replace"))
                try:
                    await reply.send_event(payloads[-1])
                except anyio.BrokenResourceError:
                    reading.cancel()
                    break
        await reply.end()
        return payloads
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a recording proxy until Ctrl-C; the exit status."""
    options = _parser().parse_args(arguments)

    async def serve() -> None:
        proxy = RecordingProxy(
            base_url=options.base_url,
            question=options.question,
            engine=options.engine,
            out=options.out,
            api_key=os.environ.get(options.key_variable),
        )
        async with proxy:
            sys.stdout.write(f"{proxy.base_url}\n")
            sys.stdout.flush()
            await anyio.sleep_forever()

    try:
        anyio.run(serve)
    except KeyboardInterrupt:
        return 0
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m host.demo.record", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--base-url", required=True, help="the real endpoint, with /v1")
    parser.add_argument("--engine", required=True, help="its server and version, for the file")
    parser.add_argument("--question", required=True, help="the question that will be asked")
    parser.add_argument("--out", required=True, type=Path, help="the file to write")
    parser.add_argument(
        "--key-variable", default="RECORD_API_KEY", help="the variable that holds its key"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
