"""Tool calls written as Python calls: ``[weather(city="Rome"), now()]`` (Llama 3.2 and 4)."""

from __future__ import annotations

import re
from typing import Any

from host.text.call_values import CallText, ParsedCall, Reading, parsed_call
from host.text.json_text import parse_json_loosely

_CALL = re.compile(r"\s*(?P<name>[A-Za-z_][\w.-]*+)\(\s*", re.ASCII)
_KEYWORD = re.compile(r"(?P<key>[A-Za-z_]\w*+)\s*=\s*", re.ASCII)
_NEXT_IN_LIST = re.compile(r"\s*+,")
_NEXT = re.compile(r"[ \t\r]*+[;,\n]")
_LIST_END = re.compile(r"\s*+(?:,\s*+)?\]")
_CUT_CALL = re.compile(
    r"\s*+(?:[;,]\s*+)?(?:\Z|(?P<name>[A-Za-z_][\w.-]*+)(?:\Z|(?P<open>\()))", re.ASCII
)
_TOKEN = re.compile(
    r"""
      (?P<string> "[^"\\]*+ (?:\\.[^"\\]*+)*+ " | '[^'\\]*+ (?:\\.[^'\\]*+)*+ ' )
    | (?P<open>   [\[{] )
    | (?P<close>  [\]}] )
    | (?P<comma>  , )
    | (?P<end>    \) )
    | (?P<cut>    ["'] )
    | (?P<fault>  [(<] )
    """,
    re.VERBOSE | re.DOTALL,
)


def read_pythonic(source: CallText, start: int) -> Reading:
    """The calls from ``start`` on, in brackets or one after the other; none if any does not read.

    Arguments are keywords with literal values, or one object; positional values name no
    parameter, and names as values would have to be evaluated: neither is a call. Of a list that
    the end of the text cut off, the whole calls count.
    """
    at = source.after_space(start)
    is_list = source.text.startswith("[", at)
    following = _NEXT_IN_LIST if is_list else _NEXT
    calls: list[ParsedCall] = []
    at, end = at + is_list, start
    while found := _read_call(source, at):
        call, end = found
        calls.append(call)
        step = following.match(source.text, end)
        if step is None:
            break
        at = step.end()
        end = end if is_list else at
    return _closed(source, calls, end) if calls and is_list else Reading(tuple(calls), end)


def read_method_call(source: CallText, start: int) -> Reading:
    """One call written ``name.call(key=value)``, as Llama 3.1 calls what is built in."""
    found = _read_call(source, start)
    if found is None or not found[0].name.endswith(".call"):
        return Reading((), start)
    call, end = found
    return Reading((ParsedCall(name=call.name[: -len(".call")], arguments=call.arguments),), end)


def is_cut_call_at(source: CallText, start: int, *, in_list: bool) -> bool:
    """Whether from ``start`` on stands at most the beginning of one more call.

    Only in a list is the beginning of a name one: elsewhere it may be any word.
    """
    found = None if source.is_exhausted else _CUT_CALL.match(source.text, start)
    if found is None or found["open"] is None:
        return found is not None and (in_list or found["name"] is None)
    at = found.end()
    while step := _extent(source.text, at):
        kind, at = step
        if kind != "comma":
            break
    source.charge((at if step else len(source.text)) - start)
    return step is None


def _closed(source: CallText, calls: list[ParsedCall], end: int) -> Reading:
    close = _LIST_END.match(source.text, end)
    if close:
        return Reading(tuple(calls), close.end())
    is_cut = is_cut_call_at(source, end, in_list=True)
    return Reading(tuple(calls) if is_cut else (), end)


def _read_call(source: CallText, start: int) -> tuple[ParsedCall, int] | None:
    opener = None if source.is_exhausted else _CALL.match(source.text, start)
    if opener is None:
        return None
    arguments, end = _read_arguments(source, opener.end())
    call = None if arguments is None else parsed_call(opener["name"], arguments)
    if call is None:
        source.charge(end - start)
        return None
    return call, end


def _read_arguments(source: CallText, start: int) -> tuple[dict[str, Any] | None, int]:
    """The arguments and the end of the bracket behind them, or None and how far was read."""
    if source.text.startswith("{", start):
        return _read_object(source, start)
    arguments: dict[str, Any] = {}
    at = start
    while not source.text.startswith(")", at):
        keyword = _KEYWORD.match(source.text, at)
        if keyword is None:
            return None, at
        step = _extent(source.text, keyword.end())
        if step is None:
            return None, len(source.text)
        kind, end = step
        try:
            [value] = parse_json_loosely(f"[{source.text[keyword.end() : end - 1]}]")
        except ValueError:
            return None, end
        arguments[keyword["key"]] = value
        at = source.after_space(end) if kind == "comma" else end - 1
    return arguments, at + 1


def _read_object(source: CallText, start: int) -> tuple[dict[str, Any] | None, int]:
    found = source.value_at(start)
    if found is None or not isinstance(found[0], dict):
        return None, start
    end = source.after_space(found[1])
    return (found[0], end + 1) if source.text.startswith(")", end) else (None, end)


def _extent(text: str, start: int) -> tuple[str, int] | None:
    """What ends the value at ``start``, "comma" or "end" when all is well, and the place behind.

    None when the text ends first.
    """
    depth = 0
    for token in _TOKEN.finditer(text, start):
        match token.lastgroup:
            case "open":
                depth += 1
            case "close" if depth:
                depth -= 1
            case "comma" if depth:
                pass
            case "string":
                pass
            case "cut":
                return None
            case kind:
                return str(kind), token.end()
    return None
