"""Sending a request again after each refusal that teaches something."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from typing import TypeVar

from host.errors import EndpointRefused, EndpointUnavailable
from host.wire.capabilities import Capabilities, ModelCapabilities, latch_state
from host.wire.failure import words_of
from host.wire.patience import is_about_output
from host.wire.quoted_text import own_words_in
from host.wire.refusals import Lesson, learn, lesson_of
from host.wire.schema_compat import is_grammar_error
from host.wire.scrubbing import carried_schemas

ResultT = TypeVar("ResultT")
NoticeListener = Callable[[str], None]

_OF_A_NAME = re.compile(r"(?<=[\w-])(?<!\bx)grammar|grammar(?!s\b)(?=[\w-])", re.I)
"""The word inside another, as in `check_grammar`; xgrammar is what vLLM builds grammars with."""


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
            lesson = _lesson_in(error, capabilities, model=model, droppable=droppable)
            if lesson is None and latch_state(capabilities, model) == before:
                raise
        if lesson is not None:
            learn(capabilities, lesson)
            if on_notice:
                on_notice(lesson.notice)


def _lesson_in(
    error: Exception, capabilities: Capabilities, *, model: str | None, droppable: Collection[str]
) -> Lesson | None:
    """What a failure teaches: by its own words, and of schemas only where they may be at fault."""
    words = words_of(error)
    if is_about_output(words):
        return None
    said = own_words_in(words)
    if capabilities.strict_schemas and not _may_be_about_schemas(error, said):
        capabilities = replace(capabilities, strict_schemas=False)
    return lesson_of(said, capabilities, model=model, droppable=droppable)


def _may_be_about_schemas(error: Exception, said: str) -> bool:
    match error:
        case EndpointRefused(status=status) | EndpointUnavailable(status=status):
            is_of_request = status in (None, 400, 422) or status >= 500
        case _:
            is_of_request = True
    if not is_of_request or carried_schemas(error.__cause__) is False:
        return False
    return is_grammar_error(_OF_A_NAME.sub("", said))
