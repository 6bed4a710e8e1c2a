"""The body of a chat request, built from what was asked and what the endpoint takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from host.errors import ToolArgumentsError
from host.records import Message, ToolDefinition
from host.text.json_text import compact_json, parse_json_strict
from host.text.tool_arguments import parse_tool_arguments
from host.wire.capabilities import (
    Capabilities,
    ModelCapabilities,
    ceiling_and_temperature,
    effort_for,
)
from host.wire.schema_compat import relax_tools, sanitize_tools
from host.wire.settings import ModelParams

RESERVED_FIELDS = frozenset({"model", "messages", "stream", "tools"})
"""What ``extra_body`` never sets: dropping or changing one would make it another request."""

ONLY_WITH_TOOLS = frozenset({"tool_choice", "parallel_tool_calls"})
"""What servers refuse in a request without tools."""

_KEY_ORDER = (
    "model",
    "messages",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "reasoning_effort",
)


def build_body(
    params: ModelParams,
    capabilities: Capabilities,
    refused: ModelCapabilities | None,
    messages: Sequence[Message],
    tools: Sequence[ToolDefinition] = (),
) -> dict[str, Any]:
    """The body of one streamed chat request (agent-core §18).

    ``extra_body`` comes in without reserved and refused fields and may override what ``params``
    says; what the endpoint and the model do not take is left out or replaced wherever it comes
    from. Tools are sanitised, relaxed where the endpoint builds no grammar, and absent when there
    are none. Any two keys stand in the same order in every body, whatever was latched meanwhile.
    ``messages`` is the given list itself unless a call in it has to be mended: servers answer 500
    to every later request of a conversation that holds arguments which are no JSON object.

    Args:
        refused: the latches of ``params.model``; None for a model nobody knows.
    """
    known = refused or ModelCapabilities()
    fields = ceiling_and_temperature(known, params.max_tokens, params.temperature)
    if effort := effort_for(known, params.reasoning_effort):
        fields["reasoning_effort"] = effort
    fields["stream_options"] = {"include_usage": True}
    fields |= _extra_fields(params.extra_body, known)
    fields = _as_taken(fields, capabilities, known, has_tools=bool(tools))
    fields |= {"model": params.model, "messages": _replayable(messages), "stream": True}
    body = {key: fields.pop(key) for key in _KEY_ORDER if key in fields} | fields
    if tools:
        sanitized = sanitize_tools(tools)
        body["tools"] = sanitized if capabilities.strict_schemas else relax_tools(sanitized)
    return body


def _extra_fields(extra: Mapping[str, Any], known: ModelCapabilities) -> dict[str, Any]:
    """The caller's own fields, with a ceiling under the name that the model takes."""
    fields = dict(extra)
    if not known.legacy_token_limit and "max_tokens" in fields:
        ceiling = fields.pop("max_tokens")
        fields.setdefault("max_completion_tokens", ceiling)
    unwanted = RESERVED_FIELDS | known.refused_fields
    return {name: value for name, value in fields.items() if name not in unwanted}


def _as_taken(
    fields: Mapping[str, Any],
    capabilities: Capabilities,
    known: ModelCapabilities,
    *,
    has_tools: bool,
) -> dict[str, Any]:
    """The fields without those that are latched off, in their order."""
    effort, shape = fields.get("reasoning_effort"), fields.get("response_format")
    is_schema = isinstance(shape, Mapping) and shape.get("type") == "json_schema"
    left_out = {
        "stream_options": not capabilities.usage_in_stream,
        "temperature": not known.chosen_temperature,
        "reasoning_effort": not known.reasoning_effort,
        "response_format": is_schema and not known.structured_output,
        **dict.fromkeys(ONLY_WITH_TOOLS, not has_tools),
    }
    taken = {name: value for name, value in fields.items() if not left_out.get(name)}
    if "reasoning_effort" in taken and isinstance(effort, str):
        taken["reasoning_effort"] = effort_for(known, effort) or effort
    return taken


def _replayable(messages: Sequence[Message]) -> Sequence[Message]:
    replayable = [_with_readable_calls(message) for message in messages]
    changed = any(ours is not theirs for ours, theirs in zip(replayable, messages, strict=True))
    return replayable if changed else messages


def _with_readable_calls(message: Message) -> Message:
    calls: Any = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    readable = [_with_object_arguments(call) for call in calls]
    if all(ours is theirs for ours, theirs in zip(readable, calls, strict=True)):
        return message
    mended: Any = {**message, "tool_calls": readable}
    return mended  # type: ignore[no-any-return]  # a TypedDict cannot be rebuilt key by key


def _with_object_arguments(call: Any) -> Any:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return call
    written = function.get("arguments")
    text = _object_text(written)
    return call if text == written else {**call, "function": {**function, "arguments": text}}


def _object_text(arguments: object) -> str:
    """Arguments as JSON object text: as written where they are that, ``{}`` where unreadable."""
    try:
        if isinstance(arguments, str) and isinstance(parse_json_strict(arguments), dict):
            return arguments
    except ValueError:
        pass
    try:
        return compact_json(parse_tool_arguments(arguments))
    except (ToolArgumentsError, ValueError, TypeError):
        return "{}"
