"""Where a raw value between two tags ends, also when its closing tag was forgotten.

A value is copied into the markup as it is, so it may show calls itself, and nothing but their
balance tells those from the call that holds them.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

NAMESPACE = r"(?:[A-Za-z]{1,20}:|｜DSML｜)?"
"""What may stand before the name of an element; no groups."""

CALL_OPENER = rf"<{NAMESPACE}(?:tool_call|function_calls)>"
"""What opens a call around its elements; no groups."""

CALL_CLOSE = rf"</{NAMESPACE}(?:tool_call|function_calls)>"
FUNCTION_OPENER = "<function="
INVOKE_OPENER = rf"<{NAMESPACE}invoke\s+name="

_CALL_BEHIND = re.compile(
    rf"(?:\s*+{CALL_CLOSE})?+[ \t\r]*+\n\s*+(?:{FUNCTION_OPENER}|{INVOKE_OPENER}|{CALL_OPENER}\s*+"
    rf"(?:{FUNCTION_OPENER}|{INVOKE_OPENER}|\[?+\s*+\{{\s*+[\"']|[A-Za-z_][\w./:-]*+\s*+</?[at]))"
)


class Tags(NamedTuple):
    """How a family opens and closes values and the elements they stand in; no groups."""

    value_open: str
    value_close: str
    element_open: str
    element_close: str


class BodyEnd(Enum):
    """How a body ended."""

    CLOSED = auto()
    """By its closing tag."""

    FORGOTTEN = auto()
    """Without one: before the next value's opener at the start of a line, or before the closing
    of its element that has the opener of a call behind it on a line of its own."""

    UNCLEAR = auto()
    """Not at all, and what seems a call behind may belong to it."""


class Body(NamedTuple):
    """A body's end, and where to read on (where it was read to, when it did not end)."""

    how: BodyEnd
    end: int
    after: int


def body_tags(own: Tags, *shown: Tags) -> re.Pattern[str]:
    """The pattern of all tags that count inside a body, for ``body_at``.

    Args:
        own: of the family that the body belongs to.
        shown: of other families whose calls a body may show.
    """
    tags = (
        f"(?P<{name}_{number}>{tag})"
        for number, family in enumerate((own, *shown))
        for name, tag in zip(Tags._fields, family, strict=True)
    )
    return re.compile("|".join(tags))


def body_at(text: str, start: int, tags: re.Pattern[str]) -> Body:
    """The body of the value whose opening tag ends at ``start``.

    Elements that are shown inside it are passed over with their values.
    """
    shown = _Shown()
    for tag in tags.finditer(text, start):
        kind, _, family = str(tag.lastgroup).rpartition("_")
        if shown.takes(kind) or family != "0":
            continue
        match kind:
            case "value_close":
                return Body(BodyEnd.CLOSED, tag.start(), tag.end())
            case "value_open":
                return _before_value(text, start, tag.start())
            case "element_close" if _CALL_BEHIND.match(text, tag.end()):
                line = _start_of_line(text, start, tag.start())
                return Body(BodyEnd.FORGOTTEN, line or tag.start(), tag.start())
            case _:
                pass
    return Body(BodyEnd.UNCLEAR, len(text), len(text))


class _Shown:
    """What of the markup inside a body is open; whatever belongs to that is taken.

    In an open value the end of its element is text.
    """

    def __init__(self) -> None:
        self._values = 0
        self._outer: list[int] = []

    def takes(self, tag: str) -> bool:
        match tag:
            case "element_open":
                self._outer.append(self._values)
            case "element_close" if self._outer:
                if self._values <= self._outer[-1]:
                    self._outer.pop()
            case "value_open" if self._outer:
                self._values += 1
            case "value_close" if self._values:
                self._values -= 1
            case _:
                return False
        return True


def _before_value(text: str, start: int, opener: int) -> Body:
    """The end of a body before the next value: in the middle of a line this may be part of it."""
    line = _start_of_line(text, start, opener)
    return Body(BodyEnd.FORGOTTEN if line else BodyEnd.UNCLEAR, line or opener, opener)


def _start_of_line(text: str, start: int, at: int) -> int:
    """Where the line of ``at`` begins, if it does behind ``start`` and with ``at``; else 0."""
    line = text.rfind("\n", start, at) + 1
    return line if line and not text[line:at].strip() else 0
