"""One streamed answer, read from the endpoint as it comes."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypedDict, cast

import anyio
import anyio.lowlevel
import httpx2
import openai

from host.errors import EndpointRefused, StreamBroken
from host.records import Turn
from host.text.json_text import compact_json, parse_json_strict
from host.text.redaction import Redactor
from host.text.thinking import DEFAULT_FENCES, Fence, PieceKind
from host.text.truncation import preview
from host.wire.answer_bytes import AnswerBytes, AnswerDecoder
from host.wire.answer_errors import failure_in_answer
from host.wire.failure import CONNECTION_FAILURES, ForeignFailures, redactor_of
from host.wire.listener_guard import ListenerGuard
from host.wire.negotiation import Produced
from host.wire.silence import Silence
from host.wire.turn_assembler import Progress, TurnAssembler

CHAT_PATH = "/chat/completions"
TextListener = Callable[[str], None]

_DONE = "[DONE]"
_FAILED = "error"


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
    nothing (`host.wire.silence` says how long that goes on). Meanwhile the SDK's own time limit is
    off. After a finish reason the answer is whole, however the connection ends: lost, it gives the
    turn at once, and left open after a short wait for the usage. ``body`` is the whole request,
    ``stream`` included; ``produced`` is set as soon as the answer carries something, before
    listeners hear of it; what they raise is raised as it is. The rest is `ReadingOptions`.

    Raises:
        EndpointSilent: nothing came for too long.
        EndpointUnavailable: not reached, busy, or failed on its side.
        EndpointRefused: it answered no.
        ContextOverflow: it says that the request does not fit.
        StreamBroken: the answer stopped before its end.
    """
    guard = ListenerGuard()
    reading = _Reading(
        TurnAssembler(fences=fences, start_in_reasoning=start_in_reasoning),
        produced or Produced(),
        redactor_of(client),
        {"reasoning": guard.over(on_thinking), "output": guard.over(on_output)},
    )
    watch = _SilenceWatch(Silence(idle_seconds, first_chunk_seconds))
    with guard:
        await _read_under(watch, client, body, reading)
        return reading.turn()


async def _read_under(
    watch: _SilenceWatch, client: openai.AsyncOpenAI, body: Mapping[str, Any], reading: _Reading
) -> None:
    with watch.scope:
        watch.start()
        with ForeignFailures(reading.redactor):
            response = await _sent(client, body, own_limit=not watch.silence.is_limited)
            await _read(response, reading, watch)
    # An answer that ended while the caller stopped is none.
    await anyio.lowlevel.checkpoint_if_cancelled()
    if watch.scope.cancelled_caught and not reading.has_ended:
        raise watch.silence.verdict()


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
        lost = await _lost_after(received, decoder, reading, watch)
        reading.take_rest(decoder.finish(), lost)
        watch.disarm()


async def _lost_after(
    received: AsyncIterator[bytes], decoder: AnswerDecoder, reading: _Reading, watch: _SilenceWatch
) -> Exception | None:
    """Takes all that comes up to the end; returns what ended it early, if anything did."""
    try:
        async for piece in received:
            chunks = reading.chunks
            for payload in decoder.feed(piece):
                reading.take(payload)
            if reading.is_done:
                return None
            watch.heard(reading, is_chunk=reading.chunks > chunks or decoder.is_in_payload)
    except StreamBroken:
        if not reading.has_ended:
            raise
    except CONNECTION_FAILURES as error:
        return error
    return None


class _SilenceWatch:
    """A scope that is cancelled when a silence has lasted too long."""

    def __init__(self, silence: Silence) -> None:
        self.silence = silence
        self.scope = anyio.CancelScope()

    def start(self) -> None:
        self.scope.deadline = self.silence.sent(anyio.current_time())

    def heard(self, reading: _Reading, *, is_chunk: bool) -> None:
        now = anyio.current_time()
        if reading.has_ended:
            self.scope.deadline = self.silence.ended(now, is_sure=reading.is_surely_whole)
        else:
            begun = reading.produced.any
            self.scope.deadline = self.silence.heard(now, has_begun=begun, is_chunk=is_chunk)

    def disarm(self) -> None:
        """No silence counts any more: the answer is whole."""
        self.scope.deadline = math.inf


class _Reading:
    """What has been read of one answer so far.

    Attributes:
        chunks: how many came; comments and pings are none.
        is_done: `[DONE]` came, and nothing after it counts.
    """

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
        self._went_on = False
        self._last_carried = False
        self.produced = produced
        self.chunks = 0
        self.is_done = False

    @property
    def has_ended(self) -> bool:
        """Whether a finish reason came, and nothing of the answer after it."""
        return self._assembler.finish_reason not in ("", _FAILED) and not self._went_on

    @property
    def is_surely_whole(self) -> bool:
        """Whether the end came by itself: a finish reason beside text may be a gateway's habit."""
        return self.has_ended and self.produced.any and not self._last_carried

    def take(self, payload: str) -> None:
        payload = payload.strip()
        if not payload or self.is_done:
            return
        if payload == _DONE:
            self.is_done = True
            return
        chunk = self._decoded(payload)
        if failure := failure_in_answer(chunk, self.redactor):
            raise failure
        had_ended = bool(self._assembler.finish_reason)
        progress = self._assembler.feed(chunk)
        self._count(chunk, progress.carried)
        self._went_on = self._went_on or (had_ended and progress.carried)
        self._tell(progress)

    def take_rest(self, payloads: Iterable[str], lost: Exception | None) -> None:
        """Takes what no blank line ended, and the end itself.

        Half a payload after a whole answer is no loss, and neither is a connection lost after one.

        Raises:
            StreamBroken: it is half a payload, and nothing says that the answer is whole.
            Exception: ``lost`` itself, when no finish reason came before it.
        """
        may_be_half = self._is_whole or lost is not None
        try:
            for payload in payloads:
                self.take(payload)
        except StreamBroken:
            if not may_be_half:
                raise
        if lost is not None and not (self.has_ended or self.is_done):
            raise lost

    def turn(self) -> Turn:
        """The turn, once the stream has ended.

        Raises:
            StreamBroken: nothing says that the answer is whole, or its server says that it failed.
        """
        self._tell(self._assembler.flush())
        turn = self._assembler.finish()
        if turn.finish_reason == _FAILED:
            raise StreamBroken("its server gave an error as the finish reason, and no other word")
        if not self._is_whole:
            missed = "it has no finish reason" if self.produced.any else "it is empty"
            raise StreamBroken(f"the stream ended early, {missed}")
        return replace(
            turn, usage=replace(turn.usage, first_token_seconds=self._first_token_seconds)
        )

    @property
    def _is_whole(self) -> bool:
        return self.is_done or bool(self._assembler.finish_reason) or self._has_report

    def _count(self, chunk: object, carried: bool) -> None:
        if not isinstance(chunk, Mapping) or not (chunk.get("choices") or chunk.get("usage")):
            return
        self.chunks += 1
        self._last_carried = carried
        # With choices it is a running count, as vLLM and xAI send it with every chunk; before the
        # last text it is no word of the end either.
        is_report = not chunk.get("choices")
        self._has_report = is_report or (self._has_report and not carried)

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
