"""Where a Markdown text holds code: fenced blocks and code spans, found in linear time.

More tolerant than CommonMark where models are: a fence may begin in the middle of a line, be
indented, close at the end of a line, hold fences of its own length when it is tagged as Markdown,
or be cut off by the end of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_LANDMARK = re.compile(
    r"""
      (?P<lead> ^[ \t>]*+ (?P<item>(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t>]++)++)? )?+
      (?P<run> `+ | ~{3,} ) (?P<alone> (?=[ \t\r]*$) )?
    | \n[ \t\r]*(?=\n)
    """,
    re.MULTILINE | re.VERBOSE,
)
_TAG = re.compile(r"[ \t]*([A-Za-z][\w+-]*)?")
_MIN_FENCE_CHARS = 3
_HOLDS_FENCES = ("markdown", "md")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRegion:
    """Code at ``[start, end)`` of a text, its delimiters included.

    Attributes:
        is_fence: a fenced block, not a code span.
        tag: a fence's language, lower case; "" without one.
        body_start, body_end: what stands between the delimiters, the tag left out.
        is_closed: False for a fence that the end of the text cut off.
    """

    start: int
    end: int
    body_start: int
    body_end: int
    is_fence: bool = False
    tag: str = ""
    is_closed: bool = True


class _Run(NamedTuple):
    """A run of backticks or tildes.

    Attributes:
        leads: nothing but white space, quoting and list markers stands before it on its line.
        alone: nor anything behind it, and no list marker before it.
    """

    start: int
    end: int
    mark: str
    line: int
    paragraph: int
    leads: bool
    alone: bool

    @property
    def length(self) -> int:
        return self.end - self.start


class MarkdownCode:
    """Answers which code region begins at a run of backticks or tildes.

    Whether a run begins anything depends on what the reader took before it (it may stand inside
    a region, or inside something that is no Markdown at all), so the reader asks run by run.
    """

    def __init__(self, text: str) -> None:
        """Reads the text once; asking for regions from left to right is linear in all."""
        self._text = text
        self._runs = _runs_of(text)
        self._index = {run.start: index for index, run in enumerate(self._runs)}
        self._span_close = _next_of_same_length(self._runs)
        self._next = _next_as_long(self._runs, alone_only=False)
        self._next_alone = _next_as_long(self._runs, alone_only=True)
        self._balance = _balanced(self._runs)

    def region_at(self, start: int) -> CodeRegion | None:
        """The region beginning at ``start``; None where no run begins, or where it opens nothing.

        A code span ends at the next run of its own length in its paragraph. A fence (three or
        more) ends on its own line if a run as long stands there, else at the next such run that
        has its line to itself, else at any such run, else at the end of the text. One tagged as
        Markdown ends where the fences in it are all closed, if they are.
        """
        index = self._index.get(start)
        if index is None:
            return None
        run = self._runs[index]
        if run.length >= _MIN_FENCE_CHARS:
            return self._fence(index)
        close = self._span_close[index]
        if close is None:
            return None
        end = self._runs[close]
        return CodeRegion(start=run.start, end=end.end, body_start=run.end, body_end=end.start)

    def _fence_close(self, index: int, tag: str) -> _Run | None:
        close = self._next[index]
        if close is None or self._runs[close].line == self._runs[index].line:
            return None if close is None else self._runs[close]
        balance = self._balance[index] if tag in _HOLDS_FENCES else None
        alone = self._next_alone[index]
        return self._runs[next(at for at in (balance, alone, close) if at is not None)]

    def _fence(self, index: int) -> CodeRegion:
        opener = self._runs[index]
        tag = _TAG.match(self._text, opener.end)
        assert tag is not None
        name = (tag[1] or "").lower()
        closer = self._fence_close(index, name)
        limit = closer.start if closer else len(self._text)
        return CodeRegion(
            start=opener.start,
            end=closer.end if closer else limit,
            body_start=min(tag.end(), limit),
            body_end=limit,
            is_fence=True,
            tag=name,
            is_closed=closer is not None,
        )


def _runs_of(text: str) -> list[_Run]:
    runs: list[_Run] = []
    line = paragraph = counted = 0
    for found in _LANDMARK.finditer(text):
        start, end = found.span("run")
        if start < 0:
            paragraph += 1
            continue
        mark = text[start]
        if mark == "~" and found["lead"] is None:
            continue
        line += text.count("\n", counted, start)
        counted = start
        leads = found["lead"] is not None
        alone = leads and found["item"] is None and found["alone"] is not None
        runs.append(_Run(start, end, mark, line, paragraph, leads, alone))
    return runs


def _next_of_same_length(runs: Sequence[_Run]) -> list[int | None]:
    """For each run the index of the next one of its length in its paragraph."""
    following: list[int | None] = [None] * len(runs)
    latest: dict[tuple[int, int, str], int] = {}
    for index in range(len(runs) - 1, -1, -1):
        run = runs[index]
        key = (run.paragraph, run.length, run.mark)
        following[index] = latest.get(key)
        latest[key] = index
    return following


def _next_as_long(runs: Sequence[_Run], *, alone_only: bool) -> list[int | None]:
    """For each run the index of the next one of its mark that is at least as long.

    From the right, those are kept that no nearer one outdoes: the nearer, the shorter.
    """
    following: list[int | None] = [None] * len(runs)
    kept: dict[str, tuple[list[int], list[int]]] = {"`": ([], []), "~": ([], [])}
    for index in range(len(runs) - 1, -1, -1):
        run = runs[index]
        indices, negated = kept[run.mark]
        found = bisect_right(negated, -run.length) - 1
        following[index] = indices[found] if found >= 0 else None
        if run.alone or not alone_only:
            while negated and negated[-1] >= -run.length:
                indices.pop()
                negated.pop()
            indices.append(index)
            negated.append(-run.length)
    return following


def _balanced(runs: Sequence[_Run]) -> list[int | None]:
    """For each fence that leads its line the index of the one that closes it, nested ones closed.

    A run with a tag behind it only opens; one with its line to itself closes what is open.
    """
    closes: list[int | None] = [None] * len(runs)
    open_ones: list[int] = []
    for index, run in enumerate(runs):
        if not run.leads or run.length < _MIN_FENCE_CHARS:
            continue
        opener = runs[open_ones[-1]] if open_ones else None
        if run.alone and opener and opener.mark == run.mark and opener.length <= run.length:
            closes[open_ones.pop()] = index
        else:
            open_ones.append(index)
    return closes
