"""Formats in which models write tool calls into their text, each opened by a marker.

A further format is one more entry of ``CALL_FORMATS``: the marker's pattern and a reader that
says which calls stand behind it. Readers never raise and never read on behind what they found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from host.text.call_values import CallText, ParsedCall, Reading, parsed_call
from host.text.json_text import parse_json_strict
from host.text.thinking import THINK_CLOSE, THINK_OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFormat:
    """One way of writing calls.

    Attributes:
        opener: a pattern without groups for what begins a call.
        read: the calls behind an opener, given the text and the opener's end.
        is_marked: only a tool call carries the opener, so its calls count whatever they name;
            otherwise every name must be known.
    """

    opener: str
    read: Callable[[CallText, int], Reading]
    is_marked: bool = True


_TAG_END = re.compile(
    rf"(?P<close></tool_call>)|<tool_call>|{THINK_OPEN.pattern}|{THINK_CLOSE.pattern}"
)


def read_tag(source: CallText, start: int) -> Reading:
    """The calls behind ``<tool_call>``: JSON (Hermes, Qwen) or function markup (Qwen3-Coder).

    The closing tag may be missing, but nothing may stand between the call and a closing tag.
    """
    body = source.after_space(start)
    if source.text.startswith(_FUNCTION_OPENER, body):
        reading = read_markup(source, body + len(_FUNCTION_OPENER))
    else:
        reading = source.calls_from(body)
    if not reading.calls:
        return reading
    tag = _TAG_END.search(source.text, reading.end)
    if tag is None or tag["close"] is None:
        return reading
    is_clean = source.after_space(reading.end) == tag.start()
    return Reading(reading.calls if is_clean else (), tag.end())


_FUNCTION_OPENER = "<function="
_FUNCTION_NAME = re.compile(r"([^<>\n]*)>")
_FUNCTION_END = re.compile(r"\s*</function>")
_NEXT_FUNCTION = re.compile(r"\s*<function=")
_PARAMETER = re.compile(r"\s*<parameter=([^<>\n]*)>")
_PARAMETER_END = "</parameter>"
_ANY_OPENER = re.compile(r"<tool_call>|<function=")


def read_markup(source: CallText, start: int) -> Reading:
    """The calls behind ``<function=``: this function element and those that follow at once.

    A body loses one line break at either end; it is JSON where it parses, else text. An element
    without its end is no call.
    """
    calls: list[ParsedCall] = []
    at, end = start, start
    while found := _read_function(source, at):
        call, end = found
        calls.append(call)
        following = _NEXT_FUNCTION.match(source.text, end)
        if following is None:
            break
        at = following.end()
    return Reading(tuple(calls), end)


def _read_function(source: CallText, start: int) -> tuple[ParsedCall, int] | None:
    name = _FUNCTION_NAME.match(source.text, start)
    if name is None or not name[1].strip() or source.is_exhausted:
        return None
    bodies, reached = _parameters(source.text, name.end())
    end = _FUNCTION_END.match(source.text, reached)
    call = _function_call(name[1].strip(), source.text, bodies) if end else None
    if end is None or call is None:
        source.charge(reached - start)
        return None
    return call, end.end()


def _parameters(text: str, start: int) -> tuple[list[tuple[str, int, int]], int]:
    """Each parameter's key and body bounds, and where they end (the text's end if one is cut)."""
    bodies: list[tuple[str, int, int]] = []
    while parameter := _PARAMETER.match(text, start):
        close = text.find(_PARAMETER_END, parameter.end())
        if close < 0:
            return bodies, len(text)
        bodies.append((parameter[1].strip(), parameter.end(), close))
        start = close + len(_PARAMETER_END)
    return bodies, start


def _function_call(name: str, text: str, bodies: list[tuple[str, int, int]]) -> ParsedCall | None:
    arguments: dict[str, Any] = {}
    for key, start, end in bodies:
        body = text[start:end]
        if _spans_two_calls(body):
            return None
        arguments[key] = _parameter_value(body)
    return parsed_call(name, arguments)


def _spans_two_calls(body: str) -> bool:
    """Whether it began as a draft in thinking and ran on into the call behind the thinking."""
    close = THINK_CLOSE.search(body)
    return close is not None and _ANY_OPENER.search(body, close.end()) is not None


def _parameter_value(body: str) -> Any:
    body = re.sub(r"\A\r?\n|\r?\n\Z", "", body)
    try:
        return parse_json_strict(body)
    except ValueError:
        return body


_CALL_JSON = re.compile(r"\s*(?:\[\s*)?[{\"]")
_NAMED = re.compile(r"\s*([\w.-]+)(?:\[CALL_ID\][\w-]+)?\[ARGS\]", re.ASCII)


def read_mistral(source: CallText, start: int) -> Reading:
    """The calls behind ``[TOOL_CALLS]``: a JSON list, or one name with ``[ARGS]`` and an object."""
    named = _NAMED.match(source.text, start)
    if named is None:
        is_json = _CALL_JSON.match(source.text, start)
        return source.calls_from(start) if is_json else Reading((), start)
    found = source.value_at(source.after_space(named.end()))
    if found is None:
        return Reading((), start)
    value, end = found
    call = parsed_call(named[1], value) if isinstance(value, dict) else None
    return Reading((call,) if call else (), end)


_LLAMA_END = re.compile(r"\s*<\|(?:eom|eot)_id\|>")


def read_llama(source: CallText, start: int) -> Reading:
    """The calls behind ``<|python_tag|>``, parted by ``;``; an end-of-message token is eaten."""
    reading = source.calls_from(start)
    end = _LLAMA_END.match(source.text, reading.end)
    return Reading(reading.calls, end.end()) if reading.calls and end else reading


CALL_FORMATS = (
    CallFormat(opener="<tool_call>", read=read_tag),
    CallFormat(opener=r"\[TOOL_CALLS\]", read=read_mistral),
    CallFormat(opener=r"<\|python_tag\|>", read=read_llama),
    CallFormat(opener=re.escape(_FUNCTION_OPENER), read=read_markup, is_marked=False),
)
