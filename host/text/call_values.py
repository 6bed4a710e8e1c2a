"""Tool calls read out of JSON values that stand somewhere in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from host.text.json_text import compact_json, parse_json_loosely

_TOKEN = re.compile(
    r"""
      (?P<string> "[^"\\]*+ (?:\\.[^"\\]*+)*+ " | '[^'\\]*+ (?:\\.[^'\\]*+)*+ ' )
    | (?P<open>   [\[{] )
    | (?P<close>  [\]}] )
    | (?P<fault>  ["'<] )
    """,
    re.VERBOSE | re.DOTALL,
)
_SPACE = re.compile(r"\s*")
_BETWEEN_VALUES = re.compile(r"\s*(?:[;,]\s*)?")
_CUT_VALUE = re.compile(r"\s*+(?:[;,]\s*+)?(?:\Z|(?P<brace>\{)\s*+(?:[\"']|\Z))")
_VALUE_STARTS = ("{", "[", '"')
_OF_DEFINITIONS = ("description", "inputSchema", "input_schema")
_ARGUMENTS = ("arguments", "parameters", "args")
_MARKED_ARGUMENTS = (*_ARGUMENTS, "input")
_BESIDE_ARGUMENTS = frozenset(
    ("name", "tool_name", "function", "id", "type", "tool_call_id", "index")
)
_PATIENCE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCall:
    """A call as a model wrote it; string arguments verbatim, others as compact JSON."""

    name: str
    arguments: str


class Reading(NamedTuple):
    """What stood at a place: its calls (none: it is no call) and where to read on.

    Attributes:
        is_unclear: a call began whose end cannot be told, so that what seems a call behind may
            be its text.
        text_start: where mere text begins that is passed over as well; None without any.
    """

    calls: tuple[ParsedCall, ...]
    end: int
    is_unclear: bool = False
    text_start: int | None = None


class CallText:
    """A text in which values are looked up at many places, in time linear in its length.

    Reading in vain is what makes hostile text slow: thousands of openings that each run to the
    end and fail. So failed attempts share an allowance of four times the text's length; when
    it is spent, nothing more is read.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._allowance_chars = _PATIENCE * len(text) + _PATIENCE

    @property
    def is_exhausted(self) -> bool:
        """True once so much was read in vain that the rest stays text."""
        return self._allowance_chars <= 0

    def charge(self, chars: int) -> None:
        """Counts characters that were read in vain."""
        self._allowance_chars -= max(1, chars)

    def after_space(self, start: int) -> int:
        """The first place from ``start`` on that is no white space."""
        found = _SPACE.match(self.text, start)
        return found.end() if found else start

    def value_at(self, start: int) -> tuple[Any, int] | None:
        """The object, list or string beginning at ``start`` and its end; None when none does.

        The value is read with the repair; one whose brackets stay open is none.
        """
        if self.is_exhausted or not self.text.startswith(_VALUE_STARTS, start):
            return None
        end, is_closed = self._extent(start)
        if is_closed:
            try:
                return parse_json_loosely(self.text[start:end]), end
            except ValueError:
                pass
        self.charge(end - start)
        return None

    def values_from(self, start: int) -> Iterator[tuple[Any, int]]:
        """Values and their ends, one after the other; space, ``;`` or ``,`` may part them.

        Of a list whose last entry the end of the text cut off, the whole entries are yielded.
        """
        at = self.after_space(start)
        found = self.value_at(at)
        if found is None and self.text.startswith("[", at):
            yield from self._cut_list_at(at)
        while found is not None:
            yield found
            found = self.value_at(self._after_separator(found[1]))

    def calls_from(self, start: int) -> Reading:
        """The calls that the values behind a marker are, up to the first that is none.

        When already the first value is no call, reading goes on after it: what its strings
        quote is not searched. A string alone is not passed over: it may only seem to begin here.
        """
        calls: list[ParsedCall] = []
        end = start
        for value, value_end in self.values_from(start):
            read = calls_of(value, is_marked=True)
            if not read:
                is_passed_over = not calls and not isinstance(value, str)
                return Reading(tuple(calls), value_end if is_passed_over else end)
            calls.extend(read)
            end = value_end
        return Reading(tuple(calls), end)

    def is_cut_at(self, start: int) -> bool:
        """Whether from ``start`` on stands at most the beginning of one more object."""
        found = None if self.is_exhausted else _CUT_VALUE.match(self.text, start)
        if found is None or found["brace"] is None:
            return found is not None
        end, is_closed = self._extent(found.start("brace"))
        self.charge(end - start)
        return end == len(self.text) and not is_closed

    def _cut_list_at(self, bracket: int) -> list[tuple[Any, int]]:
        """The whole entries of a list that ends with the text, in the middle of an entry."""
        entries: list[tuple[Any, int]] = []
        at = self.after_space(bracket + 1)
        while found := self.value_at(at):
            entries.append(found)
            at = self._after_separator(found[1])
        return entries if entries and self.is_cut_at(entries[-1][1]) else []

    def _after_separator(self, start: int) -> int:
        found = _BETWEEN_VALUES.match(self.text, start)
        return found.end() if found else start

    def _extent(self, start: int) -> tuple[int, bool]:
        """Where the value ends and True, or how far it was read and False.

        Outside of strings ``<`` belongs to no value but to the next marker.
        """
        depth = 0
        for token in _TOKEN.finditer(self.text, start):
            match token.lastgroup:
                case "open":
                    depth += 1
                case "close":
                    depth -= 1
                case "fault":
                    is_quote = token[0] != "<"
                    return (len(self.text) if is_quote else token.start()), False
                case _:
                    pass
            if depth <= 0:
                return token.end(), True
        return len(self.text), False


def calls_of(value: object, *, is_marked: bool = False) -> tuple[ParsedCall, ...]:
    """The calls a JSON value is: an object, or a list of nothing but objects that are calls.

    Empty for everything else. An object is a call when it, or its ``function``, has a ``name``
    (Command-R: ``tool_name``) and perhaps ``arguments``, ``parameters`` or ``args`` (the first
    that is not null counts). Without them, but with keys that no call has, it is some other
    object that bears a name (ours).

    Args:
        is_marked: only a call stands there, so that ``input`` holds arguments as well.
    """
    keys = _MARKED_ARGUMENTS if is_marked else _ARGUMENTS
    calls = [_call_of(entry, keys) for entry in (value if isinstance(value, list) else [value])]
    read = tuple(call for call in calls if call is not None)
    return read if len(read) == len(calls) else ()


def _call_of(value: object, keys: tuple[str, ...]) -> ParsedCall | None:
    if not isinstance(value, dict):
        return None
    record = _function_of(value)
    name = record.get("name", record.get("tool_name"))
    if not isinstance(name, str) or not name.strip():
        return None
    given = next((record[key] for key in keys if record.get(key) is not None), None)
    if given is None and not {*record, *value} <= _BESIDE_ARGUMENTS.union(keys):
        return None
    return parsed_call(name, {} if given is None else given)


def parsed_call(name: str, arguments: object) -> ParsedCall | None:
    """The call of that name; None when its arguments cannot be printed."""
    if isinstance(arguments, str):
        return ParsedCall(name=name, arguments=arguments)
    try:
        return ParsedCall(name=name, arguments=compact_json(arguments))
    except ValueError:
        return None


def is_definition(value: object) -> bool:
    """Whether an object describes a tool and calls none (ours).

    It has no arguments, but a schema, in ``parameters`` or as MCP and Anthropic call it, or a
    description and nothing else.
    """
    if not isinstance(value, dict):
        return False
    record = _function_of(value)
    if record.get("arguments") is not None or record.get("args") is not None:
        return False
    parameters = record.get("parameters")
    if not parameters:
        return any(key in record for key in _OF_DEFINITIONS)
    return (
        isinstance(parameters, dict)
        and parameters.get("type") == "object"
        and isinstance(parameters.get("properties"), dict)
    )


def _function_of(value: dict[str, Any]) -> dict[str, Any]:
    function = value.get("function")
    return function if isinstance(function, dict) else value
