"""Reasoning that a model writes into its answer between fences, told apart from the answer."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal

_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
"""Unlike ``str.lower`` this never changes a text's length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """How one family of models marks reasoning; markers are matched whatever the case of ASCII.

    Attributes:
        framing: markers outside reasoning that carry no text; they are dropped.
    """

    open: str
    close: str
    framing: tuple[str, ...] = ()


_THINK = Fence(open="<think>", close="</think>")
_HARMONY = Fence(
    open="<|channel|>analysis<|message|>",
    close="<|end|>",
    framing=("<|start|>assistant", "<|channel|>final<|message|>", "<|return|>"),
)
_KIMI = Fence(open="◁think▷", close="◁/think▷")
_THINKING = Fence(open="<thinking>", close="</thinking>")
_REASONING = Fence(open="<reasoning>", close="</reasoning>")

DEFAULT_FENCES = (_THINK, _HARMONY, _KIMI)
"""What a streamed answer is split by: markers that only a template writes."""

ALL_FENCES = (*DEFAULT_FENCES, _THINKING, _REASONING)
"""Also the tags that an answer might quote; for side tasks, whose answers quote nothing."""

_TAG_FENCES = (_THINK, _KIMI)
THINK_OPEN = re.compile("|".join(rf"(?i:{re.escape(fence.open)})" for fence in _TAG_FENCES))
"""What opens thinking in a whole reply; no groups, so that it can be part of a pattern."""

THINK_CLOSE = re.compile("|".join(rf"(?i:{re.escape(fence.close)})" for fence in _TAG_FENCES))
"""What closes thinking in a whole reply; no groups."""

PieceKind = Literal["reasoning", "output"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of text of one kind, markers removed."""

    kind: PieceKind
    text: str


class FenceSplitter:
    """Splits a streamed text into reasoning and output, wherever the stream was cut.

    Inside a fence only its close is looked for, outside it every marker; the earliest counts,
    of several at one place the longest. A reply that ends inside a fence was all reasoning.
    When the very first marker is a close, the fence was opened before the text began and
    everything so far was reasoning: it moves from ``output`` to ``reasoning``, though pieces
    handed out earlier cannot be called back. Later stray closes are dropped (agent-core §9).
    """

    def __init__(
        self, fences: Iterable[Fence] = DEFAULT_FENCES, *, start_inside: bool = False
    ) -> None:
        """Starts with an empty text; ``start_inside`` when the template has opened a fence."""
        known = tuple(fences)
        self._close_of = {_lower(fence.open): _lower(fence.close) for fence in known}
        self._closes = frozenset(self._close_of.values())
        framing = {_lower(marker) for fence in known for marker in fence.framing}
        self._outside = _Markers({*self._close_of, *self._closes, *framing})
        self._inside = {close: _Markers({close}) for close in self._closes}
        self._markers = _Markers(self._closes) if start_inside and known else self._outside
        self._met_marker = self._markers is not self._outside
        self._held = ""
        self._output: list[str] = []
        self._reasoning: list[str] = []

    @property
    def output(self) -> str:
        """The answer so far, without what is held back."""
        return "".join(self._output)

    @property
    def reasoning(self) -> str:
        """The reasoning so far, without what is held back."""
        return "".join(self._reasoning)

    def push(self, delta: str) -> list[Piece]:
        """The pieces that the next part of the text completes, in order.

        The longest tail that could begin a marker is held until the next part decides.
        """
        return self._split(self._held + delta, is_last=False)

    def finish(self) -> list[Piece]:
        """The tail still held, at the end of the text."""
        return self._split(self._held, is_last=True)

    def _split(self, text: str, *, is_last: bool) -> list[Piece]:
        parts: list[tuple[PieceKind, str]] = []
        lowered = _lower(text)
        start = 0
        while (found := self._markers.next_in(lowered, start, is_last)).end is not None:
            self._take(text[start : found.start], parts)
            self._pass(lowered[found.start : found.end], parts)
            start = found.end
        self._take(text[start : found.start], parts)
        self._held = text[found.start :]
        return [
            Piece(kind=kind, text="".join(text for _, text in run))
            for kind, run in groupby(parts, key=itemgetter(0))
        ]

    def _take(self, text: str, parts: list[tuple[PieceKind, str]]) -> None:
        if not text:
            return
        if self._markers is self._outside:
            self._output.append(text)
            parts.append(("output", text))
        else:
            self._reasoning.append(text)
            parts.append(("reasoning", text))

    def _pass(self, marker: str, parts: list[tuple[PieceKind, str]]) -> None:
        if self._markers is not self._outside:
            self._markers = self._outside
        elif marker in self._close_of:
            self._markers = self._inside[self._close_of[marker]]
        elif marker in self._closes and not self._met_marker:
            self._reasoning, self._output = self._output, []
            parts[:] = [("reasoning", text) for _, text in parts]
        self._met_marker = True


def strip_thinking(text: str, fences: Iterable[Fence] = ALL_FENCES) -> str:
    """The text without its reasoning and the markers around it, otherwise untouched."""
    splitter = FenceSplitter(fences)
    splitter.push(text)
    splitter.finish()
    return splitter.output


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A marker at ``[start, end)``; without an end, ``start`` is where text must be held."""

    start: int
    end: int | None


class _Markers:
    """A set of lower-case markers to look for."""

    def __init__(self, markers: Iterable[str]) -> None:
        self._longest_first = sorted(filter(None, markers), key=len, reverse=True)
        self._max_chars = len(self._longest_first[0]) if self._longest_first else 0
        self._pattern = re.compile("|".join(map(re.escape, self._longest_first)) or r"(?!)")

    def next_in(self, text: str, start: int, is_last: bool) -> _Found:
        """The next marker that is certain, or where an uncertain one begins.

        A marker is uncertain while a longer one, or one begun earlier, might still be completed
        by text to come.
        """
        match = self._pattern.search(text, start)
        if is_last or (match and match.start() <= len(text) - self._max_chars):
            held_from = len(text)
        else:
            held_from = self._held_from(text, start)
        if match and (match.start() < held_from):
            return _Found(start=match.start(), end=match.end())
        return _Found(start=held_from, end=None)

    def _held_from(self, text: str, start: int) -> int:
        for at in range(max(start, len(text) - self._max_chars + 1), len(text)):
            tail = text[at:]
            if any(len(m) > len(tail) and m.startswith(tail) for m in self._longest_first):
                return at
        return len(text)


def _lower(text: str) -> str:
    return text.translate(_ASCII_LOWER)
