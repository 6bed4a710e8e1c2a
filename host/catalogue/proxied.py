"""Proxied discovery: two tools that never change, and definitions in the answers.

The model reads a definition with ``load_tools`` and calls through ``call_tool``; as the declared
tools stay the same for the whole run, the endpoint can keep the whole prompt cached.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from host.catalogue.catalogue_text import prompt_over_list
from host.catalogue.frozen_json import freeze
from host.catalogue.load_tools import (
    LOAD_TOOLS,
    LOAD_TOOLS_DEFINITION,
    NOTHING_ASKED,
    in_catalogue,
    split_loaded,
)
from host.catalogue.name_resolution import MAX_PER_LOAD, NameResolution, advice, refusals
from host.errors import ToolArgumentsError
from host.records import CatalogueServer, ToolDefinition, ToolFailure
from host.text.json_text import compact_json, parse_json_strict
from host.text.terminal_text import one_line
from host.text.tool_arguments import parse_tool_arguments

CALL_TOOL = "call_tool"
"""The name of the tool that calls the others."""

_DEFINITIONS_LEAD = "Tool definitions, one JSON object per line. Call them with call_tool:"

_PROMPT = f"""\
# More tools, by name
These are names of tools. None of them can be called by its own name.
1. First call {LOAD_TOOLS} with the exact names of the tools you need, several in one call. It \
shows their definitions.
2. Then call {CALL_TOOL} with the name of a tool and arguments that fit its definition.
Load only what the request needs. If it needs no tool, answer without one."""

_LOAD: ToolDefinition = {
    "type": "function",
    "function": {
        "name": LOAD_TOOLS,
        "description": (
            "Show the full definitions of tools from the list of tool names: what they do and "
            "which arguments they take. Give exact names from the list; a beginning followed by "
            "* stands for all names that begin so. Ask only for what the request needs, "
            f"everything in one call, at most {MAX_PER_LOAD} tools. Then use {CALL_TOOL}."
        ),
        "parameters": LOAD_TOOLS_DEFINITION["function"]["parameters"],
    },
}

_CALL: ToolDefinition = {
    "type": "function",
    "function": {
        "name": CALL_TOOL,
        "description": (
            f"Call one tool from the list. Read its definition with {LOAD_TOOLS} first, then "
            "give its exact name and arguments that fit that definition."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Exact tool name from the list."},
                "arguments": {
                    "type": "object",
                    "description": "The tool's arguments, as its definition asks for them.",
                    "additionalProperties": True,
                },
            },
            "required": ["name", "arguments"],
            "additionalProperties": False,
        },
    },
}

PROXY_TOOLS: tuple[ToolDefinition, ToolDefinition] = (freeze(_LOAD), freeze(_CALL))
"""All that a proxied run declares; shared, and unchangeable at any depth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxiedCall:
    """The call inside a ``call_tool`` call."""

    name: str
    args: dict[str, Any]


def proxy_catalogue_prompt(catalogue: Sequence[CatalogueServer]) -> str:
    """The part of a proxied run's system prompt that names every tool; "" for no tools."""
    return prompt_over_list(_PROMPT, catalogue)


def proxied_call(
    args: Mapping[str, Any], catalogue: Sequence[CatalogueServer], *, own: Collection[str] = ()
) -> ProxiedCall | ToolFailure:
    """The call that ``call_tool`` was asked to make, or a refusal for the model to read.

    ``arguments`` may be an object, its JSON text, blank or absent; the name must be that of a
    catalogued tool, whole (agent core §7).

    Args:
        own: names of the host's own tools, which are in no catalogue.
    """
    name = args.get("name")
    if not isinstance(name, str) or not name.strip():
        return ToolFailure(
            code="invalid-arguments",
            message=f'{CALL_TOOL} needs the name of a tool: {{"name": "...", "arguments": {{}}}}.',
        )
    name = name.strip()
    if name not in own and not in_catalogue(catalogue, name):
        hint = advice(name, catalogue)
        return ToolFailure(
            code="unknown-tool",
            message=f"There is no tool named {one_line(name)[:100]}. Use a name exactly as it is "
            "listed." + (f" {hint}" if hint else ""),
        )
    try:
        return ProxiedCall(name=name, args=dict(parse_tool_arguments(args.get("arguments"))))
    except ToolArgumentsError as error:
        return ToolFailure(code="invalid-arguments", message=str(error))


def shown_call(name: str, args: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The name and arguments to show for a call: those inside it, if it is a ``call_tool`` call.

    A ``call_tool`` call without a name, or with arguments that cannot be read, is shown as it is.
    """
    inner = args.get("name")
    if name != CALL_TOOL or not isinstance(inner, str) or not inner.strip():
        return name, args
    try:
        return inner.strip(), parse_tool_arguments(args.get("arguments"))
    except ToolArgumentsError:
        return name, args


def proxy_load_result(
    resolution: NameResolution,
    catalogue: Sequence[CatalogueServer],
    definitions: Sequence[ToolDefinition],
    *,
    loaded: Collection[str] = (),
) -> str:
    """What the model reads after ``load_tools`` in a proxied run: the definitions themselves.

    Args:
        definitions: those of the matched tools; more do no harm, missing ones are named.
        loaded: names whose definitions stand in an earlier answer of this run.
    """
    fresh, again = split_loaded(resolution, loaded)
    known = {definition["function"]["name"]: definition for definition in reversed(definitions)}
    lines = [_definition_line(known[name]) for name in fresh if name in known]
    missing = [one_line(name) for name in fresh if name not in known]
    blocks = ["\n".join((_DEFINITIONS_LEAD, *lines))] if lines else []
    if again:
        blocks.append(
            f"Their definitions are in an earlier answer, call directly with {CALL_TOOL}: "
            + ", ".join(map(one_line, again))
        )
    if missing:
        blocks.append(f"No definition is at hand, not callable now: {', '.join(missing)}")
    blocks.extend(refusals(resolution, catalogue))
    return "\n\n".join(blocks) or NOTHING_ASKED


def holds_definitions(text: str) -> bool:
    """Whether a tool result opens as a proxied load does: pruning it would unload its tools."""
    return text.startswith(_DEFINITIONS_LEAD)


def defined_names(text: str) -> list[str]:
    """The tools whose definitions a tool result holds; [] for a result that is none of a load."""
    if not holds_definitions(text):
        return []
    block, _, _ = text.partition("\n\n")
    names: list[str] = []
    for line in block.split("\n")[1:]:
        with suppress(ValueError):
            read = parse_json_strict(line)
            if isinstance(read, dict) and isinstance(read.get("name"), str):
                names.append(read["name"])
    return names


def _definition_line(definition: ToolDefinition) -> str:
    function = definition["function"]
    return compact_json(
        {
            "name": function["name"],
            "description": function.get("description", ""),
            "parameters": function.get("parameters", {"type": "object"}),
        }
    )
