"""Tool schemas as servers can take them: sanitised on every request, relaxed after a refusal.

llama.cpp compiles the schemas of all tools of a request into one grammar, so that one hostile
schema fails the whole request, and the message does not say which (agent-core §6). What is sent is
changed here; arguments are still checked against the schema as the server gave it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any

from host.records import ToolDefinition
from host.text.identity_memo import IdentityMemo
from host.wire.schema_folding import fold_root
from host.wire.schema_normalising import empty_object
from host.wire.schema_positions import Schema, thawed
from host.wire.schema_relaxing import relax

MAX_REMEMBERED_TOOLS = 4096
MAX_REMEMBERED_LISTS = 64

_GRAMMAR_MARKS = ("grammar", "unrecognized schema", "json schema conversion failed")


def sanitize_tools(tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
    """The tools with parameters that grammar builders read, as a new list.

    Entries are the same objects on every call for the same tool object: results are remembered by
    identity, so a definition must not be changed in place. What is no function passes as it is.
    """
    return _sanitized(tools)


def relax_tools(tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
    """Sanitised tools without ``pattern``, ``format`` and what else no grammar holds.

    A new list; remembered as `sanitize_tools` does, apart from it.
    """
    return _relaxed(tools)


def sanitize_schema(schema: object) -> Schema:
    """One schema as the root of a tool's parameters should be; never the given object.

    Anything but a JSON object is an object schema without properties, and so is a schema nested
    deeper than Python can follow.
    """
    try:
        return fold_root(schema)
    except RecursionError:
        return empty_object()


def relax_schema(schema: object) -> Schema:
    """One sanitised schema without what no grammar holds; never the given object."""
    if not isinstance(schema, Mapping):
        return empty_object()
    try:
        return relax(thawed(schema))
    except RecursionError:
        return empty_object()


def is_grammar_error(text: str) -> bool:
    """Whether an endpoint's words say that it could not turn a schema into a grammar."""
    said = text.lower()
    if "no user query found" in said:  # a chat template complains of the messages
        return False
    if any(mark in said for mark in _GRAMMAR_MARKS):
        return True
    return "unable to generate parser" in said and "template" in said


class _RememberedLists:
    """Applies a memo to every tool of a list, and remembers recent lists as wholes.

    A run sends the same tools again and again; one look-up for all of them costs what a few
    look-ups of single tools would.
    """

    def __init__(self, of_tool: Callable[[ToolDefinition], ToolDefinition]) -> None:
        self._of_tool = of_tool
        # Found by length and ends, then told apart tool by tool: cheaper than a key of every id.
        # Each entry holds its tools, so that none of their ids can be given away.
        self._lists: OrderedDict[
            tuple[int, int, int], tuple[tuple[ToolDefinition, ...], list[ToolDefinition]]
        ] = OrderedDict()

    def __call__(self, tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
        if not tools:
            return []
        key = (len(tools), id(tools[0]), id(tools[-1]))
        known = self._lists.get(key)
        if known is None or not all(map(is_, known[0], tools)):
            known = tuple(tools), [self._of_tool(tool) for tool in tools]
            self._lists[key] = known
            if len(self._lists) > MAX_REMEMBERED_LISTS:
                self._lists.popitem(last=False)
        return known[1].copy()


def _with_parameters(change: Callable[[object], Schema]) -> Callable[[ToolDefinition], Any]:
    def changed(tool: Mapping[str, Any]) -> Any:
        function = tool.get("function")
        if not isinstance(function, Mapping) or tool.get("type") != "function":
            return tool
        return {**tool, "function": {**function, "parameters": change(function.get("parameters"))}}

    return changed


_sanitized = _RememberedLists(
    IdentityMemo(_with_parameters(sanitize_schema), max_entries=MAX_REMEMBERED_TOOLS)
)
_relaxed = _RememberedLists(
    IdentityMemo(_with_parameters(relax_schema), max_entries=MAX_REMEMBERED_TOOLS)
)
