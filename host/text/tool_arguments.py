"""The arguments of a tool call, read from whatever a model or endpoint sent."""

from __future__ import annotations

from typing import Any

from host.errors import ToolArgumentsError
from host.text.json_text import compact_json, parse_json_loosely

_MAX_QUOTED_CHARS = 200


def parse_tool_arguments(raw: object, *, finish_reason: str | None = None) -> dict[str, Any]:
    """The arguments as a dict; a dict comes back as the same object, None or blank text as ``{}``.

    Text is read as JSON, with the repair of ``parse_json_loosely`` where it needs one
    (agent-core §16).

    Args:
        raw: a dict, JSON text, JSON text of JSON text, or None.
        finish_reason: of the turn that wrote them; ``"length"`` means they were cut.

    Raises:
        ToolArgumentsError: they are no JSON object. ``kind`` is ``"truncated"`` when the reply
            was cut at its ceiling, else ``"malformed"``; the message is for the model.
    """
    if isinstance(raw, dict):
        return raw
    text = _text_of(raw).strip()
    if not text:
        return {}
    try:
        value = parse_json_loosely(text)
    except ValueError:
        raise _unreadable(text, finish_reason, "they are not valid JSON") from None
    if isinstance(value, dict):
        return value
    raise _unreadable(text, finish_reason, "they are valid JSON but not an object")


def _text_of(raw: object) -> str:
    if raw is None:
        return ""
    if isinstance(raw, str):
        return raw
    try:
        return compact_json(raw)
    except (ValueError, TypeError):
        return str(raw)


def _unreadable(text: str, finish_reason: str | None, fault: str) -> ToolArgumentsError:
    quoted = " ".join(text[:_MAX_QUOTED_CHARS].split())
    if len(text) > _MAX_QUOTED_CHARS:
        quoted += "…"
    if finish_reason == "length":
        return ToolArgumentsError(
            "truncated",
            "The arguments were cut off because the reply reached its token ceiling; "
            f"raise maxTokens or send shorter arguments. They began: {quoted}",
        )
    return ToolArgumentsError(
        "malformed",
        f"The arguments cannot be used: {fault}. Send one JSON object. They were: {quoted}",
    )
