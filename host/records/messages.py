"""OpenAI chat messages as TypedDicts: a transcript people already have goes in and out unchanged.

They are assignable to the openai SDK's own parameter types without importing it.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class ToolCallFunction(TypedDict):
    """The called function; ``arguments`` is JSON object text."""

    name: str
    arguments: str


class ToolCall(TypedDict):
    """One call of an assistant message."""

    id: str
    type: Literal["function"]
    function: ToolCallFunction


class SystemMessage(TypedDict):
    """Instructions; ``developer`` is what newer endpoints call the same thing."""

    role: Literal["system", "developer"]
    content: str | list[dict[str, Any]]
    name: NotRequired[str]


class UserMessage(TypedDict):
    """A question: text, or content parts (text, image, audio, file)."""

    role: Literal["user"]
    content: str | list[dict[str, Any]]
    name: NotRequired[str]


class AssistantMessage(TypedDict):
    """A turn of the model; ``content`` is None for a turn that only calls tools."""

    role: Literal["assistant"]
    content: str | list[dict[str, Any]] | None
    tool_calls: NotRequired[list[ToolCall]]
    refusal: NotRequired[str | None]
    reasoning_content: NotRequired[str]
    name: NotRequired[str]


class ToolMessage(TypedDict):
    """The answer to one call, named by the call's id."""

    role: Literal["tool"]
    content: str | list[dict[str, Any]]
    tool_call_id: str


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage
