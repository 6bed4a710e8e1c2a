"""Token estimates without a tokenizer: characters divided by how many a token takes.

Deliberately low: an overflow foreseen wrongly is worse than one refused round trip. Messages are
walked, not serialised; each constant is the JSON punctuation its key costs (agent-core §4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from host.text.identity_memo import IdentityMemo
from host.text.json_text import compact_json

CHARS_PER_TOKEN = 4

_MESSAGE_CHARS = 25
_TEXT_PART_CHARS = 26
_REFUSAL_PART_CHARS = 32
_TOOL_CALLS_CHARS = 15
_TOOL_CALL_CHARS = 66
_STRING_FIELD_CHARS = {
    "name": 10,
    "tool_call_id": 18,
    "reasoning_content": 23,
    "reasoning": 15,
}


def estimate_tokens(text: str) -> int:
    """How many tokens the text takes, about: its characters over four, rounded up."""
    return _tokens(len(text), CHARS_PER_TOKEN)


def message_tokens(
    message: Mapping[str, object], *, chars_per_token: float | None = CHARS_PER_TOKEN
) -> int:
    """How many tokens one chat message takes, about.

    Images, audio and files count nothing: their length in characters says nothing about their
    price. ``chars_per_token=1`` gives characters; None, NaN, infinity and anything not positive
    mean four.
    """
    return _tokens(_message_chars(message), chars_per_token)


def tools_tokens(
    tools: Sequence[Mapping[str, object]] | None,
    *,
    chars_per_token: float | None = CHARS_PER_TOKEN,
) -> int:
    """How many tokens a request's tools take, about; 0 for none.

    Measured once per list object: a list changed afterwards keeps its first number.
    """
    return _tokens(_tools_chars(tools) if tools else 0, chars_per_token)


def request_tokens(
    body: Mapping[str, Any], *, chars_per_token: float | None = CHARS_PER_TOKEN
) -> int:
    """How many tokens a request's ``messages`` and ``tools`` take, about."""
    chars = sum(_message_chars(message) for message in body.get("messages") or ())
    return _tokens(chars, chars_per_token) + tools_tokens(
        body.get("tools"), chars_per_token=chars_per_token
    )


def compact_count(n: int) -> str:
    """A count for people: thousands with one decimal and ``k`` (halves up), less as it is."""
    if n < 1000:
        return str(n)
    whole, tenths = divmod((n + 50) // 100, 10)
    return f"{whole}.{tenths}k"


def _tokens(chars: int, chars_per_token: float | None) -> int:
    per = chars_per_token
    if per is None or not math.isfinite(per) or per <= 0:
        per = CHARS_PER_TOKEN
    return math.ceil(chars / per)


def _measured_tools(tools: Sequence[Mapping[str, object]]) -> int:
    return len(compact_json(tools))


_tools_chars = IdentityMemo(_measured_tools)


def _message_chars(message: Mapping[str, object]) -> int:
    chars = _MESSAGE_CHARS + _length(message.get("role")) + _content_chars(message.get("content"))
    for key, cost in _STRING_FIELD_CHARS.items():
        value = message.get(key)
        if isinstance(value, str):
            chars += cost + len(value)
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        chars += _TOOL_CALLS_CHARS + sum(_call_chars(call) for call in calls)
    return chars


def _content_chars(content: object) -> int:
    if isinstance(content, list):
        return sum(_part_chars(part) for part in content if isinstance(part, Mapping))
    return _length(content)


def _part_chars(part: Mapping[str, object]) -> int:
    match part.get("type"):
        case "text":
            return _TEXT_PART_CHARS + _length(part.get("text"))
        case "refusal":
            return _REFUSAL_PART_CHARS + _length(part.get("refusal"))
        case _:
            return 0


def _call_chars(call: object) -> int:
    if not isinstance(call, Mapping):
        return 0
    chars = _TOOL_CALL_CHARS + _length(call.get("id"))
    function = call.get("function")
    if isinstance(function, Mapping):
        chars += _length(function.get("name")) + _length(function.get("arguments"))
    return chars


def _length(value: object) -> int:
    return len(value) if isinstance(value, str) else 0
