"""The tools of a request in the forms that a model's endpoint was found to take (ours).

What is remembered is a digest of the definition as it was sent, so that a changed one is tried
whole again. What helped one list, without a fault being shown in any single tool, is remembered
for exactly that list, and for as long as the process lives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from host.records import ToolDefinition
from host.text.identity_memo import IdentityMemo
from host.text.json_text import canonical_json, compact_json
from host.wire.capabilities import AcceptedForm, ModelCapabilities, ceiling_and_temperature
from host.wire.culprit_search import Finding, Form
from host.wire.schema_normalising import empty_object

MAX_DESCRIPTION_CHARS = 1024
"""OpenAI takes no longer description of a tool."""

MAX_LISTS = 8
"""As many lists are remembered per model whose tools are degraded without proof."""

_MAX_REMEMBERED = 4096
_ONLY_WITH_TOOLS = ("tool_choice", "parallel_tool_calls")
_CEILINGS = ("max_tokens", "max_completion_tokens")
_NOT_PROBED = frozenset(
    {"messages", "tools", "response_format", "stream_options", "n", *_CEILINGS, *_ONLY_WITH_TOOLS}
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
    singly = (_accepted(tool, known.refused_tools) for tool in tools)
    listed = [tool for tool in singly if tool is not None][: known.max_tools]
    if not any(_is_of_list(key) for key in known.refused_tools):
        return listed
    digest = _list_digest(listed)
    forms = (known.refused_tools.get(_key_in(digest, at)) for at in range(len(listed)))
    both = zip(listed, forms, strict=True)
    return [bare_tool(tool) if form else tool for tool, form in both if form != "out"]


def remember_finding(
    finding: Finding, tools: Sequence[ToolDefinition], known: ModelCapabilities
) -> None:
    """Remembers what a search among these tools found.

    A tool that was proven at fault is degraded in any list from then on; one that was not, in this
    list only, which then is sent as the search saw it accepted.
    """
    if finding.fault == "all tools":
        known.tools = False
    known.max_tools = finding.most or known.max_tools
    form: AcceptedForm
    for form, indices in (("bare", finding.bare), ("out", finding.out)):
        for index in set(indices).difference(finding.unproven):
            known.refused_tools[tool_digest(tools[index])] = form
    singly = ((index, _accepted(tool, known.refused_tools)) for index, tool in enumerate(tools))
    listed = [(index, tool) for index, tool in singly if tool is not None][: known.max_tools]
    guessed: dict[int, AcceptedForm] = {
        at: "bare" if index in finding.bare else "out"
        for at, (index, _) in enumerate(listed)
        if index in finding.unproven
    }
    if guessed:
        _remember_list(_list_digest([tool for _, tool in listed]), guessed, known)


def proven_tools(refused_tools: Mapping[str, AcceptedForm]) -> dict[str, AcceptedForm]:
    """Of what is remembered, what holds for single tools in any list."""
    return {key: form for key, form in refused_tools.items() if not _is_of_list(key)}


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
    """The tools at these indices, each in its form; below 0, plain ones of different names."""
    return [_in_form(tools, index, form) for index, form in forms.items()]


def probe_body(
    body: Mapping[str, Any],
    tools: Sequence[ToolDefinition],
    known: ModelCapabilities,
    *,
    own_ceiling: bool = False,
    choice: object = None,
) -> dict[str, Any]:
    """A request as small as can be that is refused for its tools if ``body`` was.

    It asks for one token and holds nothing of the conversation; fields that choose a model, a
    provider or a template stay.

    Args:
        own_ceiling: it asks for as many tokens as ``body`` does instead.
        choice: the ``tool_choice`` beside the tools; None for none.
    """
    probe = {name: value for name, value in body.items() if name not in _NOT_PROBED}
    probe |= {"messages": [{"role": "user", "content": "hi"}], "stream": True}
    if own_ceiling:
        probe |= {name: body[name] for name in _CEILINGS if name in body}
    else:
        probe |= ceiling_and_temperature(known, 1, None)
    if not tools:
        return probe
    return {**probe, "tools": list(tools)} | ({} if choice is None else {"tool_choice": choice})


def general_choice(body: Mapping[str, Any]) -> Any:
    """The ``tool_choice`` of a body that names no tool, so that it goes with any; else None."""
    choice = body.get("tool_choice")
    is_general = isinstance(choice, str) or (
        isinstance(choice, Mapping) and set(choice) == {"type"}
    )
    return choice if is_general else None


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


def _in_form(tools: Sequence[ToolDefinition], index: int, form: Form) -> ToolDefinition:
    if index < 0:
        return _stranger(-index)
    return tools[index] if form == "whole" else bare_tool(tools[index])


def _stranger(number: int) -> ToolDefinition:
    return ToolDefinition(
        type="function",
        function={
            "name": "ping" if number == 1 else f"ping{number}",
            "description": "Answers pong.",
            "parameters": empty_object(),
        },
    )


def _remember_list(
    digest: str, forms: Mapping[int, AcceptedForm], known: ModelCapabilities
) -> None:
    """Remembers forms by their place in a list; the oldest list leaves for one too many."""
    kept = [key for key in known.refused_tools if _is_of_list(key)]
    lists = [one for one in dict.fromkeys(map(_list_of, kept)) if one != digest]
    gone = {digest, *lists[: max(0, len(lists) - MAX_LISTS + 1)]}
    for key in kept:
        if _list_of(key) in gone:
            del known.refused_tools[key]
    known.refused_tools |= {_key_in(digest, at): form for at, form in forms.items()}


def _list_digest(tools: Sequence[ToolDefinition]) -> str:
    return hashlib.sha256("".join(map(tool_digest, tools)).encode()).hexdigest()


def _key_in(list_digest: str, index: int) -> str:
    return f"{list_digest}#{index}"


def _list_of(key: str) -> str:
    return key.partition("#")[0]


def _is_of_list(key: str) -> bool:
    return "#" in key


def _made_bare(tool: ToolDefinition) -> Any:
    function: Any = tool.get("function")
    if not isinstance(function, Mapping):
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
