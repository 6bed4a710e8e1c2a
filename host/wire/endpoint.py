"""One turn of a model, with everything done that can be done before a failure is one.

What the endpoint refuses is left out, down to single tools of the request; a loading model is
waited for; neither spends an attempt. A failure that may pass is tried again after a backoff, or
after what the endpoint asks for, up to a minute. A server that chokes on what its model wrote is
asked for plain text, then for another draw. Source: agent-core §15.

Nothing is tried again once part of an answer was there. But an answer that its server stopped
reading in the middle is gone on with, as text: what was heard stays and the rest follows, so that
nobody hears anything twice (ours).
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, Unpack

import anyio
import anyio.lowlevel
import openai

from host.errors import ContextOverflow, EndpointSilent, EndpointUnavailable, WireError
from host.records import Turn
from host.text.tokens import request_tokens
from host.wire.calibration import Calibration
from host.wire.capabilities import Capabilities, ModelCapabilities
from host.wire.isolation import isolate_tools
from host.wire.listener_guard import ListenerGuard
from host.wire.negotiation import NoticeListener, Produced, negotiate
from host.wire.patience import Patience, Wait, blames_output
from host.wire.retry import LOADING_TIMEOUT_SECONDS, SMALLEST_LIKELY_WINDOW
from host.wire.streaming import ReadingOptions, TextListener, stream_turn
from host.wire.tool_forms import with_accepted_tools
from host.wire.turn_joining import FreshListener, begun_answer, fresh_part
from host.wire.unreadable_answers import (
    can_forbid_calls,
    going_on,
    sampled_otherwise,
    without_calls,
)

MAX_ISOLATIONS = 3
"""How often one turn looks for refused tools, or waits for another that does."""

RequestBuilder = Callable[[Capabilities, ModelCapabilities | None], Mapping[str, Any]]
"""Builds the body of a chat request from what is known of the endpoint and of the model."""


def random_jitter() -> float:
    """A factor between 0.5 and 1 that spreads retries out."""
    return random.uniform(0.5, 1.0)


async def run_turn(
    client: openai.AsyncOpenAI,
    capabilities: Capabilities,
    request: RequestBuilder,
    *,
    max_retries: int = 0,
    on_notice: NoticeListener | None = None,
    context_limit: int = 0,
    model: str | None = None,
    droppable: Collection[str] = (),
    loading_timeout_seconds: float = LOADING_TIMEOUT_SECONDS,
    calibration: Calibration | None = None,
    jitter: Callable[[], float] = random_jitter,
    **reading: Unpack[ReadingOptions],
) -> Turn:
    """Asks the model until it answers, or until nothing more can be tried; returns the turn.

    ``request`` builds the body, for every request sent. ``model`` is whose latches count,
    ``droppable`` the extra fields that may be left out. A ``context_limit`` below 8192 is not
    enforced. ``calibration`` holds characters per token as measured (None: four), ``jitter``
    draws the factor of a backoff, ``reading`` is as in `stream_turn`. Its usage also
    says ``wall_seconds``, ``retries`` and ``timeouts``.

    Raises:
        ContextOverflow: the first body is too large and was not sent, or the endpoint says so.
        WireError: as `stream_turn` does, when nothing more can be tried.
    """
    guard = ListenerGuard()
    attempts = _Attempts(
        client=client,
        request=request,
        reading=guarded(guard, reading),
        patience=Patience(max_retries, loading_timeout_seconds, label=model or "the model"),
        context_limit=context_limit,
        calibration=calibration or Calibration(),
        model=model or "",
        capabilities=capabilities,
        on_notice=on_notice or ignore,
    )
    negotiated = partial(negotiate, capabilities, attempts.send, model=model, droppable=droppable)
    with guard:
        return await attempts.until_answered(negotiated, jitter)


def guarded(guard: ListenerGuard, reading: ReadingOptions) -> ReadingOptions:
    """The same reading, its listeners watched."""
    return {
        **reading,
        "on_thinking": guard.over(reading.get("on_thinking")),
        "on_output": guard.over(reading.get("on_output")),
    }


class _Negotiated(Protocol):
    def __call__(self, *, produced: Produced, on_notice: NoticeListener) -> Awaitable[Turn]: ...


class _Heard:
    """What listeners were told of one answer, which they would not have to hear again.

    Attributes:
        first_at: when they heard the first of it; None for nothing yet.
    """

    def __init__(self) -> None:
        self._pieces: list[tuple[str, str]] = []
        self.first_at: float | None = None

    @property
    def is_nothing(self) -> bool:
        return not self._pieces

    def text(self, kind: str) -> str:
        return "".join(text for one, text in self._pieces if one == kind)

    def listener(self, kind: str, told: TextListener | None) -> TextListener:
        def hear(text: str) -> None:
            if self.first_at is None:
                self.first_at = anyio.current_time()
            self._pieces.append((kind, text))
            if told is not None:
                told(text)

        return hear


@dataclass(slots=True, kw_only=True)
class _Attempts:
    """The attempts at one turn so far.

    Attributes:
        failed: how many ended in a failure that asked for a decision.
        asked_otherwise: how many answers were asked for in another way, since the server could
            not read the model's; timeouts: how many waits ended in silence.
        isolations: how often refused tools were looked for.
        fits: a body has passed the guard; later ones are not sized.
        body: the one sent last; sent_at: when the answer was last asked for from its start.
        heard: what was told of an answer; once there is any, no other one is asked for.
    """

    client: openai.AsyncOpenAI
    request: RequestBuilder
    reading: ReadingOptions
    patience: Patience
    context_limit: int
    calibration: Calibration
    model: str
    capabilities: Capabilities
    on_notice: NoticeListener
    started_at: float = field(default_factory=anyio.current_time)
    sent_at: float = 0.0
    failed: int = 0
    asked_otherwise: int = 0
    timeouts: int = 0
    isolations: int = 0
    fits: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)
    heard: _Heard = field(default_factory=_Heard)

    async def until_answered(self, negotiated: _Negotiated, jitter: Callable[[], float]) -> Turn:
        while True:
            produced = Produced()
            try:
                return self.completed(await negotiated(produced=produced, on_notice=self.on_notice))
            except WireError as error:
                # A stop that came with the failure is a stop: no notice, no wait.
                await anyio.lowlevel.checkpoint_if_cancelled()
                if produced.any and not (blames_output(error) and self.heard.is_nothing):
                    return self.completed(await self.gone_on(error))
                if await self.isolated(error):
                    continue
                wait = self.after(error, jitter())
                if wait is None:
                    raise self.final(error) from error.__cause__
            if wait.notice:
                self.on_notice(wait.notice)
            await anyio.sleep(wait.seconds)

    async def send(
        self, known: Capabilities, produced: Produced, refused: ModelCapabilities | None
    ) -> Turn:
        self.body = self.prepared(self.request(known, refused), refused)
        self.sent_at = anyio.current_time()
        return await stream_turn(
            self.client, self.body, produced=produced, **self.listening(self.heard)
        )

    def listening(self, heard: _Heard) -> ReadingOptions:
        return {
            **self.reading,
            "on_thinking": heard.listener("thinking", self.reading.get("on_thinking")),
            "on_output": heard.listener("output", self.reading.get("on_output")),
        }

    def prepared(
        self, body: Mapping[str, Any], refused: ModelCapabilities | None
    ) -> Mapping[str, Any]:
        """The body to send.

        Raises:
            ContextOverflow: it is the first one, and too large for the window.
        """
        if known := self.capabilities.models.get(self._model_of(body)):
            body = with_accepted_tools(body, known)
        if not self.fits and self.context_limit >= SMALLEST_LIKELY_WINDOW:
            per_token = self.calibration.chars_per_token(self._model_of(body))
            needed = request_tokens(body, chars_per_token=per_token)
            reserved = _reserved_tokens(body)
            if needed + reserved > self.context_limit:
                raise ContextOverflow(needed, reserved, self.context_limit)
        self.fits = True
        match self.patience.remedy:
            case "no calls":
                return without_calls(body)
            case "other draw":
                return sampled_otherwise(body, refused)
            case None:
                return body

    async def isolated(self, error: WireError) -> bool:
        """Whether something was learned of the request's tools, so that it is worth sending."""
        is_tried = self.patience.remedy is not None or self.isolations >= MAX_ISOLATIONS
        if is_tried or blames_output(error):
            return False
        self.isolations += 1
        return await isolate_tools(
            self.client,
            self.capabilities,
            self.body,
            error,
            model=self._model_of(self.body),
            on_notice=self.on_notice,
            limit_seconds=self.reading.get("first_chunk_seconds")
            or self.reading.get("idle_seconds"),
        )

    async def gone_on(self, error: WireError) -> Turn:
        """The whole of an answer that its server stopped reading in the middle.

        Raises:
            WireError: ``error`` itself, when it is another failure or when going on fails.
        """
        told = self.heard.text("output")
        known = self.capabilities.for_model(self._model_of(self.body))
        rest = None
        if blames_output(error) and told.strip() and can_forbid_calls(self.body):
            rest = await self.rest_of(told) if known.assistant_prefill else None
        if rest is None:
            raise self.final(error) from error.__cause__
        thought = self.heard.text("thinking") + rest.reasoning
        first_token = None if self.heard.first_at is None else self.heard.first_at - self.sent_at
        usage = replace(rest.usage, first_token_seconds=first_token)
        return replace(rest, content=told + rest.content, reasoning=thought, usage=usage)

    async def rest_of(self, told: str) -> Turn | None:
        """What follows this much of an answer, as text; None when that is not to be had."""
        label = self.model or "the model"
        self.on_notice(f"{label} wrote what its server cannot read; going on with it as text")
        self.asked_otherwise += 1
        self.body = going_on(self.body, told)
        begun = begun_answer(self.body)
        fresh = FreshListener(begun, self.reading.get("on_output") or ignore)
        reading: ReadingOptions = {
            **self.reading,
            "on_output": fresh.hear,
            "start_in_reasoning": False,
        }
        try:
            piece = await stream_turn(self.client, self.body, **reading)
        except WireError:
            await anyio.lowlevel.checkpoint_if_cancelled()
            return None
        fresh.finish()
        content = fresh_part(begun, piece)
        return None if content is None else replace(piece, content=content)

    def after(self, error: WireError, jitter: float) -> Wait | None:
        """The wait that a failure asks for; None for no more."""
        self.failed += 1
        wait = self.patience.wait_for(
            error, now=anyio.current_time(), jitter=jitter, may_call=can_forbid_calls(self.body)
        )
        if wait is not None:
            self.asked_otherwise += wait.remedy is not None
            self.timeouts += isinstance(error, EndpointSilent)
        return wait

    def final(self, error: WireError) -> WireError:
        """The failure to report: itself, or with the number of attempts where it names one."""
        if not isinstance(error, EndpointUnavailable) or self.failed <= error.attempts:
            return error
        return EndpointUnavailable(
            self.failed,
            error.status,
            detail=error.detail,
            retry_after_seconds=error.retry_after_seconds,
        )

    def completed(self, turn: Turn) -> Turn:
        """The turn with what only the attempts know; takes its reading."""
        self.calibration.observe(self._model_of(self.body), self.body, turn.usage.prompt_tokens)
        usage = replace(
            turn.usage,
            wall_seconds=anyio.current_time() - self.started_at,
            retries=self.patience.retries + self.asked_otherwise,
            timeouts=self.timeouts,
        )
        return replace(turn, usage=usage)

    def _model_of(self, body: Mapping[str, Any]) -> str:
        return self.model or str(body.get("model", ""))


def ignore(_: str) -> None:
    """Hears what nobody else wants to."""


def _reserved_tokens(body: Mapping[str, Any]) -> int:
    for name in ("max_completion_tokens", "max_tokens"):
        ceiling = body.get(name)
        if isinstance(ceiling, int) and not isinstance(ceiling, bool):
            return max(0, ceiling)
    return 0
