"""Tool calls written as elements: a function's name, and an element for each argument.

Three families: ``<function=name>`` (Qwen3-Coder; Llama 3.1 with a JSON body), ``<invoke name=…>``
(MiniMax, Claude, DeepSeek V3.2 as ``<｜DSML｜invoke …>``), and ``<arg_key>`` pairs (GLM).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from host.text.call_values import CallText, ParsedCall, Reading, parsed_call
from host.text.json_text import parse_json_strict
from host.text.thinking import THINK_CLOSE

NAMESPACE = r"(?:[A-Za-z]{1,20}:|｜DSML｜)?"
"""What may stand before the name of an element; no groups."""

_QUOTED = r"""(?:"(?P<double>[^"<>\n]*)"|'(?P<single>[^'<>\n]*)'|(?P<bare>[^"'<>\s]++))"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Markup:
    """How one family writes a function and its parameters; patterns are matched in place.

    Attributes:
        opener: begins a function element; no groups.
        following: the opener with white space before it.
        name: what follows the opener, up to the end of the tag.
        parameter: the whole opening tag of a parameter.
    """

    opener: str
    following: re.Pattern[str]
    name: re.Pattern[str]
    parameter: re.Pattern[str]
    parameter_end: re.Pattern[str]
    end: re.Pattern[str]


_FUNCTION_OPENER = "<function="
_INVOKE_OPENER = rf"<{NAMESPACE}invoke\s+name="
FUNCTION = Markup(
    opener=_FUNCTION_OPENER,
    following=re.compile(rf"\s*+{_FUNCTION_OPENER}"),
    name=re.compile(r"(?P<bare>[^<>\n]*+)>"),
    parameter=re.compile(r"\s*+<parameter=(?P<bare>[^<>\n]*+)>"),
    parameter_end=re.compile("</parameter>"),
    end=re.compile(r"\s*+</function>"),
)
INVOKE = Markup(
    opener=_INVOKE_OPENER,
    following=re.compile(rf"\s*+{_INVOKE_OPENER}"),
    name=re.compile(rf"{_QUOTED}\s*+>"),
    parameter=re.compile(rf"\s*+<{NAMESPACE}parameter\s+name={_QUOTED}(?P<attributes>[^<>\n]*+)>"),
    parameter_end=re.compile(rf"</{NAMESPACE}parameter>"),
    end=re.compile(rf"\s*+</{NAMESPACE}invoke>"),
)
_ANY_OPENER = re.compile(rf"<tool_call>|{FUNCTION.opener}|{INVOKE.opener}")
_STRAY_CLOSE = re.compile(r"\s*+</tool_call>")
_IS_TEXT = 'string="true"'
_LINE_BREAK_AT_AN_END = re.compile(r"\A\r?\n|\r?\n\Z")


def read_function(source: CallText, start: int) -> Reading:
    """The calls behind ``<function=``: this element and those that follow at once.

    A ``</tool_call>`` whose opening tag the model forgot is eaten.
    """
    reading = _read_elements(source, start, FUNCTION)
    close = _STRAY_CLOSE.match(source.text, reading.end) if reading.calls else None
    return Reading(reading.calls, close.end()) if close else reading


def read_invoke(source: CallText, start: int) -> Reading:
    """The calls behind ``<invoke name=``: this element and those that follow at once."""
    return _read_elements(source, start, INVOKE)


def read_any_markup(source: CallText, start: int) -> Reading:
    """The calls of elements of either family beginning at ``start``, space before them."""
    for markup in (FUNCTION, INVOKE):
        if opener := markup.following.match(source.text, start):
            return _read_elements(source, opener.end(), markup)
    return Reading((), start)


def _read_elements(source: CallText, start: int, markup: Markup) -> Reading:
    """A body loses one line break at either end; it is JSON where it parses, else text.

    An element without its end is no call.
    """
    calls: list[ParsedCall] = []
    at, end = start, start
    while found := _read_element(source, at, markup):
        call, end = found
        calls.append(call)
        following = markup.following.match(source.text, end)
        if following is None:
            break
        at = following.end()
    return Reading(tuple(calls), end)


def _read_element(source: CallText, start: int, markup: Markup) -> tuple[ParsedCall, int] | None:
    tag = markup.name.match(source.text, start)
    name = _attribute(tag).strip() if tag else ""
    if tag is None or not name or source.is_exhausted:
        return None
    found = _read_record(source, tag.end()) if markup is FUNCTION else None
    arguments, reached = found or _read_parameters(source.text, tag.end(), markup)
    end = markup.end.match(source.text, reached)
    call = parsed_call(name, arguments) if end and arguments is not None else None
    if end is None or call is None:
        source.charge(reached - start)
        return None
    return call, end.end()


def _read_record(source: CallText, start: int) -> tuple[dict[str, Any], int] | None:
    """The arguments as one JSON object in place of parameters."""
    at = source.after_space(start)
    found = source.value_at(at) if source.text.startswith("{", at) else None
    return found if found and isinstance(found[0], dict) else None


def _read_parameters(text: str, start: int, markup: Markup) -> tuple[dict[str, Any] | None, int]:
    """The arguments, and where their elements end.

    None with the text's end when one is cut off, and with its own end when one runs on from a
    draft in thinking into the call behind the thinking.
    """
    arguments: dict[str, Any] = {}
    at = start
    while tag := markup.parameter.match(text, at):
        close = markup.parameter_end.search(text, tag.end())
        if close is None:
            return None, len(text)
        body = text[tag.end() : close.start()]
        if _spans_two_calls(body):
            return None, close.end()
        is_text = _IS_TEXT in (tag.groupdict().get("attributes") or "")
        arguments[_attribute(tag).strip()] = body if is_text else _trimmed_value(body)
        at = close.end()
    return arguments, at


def _attribute(tag: re.Match[str]) -> str:
    groups = tag.groupdict()
    return next((groups[key] for key in ("double", "single", "bare") if groups.get(key)), "")


def _spans_two_calls(body: str) -> bool:
    """Whether it began as a draft in thinking and ran on into the call behind the thinking."""
    close = THINK_CLOSE.search(body)
    return close is not None and _ANY_OPENER.search(body, close.end()) is not None


def _trimmed_value(body: str) -> Any:
    return _value(_LINE_BREAK_AT_AN_END.sub("", body))


def _value(body: str) -> Any:
    try:
        return parse_json_strict(body)
    except ValueError:
        return body


_PAIRS_NAME = re.compile(
    r"\s*+(?P<name>[A-Za-z_][\w./:-]*+)(?:\s*+(?=<arg_key>)|[ \t]*+\r?\n\s*+(?=</tool_call>))"
)
_KEY = re.compile(r"\s*+<arg_key>(?P<key>[^<>]*+)</arg_key>\s*+<arg_value>")
_VALUE_END = "</arg_value>"
_PAIRS_END = "</tool_call>"


def read_pairs(source: CallText, start: int) -> Reading:
    """The call behind ``<tool_call>`` as GLM writes it: the name, then keys and values in turn.

    Values are JSON where they parse, else text as it stands. Only the closing tag, which is left
    to be read, tells that no pair is missing. A name without pairs has a line to itself, as
    GLM-4.5 writes it: prose that shows the tags has a word or dots between them.
    """
    name = None if source.is_exhausted else _PAIRS_NAME.match(source.text, start)
    if name is None:
        return Reading((), start)
    arguments, end = _read_pairs(source.text, name.end())
    is_whole = source.text.startswith(_PAIRS_END, source.after_space(end))
    call = parsed_call(name["name"], arguments) if is_whole else None
    if call is None:
        source.charge(end - start)
        return Reading((), start)
    return Reading((call,), end)


def _read_pairs(text: str, start: int) -> tuple[dict[str, Any], int]:
    arguments: dict[str, Any] = {}
    at = start
    while key := _KEY.match(text, at):
        close = text.find(_VALUE_END, key.end())
        body = text[key.end() : close]
        if close < 0 or _spans_two_calls(body):
            return arguments, len(text) if close < 0 else close
        arguments[key["key"].strip()] = _value(body)
        at = close + len(_VALUE_END)
    return arguments, at
