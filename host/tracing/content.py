"""Messages, answers and tools in the form that the GenAI conventions give their content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from host.loop.transcript import called
from host.records import Message, ToolCall, ToolDefinition, Turn
from host.text.json_text import compact_json, parse_json_strict


def shown_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages by role and parts; a part that is no text is only named."""
    return [{"role": message["role"], "parts": _parts(message)} for message in messages]


def shown_turn(turn: Turn) -> dict[str, Any]:
    """The answer as a message, thoughts first."""
    thought = [{"type": "reasoning", "content": turn.reasoning}] if turn.reasoning else []
    parts = [*thought, *_content_parts(turn.content), *map(_call, turn.tool_calls)]
    return {"role": "assistant", "parts": parts, "finish_reason": turn.finish_reason}


def shown_tools(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    """The definitions, flat."""
    return [{"type": "function", **tool["function"]} for tool in tools]


def content_text(content: object) -> str:
    """A text as it is, any other value as compact JSON, or as Python writes what is none."""
    if isinstance(content, str):
        return content
    try:
        return compact_json(content)
    except (TypeError, ValueError):
        return str(content)


def _parts(message: Message) -> list[dict[str, Any]]:
    if message["role"] == "tool":
        answer = {"id": message["tool_call_id"], "response": message.get("content")}
        return [{"type": "tool_call_response", **answer}]
    parts = _content_parts(message.get("content"))
    if message["role"] == "assistant":
        parts += map(_call, message.get("tool_calls") or ())
    return parts


def _content_parts(content: str | list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "content": content}] if content else []
    return [
        {"type": "text", "content": part["text"]} if "text" in part else {"type": part["type"]}
        for part in content or ()
    ]


def _call(call: ToolCall) -> dict[str, Any]:
    name, given = called(call)
    return {"type": "tool_call", "id": call["id"], "name": name, "arguments": _value(given)}


def _value(written: str) -> object:
    try:
        return parse_json_strict(written)
    except ValueError:
        return written
