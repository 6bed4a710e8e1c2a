"""A server's listing: its tools as the host keeps them. Sources: pool spec §7, §9 and §12."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from host.pool.mending import mend_tool
from host.pool.naming import qualified_name
from host.pool.task_states import needs_task
from host.pool.tool_redaction import NamesSecret, redacted_value
from host.pool.wire_tool import wire_tool
from host.records import ToolDefinition
from host.text.json_text import compact_json
from host.text.redaction import Redactor
from host.text.tokens import estimate_tokens
from host.text.truncation import truncate_text

NEEDS_TASK = "it can only be called as a task, and its server does not offer tasks"
FOR_APPS_ONLY = "its server offers it to the user interface only"

_MAX_NAME_IN_NOTICE = 80
_INVISIBLE = re.compile("[\u200b\u2060\ufeff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """One tool of a listing.

    Attributes:
        name: the server's own name.
        qualified: what the model calls it.
        description: the server's text, trimmed and dedented, without the label; "" for none.
        input_schema: as sent (mended only where it was no object schema).
        definition: what a request declares; shared by everybody, so nobody may change it.
        tokens: estimate of what the definition costs.
        withheld: why the model is not offered it; None for an ordinary tool.
        sent: the tool on the wire, mended, for digests and for keeping.
    """

    name: str
    qualified: str
    title: str | None
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: Mapping[str, Any] | None
    meta: Mapping[str, Any] | None
    definition: ToolDefinition
    tokens: int
    withheld: str | None
    sent: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A server's tools in its own order, and one line for each that is not as it was sent."""

    tools: tuple[ListedTool, ...] = ()
    notices: tuple[str, ...] = ()


def read_listing(
    tools: Iterable[object],
    *,
    slug: str,
    label: str,
    max_description_chars: int | None = None,
    has_tasks: bool = False,
    redactor: Redactor | None = None,
) -> Listing:
    """The listing of a server, all pages together.

    A tool that cannot be used is left out and told; of two with one name the first counts. Also
    the way to rename a listing: read ``(tool.sent for tool in listing.tools)`` again.

    Args:
        tools: wire objects, tools of the MCP SDK, or ``ListedTool``s.
        slug, label: the row's effective ones.
        max_description_chars: the most a definition's description may have; None for no limit.
        has_tasks: the server carries out calls as tasks; without, tools that need it are withheld.
        redactor: takes out secrets that the server repeats; a tool that is named by one is left
            out. None leaves everything.
    """
    kept: dict[str, ListedTool] = {}
    notices: list[str] = []
    for position, tool in enumerate(tools, start=1):
        mended = mend_tool(wire_tool(tool))
        if mended.tool is None:
            notices += (f"tool {position}: {fault}" for fault in mended.faults)
            continue
        name = mended.tool["name"]
        shown = f'tool "{name[:_MAX_NAME_IN_NOTICE]}"'
        notices += (f"{shown}: {fault}" for fault in mended.faults)
        if name in kept:
            notices.append(f"{shown}: it is listed twice; the first counts")
            continue
        try:
            sent = redacted_value(mended.tool, redactor) if redactor else mended.tool
        except NamesSecret as fault:
            notices.append(f"tool {position}: {fault}; it was left out")
            continue
        withheld = _reason_withheld(sent, has_tasks=has_tasks)
        listed = _listed(sent, slug, label, max_description_chars, withheld)
        if listed is None:
            notices.append(f"{shown}: its schema is not JSON; it was left out")
        else:
            kept[name] = listed
    return Listing(tools=tuple(kept.values()), notices=tuple(notices))


def tool_definition(
    name: str,
    *,
    label: str,
    description: str,
    input_schema: dict[str, Any] | None,
    max_description_chars: int | None = None,
) -> ToolDefinition:
    """What a request declares of one tool (pool spec §7).

    The description is ``[label] text``, cut as results are, the label included in the count. The
    schema stands in it untouched; None stands for any object.

    Args:
        name: qualified.
    """
    text = truncate_text(f"[{label}] {description}".strip(), max_description_chars)
    parameters = {"type": "object"} if input_schema is None else input_schema
    return {
        "type": "function",
        "function": {"name": name, "description": text, "parameters": parameters},
    }


def readable_description(text: str) -> str:
    """The text without the indentation of its source code, outer blanks and invisible spaces."""
    first, line_break, rest = _INVISIBLE.sub("", text).replace("\r\n", "\n").partition("\n")
    return (first.strip() + line_break + textwrap.dedent(rest)).strip()


def _listed(
    tool: dict[str, Any],
    slug: str,
    label: str,
    max_description_chars: int | None,
    withheld: str | None,
) -> ListedTool | None:
    qualified = qualified_name(slug, tool["name"])
    description = readable_description(tool.get("description") or "")
    definition = tool_definition(
        qualified,
        label=label,
        description=description,
        input_schema=tool["inputSchema"],
        max_description_chars=max_description_chars,
    )
    try:
        tokens = estimate_tokens(compact_json(definition))
    except (ValueError, TypeError):
        return None
    annotations = tool.get("annotations")
    return ListedTool(
        name=tool["name"],
        qualified=qualified,
        title=tool.get("title") or (annotations or {}).get("title") or None,
        description=description,
        input_schema=tool["inputSchema"],
        output_schema=tool.get("outputSchema"),
        annotations=annotations,
        meta=tool.get("_meta"),
        definition=definition,
        tokens=tokens,
        withheld=withheld,
        sent=tool,
    )


def _reason_withheld(tool: Mapping[str, Any], *, has_tasks: bool) -> str | None:
    if not has_tasks and needs_task(tool):
        return NEEDS_TASK
    interface = (tool.get("_meta") or {}).get("ui")
    visibility = interface.get("visibility") if isinstance(interface, Mapping) else None
    if isinstance(visibility, list) and visibility and "model" not in visibility:
        return FOR_APPS_ONLY
    return None
