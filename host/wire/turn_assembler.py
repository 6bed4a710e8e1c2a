"""One streamed answer, put together from its chunks without I/O (agent-core §8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from host.records import Turn
from host.text.thinking import DEFAULT_FENCES, Fence, FenceSplitter, Piece
from host.wire.call_fragments import CallFragments
from host.wire.message_fields import plain_text, reasoning_of, text_of
from host.wire.usage_report import usage_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What one chunk brought.

    Attributes:
        pieces: reasoning and output that may be shown now, in order. Text that could still turn
            out to be a fence's marker is held back.
        carried: whether it held any text, reasoning or tool call. A chunk that only names the
            role, or only counts, carries nothing: a request that got no further can be sent again.
    """

    pieces: tuple[Piece, ...] = ()
    carried: bool = False


class TurnAssembler:
    """Takes the decoded chunks of one answer and gives the turn they make.

    A whole answer (``message`` in place of ``delta``) reads like a stream of one chunk. What has no
    meaning is skipped: chunks that are no objects, choices beyond the first, unknown fields. Error
    events are not chunks: `host.wire.answer_errors` tells them apart beforehand.

    Args:
        fences: what marks reasoning inside the answer's text.
        start_in_reasoning: the template has already opened the fence.
    """

    def __init__(
        self, *, fences: Iterable[Fence] = DEFAULT_FENCES, start_in_reasoning: bool = False
    ) -> None:
        self._splitter = FenceSplitter(fences, start_inside=start_in_reasoning)
        self._reasoning: list[str] = []
        self._calls = CallFragments()
        self._usage: Mapping[str, Any] = {}
        self._timings: Mapping[str, Any] = {}
        self._finish_reason = ""

    @property
    def finish_reason(self) -> str:
        """The reason the endpoint gave last; "" while it gave none."""
        return self._finish_reason

    def feed(self, chunk: object) -> Progress:
        """Takes one decoded chunk and says what it brought."""
        if not isinstance(chunk, Mapping):
            return Progress()
        choice = _first_choice(chunk)
        self._usage = _usage(chunk, choice) or self._usage
        self._timings = _mapping(chunk.get("timings")) or self._timings
        self._finish_reason = plain_text(choice.get("finish_reason")) or self._finish_reason
        return self._take(_mapping(choice.get("delta")) or _mapping(choice.get("message")))

    def flush(self) -> Progress:
        """Gives out the text held back, once the stream has ended; a second time nothing."""
        return Progress(pieces=tuple(self._splitter.finish()))

    def finish(self) -> Turn:
        """The turn, with what `flush` would give; its usage holds no times of our own measuring."""
        self.flush()
        return Turn(
            content=self._splitter.output,
            tool_calls=self._calls.tool_calls(),
            usage=usage_of(self._usage, self._timings),
            finish_reason=self._finish_reason,
            reasoning="".join(self._reasoning) + self._splitter.reasoning,
        )

    def _take(self, delta: Mapping[str, Any]) -> Progress:
        pieces: list[Piece] = []
        reasoning = reasoning_of(delta)
        if reasoning:
            self._reasoning.append(reasoning)
            pieces.append(Piece(kind="reasoning", text=reasoning))
        content = text_of(delta)
        pieces.extend(self._splitter.push(content))
        fragments = delta.get("tool_calls")
        found = [one for one in _list(fragments) if isinstance(one, Mapping)]
        for fragment in found:
            self._calls.add(fragment)
        return Progress(pieces=tuple(pieces), carried=bool(reasoning or content or found))


def _first_choice(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = _list(chunk.get("choices"))
    return _mapping(choices[0]) if choices else {}


def _usage(chunk: Mapping[str, Any], choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """The report of a chunk, which Moonshot puts into the choice and Groq into ``x_groq``."""
    elsewhere = _mapping(choice.get("usage")) or _mapping(
        _mapping(chunk.get("x_groq")).get("usage")
    )
    return _mapping(chunk.get("usage")) or elsewhere


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
