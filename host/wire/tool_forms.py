"""The tools of a request in the forms that a model's endpoint was found to take (ours).

What is remembered is a digest of the definition as it was sent, so that a changed one is tried
whole again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from host.records import ToolDefinition
from host.text.identity_memo import IdentityMemo
from host.text.json_text import canonical_json, compact_json
from host.wire.capabilities import ModelCapabilities, ceiling_and_temperature
from host.wire.culprit_search import Form
from host.wire.schema_normalising import empty_object

MAX_DESCRIPTION_CHARS = 1024
"""OpenAI takes no longer description of a tool."""

STRANGER = ToolDefinition(
    type="function",
    function={
        "name": "ping",
        "description": "Answers pong.",
        "parameters": {"type": "object", "properties": {}},
    },
)
"""A tool with which nothing can be wrong."""

_MAX_REMEMBERED = 4096
_ONLY_WITH_TOOLS = ("tool_choice", "parallel_tool_calls")
_NOT_PROBED = frozenset(
    {
        "messages",
        "tools",
        "response_format",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "n",
        *_ONLY_WITH_TOOLS,
    }
)


def bare_tool(tool: ToolDefinition) -> ToolDefinition:
    """The tool with an empty object schema; what its schema said is told in its description.

    The same object for the same tool. As much is told as a description may hold: the schema, else
    the names of its properties, else nothing. A tool that is no function stays as it is.
    """
    bare: ToolDefinition = _bare(tool)
    return bare


def tool_digest(tool: ToolDefinition) -> str:
    """64 hex digits that stand for a definition: its name, its words and its schema."""
    return _digest(tool)


def accepted_tools(
    tools: Iterable[ToolDefinition], known: ModelCapabilities
) -> list[ToolDefinition]:
    """The tools as the model's endpoint takes them, without those it does not take.

    Of more than it takes in one request, the first ones.
    """
    if not known.tools:
        return []
    accepted = (_accepted(tool, known.refused_tools) for tool in tools)
    return [tool for tool in accepted if tool is not None][: known.max_tools]


def with_accepted_tools(body: Mapping[str, Any], known: ModelCapabilities) -> Mapping[str, Any]:
    """A request's body with its tools as `accepted_tools` has them; itself if nothing changes.

    Fields that only go with tools leave with the last of them, and so does the choice of a tool
    that is left out; a choice among several keeps the others.
    """
    tools = body.get("tools")
    if not tools or (known.tools and not known.refused_tools and known.max_tools is None):
        return body
    accepted = accepted_tools(tools, known)
    if accepted == list(tools):
        return body
    changed = {**body, "tools": accepted}
    if not accepted:
        del changed["tools"]
    names = set(tool_names(accepted))
    for field in _ONLY_WITH_TOOLS:
        kept = _kept_choice(changed.get(field), names) if accepted else None
        if kept is not None:
            changed[field] = kept
        elif field in changed:
            del changed[field]
    return changed


def in_forms(tools: Sequence[ToolDefinition], forms: Mapping[int, Form]) -> list[ToolDefinition]:
    """The tools at these indices, each in its form."""
    return [
        tools[index] if form == "whole" else bare_tool(tools[index])
        for index, form in forms.items()
    ]


def probe_body(
    body: Mapping[str, Any], tools: Sequence[ToolDefinition], known: ModelCapabilities
) -> dict[str, Any]:
    """A request as small as can be that is refused for its tools if ``body`` was.

    It asks for one token and holds nothing of the conversation; fields that choose a model, a
    provider or a template stay.
    """
    probe = {name: value for name, value in body.items() if name not in _NOT_PROBED}
    probe |= {"messages": [{"role": "user", "content": "hi"}], "stream": True}
    probe |= ceiling_and_temperature(known, 1, None)
    return {**probe, "tools": list(tools)} if tools else probe


def tool_names(tools: Iterable[ToolDefinition]) -> list[str]:
    """The names of tools, "" for one that has none."""
    return [_name_in(tool) or "" for tool in tools]


def _accepted(tool: ToolDefinition, refused: Mapping[str, str]) -> ToolDefinition | None:
    form = refused.get(tool_digest(tool))
    if form == "bare":
        bare = bare_tool(tool)
        return None if refused.get(tool_digest(bare)) == "out" else bare
    return None if form == "out" else tool


def _kept_choice(choice: Any, names: Collection[str]) -> Any:
    """What remains of a ``tool_choice`` that may only name these tools; None for nothing."""
    match choice:
        case {"allowed_tools": {"tools": [*allowed]} as among}:
            left = [one for one in allowed if _name_in(one) in {None, *names}]
            return {**choice, "allowed_tools": {**among, "tools": left}} if left else None
        case _:
            return choice if _name_in(choice) in {None, *names} else None


def _name_in(named: Any) -> str | None:
    """The function that a definition, or the choice of a tool, names; None for none."""
    function = named.get("function") if isinstance(named, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) else None


def _made_bare(tool: ToolDefinition) -> Any:
    function: Any = tool.get("function")
    if not isinstance(function, dict):
        return tool
    kept = {name: value for name, value in function.items() if name != "strict"}
    description = _told(function.get("description"), function.get("parameters"))
    changed = {**kept, "description": description, "parameters": empty_object()}
    return {**tool, "function": changed}


def _told(description: object, parameters: object) -> str:
    said = description if isinstance(description, str) else ""
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    if not properties or not isinstance(properties, Mapping):
        return said
    versions = (compact_json(parameters), ", ".join(properties))
    told = (f"{said}\n\nArguments: {version}".lstrip() for version in versions)
    return next((text for text in told if len(text) <= MAX_DESCRIPTION_CHARS), said)


def _digested(tool: ToolDefinition) -> str:
    return hashlib.sha256(canonical_json(tool).encode()).hexdigest()


_bare: IdentityMemo[ToolDefinition, Any] = IdentityMemo(_made_bare, max_entries=_MAX_REMEMBERED)
_digest: IdentityMemo[ToolDefinition, str] = IdentityMemo(_digested, max_entries=_MAX_REMEMBERED)
