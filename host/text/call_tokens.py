"""Tool calls behind special tokens of a model's template, printed because nobody read them.

Each reader begins where its opener (a pattern without groups, beside it) ended.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from host.text.call_markup import read_any_markup
from host.text.call_pythonic import read_method_call, read_pythonic
from host.text.call_values import CallText, Reading, parsed_call

END_TOKENS = re.compile(
    r"(?:\s*+(?:<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return|call"
    r"|END_OF_TURN_TOKEN)\|>|</s>|<｜end▁of▁sentence｜>|<end_of_turn>|<turn\|>|<eos>))++"
)
"""What a template writes behind an answer or a message; it is no part of a call's reply."""

_NOTHING = re.compile("")
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
    source: CallText,
    head: re.Match[str] | None,
    start: int,
    end: re.Pattern[str],
    *,
    empty: re.Pattern[str] | None = None,
) -> Reading:
    """The call that ``head`` names, its arguments an object right behind it.

    Where ``empty`` stands instead there are no arguments.
    """
    if head and empty and empty.match(source.text, head.end()):
        found: tuple[object, int] | None = {}, head.end()
    else:
        found = source.value_at(head.end()) if head else None
    if head is None or found is None or not isinstance(found[0], dict):
        return Reading((), found[1] if found else start)
    call = parsed_call(head["name"], found[0])
    return _with_end(source, Reading((call,) if call else (), found[1]), end)


def _row(
    source: CallText,
    start: int,
    read: Callable[[CallText, int], Reading],
    following: re.Pattern[str],
) -> Reading:
    """A call and those behind it, each where ``following`` ends, that have no opener."""
    reading = read(source, start)
    calls = reading.calls
    while reading.calls and (step := following.match(source.text, reading.end)):
        further = read(source, step.end())
        if not further.calls:
            break
        reading, calls = further, calls + further.calls
    return reading._replace(calls=calls)


def read_functools(source: CallText, start: int) -> Reading:
    """The JSON calls in the list behind ``functools``, a word and no token (Phi-4-mini)."""
    return source.calls_from(start)


FUNCTIONARY_OPENER = r"(?<!>)>>>(?=[A-Za-z_][\w.-]*+[ \t]*+\r?\n\s*+\{)"
_FUNCTIONARY_HEAD = re.compile(rf"{_NAME}\s*+")


def read_functionary(source: CallText, start: int) -> Reading:
    """One call behind ``>>>``: its name on the same line, its arguments below."""
    head = _FUNCTIONARY_HEAD.match(source.text, start)
    return _named_call(source, head, start, _NOTHING)


_CALL_JSON = re.compile(r"\s*+(?:\[\s*+)?[{\"]")
_MISTRAL_NAMED = re.compile(
    rf"(?P<gap>\s++)?+{_NAME}(?:\s*+\[CALL_ID\]\s*+[\w-]++)?+"
    r"(?:\s*+\[ARGS\]\s*+|(?(gap)|\s*+)(?=\{))",
    re.ASCII,
)


_MISTRAL_NEXT = re.compile(r"\s*+(?=[\w.-]++(?:\[CALL_ID\][\w-]++)?+\[ARGS\]\s*+\{)", re.ASCII)


def read_mistral(source: CallText, start: int) -> Reading:
    """The calls behind ``[TOOL_CALLS]``: a JSON list, or names with ``[ARGS]`` and an object each.

    ``[ARGS]`` is a token of its own and may not have been printed; then only one of the gaps
    before and behind the name may be filled: words of prose have both.
    """
    if _MISTRAL_NAMED.match(source.text, start):
        return _row(source, start, _read_mistral_call, _MISTRAL_NEXT)
    is_json = _CALL_JSON.match(source.text, start)
    return source.calls_from(start) if is_json else Reading((), start)


def _read_mistral_call(source: CallText, start: int) -> Reading:
    return _named_call(source, _MISTRAL_NAMED.match(source.text, start), start, _NOTHING)


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
    """The pattern of a token; converted models print its blanks or its bars in ASCII, not both.

    Where Markdown was meant, an underscore is escaped.
    """
    loose, exact = words.replace(" ", r"(?:▁|\\?_|\ )"), words.replace(" ", "▁")
    return rf"(?:<｜{loose}｜>|<\|{exact}\|>)"


_CALLS_BEGIN = f"(?:{_deepseek('tool calls begin')}|{_deepseek('tool calls')})"
_CALL_BEGIN = _deepseek("tool call begin")
_CALL_END = _deepseek("tool call end")
_SEPARATOR = _deepseek("tool sep")
_TYPE = f"function{_SEPARATOR}"
DEEPSEEK_OPENER = rf"(?:{_CALLS_BEGIN}\s*+(?:{_CALL_BEGIN}|(?={_TYPE}))|{_CALL_BEGIN})"
_DEEPSEEK_HEAD = re.compile(
    rf"\s*+(?:{_TYPE})?(?P<name>[^\s<>`{{]++)\s*+(?:{_SEPARATOR}\s*+)?+(?:```(?:json)?\s*+)?+"
)
_DEEPSEEK_EMPTY = re.compile(rf"(?:```\s*+)?+{_CALL_END}")
_DEEPSEEK_END = re.compile(
    rf"(?:\s*+```)?+(?:\s*+{_CALL_END})?+(?:\s*+{_deepseek('tool calls end')})?+"
)
_DEEPSEEK_NEXT = re.compile(rf"\s*+(?={_TYPE})")
_STEP_HEAD = re.compile(rf"\s*+(?:{_TYPE})?+(?=\s*+<)")


def read_deepseek(source: CallText, start: int) -> Reading:
    """The calls behind ``<｜tool▁call▁begin｜>``, which R1 may leave out behind the outer token.

    V3 and R1 write ``function<｜tool▁sep｜>name`` and the arguments in a fence, V3.1 the name,
    the separator and the bare arguments, Step-3 an element.
    """
    return _row(source, start, _read_deepseek_call, _DEEPSEEK_NEXT)


def _read_deepseek_call(source: CallText, start: int) -> Reading:
    step = _STEP_HEAD.match(source.text, start)
    reading = read_any_markup(source, step.end()) if step else None
    if reading and reading.calls:
        return _with_end(source, reading, _DEEPSEEK_END)
    head = _DEEPSEEK_HEAD.match(source.text, start)
    return _named_call(source, head, start, _DEEPSEEK_END, empty=_DEEPSEEK_EMPTY)


KIMI_OPENER = r"(?:<\|tool_calls_section_begin\|>\s*+)?+<\|tool_call_begin\|>"
_KIMI_HEAD = re.compile(rf"\s*+{_FUNCTIONS}{_NAME}(?::\d++)?\s*+<\|tool_call_argument_begin\|>\s*+")
_KIMI_EMPTY = re.compile(r"<\|tool_call_end\|>")
_KIMI_END = re.compile(r"\s*+<\|tool_call_end\|>(?:\s*+<\|tool_calls_section_end\|>)?+")


def read_kimi(source: CallText, start: int) -> Reading:
    """One call behind ``<|tool_call_begin|>``, named ``functions.name:index``."""
    head = _KIMI_HEAD.match(source.text, start)
    return _named_call(source, head, start, _KIMI_END, empty=_KIMI_EMPTY)


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
    return _named_call(source, head, start, _HARMONY_END, empty=_HARMONY_EMPTY)
