"""A cut answer and what continues it, put together without I/O (agent-core §21, continuation)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from host.records import Turn, TurnUsage
from host.wire.message_fields import text_of

OPENING_CHARS = 40
"""As much of an answer as tells that another one begins with the same words."""

MIN_OPENING_CHARS = 12
"""Below this, two texts begin alike by chance."""

_SUMMED_IF_BOTH = (
    "uncached_tokens",
    "reasoning_tokens",
    "prompt_seconds",
    "predicted_seconds",
    "draft_total",
    "draft_accepted",
    "wall_seconds",
    "retries",
    "timeouts",
)
_RATES = {
    "prompt_tokens_per_second": "prompt_seconds",
    "tokens_per_second": "predicted_seconds",
}


def is_continuable(turn: Turn) -> bool:
    """Whether an answer was cut at its ceiling while it was being written.

    One that was cut while it thought, or that calls tools, is left alone.
    """
    return turn.finish_reason == "length" and bool(turn.content.strip()) and not turn.tool_calls


def prefilled(body: Mapping[str, Any], answer: str) -> dict[str, Any]:
    """A request for what follows this much of its answer.

    One that already ends with words of the assistant, as a request to go on does, ends with those
    and the answer as one message: templates and servers refuse two of them in a row.
    """
    messages = [*body["messages"]]
    begun: dict[str, Any] = {"role": "assistant", "content": answer}
    if messages and _is_begun_answer(messages[-1]):
        last = messages.pop()
        begun = {**last, "content": _text_then(last.get("content"), answer)}
    return {**body, "messages": [*messages, begun]}


def begun_answer(body: Mapping[str, Any]) -> str:
    """What a request of `prefilled` has the model go on from, from the answer's first word."""
    return text_of(body["messages"][-1])


def _is_begun_answer(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "assistant" and not message.get("tool_calls")


def _text_then(content: object, answer: str) -> object:
    if isinstance(content, list):
        return [*content, {"type": "text", "text": answer}]
    return (content if isinstance(content, str) else "") + answer


class FreshText:
    """What a further piece adds to an answer, while it is still coming.

    A piece should go on where the answer stopped. One that begins with the answer's opening is the
    answer begun anew and adds nothing. One that begins with the whole answer repeats what it was
    given and adds the rest (llama.cpp 2026.10, where an answer is not streamed; ours: agent-core
    §21 would drop it as begun anew). Space at the beginning of either makes no difference.

    Args:
        answer: the answer so far.
    """

    def __init__(self, answer: str) -> None:
        self._answer = answer.lstrip()
        self._opening_chars = min(len(self._answer), OPENING_CHARS)
        self._held: list[str] = []
        self._matched = 0
        self._is_decided = self._opening_chars < MIN_OPENING_CHARS
        self.is_restart = False

    def push(self, text: str) -> str:
        """The part of ``text`` that is certain to be new; what may be a repetition is held."""
        if self._is_decided:
            return "" if self.is_restart else text
        self._held.append(text)
        begun = text if self._matched else text.lstrip()
        if self._answer.startswith(begun, self._matched):
            self._matched += len(begun)
            return ""
        self._is_decided = True
        missing = self._answer[self._matched :]
        if begun.startswith(missing):
            return begun[len(missing) :]
        return self._released(begun)

    def finish(self) -> str:
        """What was still held and is new after all, at the end of the piece."""
        if self._is_decided or self._matched == len(self._answer):
            return ""
        self._is_decided = True
        return self._released("")

    def _released(self, last: str) -> str:
        opening_left = self._answer[self._matched : self._opening_chars]
        self.is_restart = last.startswith(opening_left)
        return "" if self.is_restart else "".join(self._held)


class FreshListener:
    """Passes on what a further piece adds to an answer, as `FreshText` tells it."""

    def __init__(self, answer: str, told: Callable[[str], None]) -> None:
        self._fresh = FreshText(answer)
        self._told = told

    def hear(self, text: str) -> None:
        """Takes the next text of the piece."""
        self._tell(self._fresh.push(text))

    def finish(self) -> None:
        """Passes on what was still held, at the end of the piece."""
        self._tell(self._fresh.finish())

    def _tell(self, text: str) -> None:
        if text:
            self._told(text)


def fresh_part(answer: str, piece: Turn) -> str | None:
    """What a piece adds to the answer's text; None when it is the answer begun anew."""
    fresh = FreshText(answer)
    text = fresh.push(piece.content) + fresh.finish()
    got_no_further = not text and piece.content.strip() and piece.finish_reason == "length"
    return None if fresh.is_restart or got_no_further else text


def join_turns(answer: Turn, piece: Turn) -> Turn:
    """The two as one answer: texts one after the other, the end and the calls of the last."""
    return Turn(
        content=answer.content + piece.content,
        tool_calls=piece.tool_calls,
        usage=join_usage(answer.usage, piece.usage),
        finish_reason=piece.finish_reason,
        reasoning=answer.reasoning + piece.reasoning,
    )


def join_usage(answer: TurnUsage, piece: TurnUsage) -> TurnUsage:
    """What both requests cost, one continuation more than the first.

    Counts add up. A figure that only one of them has would be half a figure: it is left out. Rates
    are means over the time they were measured in; the first token is the answer's.
    """
    both: dict[str, Any] = {
        name: ours + theirs
        for name in _SUMMED_IF_BOTH
        if (ours := getattr(answer, name)) is not None
        and (theirs := getattr(piece, name)) is not None
    }
    rates: dict[str, Any] = {
        name: _mean_rate(answer, piece, name, seconds) for name, seconds in _RATES.items()
    }
    cached = [one.cached_tokens for one in (answer, piece) if one.cached_tokens is not None]
    return replace(
        TurnUsage(**both, **rates),
        prompt_tokens=answer.prompt_tokens + piece.prompt_tokens,
        completion_tokens=answer.completion_tokens + piece.completion_tokens,
        total_tokens=answer.total_tokens + piece.total_tokens,
        cached_tokens=sum(cached) if cached else None,
        first_token_seconds=answer.first_token_seconds,
        continuations=(answer.continuations or 0) + 1,
    )


def _mean_rate(answer: TurnUsage, piece: TurnUsage, rate: str, seconds: str) -> float | None:
    measured = [(getattr(one, rate), getattr(one, seconds)) for one in (answer, piece)]
    if any(None in pair for pair in measured):
        return None
    total = sum(time for _, time in measured)
    return sum(speed * time for speed, time in measured) / total if total > 0 else None
