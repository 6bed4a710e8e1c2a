"""Tool calls written as elements: a function's name, and an element for each argument.

Three families: ``<function=name>`` (Qwen3-Coder; Llama 3.1 with a JSON body), ``<invoke name=…>``
(MiniMax, Claude, DeepSeek V3.2 as ``<｜DSML｜invoke …>``), and ``<arg_key>`` pairs (GLM).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from host.text.call_bodies import (
    CALL_CLOSE,
    FUNCTION_OPENER,
    INVOKE_OPENER,
    NAMESPACE,
    Body,
    BodyEnd,
    Tags,
    body_at,
    body_tags,
)
from host.text.call_quoting import THINKING_CLOSE
from host.text.call_values import CallText, ParsedCall, Reading, parsed_call
from host.text.json_text import compact_json, parse_json_strict

_QUOTED = r"""(?:"(?P<double>[^"<>\n]*)"|'(?P<single>[^'<>\n]*)'|(?P<bare>[^"'<>\s]++))"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """How one family writes keys and values; patterns are matched in place.

    Attributes:
        opener: all that stands before a body, the key in a group of ``_QUOTED``.
        in_body: the tags that count in a body.
        is_trimmed: whether a body loses one line break at either end.
    """

    opener: re.Pattern[str]
    in_body: re.Pattern[str]
    is_trimmed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Markup:
    """How one family writes a function and its parameters; patterns are matched in place.

    Attributes:
        opener: begins a function element; no groups.
        following: the opener with white space before it.
        name: what follows the opener, up to the end of the tag.
    """

    opener: str
    following: re.Pattern[str]
    name: re.Pattern[str]
    values: Values
    end: re.Pattern[str]


_FUNCTION_TAGS = Tags(
    value_open=r"<parameter=[^<>\n]*+>",
    value_close="</parameter>",
    element_open=rf"{FUNCTION_OPENER}[^<>\n]*+>",
    element_close="</function>",
)
_INVOKE_TAGS = Tags(
    value_open=rf"<{NAMESPACE}parameter\s+name=[^<>\s/]++(?:\s++string=[^<>\s/]++)?+\s*+>",
    value_close=rf"</{NAMESPACE}parameter>",
    element_open=rf"{INVOKE_OPENER}[^<>\n]*+>",
    element_close=rf"</{NAMESPACE}invoke>",
)
_PAIRS_TAGS = Tags(
    value_open=r"(?:<arg_key>[^<>]*+</arg_key>\s*+)?+<arg_value>",
    value_close="</arg_value>",
    element_open="<tool_call>",
    element_close="</tool_call>",
)
FUNCTION = Markup(
    opener=FUNCTION_OPENER,
    following=re.compile(rf"\s*+{FUNCTION_OPENER}"),
    name=re.compile(r"(?P<bare>[^<>\n]*+)>"),
    values=Values(
        opener=re.compile(r"\s*+<parameter=(?P<bare>[^<>\n]*+)>"),
        in_body=body_tags(_FUNCTION_TAGS, _INVOKE_TAGS, _PAIRS_TAGS),
    ),
    end=re.compile(r"\s*+</function>"),
)
INVOKE = Markup(
    opener=INVOKE_OPENER,
    following=re.compile(rf"\s*+{INVOKE_OPENER}"),
    name=re.compile(rf"{_QUOTED}\s*+>"),
    values=Values(
        opener=re.compile(rf"\s*+<{NAMESPACE}parameter\s+name={_QUOTED}(?P<attributes>[^<>\n]*+)>"),
        in_body=body_tags(_INVOKE_TAGS, _FUNCTION_TAGS, _PAIRS_TAGS),
    ),
    end=re.compile(rf"\s*+</{NAMESPACE}invoke>"),
)
_PAIRS = Values(
    opener=re.compile(r"\s*+<arg_key>(?P<bare>[^<>]*+)</arg_key>\s*+<arg_value>"),
    in_body=body_tags(_PAIRS_TAGS, _FUNCTION_TAGS, _INVOKE_TAGS),
    is_trimmed=False,
)
_PAIRS_NAME = re.compile(
    r"\s*+(?P<name>[A-Za-z_][\w./:-]*+)(?:\s*+(?=<arg_key>)|[ \t]*+\r?\n\s*+(?=</tool_call>))"
)
_PAIRS_END = re.compile(r"(?=\s*+</tool_call>)")
_ANY_OPENER = re.compile(rf"<tool_call>|{FUNCTION.opener}|{INVOKE.opener}")
_THINKING_CLOSE = re.compile(THINKING_CLOSE)
_STRAY_CLOSE = re.compile(r"\s*+</tool_call>")
_CALL_CLOSE = re.compile(rf"\s*+{CALL_CLOSE}")
_IS_TEXT = 'string="true"'
_FIRST_BREAK = re.compile(r"\A\r?\n")
_LAST_BREAK = re.compile(r"\r?\n\Z")


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


def read_pairs(source: CallText, start: int) -> Reading:
    """The call behind ``<tool_call>`` as GLM writes it: the name, then keys and values in turn.

    Only the closing tag, which is left to be read, tells that no pair is missing. A name without
    pairs has a line to itself, as GLM-4.5 writes it: prose that shows the tags has a word or dots
    between them.
    """
    name = None if source.is_exhausted else _PAIRS_NAME.match(source.text, start)
    if name is None:
        return Reading((), start)
    arguments, last = _read_values(source, name.end(), _PAIRS)
    return _read_end(source, start, parsed_call(name["name"], arguments), last, _PAIRS_END)


def _read_elements(source: CallText, start: int, markup: Markup) -> Reading:
    """The first of the elements must read; one that does not is left to be met again."""
    reading = _read_element(source, start, markup)
    calls = reading.calls
    while reading.calls and (following := markup.following.match(source.text, reading.end)):
        further = _read_element(source, following.end(), markup)
        if not further.calls:
            break
        reading, calls = further, calls + further.calls
    return reading._replace(calls=calls)


def _read_element(source: CallText, start: int, markup: Markup) -> Reading:
    tag = markup.name.match(source.text, start)
    name = _key(tag) if tag else ""
    if tag is None or not name or source.is_exhausted:
        return Reading((), start)
    record = _read_record(source, tag.end()) if markup is FUNCTION else None
    arguments, last = record or _read_values(source, tag.end(), markup.values)
    return _read_end(source, start, parsed_call(name, arguments), last, markup.end)


def _read_end(
    source: CallText, start: int, call: ParsedCall | None, last: Body, close: re.Pattern[str]
) -> Reading:
    """The call if its element is closed behind its values, the last of which ended there."""
    is_read = last.how is not BodyEnd.UNCLEAR
    end = close.match(source.text, last.after) if is_read else None
    if call and end:
        return Reading((call,), max(end.end(), last.after))
    source.charge(last.after - start)
    if is_read and _CALL_CLOSE.match(source.text, last.after):
        return Reading((), last.after)
    has_values = last.how is not BodyEnd.CLOSED or last.after > last.end
    return Reading((), start, is_unclear=has_values)


def _read_record(source: CallText, start: int) -> tuple[dict[str, Any], Body] | None:
    """The arguments as one JSON object in place of parameters."""
    at = source.after_space(start)
    found = source.value_at(at) if source.text.startswith("{", at) else None
    if found is None or not isinstance(found[0], dict):
        return None
    return found[0], Body(BodyEnd.CLOSED, found[1], found[1])


def _read_values(source: CallText, start: int, values: Values) -> tuple[dict[str, Any], Body]:
    """The arguments, and how the last body ended; without any, as if one had ended at once.

    A key given twice beside a closing tag that was forgotten is part of some body.
    """
    arguments: dict[str, Any] = {}
    last = Body(BodyEnd.CLOSED, start, start)
    is_tolerant = False
    while tag := values.opener.match(source.text, last.after):
        last = body_at(source.text, tag.end(), values.in_body)
        body = source.text[tag.end() : last.end]
        key = _key(tag)
        is_tolerant = is_tolerant or last.how is BodyEnd.FORGOTTEN
        if _spans_two_calls(body) or (is_tolerant and key in arguments):
            last = last._replace(how=BodyEnd.UNCLEAR)
        if last.how is BodyEnd.UNCLEAR:
            break
        if last.how is BodyEnd.FORGOTTEN:
            body = _LAST_BREAK.sub("", body)
        arguments[key] = _argument(tag, body, values)
    return arguments, last


def _key(tag: re.Match[str]) -> str:
    """The name in a tag; quotes around it may stand where the format has none."""
    groups = tag.groupdict()
    key = next((groups[key] for key in ("double", "single", "bare") if groups.get(key)), "").strip()
    is_quoted = len(key) > 1 and key[0] == key[-1] and key[0] in "\"'"
    return key[1:-1].strip() if is_quoted else key


def _argument(tag: re.Match[str], body: str, values: Values) -> Any:
    if _IS_TEXT in (tag.groupdict().get("attributes") or ""):
        return body
    if values.is_trimmed:
        body = _LAST_BREAK.sub("", _FIRST_BREAK.sub("", body))
    return _value(body)


def _value(body: str) -> Any:
    """JSON where it parses, but a scalar only where printing it gives the body back.

    Else a version, a digest or a quoted word that should be text would come out as another.
    """
    try:
        value = parse_json_strict(body)
    except ValueError:
        return body
    return value if isinstance(value, dict | list) or compact_json(value) == body else body


def _spans_two_calls(body: str) -> bool:
    """Whether it began as a draft in thinking and ran on into the call behind the thinking."""
    close = _THINKING_CLOSE.search(body)
    return close is not None and _ANY_OPENER.search(body, close.end()) is not None
