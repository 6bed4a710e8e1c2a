"""Where a Markdown text holds code: fenced blocks and code spans, found in linear time.

More tolerant than CommonMark where models are: a fence may begin in the middle of a line, be
indented, close at the end of a line, or be cut off by the end of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_LANDMARK = re.compile(
    r"(?P<lead>^[ \t>]*)?(?P<run>`+|~{3,})(?P<alone>(?=[ \t\r]*$))?|\n[ \t\r]*(?=\n)", re.MULTILINE
)
_TAG = re.compile(r"[ \t]*([A-Za-z][\w+-]*)?")
_MIN_FENCE_CHARS = 3


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
    """A run of backticks or tildes; ``alone`` when nothing else stands on its line."""

    start: int
    end: int
    mark: str
    line: int
    paragraph: int
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
        self._longest_after = _longest_after(self._runs, alone_only=False)
        self._longest_alone_after = _longest_after(self._runs, alone_only=True)

    def region_at(self, start: int) -> CodeRegion | None:
        """The region beginning at ``start``; None where no run begins, or where it opens nothing.

        A code span ends at the next run of its own length in its paragraph. A fence (three or
        more) ends on its own line if a run as long stands there, else at the next such run that
        has its line to itself, else at any such run, else at the end of the text.
        """
        index = self._index.get(start)
        if index is None:
            return None
        run = self._runs[index]
        if run.length >= _MIN_FENCE_CHARS:
            return self._fence(run, self._fence_close(index))
        close = self._span_close[index]
        if close is None:
            return None
        end = self._runs[close]
        return CodeRegion(start=run.start, end=end.end, body_start=run.end, body_end=end.start)

    def _fence_close(self, index: int) -> _Run | None:
        run = self._runs[index]
        if self._longest_after[index] < run.length:
            return None
        nearest = self._next_fence(index, alone_only=False)
        if nearest.line == run.line or self._longest_alone_after[index] < run.length:
            return nearest
        return self._next_fence(index, alone_only=True)

    def _next_fence(self, index: int, *, alone_only: bool) -> _Run:
        opener = self._runs[index]
        return next(
            run
            for run in (self._runs[later] for later in range(index + 1, len(self._runs)))
            if run.mark == opener.mark
            and run.length >= opener.length
            and (run.alone or not alone_only)
        )

    def _fence(self, opener: _Run, closer: _Run | None) -> CodeRegion:
        tag = _TAG.match(self._text, opener.end)
        assert tag is not None
        limit = closer.start if closer else len(self._text)
        return CodeRegion(
            start=opener.start,
            end=closer.end if closer else limit,
            body_start=min(tag.end(), limit),
            body_end=limit,
            is_fence=True,
            tag=(tag[1] or "").lower(),
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
        alone = found["lead"] is not None and found["alone"] is not None
        runs.append(
            _Run(start=start, end=end, mark=mark, line=line, paragraph=paragraph, alone=alone)
        )
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


def _longest_after(runs: Sequence[_Run], *, alone_only: bool) -> list[int]:
    """For each run the length of the longest later one of its mark."""
    longest = [0] * len(runs)
    so_far = {"`": 0, "~": 0}
    for index in range(len(runs) - 1, -1, -1):
        run = runs[index]
        longest[index] = so_far[run.mark]
        if run.alone or not alone_only:
            so_far[run.mark] = max(so_far[run.mark], run.length)
    return longest
