"""JSON as people write it in configuration files: comments, trailing commas, a byte order mark."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any


class JsonSyntaxError(ValueError):
    """The text is not JSON, not even relaxed.

    Attributes:
        reason: what was expected, without the place.
        line, column: where, both from 1, in characters of the text as it was given.
    """

    def __init__(self, reason: str, line: int, column: int) -> None:
        self.reason = reason
        self.line = line
        self.column = column
        super().__init__(f"line {line}, column {column}: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.reason, self.line, self.column)


_REASONS = {  # what the json module says, and what helps
    "Expecting value": "a value is expected here",
    "Expecting ','": "a comma or the end of the list or object is expected here",
    "Expecting ':'": "a colon is expected here",
    "Expecting property name": "a name in double quotes is expected here",
    "Unterminated string": "this text has no closing quote",
    "Invalid control character": "a text cannot run over lines; write \\n for a line break",
    "Invalid \\": "a backslash in a text is written twice",
    "Extra data": "nothing may follow the end of the JSON",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of JSON text that means something: a text, or one other character.

    Attributes:
        start, end: where it stands in the text.
    """

    piece: str
    start: int
    end: int


_TOKEN = re.compile(
    r"""
      (?P<string>"(?:[^"\\\n]|\\.)*"?)
    | (?P<comment>//[^\r\n]*|/\*.*?\*/)
    | (?P<open>/\*)
    | (?P<space>\s+)
    | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def parse_relaxed_json(text: str, *, on_duplicate: Callable[[str], object] | None = None) -> Any:
    """The value the text writes.

    Comments are ``//`` to the end of the line and ``/* */``; one comma may follow the last item
    of a list or object. Anything else is as strict as JSON: ``NaN`` and the like are refused.

    Args:
        on_duplicate: told each key that stands twice in one object; the last one counts.

    Raises:
        JsonSyntaxError: it is not JSON, or nested too deep to read.
    """
    start = 1 if text.startswith("\ufeff") else 0
    plain = " " * start + _plain_json(text, start)
    try:
        return json.loads(
            plain,
            parse_constant=_refuse_constant,
            object_pairs_hook=partial(_object, on_duplicate) if on_duplicate else None,
        )
    except json.JSONDecodeError as error:
        raise _syntax_error(_reason(error.msg), text, error.pos) from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise JsonSyntaxError(reason, 1, 1) from None


def meaningful_tokens(text: str) -> Iterator[Token]:
    """What the text says, piece by piece, without blanks and comments.

    Numbers, ``true`` and the like come one character at a time; the text should be one that
    ``parse_relaxed_json`` reads.
    """
    for token in _TOKEN.finditer(text, 1 if text.startswith("\ufeff") else 0):
        if token.lastgroup in ("string", "mark"):
            yield Token(token[0], *token.span())


def _plain_json(text: str, start: int) -> str:
    """Strict JSON of the same length: what JSON does not know is blank, line breaks stay."""
    written: list[str] = []
    before = ""  # the last thing that meant something
    comma: int | None = None  # where in ``written`` a comma stands that may prove to be trailing
    for token in _TOKEN.finditer(text, start):
        kind, piece = token.lastgroup, token[0]
        if kind == "open":
            raise _syntax_error("this comment is never closed", text, token.start())
        if kind == "comment":
            written.append(re.sub(r"[^\r\n]", " ", piece))
            continue
        written.append(piece)
        if kind == "space":
            continue
        if piece in ("]", "}") and comma is not None:
            written[comma] = " "
        follows_value = before not in ("", "[", "{", ",", ":")
        comma = len(written) - 1 if piece == "," and follows_value else None
        before = piece
    return "".join(written)


def _object(on_duplicate: Callable[[str], object], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            on_duplicate(key)
        found[key] = value
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _reason(message: str) -> str:
    return next((ours for theirs, ours in _REASONS.items() if message.startswith(theirs)), message)


def _syntax_error(reason: str, text: str, position: int) -> JsonSyntaxError:
    line = text.count("\n", 0, position) + 1
    return JsonSyntaxError(reason, line, position - (text.rfind("\n", 0, position) + 1) + 1)
