"""Whether the end of a text that grows is quoted: inside code, or inside a value of data or a call.

Unlike ``markdown_code`` this knows only what came so far. What it cannot know yet, whether a region
ends at all, a ``Doubt`` waits for.
"""

from __future__ import annotations

import re
from copy import copy
from typing import Literal, Protocol

from host.text.call_bodies import CALL_CLOSE, CALL_OPENER, FUNCTION_OPENER, INVOKE_OPENER, NAMESPACE

_Mode = Literal["prose", "span", "fence", "data", "string", "value"]
_QUOTING = ("span", "fence", "string", "value")
_TAIL_CHARS = 48
_MIN_FENCE_CHARS = 3
_MAX_SPAN_CHARS = 8
"""Longer runs within a line quote nothing; so a line is read a few times at most."""

_HOLDS_FENCES = ("markdown", "md")
_VALUE_OPENER = rf"<{NAMESPACE}parameter(?:=|\s+name=)[^<>\n]*+>|<arg_value>"
_ENTRY = re.compile(
    rf"""
      (?P<run> `+ | ~{{3,}} )
    | (?P<value> {_VALUE_OPENER} )
    | (?P<data> \{{\s*+(?=["']) | \[\s*+(?=[{{"']) | [\w.]\(\s*+(?:\w++\s*+=\s*+)?+(?=["']) )
    """,
    re.VERBOSE,
)
_LEAD = re.compile(r"[ \t>]*+(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t>]++)*+")
_TAG = re.compile(r"[ \t]*+([A-Za-z][\w+.-]*+)?+")
_BARE_TAG = re.compile(rf"{_TAG.pattern}[ \t\r]*+\n")
_FIRST_LINE = re.compile(r"\n|`{3,}|~{3,}")
_FENCE_LINE = re.compile(r"^[ \t>]*+(?P<run>`{3,}+|~{3,}+)(?P<rest>[^\n]*+)", re.MULTILINE)
_SPAN_END = {
    length: re.compile(rf"\n|(?<!`)`{{{length}}}(?!`)") for length in range(1, _MAX_SPAN_CHARS + 1)
}
_DATA = re.compile(
    r"""(?P<open>[{\[(])|(?P<close>[}\])])|(?P<quote>"|(?<=[\s\[{(,:=])')|\n[ \t\r]*+\n"""
)
_STRING_END = {
    mark: re.compile(rf"[^{mark}\\]*+(?:\\.[^{mark}\\]*+)*+{mark}", re.DOTALL)
    for mark in ('"', "'")
}
_VALUE_TAG = re.compile(
    rf"(?P<open_value>{_VALUE_OPENER})|(?P<close_value></{NAMESPACE}parameter>|</arg_value>)"
    rf"|(?P<open_element>{FUNCTION_OPENER}|{INVOKE_OPENER})"
    rf"|(?P<close_element></{NAMESPACE}invoke>|</function>)"
    rf"|(?P<open_call>{CALL_OPENER})|(?P<close_call>{CALL_CLOSE})"
)


class QuoteReader:
    """Follows a text and says what its end is inside of. Takes linear time.

    Quoting are a code span, which ends with its line at the latest; a fenced block, also one that
    begins within a line; a string in brackets that begin as JSON, a Python literal or a function's
    arguments do; and a value written between a tool call's own tags.

    The text may be given in parts that end where its reader likes; what is looked for is found
    whole in one part, except that a region may go on over several.

    Attributes:
        is_sure: the region around the end is known to end.
        holds_open: a marker of the reader's own was met in it (``note_open``).
        has_ended: of the first region left since this was None, whether it was closed.
    """

    __slots__ = (
        "_depth",
        "_is_first_line",
        "_is_markdown",
        "_mark",
        "_mode",
        "_nested",
        "_tail",
        "has_ended",
        "holds_open",
        "is_sure",
    )

    def __init__(self) -> None:
        self.has_ended: bool | None = None
        self.restart()

    def restart(self) -> None:
        """Begins a new text, at the start of a line."""
        self._mode: _Mode = "prose"
        self._tail = "\n"
        self._mark = ""
        self._depth = 0
        self._nested = {"value": 0, "element": 0, "call": 0}
        self._is_first_line = self._is_markdown = False
        self.is_sure = self.holds_open = False

    @property
    def is_inside(self) -> bool:
        """Whether the end is quoted, if the region around it ends at all."""
        return self._mode in _QUOTING

    @property
    def is_in_span(self) -> bool:
        """Whether it is in a code span, if that ends on its line."""
        return self._mode == "span"

    @property
    def is_at_line_start(self) -> bool:
        """Whether only blanks stand before the end on its line."""
        _, line_break, line = self._tail.rpartition("\n")
        return bool(line_break) and not line.strip(" \t")

    @property
    def last_char(self) -> str:
        """What stands before the end."""
        return self._tail[-1]

    def note_open(self) -> None:
        """Remembers of the region around the end that it holds something open."""
        self.holds_open = True

    def doubt(self) -> Doubt:
        """What finds out whether the region around the end is one."""
        return _SpanDoubt(len(self._mark)) if self._mode == "span" else _RegionDoubt(self)

    def settle(self, *, is_closed: bool) -> None:
        """Takes the answer of a ``Doubt`` about the region around the end."""
        if is_closed:
            self.is_sure = True
        else:
            self._leave("prose", is_closed=False)

    def feed(self, text: str) -> None:
        """Takes the next part of the text."""
        at, text = len(self._tail), self._tail + text
        while at < len(text):
            match self._mode:
                case "prose":
                    at = self._in_prose(text, at)
                case "span":
                    at = self._in_span(text, at)
                case "fence":
                    at = (self._on_first_line if self._is_first_line else self._in_fence)(text, at)
                case "data":
                    at = self._in_data(text, at)
                case "string":
                    at = self._in_string(text, at)
                case "value":
                    at = self._in_value(text, at)
        self._tail = text[-_TAIL_CHARS:]

    def _leave(self, mode: _Mode, *, is_closed: bool) -> None:
        if self.has_ended is None:
            self.has_ended = is_closed
        self._mode = mode
        self.is_sure = self.holds_open = False

    def _in_prose(self, text: str, at: int) -> int:
        found = _ENTRY.search(text, at)
        if found is None:
            return len(text)
        match found.lastgroup:
            case "run":
                self._begin_code(text, found.start(), found.end())
            case "value":
                self._mode = "value"
                self._nested = {"value": 1, "element": 0, "call": 0}
            case _:
                self._mode = "data"
                self._depth = 1
        return found.end()

    def _begin_code(self, text: str, start: int, end: int) -> None:
        self._mark = text[start:end]
        begin = text.rfind("\n", max(0, start - _TAIL_CHARS), start) + 1
        leads = begin > 0 and _LEAD.fullmatch(text, begin, start) is not None
        is_backticks = self._mark[0] == "`"
        may_open = leads or (is_backticks and _BARE_TAG.match(text, end) is not None)
        if len(self._mark) >= _MIN_FENCE_CHARS and may_open:
            tag = _TAG.match(text, end)
            self._mode = "fence"
            self._depth = 1
            self._is_first_line = True
            self._is_markdown = tag is not None and (tag[1] or "").lower() in _HOLDS_FENCES
        elif is_backticks and len(self._mark) <= _MAX_SPAN_CHARS:
            self._mode = "span"

    def _in_span(self, text: str, at: int) -> int:
        found = _SPAN_END[len(self._mark)].search(text, at)
        if found is None:
            return len(text)
        self._leave("prose", is_closed=found[0] != "\n")
        return found.end()

    def _on_first_line(self, text: str, at: int) -> int:
        found = _FIRST_LINE.search(text, at)
        if found is None:
            return len(text)
        if found[0] == "\n":
            self._is_first_line = False
        elif found[0].startswith(self._mark):
            self._leave("prose", is_closed=True)
        return found.end()

    def _in_fence(self, text: str, at: int) -> int:
        found = _FENCE_LINE.search(text, at)
        if found is None:
            return len(text)
        if found["run"].startswith(self._mark):
            if not found["rest"].strip():
                self._depth -= 1
            elif self._is_markdown:
                self._depth += 1
        if self._depth == 0:
            self._leave("prose", is_closed=True)
        return found.end()

    def _in_data(self, text: str, at: int) -> int:
        found = _DATA.search(text, at)
        if found is None:
            return len(text)
        match found.lastgroup:
            case "open":
                self._depth += 1
            case "close":
                self._depth -= 1
            case "quote":
                self._mode = "string"
                self._mark = found[0]
            case _:
                self._depth = 0
        if self._depth == 0:
            self._mode = "prose"
        return found.end()

    def _in_string(self, text: str, at: int) -> int:
        found = _STRING_END[self._mark].match(text, at)
        if found is None:
            return len(text)
        self._leave("data", is_closed=True)
        return found.end()

    def _in_value(self, text: str, at: int) -> int:
        """A value may show calls: only what closes more than was opened in it ends it."""
        found = _VALUE_TAG.search(text, at)
        if found is None:
            return len(text)
        move, _, kind = str(found.lastgroup).partition("_")
        count = self._nested[kind] + (1 if move == "open" else -1)
        self._nested = {**self._nested, kind: count}
        if count < 0 or (kind == "value" and count == 0):
            self._leave("prose", is_closed=True)
        return found.end()


class Doubt(Protocol):
    """Waits for whether the region around a reader's end is closed by what follows."""

    def read(self, text: str, start: int = 0) -> bool | None:
        """Takes what follows, from ``start`` on; the answer once that has brought it."""

    def end(self) -> bool:
        """The answer, at the end of the text."""


class _SpanDoubt:
    """Whether a run of that length comes before the line ends."""

    def __init__(self, length: int) -> None:
        self._end = _SPAN_END[length]
        self._max_kept = length + 1  # longer ones are as wrong as this
        self._run = ""

    def read(self, text: str, start: int = 0) -> bool | None:
        if self._run:
            text, start = self._run + text[start:], 0
        end = len(text)
        while end > start and text[end - 1] == "`":
            end -= 1
        self._run = text[end : end + self._max_kept]
        found = self._end.search(text, start, end)
        return None if found is None else found[0] != "\n"

    def end(self) -> bool:
        return self._end.search(self._run) is not None


class _RegionDoubt:
    """Whether it is closed, read line by line."""

    def __init__(self, reader: QuoteReader) -> None:
        self._reader = copy(reader)
        self._reader.has_ended = None
        self._line: list[str] = []

    def read(self, text: str, start: int = 0) -> bool | None:
        while end := text.find("\n", start) + 1:
            self._line.append(text[start:end])
            start = end
            if (answer := self._of_line()) is not None:
                return answer
        self._line.append(text[start:])
        return None

    def end(self) -> bool:
        return bool(self._of_line())

    def _of_line(self) -> bool | None:
        self._reader.feed("".join(self._line))
        self._line.clear()
        return self._reader.has_ended
