"""Tool calls as Gemma 4 and FunctionGemma write them: ``call:name{key:<|"|>text<|"|>}``."""

from __future__ import annotations

import re

from host.text.call_values import CallText, Reading, parsed_call
from host.text.json_text import compact_json, parse_json_loosely

GEMMA_OPENER = r"<(?:\|tool_call|start_function_call)>(?=\s*+call:)"
"""A pattern without groups."""

_HEAD = re.compile(r"\s*+call:(?P<name>[\w.-]++)(?=\{)")
_END = re.compile(r"\s*+<(?:tool_call\||end_function_call)>")
_TOKEN = re.compile(
    r"""
      (?P<text> (?P<mark> <\|"\|> | <escape> ) (?P<body> .*? ) (?P=mark) )
    | (?P<string> "[^"\\]*+ (?:\\.[^"\\]*+)*+ " )
    | (?P<open> [\[{] )
    | (?P<close> [\]}] )
    | (?P<fault> [<"] )
    | (?P<other> [^<"\[\]{}]++ )
    """,
    re.VERBOSE | re.DOTALL,
)


def read_gemma(source: CallText, start: int) -> Reading:
    """The call behind the opener; its closing token may be missing.

    Keys are bare and text stands between marks as it is; the rest is JSON.
    """
    head = None if source.is_exhausted else _HEAD.match(source.text, start)
    if head is None:
        return Reading((), start)
    end, written = _as_json(source.text, head.end())
    try:
        arguments = parse_json_loosely(written)
    except ValueError:
        arguments = None
    call = parsed_call(head["name"], arguments) if isinstance(arguments, dict) else None
    if call is None:
        source.charge(end - start)
        return Reading((), start)
    close = _END.match(source.text, end)
    return Reading((call,), close.end() if close else end)


def _as_json(text: str, start: int) -> tuple[int, str]:
    """Where the object at ``start`` ends, or how far it was read, and what it is as JSON."""
    written: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(text, start):
        match token.lastgroup:
            case "open":
                depth += 1
            case "close":
                depth -= 1
            case "fault":
                return len(text), ""
            case _:
                pass
        written.append(token[0] if token["mark"] is None else compact_json(token["body"]))
        if depth <= 0:
            return token.end(), "".join(written)
    return len(text), ""
