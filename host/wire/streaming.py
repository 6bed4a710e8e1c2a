"""One streamed answer, read from the endpoint as it comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypedDict, cast

import anyio
import anyio.lowlevel
import httpx2
import openai

from host.errors import EndpointRefused, EndpointSilent, StreamBroken
from host.records import Turn
from host.text.json_text import compact_json, parse_json_strict
from host.text.redaction import Redactor
from host.text.thinking import DEFAULT_FENCES, Fence, PieceKind
from host.text.truncation import preview
from host.wire.answer_bytes import AnswerBytes, AnswerDecoder
from host.wire.failure import ForeignFailures, failure_in_stream, redactor_of
from host.wire.negotiation import Produced
from host.wire.turn_assembler import Progress, TurnAssembler

CHAT_PATH = "/chat/completions"
TextListener = Callable[[str], None]

_DONE = "[DONE]"


class ReadingOptions(TypedDict, total=False):
    """How an answer is read.

    Attributes:
        idle_seconds: the longest silence; 0 or None waits for ever.
        first_chunk_seconds: the longest silence until something is carried; None, or 0 and less,
            is ``idle_seconds``.
        on_thinking: called with each piece of reasoning.
        on_output: called with each piece of the answer.
        fences: what marks reasoning inside the answer's text.
        start_in_reasoning: the template has already opened the fence.
    """

    idle_seconds: float | None
    first_chunk_seconds: float | None
    on_thinking: TextListener | None
    on_output: TextListener | None
    fences: Iterable[Fence]
    start_in_reasoning: bool


async def stream_turn(
    client: openai.AsyncOpenAI,
    body: Mapping[str, Any],
    *,
    idle_seconds: float | None = 0,
    first_chunk_seconds: float | None = None,
    produced: Produced | None = None,
    on_thinking: TextListener | None = None,
    on_output: TextListener | None = None,
    fences: Iterable[Fence] = DEFAULT_FENCES,
    start_in_reasoning: bool = False,
) -> Turn:
    """Sends one chat request and reads its answer to the end; returns the turn (agent-core §8).

    Silence is watched from before the request is sent; every byte ends it, also one that carries
    nothing. Meanwhile the SDK's own time limit is off. ``body`` is the whole request, ``stream``
    included; ``produced`` is set as soon as the answer carries something, before listeners hear
    of it; the rest is `ReadingOptions`.

    Raises:
        EndpointSilent: nothing came for too long.
        EndpointUnavailable: not reached, busy, or failed on its side.
        EndpointRefused: it answered no.
        ContextOverflow: it says that the request does not fit.
        StreamBroken: the answer stopped before its end.
    """
    reading = _Reading(
        TurnAssembler(fences=fences, start_in_reasoning=start_in_reasoning),
        produced or Produced(),
        redactor_of(client),
        {"reasoning": on_thinking, "output": on_output},
    )
    await _read_under(_SilenceWatch(idle_seconds, first_chunk_seconds), client, body, reading)
    return reading.turn()


async def _read_under(
    watch: _SilenceWatch, client: openai.AsyncOpenAI, body: Mapping[str, Any], reading: _Reading
) -> None:
    with watch.scope:
        watch.arm()
        with ForeignFailures(reading.redactor):
            response = await _sent(client, body, own_limit=not watch.is_watching)
            await _read(response, reading, watch)
    # An answer that ended while the caller stopped is none.
    await anyio.lowlevel.checkpoint_if_cancelled()
    if watch.scope.cancelled_caught:
        raise watch.verdict()


async def _sent(
    client: openai.AsyncOpenAI, body: Mapping[str, Any], *, own_limit: bool
) -> httpx2.Response:
    """Sends the request and returns the response as soon as its headers are there."""
    response = await client.post(
        CHAT_PATH,
        cast_to=httpx2.Response,
        content=compact_json(body).encode(),
        options={} if own_limit else {"timeout": None},
        stream=True,
        stream_cls=openai.AsyncStream[object],
    )
    # Asked for the HTTP response itself the SDK gives that, whatever the stream's class.
    return cast("httpx2.Response", response)


async def _read(response: httpx2.Response, reading: _Reading, watch: _SilenceWatch) -> None:
    decoder = AnswerDecoder()
    async with AnswerBytes(response) as received:
        async for piece in received:
            for payload in decoder.feed(piece):
                reading.take(payload)
            if reading.is_done:
                watch.disarm()
                return
            watch.arm(is_first=not reading.produced.any)
        for payload in decoder.finish():
            reading.take_rest(payload)


class _SilenceWatch:
    """A deadline that moves on with every sign of life."""

    def __init__(self, idle_seconds: float | None, first_chunk_seconds: float | None) -> None:
        self._idle_seconds = _allowance(idle_seconds)
        first_seconds = _allowance(first_chunk_seconds)
        self._first_seconds = first_seconds if first_seconds < math.inf else self._idle_seconds
        self._is_first = True
        self.scope = anyio.CancelScope()

    @property
    def is_watching(self) -> bool:
        return min(self._idle_seconds, self._first_seconds) < math.inf

    @property
    def _seconds(self) -> float:
        return self._first_seconds if self._is_first else self._idle_seconds

    def arm(self, *, is_first: bool = True) -> None:
        self._is_first = is_first
        self.scope.deadline = anyio.current_time() + self._seconds

    def disarm(self) -> None:
        """No silence counts any more: the answer is whole."""
        self.scope.deadline = math.inf

    def verdict(self) -> EndpointSilent:
        return EndpointSilent(self._seconds, self._is_first)


class _Reading:
    """What has been read of one answer so far."""

    def __init__(
        self,
        assembler: TurnAssembler,
        produced: Produced,
        redactor: Redactor,
        listeners: Mapping[PieceKind, TextListener | None],
    ) -> None:
        self._assembler = assembler
        self.redactor = redactor
        self._listeners = listeners
        self._sent_at = anyio.current_time()
        self._first_token_seconds: float | None = None
        self._has_report = False
        self.produced = produced
        self.is_done = False

    def take(self, payload: str) -> None:
        payload = payload.strip()
        if not payload or self.is_done:
            return
        if payload == _DONE:
            self.is_done = True
            return
        chunk = self._decoded(payload)
        if isinstance(chunk, Mapping):
            if failure := failure_in_stream(chunk, self.redactor):
                raise failure
            # With choices it is a running count, as vLLM and xAI send it with every chunk.
            is_report = bool(chunk.get("usage")) and not chunk.get("choices")
            self._has_report = self._has_report or is_report
        self._tell(self._assembler.feed(chunk))

    def take_rest(self, payload: str) -> None:
        """Takes what no blank line ended; half a payload after a whole answer is no loss.

        Raises:
            StreamBroken: it is half a payload, and nothing says that the answer is whole.
        """
        is_whole = self._is_whole
        try:
            self.take(payload)
        except StreamBroken:
            if not is_whole:
                raise

    def turn(self) -> Turn:
        """The turn, once the stream has ended.

        Raises:
            StreamBroken: nothing says that the answer is whole.
        """
        self._tell(self._assembler.flush())
        turn = self._assembler.finish()
        if not self._is_whole:
            missed = "it has no finish reason" if self.produced.any else "it is empty"
            raise StreamBroken(f"the stream ended early, {missed}")
        return replace(
            turn, usage=replace(turn.usage, first_token_seconds=self._first_token_seconds)
        )

    @property
    def _is_whole(self) -> bool:
        return self.is_done or bool(self._assembler.finish_reason) or self._has_report

    def _decoded(self, payload: str) -> object:
        with suppress(ValueError):
            return parse_json_strict(payload)
        # Not raised from the reader's error, which holds the whole text, secrets and all.
        if payload.startswith("<"):
            hint = "it answered with a web page; check the base URL, which often ends in /v1"
            raise EndpointRefused(200, hint)
        shown = preview(self.redactor.redact(payload), 200)
        raise StreamBroken(f"a chunk is not JSON: {shown}")

    def _tell(self, progress: Progress) -> None:
        if progress.carried:
            self.produced.any = True
            if self._first_token_seconds is None:
                self._first_token_seconds = anyio.current_time() - self._sent_at
        for piece in progress.pieces:
            if listener := self._listeners[piece.kind]:
                listener(piece.text)


def _allowance(seconds: float | None) -> float:
    return seconds if seconds is not None and seconds > 0 else math.inf
