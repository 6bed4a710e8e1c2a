"""Formats in which models write tool calls into their text, each opened by a marker.

A further format is one more entry of ``CALL_FORMATS``: the marker's pattern and a reader that
says which calls stand behind it. Readers never raise and never read on behind what they found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from host.text import call_tokens
from host.text.call_markup import (
    FUNCTION,
    INVOKE,
    NAMESPACE,
    read_any_markup,
    read_function,
    read_invoke,
    read_pairs,
)
from host.text.call_values import CallText, Reading
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
    """The calls behind ``<tool_call>``: JSON (Hermes, Qwen, Granite), elements, or GLM's pairs.

    The closing tag may be missing, but nothing may stand between the call and a closing tag.
    """
    reading = _read_tag_body(source, source.after_space(start))
    if not reading.calls:
        return reading
    tag = _TAG_END.search(source.text, reading.end)
    if tag is None or tag["close"] is None:
        return reading
    is_clean = source.after_space(reading.end) == tag.start()
    return Reading(reading.calls if is_clean else (), tag.end())


def _read_tag_body(source: CallText, start: int) -> Reading:
    if source.text.startswith("<", start):
        return read_any_markup(source, start)
    reading = read_pairs(source, start)
    return reading if reading.calls else source.calls_from(start)


_WRAPPER_OPENER = rf"<(?:{NAMESPACE}function_calls|[A-Za-z]{{1,20}}:tool_call)>"
_WRAPPER_END = re.compile(rf"\s*+</{NAMESPACE}(?:function_calls|tool_call)>")


def read_wrapper(source: CallText, start: int) -> Reading:
    """The calls in ``<function_calls>`` (or MiniMax's tag); its closing tag may be missing."""
    reading = read_any_markup(source, start)
    close = _WRAPPER_END.match(source.text, reading.end) if reading.calls else None
    return Reading(reading.calls, close.end()) if close else reading


CALL_FORMATS = (
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
    CallFormat(opener=FUNCTION.opener, read=read_function, is_marked=False),
    CallFormat(opener=INVOKE.opener, read=read_invoke, is_marked=False),
)
