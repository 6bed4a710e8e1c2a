"""Reasoning that a model writes into its answer between fences, told apart from the answer."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal

from host.text.quote_reader import Doubt, QuoteReader

_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
"""Unlike ``str.lower`` this never changes a text's length."""

_MAX_TAG_BLANKS = 4
"""How many blanks may stand before the end of a tag, as in ``</think >``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """How one family of models marks reasoning; markers are matched whatever the case of ASCII.

    Attributes:
        closes_unopened: a close that is the very first marker ends reasoning that was opened
            before the text began; otherwise it is framing wherever nothing is open.
        framing: markers outside reasoning that carry no text; they are dropped.
        starts_answer: like an unopened close, for families whose close says nothing by itself.
    """

    open: str
    close: str
    closes_unopened: bool = True
    framing: tuple[str, ...] = ()
    starts_answer: tuple[str, ...] = ()


_THINK = Fence(open="<think>", close="</think>")
_HARMONY = Fence(
    open="<|channel|>analysis<|message|>",
    close="<|end|>",
    closes_unopened=False,  # every message ends so, and every turn of Phi's
    framing=(
        "<|start|>assistant",
        "<|channel|>commentary<|message|>",
        "<|channel|>final<|message|>",
        "<|return|>",
    ),
    starts_answer=("<|end|><|start|>assistant<|channel|>final<|message|>",),
)
_KIMI = Fence(open="◁think▷", close="◁/think▷")

DEFAULT_FENCES = (_THINK, _HARMONY, _KIMI)
"""What a streamed answer is split by: markers that only a template writes."""

ALL_FENCES = (
    *DEFAULT_FENCES,
    Fence(open="<thinking>", close="</thinking>"),
    Fence(open="<reasoning>", close="</reasoning>"),
    Fence(open="[THINK]", close="[/THINK]"),
    Fence(open="<seed:think>", close="</seed:think>"),
    Fence(open="<|START_THINKING|>", close="<|END_THINKING|>"),
)
"""Also further models' markers and tags that an answer might quote, for side tasks."""


def _lower(text: str) -> str:
    return text.translate(_ASCII_LOWER)


def _spellings(marker: str) -> tuple[str, ...]:
    """The marker in lower case; a tag also with blanks before its end."""
    marker = _lower(marker)
    if re.fullmatch(r"</?[\w:]+>", marker) is None:
        return (marker,)
    return tuple(f"{marker[:-1]}{' ' * blanks}>" for blanks in range(_MAX_TAG_BLANKS + 1))


def _pattern(markers: Iterable[str]) -> re.Pattern[str]:
    spellings = (re.escape(spelling) for marker in markers for spelling in _spellings(marker))
    return re.compile("|".join(f"(?i:{spelling})" for spelling in spellings))


THINK_OPEN = _pattern(fence.open for fence in (_THINK, _KIMI))
"""What opens thinking in a whole reply; no groups, so that it can be part of a pattern."""

THINK_CLOSE = _pattern(fence.close for fence in (_THINK, _KIMI))
"""What closes thinking in a whole reply; no groups."""

PieceKind = Literal["reasoning", "output"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of text of one kind, markers removed."""

    kind: PieceKind
    text: str


_QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "«": "»", "‘": "’"}
_BEFORE_WORD = frozenset((" ", "\t", "(", *_QUOTES))
_BEHIND_WORD = frozenset(" \t).,;:!?…")


class FenceSplitter:
    """Splits a streamed text into reasoning and output, wherever the stream was cut.

    Inside a fence only its close is looked for, outside it every marker; the earliest counts,
    of several at one place the longest. A reply that ends inside a fence was all reasoning.
    When the very first marker is a close, the fence was opened before the text began and
    everything so far was reasoning: it moves from ``output`` to ``reasoning``, though pieces
    handed out earlier cannot be called back. Later stray closes are dropped (agent-core §9).

    Outside, a marker that the text only quotes is text (ours): one in code or in a value of data
    or of a tool call (``quote_reader``), in quotation marks of its own, or set off within its line
    as a word is; a close, too, behind an open that was such a word. A code span quotes only if it
    ends on its line. Any other region that never ends does not quote a close that begins a line and
    would be the first marker: the thinking that left it open ends there.
    """

    def __init__(
        self, fences: Iterable[Fence] = DEFAULT_FENCES, *, start_inside: bool = False
    ) -> None:
        """Starts with an empty text; ``start_inside`` when the template has opened a fence."""
        known = tuple(fences)
        self._names = _Names(known)
        self._outside = _Markers(self._names.all)
        self._inside = {
            close: _Markers(_spellings(close)) for close in self._names.close_of.values()
        }
        closes = [spelling for close in self._inside for spelling in _spellings(close)]
        self._markers = _Markers(closes) if start_inside and known else self._outside
        self._met_marker = self._markers is not self._outside
        self._held = ""
        self._waiting: list[str] = []
        self._output: list[str] = []
        self._reasoning: list[str] = []
        self._unread: list[str] = []
        self._reader = QuoteReader()
        self._doubt: Doubt | None = None
        self._words = 0

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

        The longest tail that could begin a marker is held until the next part decides, and what
        follows a marker that may be quoted until the region around it has ended.
        """
        if self._doubt is None:
            return self._split(self._held + delta, is_last=False)
        self._waiting.append(delta)
        verdict = self._doubt.read(delta)
        return [] if verdict is None else self._resume(verdict, is_last=False)

    def finish(self) -> list[Piece]:
        """The tail still held, at the end of the text."""
        if self._doubt is None:
            return self._split(self._held, is_last=True)
        return self._resume(self._doubt.end(), is_last=True)

    def _resume(self, verdict: bool, *, is_last: bool) -> list[Piece]:
        self._doubt = None
        self._reader.settle(is_closed=verdict)
        return self._split("".join(self._waiting), is_last=is_last)

    def _split(self, text: str, *, is_last: bool) -> list[Piece]:
        parts: list[tuple[PieceKind, str]] = []
        lowered = _lower(text)
        start = 0
        while (found := self._markers.next_in(lowered, start, is_last)).end is not None:
            self._take(text[start : found.start], parts)
            start = found.start
            marker = lowered[start : found.end]
            is_quoted = self._is_quoted(marker, text, start, is_last)
            if is_quoted is None:
                break
            if is_quoted:
                self._take(text[start : found.end], parts)
            else:
                self._pass(marker, parts)
            start = found.end
        else:
            self._take(text[start : found.start], parts)
            start = found.start
        self._held = text[start:]
        self._waiting = [self._held]
        return [
            Piece(kind=kind, text="".join(text for _, text in run))
            for kind, run in groupby(parts, key=itemgetter(0))
        ]

    def _take(self, text: str, parts: list[tuple[PieceKind, str]]) -> None:
        if not text:
            return
        if self._markers is self._outside:
            self._output.append(text)
            self._unread.append(text)
            parts.append(("output", text))
        else:
            self._reasoning.append(text)
            parts.append(("reasoning", text))

    def _pass(self, marker: str, parts: list[tuple[PieceKind, str]]) -> None:
        if self._markers is not self._outside:
            self._markers = self._outside
        elif marker in self._names.close_of:
            self._markers = self._inside[self._names.close_of[marker]]
        elif marker in self._names.unopened and not self._met_marker:
            self._reasoning, self._output = self._output, []
            parts[:] = [("reasoning", text) for _, text in parts]
        self._met_marker = True
        self._reader.restart()
        self._words = 0

    def _is_quoted(self, marker: str, text: str, start: int, is_last: bool) -> bool | None:
        """Whether a marker is no marker; None as long as only text to come can tell."""
        if self._markers is not self._outside:
            return False
        reader, end = self._reader, start + len(marker)
        reader.feed("".join(self._unread))
        self._unread.clear()
        if self._is_doubtful(marker):
            doubt = reader.doubt()
            verdict = doubt.read(text, start)
            if verdict is None and is_last:
                verdict = doubt.end()
            if verdict is None:
                self._doubt = doubt
                return None
            reader.settle(is_closed=verdict)
        if not reader.is_inside:
            return self._is_word(marker, text[end : end + 1], is_last)
        if marker in self._names.close_of:
            reader.note_open()
        return True

    def _is_doubtful(self, marker: str) -> bool:
        """Whether the region around a marker must be seen to end before it counts."""
        reader = self._reader
        if reader.is_sure or not reader.is_inside:
            return False
        is_first_close = marker in self._names.unopened and not self._met_marker
        return reader.is_in_span or (
            is_first_close and reader.is_at_line_start and not reader.holds_open
        )

    def _is_word(self, marker: str, following: str, is_last: bool) -> bool | None:
        """Whether a marker outside code and data is only spoken of; None as in ``_is_quoted``."""
        before = self._reader.last_char
        if self._reader.is_at_line_start or before not in _BEFORE_WORD:
            return False
        if not following and not is_last:
            return None
        if following and following == _QUOTES.get(before):
            return True
        is_close = marker in self._names.unopened
        if before in _QUOTES or following not in _BEHIND_WORD or (is_close and not self._words):
            return False
        self._words += (marker in self._names.close_of) - is_close
        return True


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


class _Names:
    """What markers mean outside reasoning; lower case, in every spelling.

    Attributes:
        close_of: every open, and the close of its fence in the plainest spelling.
        unopened: what ends, as the first marker, reasoning that was opened before the text.
        all: every marker.
    """

    def __init__(self, fences: Iterable[Fence]) -> None:
        self.close_of: dict[str, str] = {}
        self.unopened: set[str] = set()
        self.all: set[str] = set()
        for fence in fences:
            closes = _spellings(fence.close)
            self.close_of |= dict.fromkeys(_spellings(fence.open), closes[0])
            self.unopened.update(_lower(marker) for marker in fence.starts_answer)
            self.unopened.update(closes if fence.closes_unopened else ())
            self.all.update(closes, map(_lower, fence.framing))
        self.all.update(self.close_of, self.unopened)


class _Markers:
    """A set of lower-case markers to look for."""

    def __init__(self, markers: Iterable[str]) -> None:
        longest_first = sorted(filter(None, markers), key=len, reverse=True)
        self._max_chars = len(longest_first[0]) if longest_first else 0
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._beginnings = {
            marker[:length] for marker in longest_first for length in range(1, len(marker))
        }

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
            if text[at:] in self._beginnings:
                return at
        return len(text)
