"""Formats in which models write tool calls into their text, each opened by a marker.

A further format is one more entry of ``CALL_FORMATS``: the marker's pattern and a reader that
says which calls stand behind it. Readers never raise and never read on behind what they found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from host.text import call_tokens
from host.text.call_bodies import CALL_CLOSE, NAMESPACE
from host.text.call_gemma import GEMMA_OPENER, read_gemma
from host.text.call_markup import (
    FUNCTION,
    INVOKE,
    read_any_markup,
    read_function,
    read_invoke,
    read_pairs,
)
from host.text.call_pythonic import read_pythonic
from host.text.call_quoting import THINKING_CLOSE, THINKING_OPENER
from host.text.call_values import CallText, Reading, parsed_call

Standing: TypeAlias = Literal["marked", "named", "markup"]
"""How much a call needs to count: only a call carries its opener ("marked"), so that it does
whatever it names; it does where it names tools that exist ("named"); or only where besides
nothing is marked ("markup")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFormat:
    """One way of writing calls.

    Attributes:
        opener: a pattern without groups for what begins a call.
        read: the calls behind an opener, given the text and the opener's end.
    """

    opener: str
    read: Callable[[CallText, int], Reading]
    standing: Standing = "marked"


_TAG_END = re.compile(rf"(?P<close></tool_call>)|<tool_call>|{THINKING_OPENER}|{THINKING_CLOSE}")


def read_tag(source: CallText, start: int) -> Reading:
    """The calls behind ``<tool_call>``: JSON (Hermes, Qwen, Granite), elements, or GLM's pairs.

    The closing tag may be missing, but nothing may stand between the call and a closing tag.
    """
    reading = _read_tag_body(source, source.after_space(start))
    if not reading.calls:
        return reading
    tag = _TAG_END.search(source.text, reading.end)
    if tag is None or tag["close"] is None:
        return reading
    if source.after_space(reading.end) == tag.start():
        return Reading(reading.calls, tag.end())
    return Reading((), tag.end(), text_start=reading.end)


def _read_tag_body(source: CallText, start: int) -> Reading:
    if source.text.startswith("<", start):
        return read_any_markup(source, start)
    reading = read_pairs(source, start)
    is_tried = reading.calls or reading.is_unclear
    return reading if is_tried else source.calls_from(start)


_NAME_ALONE = r"\s*+[A-Za-z_][\w./:-]*+[ \t]*+</tool_call>"
_NAME = re.compile(r"\s*+(?P<name>[A-Za-z_][\w./:-]*+)[ \t]*+</tool_call>")


def read_name(source: CallText, start: int) -> Reading:
    """A name and nothing else in the tag: GLM-4.7's call without arguments."""
    found = _NAME.match(source.text, start)
    call = parsed_call(found["name"], {}) if found else None
    return Reading((call,), found.end()) if found and call else Reading((), start)


_WRAPPER_OPENER = rf"<(?:{NAMESPACE}function_calls|[A-Za-z]{{1,20}}:tool_call)>"
_WRAPPER_END = re.compile(rf"\s*+{CALL_CLOSE}")
_WRAPPER_OR_TEXT_END = re.compile(rf"\s*+(?:{CALL_CLOSE}|\Z)")


def read_wrapper(source: CallText, start: int) -> Reading:
    """The calls in ``<function_calls>`` (or MiniMax's tag); its closing tag may be missing.

    OLMo 3 writes Python calls in it: with those nothing else may stand there.
    """
    reading = read_any_markup(source, start)
    if reading.calls:
        close = _WRAPPER_END.match(source.text, reading.end)
        return Reading(reading.calls, close.end()) if close else reading
    if reading.is_unclear or reading.end > start:
        return reading
    calls, end, *_ = read_pythonic(source, start)
    close = _WRAPPER_OR_TEXT_END.match(source.text, end) if calls else None
    return Reading(calls, close.end()) if close else Reading((), start)


CALL_FORMATS = (
    CallFormat(opener=rf"<tool_call>(?={_NAME_ALONE})", read=read_name, standing="named"),
    CallFormat(opener="<tool_call>", read=read_tag),
    CallFormat(opener=r"\[TOOL_CALLS\]", read=call_tokens.read_mistral),
    CallFormat(opener=r"<\|python_tag\|>", read=call_tokens.read_llama),
    CallFormat(opener=r"<\|python_start\|>", read=call_tokens.python_before(r"<\|python_end\|>")),
    CallFormat(  # LFM2
        opener=r"<\|tool_call_start\|>", read=call_tokens.python_before(r"<\|tool_call_end\|>")
    ),
    CallFormat(opener=call_tokens.DEEPSEEK_OPENER, read=call_tokens.read_deepseek),
    CallFormat(opener=call_tokens.KIMI_OPENER, read=call_tokens.read_kimi),
    CallFormat(opener=call_tokens.HARMONY_OPENER, read=call_tokens.read_harmony),
    # Granite 3 leaves it open, Phi-4 closes it
    CallFormat(opener=r"<\|tool_call\|>", read=call_tokens.values_before(r"<\|/tool_call\|>")),
    CallFormat(opener=r"<\|START_ACTION\|>", read=call_tokens.values_before(r"<\|END_ACTION\|>")),
    # Hunyuan and Jamba; Nemotron
    CallFormat(opener="<tool_calls>", read=call_tokens.values_before("</tool_calls>")),
    CallFormat(opener="<TOOLCALL>", read=call_tokens.values_before("</TOOLCALL>")),
    CallFormat(opener=_WRAPPER_OPENER, read=read_wrapper),
    CallFormat(opener=GEMMA_OPENER, read=read_gemma),
    CallFormat(
        opener=r"\bfunctools(?=\[\s*+\{)", read=call_tokens.read_functools, standing="named"
    ),
    CallFormat(
        opener=call_tokens.FUNCTIONARY_OPENER, read=call_tokens.read_functionary, standing="named"
    ),
    CallFormat(opener=FUNCTION.opener, read=read_function, standing="markup"),
    CallFormat(opener=INVOKE.opener, read=read_invoke, standing="markup"),
)
