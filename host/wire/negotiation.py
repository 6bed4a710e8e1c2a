"""Sending a request again after each refusal that teaches something."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

from host.wire.capabilities import Capabilities, ModelCapabilities, latch_state
from host.wire.failure import words_of
from host.wire.refusals import learn, lesson_of

ResultT = TypeVar("ResultT")
NoticeListener = Callable[[str], None]


@dataclass(slots=True)
class Produced:
    """Whether an answer has begun: once somebody has seen part of it, it is not asked for again."""

    any: bool = False


Send = Callable[[Capabilities, Produced, ModelCapabilities | None], Awaitable[ResultT]]
"""Builds the request from what is known and sends it."""


async def negotiate(
    capabilities: Capabilities,
    send: Send[ResultT],
    *,
    produced: Produced | None = None,
    on_notice: NoticeListener | None = None,
    model: str | None = None,
    droppable: Collection[str] = (),
) -> ResultT:
    """Sends until the endpoint takes the request; returns what ``send`` returned.

    A refusal turns off the latch it answers, with one notice, and the request goes out again; one
    that teaches nothing only if somebody else has learned something since (of two runs refused at
    once only one learns). Each round turns something off, so it ends (agent-core §10).

    Args:
        produced: the caller's own; ``send`` gets it.
        on_notice: told one line for each latch turned off here.
        model: whose latches count, and ``droppable`` fields may be left out.

    Raises:
        Exception: what ``send`` raised last, itself; at once when the answer had begun.
    """
    seen = produced or Produced()
    known = capabilities.for_model(model) if model else None
    while True:
        before = latch_state(capabilities, model)
        try:
            return await send(capabilities, seen, known)
        except Exception as error:
            # Whatever ``send`` raises is judged by its words; all of it is raised in the end.
            if seen.any:
                raise
            lesson = lesson_of(words_of(error), capabilities, model=model, droppable=droppable)
            if lesson is None and latch_state(capabilities, model) == before:
                raise
        if lesson is not None:
            learn(capabilities, lesson)
            if on_notice:
                on_notice(lesson.notice)
