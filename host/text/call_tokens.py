"""Tool calls behind special tokens of a model's template, printed because nobody read them.

Each reader begins where its opener (a pattern without groups, beside it) ended.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from host.text.call_pythonic import read_method_call, read_pythonic
from host.text.call_values import CallText, Reading, parsed_call

_FUNCTIONS = r"(?:functions?\.)?"
_NAME = r"(?P<name>[\w.-]++)"


def values_before(close: str) -> Callable[[CallText, int], Reading]:
    """A reader of JSON calls, one or many or in a list, and of the ``close`` pattern behind."""
    end = re.compile(rf"\s*+{close}")

    def read(source: CallText, start: int) -> Reading:
        return _with_end(source, source.calls_from(start), end)

    return read


def _with_end(source: CallText, reading: Reading, end: re.Pattern[str]) -> Reading:
    found = end.match(source.text, reading.end) if reading.calls else None
    return Reading(reading.calls, found.end()) if found else reading


def _named_call(
    source: CallText, head: re.Match[str] | None, start: int, end: re.Pattern[str]
) -> Reading:
    """The call that ``head`` names, its arguments an object right behind it."""
    found = source.value_at(head.end()) if head else None
    if head is None or found is None or not isinstance(found[0], dict):
        return Reading((), found[1] if found else start)
    call = parsed_call(head["name"], found[0])
    return _with_end(source, Reading((call,) if call else (), found[1]), end)


_CALL_JSON = re.compile(r"\s*+(?:\[\s*+)?[{\"]")
_MISTRAL_NAMED = re.compile(rf"\s*+{_NAME}(?:\[CALL_ID\][\w-]++)?(?:\[ARGS\]\s*+|(?={{))", re.ASCII)
_NOTHING = re.compile("")


def read_mistral(source: CallText, start: int) -> Reading:
    """The calls behind ``[TOOL_CALLS]``: a JSON list, or one name with ``[ARGS]`` and an object.

    ``[ARGS]`` is a token of its own and may not have been printed.
    """
    named = _MISTRAL_NAMED.match(source.text, start)
    if named is None:
        is_json = _CALL_JSON.match(source.text, start)
        return source.calls_from(start) if is_json else Reading((), start)
    return _named_call(source, named, start, _NOTHING)


_LLAMA_END = re.compile(r"\s*+<\|(?:eom|eot)_id\|>")
_LIST = re.compile(r"\s*+\[")


def read_llama(source: CallText, start: int) -> Reading:
    """The calls behind ``<|python_tag|>``: JSON parted by ``;``, ``name.call(…)``, or a list.

    Other Python is code to run and no call; an end-of-message token is eaten.
    """
    reading = source.calls_from(start)
    if not reading.calls and reading.end == start:
        is_list = _LIST.match(source.text, start)
        reading = (read_pythonic if is_list else read_method_call)(source, start)
    return _with_end(source, reading, _LLAMA_END)


def python_before(close: str) -> Callable[[CallText, int], Reading]:
    """A reader of Python calls, or JSON ones, and of the ``close`` pattern behind."""
    end = re.compile(rf"\s*+{close}")

    def read(source: CallText, start: int) -> Reading:
        reading = read_pythonic(source, start)
        if not reading.calls:
            reading = source.calls_from(start)
        return _with_end(source, reading, end)

    return read


def _deepseek(words: str) -> str:
    """The pattern of a token; converted models print its blanks or its bars in ASCII, not both."""
    loose, exact = (words.replace(" ", blank) for blank in ("[▁_ ]", "▁"))
    return rf"(?:<｜{loose}｜>|<\|{exact}\|>)"


_SEPARATOR = _deepseek("tool sep")
DEEPSEEK_OPENER = rf"(?:{_deepseek('tool calls begin')}\s*+)?+{_deepseek('tool call begin')}"
_DEEPSEEK_HEAD = re.compile(
    rf"\s*+(?:function{_SEPARATOR})?(?P<name>[^\s<>`{{]++)\s*+(?:{_SEPARATOR}\s*+)?+(?:```(?:json)?\s*+)?+(?={{)"
)
_DEEPSEEK_END = re.compile(
    rf"(?:\s*+```)?+(?:\s*+{_deepseek('tool call end')})?+(?:\s*+{_deepseek('tool calls end')})?+"
)


def read_deepseek(source: CallText, start: int) -> Reading:
    """One call behind ``<｜tool▁call▁begin｜>``.

    V3 and R1 write ``function<｜tool▁sep｜>name`` and the arguments in a fence, V3.1 the name,
    the separator and the bare arguments.
    """
    return _named_call(source, _DEEPSEEK_HEAD.match(source.text, start), start, _DEEPSEEK_END)


KIMI_OPENER = r"(?:<\|tool_calls_section_begin\|>\s*+)?+<\|tool_call_begin\|>"
_KIMI_HEAD = re.compile(rf"\s*+{_FUNCTIONS}{_NAME}(?::\d++)?\s*+<\|tool_call_argument_begin\|>\s*+")
_KIMI_END = re.compile(r"\s*+<\|tool_call_end\|>(?:\s*+<\|tool_calls_section_end\|>)?+")


def read_kimi(source: CallText, start: int) -> Reading:
    """One call behind ``<|tool_call_begin|>``, named ``functions.name:index``."""
    return _named_call(source, _KIMI_HEAD.match(source.text, start), start, _KIMI_END)


_HARMONY_CHANNEL = r"<\|channel\|>\s*+(?:commentary|analysis)"
HARMONY_OPENER = (
    r"(?:<\|start\|>\s*+assistant)?"
    rf"(?:{_HARMONY_CHANNEL}\s++to=|\ ?to=(?=[\w.-]++\s*+{_HARMONY_CHANNEL}))"
)
_HARMONY_HEAD = re.compile(
    rf"(?!assistant\b){_FUNCTIONS}{_NAME}(?:\s*+{_HARMONY_CHANNEL})?\s*+(?:<\|constrain\|>)?\s*+\w*+\s*+<\|message\|>\s*+"
)
_HARMONY_END = re.compile(r"\s*+<\|(?:call|end)\|>")
_HARMONY_EMPTY = re.compile(r"<\|call\|>")


def read_harmony(source: CallText, start: int) -> Reading:
    """One call of gpt-oss: a message to ``functions.name``, whichever part of the head says so.

    Nothing between ``<|message|>`` and ``<|call|>`` is a call without arguments. A message to the
    assistant is a tool's answer that the model made up.
    """
    head = _HARMONY_HEAD.match(source.text, start)
    empty = _HARMONY_EMPTY.match(source.text, head.end()) if head else None
    call = parsed_call(head["name"], {}) if head and empty else None
    if empty and call:
        return Reading((call,), empty.end())
    return _named_call(source, head, start, _HARMONY_END)
