"""One turn of a model, with everything done that can be done before a failure is one.

What the endpoint refuses is left out and a loading model is waited for, neither of which spends an
attempt. A failure that may pass is tried again after a backoff, or after what the endpoint asks
for, up to a minute. A server that chokes on what its model wrote gets one request with other
sampling. Nothing is tried again once part of an answer was there. Source: agent-core §15.
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
from host.wire.negotiation import NoticeListener, Produced, negotiate
from host.wire.patience import RESAMPLING_TEMPERATURE, Patience, Wait
from host.wire.retry import LOADING_TIMEOUT_SECONDS, SMALLEST_LIKELY_WINDOW
from host.wire.streaming import ReadingOptions, stream_turn

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
    attempts = _Attempts(
        client=client,
        request=request,
        reading=reading,
        patience=Patience(max_retries, loading_timeout_seconds, label=model or "the model"),
        context_limit=context_limit,
        calibration=calibration or Calibration(),
        model=model or "",
    )
    negotiated = partial(negotiate, capabilities, attempts.send, model=model, droppable=droppable)
    return await attempts.until_answered(negotiated, on_notice or _ignore, jitter)


class _Negotiated(Protocol):
    def __call__(self, *, produced: Produced, on_notice: NoticeListener) -> Awaitable[Turn]: ...


@dataclass(slots=True, kw_only=True)
class _Attempts:
    """The attempts at one turn so far.

    Attributes:
        failed: how many ended in a failure that asked for a decision.
        resampled: how many answers were drawn anew; timeouts: how many waits ended in silence.
        fits: a body has passed the guard; later ones are not sized.
        resample: bodies are sent with other sampling from now on.
        body: the one sent last.
    """

    client: openai.AsyncOpenAI
    request: RequestBuilder
    reading: ReadingOptions
    patience: Patience
    context_limit: int
    calibration: Calibration
    model: str
    started_at: float = field(default_factory=anyio.current_time)
    failed: int = 0
    resampled: int = 0
    timeouts: int = 0
    fits: bool = False
    resample: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)

    async def until_answered(
        self, negotiated: _Negotiated, on_notice: NoticeListener, jitter: Callable[[], float]
    ) -> Turn:
        while True:
            produced = Produced()
            try:
                return self.completed(await negotiated(produced=produced, on_notice=on_notice))
            except WireError as error:
                # A stop that came with the failure is a stop: no notice, no wait.
                await anyio.lowlevel.checkpoint_if_cancelled()
                wait = None if produced.any else self.after(error, jitter())
                if wait is None:
                    raise self.final(error) from error.__cause__
            if wait.notice:
                on_notice(wait.notice)
            await anyio.sleep(wait.seconds)

    async def send(
        self, known: Capabilities, produced: Produced, refused: ModelCapabilities | None
    ) -> Turn:
        self.body = self.prepared(self.request(known, refused), refused)
        return await stream_turn(self.client, self.body, produced=produced, **self.reading)

    def prepared(
        self, body: Mapping[str, Any], refused: ModelCapabilities | None
    ) -> Mapping[str, Any]:
        """The body to send.

        Raises:
            ContextOverflow: it is the first one, and too large for the window.
        """
        if not self.fits and self.context_limit >= SMALLEST_LIKELY_WINDOW:
            per_token = self.calibration.chars_per_token(self._model_of(body))
            needed = request_tokens(body, chars_per_token=per_token)
            reserved = _reserved_tokens(body)
            if needed + reserved > self.context_limit:
                raise ContextOverflow(needed, reserved, self.context_limit)
        self.fits = True
        return _sampled_otherwise(body, refused) if self.resample else body

    def after(self, error: WireError, jitter: float) -> Wait | None:
        """The wait that a failure asks for; None for no more."""
        self.failed += 1
        wait = self.patience.wait_for(error, now=anyio.current_time(), jitter=jitter)
        if wait is not None:
            self.resample = self.resample or wait.resample
            self.resampled += wait.resample
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
            retries=self.patience.retries + self.resampled,
            timeouts=self.timeouts,
        )
        return replace(turn, usage=usage)

    def _model_of(self, body: Mapping[str, Any]) -> str:
        return self.model or str(body.get("model", ""))


def _ignore(_: str) -> None:
    """Hears a notice nobody else wants."""


def _reserved_tokens(body: Mapping[str, Any]) -> int:
    for name in ("max_completion_tokens", "max_tokens"):
        ceiling = body.get(name)
        if isinstance(ceiling, int) and not isinstance(ceiling, bool):
            return max(0, ceiling)
    return 0


def _sampled_otherwise(
    body: Mapping[str, Any], refused: ModelCapabilities | None
) -> Mapping[str, Any]:
    """The same request on another draw: warmer where that is allowed, from another seed."""
    changed = dict(body)
    temperature = body.get("temperature")
    if refused is None or refused.chosen_temperature:
        is_cold = not isinstance(temperature, int | float) or temperature < RESAMPLING_TEMPERATURE
        changed["temperature"] = RESAMPLING_TEMPERATURE if is_cold else temperature
    if isinstance(seed := body.get("seed"), int):
        changed["seed"] = seed + 1
    return changed
