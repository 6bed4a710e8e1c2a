"""Going on with an answer that was cut at its ceiling (agent-core §21, continuation)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

import openai

from host.errors import ContextOverflow, WireError
from host.records import Turn
from host.text.terminal_text import clean_terminal
from host.wire.calibration import Calibration
from host.wire.capabilities import Capabilities, ModelCapabilities
from host.wire.endpoint import RequestBuilder, guarded, ignore, run_turn
from host.wire.failure import words_of
from host.wire.listener_guard import ListenerGuard
from host.wire.negotiation import NoticeListener
from host.wire.retry import refuses_request
from host.wire.streaming import ReadingOptions
from host.wire.turn_joining import (
    FreshListener,
    fresh_part,
    is_continuable,
    join_turns,
    prefilled,
)


class TurnOptions(ReadingOptions, total=False):
    """What `run_turn` takes besides the request, the model and who hears notices."""

    max_retries: int
    context_limit: int
    droppable: Collection[str]
    loading_timeout_seconds: float
    calibration: Calibration | None
    jitter: Callable[[], float]


async def continue_turn(
    client: openai.AsyncOpenAI,
    capabilities: Capabilities,
    request: RequestBuilder,
    turn: Turn,
    *,
    max_continuations: int = 1,
    on_notice: NoticeListener | None = None,
    model: str | None = None,
    **options: Unpack[TurnOptions],
) -> Turn:
    """Asks the model to go on with a cut answer; returns the whole, or ``turn`` itself.

    Each request is the one that was answered, and the answer so far as the assistant's last
    message. llama.cpp, LM Studio, Ollama, Anthropic and OpenRouter write on from there. An endpoint
    that refuses it (OpenAI's reasoning models, Mistral, llama.cpp while the template thinks) or
    that answers anew is not asked again for this model (``assistant_prefill``); without a
    ``model`` nothing is remembered. Listeners hear what is joined, and of a piece that failed what
    came before it did.

    Args:
        request: builds the body that ``turn`` answered.
        turn: goes on only if it ended at its ceiling, with text and without calls.
        max_continuations: the most requests sent.
        options: as in `run_turn`; ``start_in_reasoning`` does not count.

    No failure of the endpoint is raised: it is a notice, and the answer stays cut.
    """
    guard = ListenerGuard()
    watched: TurnOptions = {**options, **guarded(guard, options)}
    going_on = _GoingOn(request, model or "the model", on_notice or ignore)
    with guard:
        for _ in range(max_continuations):
            if not is_continuable(turn) or not _takes_prefill(capabilities, model):
                break
            piece = await going_on.joining_piece(
                turn.content, client, capabilities, model=model, options=watched
            )
            if piece is None:
                break
            turn = join_turns(turn, piece)
    return turn


@dataclass(frozen=True, slots=True)
class _GoingOn:
    request: RequestBuilder
    label: str
    on_notice: NoticeListener

    async def joining_piece(
        self,
        answer: str,
        client: openai.AsyncOpenAI,
        capabilities: Capabilities,
        *,
        model: str | None,
        options: TurnOptions,
    ) -> Turn | None:
        """What follows the answer; None, and a notice, for nothing that could be joined to it."""
        try:
            piece = await self._piece_after(
                answer, client, capabilities, model=model, options=options
            )
        except WireError as error:
            if _refuses_prefill(error):
                _latch(capabilities, model)
            self._tell_of(error)
            return None
        fresh = fresh_part(answer, piece)
        if fresh is None:
            _latch(capabilities, model)
            self._tell(f"{self.label} began its answer anew instead of going on with it")
            return None
        return replace(piece, content=fresh)

    async def _piece_after(
        self,
        answer: str,
        client: openai.AsyncOpenAI,
        capabilities: Capabilities,
        *,
        model: str | None,
        options: TurnOptions,
    ) -> Turn:
        reading: TurnOptions = {**options, "start_in_reasoning": False}
        fresh = FreshListener(answer, options.get("on_output") or ignore)
        reading["on_output"] = fresh.hear
        piece = await run_turn(
            client,
            capabilities,
            self._prefilled(answer),
            model=model,
            on_notice=self.on_notice,
            **reading,
        )
        fresh.finish()
        return piece

    def _tell_of(self, error: WireError) -> None:
        words = " ".join(clean_terminal(words_of(error)).split())
        if isinstance(error, ContextOverflow):
            self._tell(f"there is no room to go on with the answer ({words})")
        elif _refuses_prefill(error):
            self._tell(f"{self.label} does not go on with a half-written answer ({words})")
        else:
            self._tell(f"going on with the answer failed ({words})")

    def _tell(self, what: str) -> None:
        self.on_notice(f"{what}; it stays cut off")

    def _prefilled(self, answer: str) -> RequestBuilder:
        def request(known: Capabilities, refused: ModelCapabilities | None) -> Mapping[str, Any]:
            return prefilled(self.request(known, refused), answer)

        return request


def _takes_prefill(capabilities: Capabilities, model: str | None) -> bool:
    return model is None or capabilities.for_model(model).assistant_prefill


def _latch(capabilities: Capabilities, model: str | None) -> None:
    if model is not None:
        capabilities.for_model(model).assistant_prefill = False


def _refuses_prefill(error: WireError) -> bool:
    """A 400 or 422, or any other answer that speaks of it: older llama.cpp says it with a 500."""
    return refuses_request(error) or "prefill" in words_of(error).lower()
