"""Mending a ``tools/list`` answer: one bad tool must not cost the whole list.

The SDK refuses a page for a single misshapen tool (sdk.md §2.14). What can be mended without
changing what the tool does is mended, the rest of that tool goes, and each repair is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_TASK_SUPPORT = ("forbidden", "optional", "required")
_MAX_NAME_IN_NOTICE = 80
_MAX_DEPTH = 200
"""Of one part of a tool; the SDK cannot write out again what is nested beyond 250."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MendedPage:
    """A page that the SDK accepts, and one line per repair."""

    result: dict[str, Any]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MendedTool:
    """A tool that the SDK accepts (None when it cannot be one), and what had to be done.

    ``faults`` are parts of sentences about the tool: ``"its title is not text and was dropped"``.
    """

    tool: dict[str, Any] | None
    faults: tuple[str, ...]


def mend_tools(result: object, version: str | None = None) -> MendedPage:
    """One page of ``tools/list`` as the SDK accepts it; the input is not changed.

    Args:
        result: the answer's ``result``, whatever the server sent.
        version: the protocol version of a server that puts it into each request (2026-07-28 and
            later: caching fields are required, output schemas are free); None for the others.
    """
    page = dict(result) if isinstance(result, Mapping) else {}
    notices: list[str] = []
    sent = page.get("tools")
    if not isinstance(sent, list):
        notices.append("its tool list is no list; it counts as empty")
        sent = []
    tools = []
    for position, tool in enumerate(sent, start=1):
        shallow, deep = _shallow(tool)
        mended = mend_tool(shallow, free_output=version is not None)
        if mended.tool is not None:
            tools.append(mended.tool)
        notices += (f"{_shown(tool, position)}: {fault}" for fault in (*deep, *mended.faults))
    page["tools"] = tools
    notices += mend_page_fields(page, version)
    return MendedPage(result=page, notices=tuple(notices))


def mend_page_fields(page: dict[str, Any], version: str | None) -> list[str]:
    """Mend, in place, what every page of any list has beside its entries; a line per loss."""
    notices: list[str] = []
    _mend_cursor(page, notices)
    if "_meta" in page and not isinstance(page["_meta"], Mapping):
        del page["_meta"]
    if not isinstance(page.get("resultType", ""), str):
        del page["resultType"]
    _mend_caching(page, version)
    return notices


def mend_tool(tool: object, *, free_output: bool = True) -> MendedTool:
    """One tool as the SDK accepts it; the input is not changed.

    A missing or odd input schema becomes one that takes any object: what the arguments may be is
    then the server's to say. An odd part that only describes is dropped.

    Args:
        free_output: whether an output schema may describe something else than an object.
    """
    if not isinstance(tool, Mapping):
        return MendedTool(tool=None, faults=("it is no object and was left out",))
    if not isinstance(tool.get("name"), str) or not tool["name"]:
        return MendedTool(tool=None, faults=("it has no name and was left out",))
    mended = dict(tool)
    schema, faults = _mended_input(tool.get("inputSchema"))
    mended["inputSchema"] = schema
    for part in ("title", "description"):
        if not isinstance(mended.get(part), str | None):
            del mended[part]
            faults.append(f"its {part} is not text and was dropped")
    for part, fits in _PARTS:
        if mended.get(part) is not None and not fits(mended[part]):
            del mended[part]
            faults.append(f"its {part} is malformed and was dropped")
    output = mended.get("outputSchema")
    if output is not None and not _is_output_schema(output, free=free_output):
        del mended["outputSchema"]
        faults.append("its outputSchema is malformed and was dropped")
    if isinstance(mended.get("annotations"), Mapping):
        mended["annotations"] = _mended_annotations(mended["annotations"], faults)
    return MendedTool(tool=mended, faults=tuple(faults))


def _shown(tool: object, position: int) -> str:
    name = tool.get("name") if isinstance(tool, Mapping) else None
    is_named = isinstance(name, str) and name
    return f'tool "{str(name)[:_MAX_NAME_IN_NOTICE]}"' if is_named else f"tool {position}"


def _shallow(tool: object) -> tuple[object, list[str]]:
    """The tool without what is nested too deep; only for what was JSON, where nothing circles."""
    if not isinstance(tool, Mapping):
        return tool, []
    deep = [part for part, value in tool.items() if _is_too_deep(value)]
    kept = {part: value for part, value in tool.items() if part not in deep}
    return kept, [f"its {part} is nested too deep and was dropped" for part in deep]


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            inner
            for node in level
            if isinstance(node, dict | list)
            for inner in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True


def _mended_input(schema: object) -> tuple[dict[str, Any], list[str]]:
    if schema is None:
        return {"type": "object"}, []
    if not isinstance(schema, Mapping):
        return {"type": "object"}, ["its inputSchema is no schema; any object is accepted"]
    mended, faults = dict(schema), []
    if mended.get("type") != "object":
        if schema:
            faults.append("its inputSchema is not of type object; it is read as if it were")
        mended["type"] = "object"
    for keyword, odd in _odd_keywords(schema):
        if odd is None:
            del mended[keyword]
        else:
            mended[keyword] = odd
        faults.append(f"{keyword} of its inputSchema is malformed; the odd part is ignored")
    return mended, faults


def _odd_keywords(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Keywords that the SDK would refuse, each with what can be kept of it, or None."""
    if not isinstance(schema.get("$schema"), str | None):
        yield "$schema", None
    properties = schema.get("properties")
    if properties is not None and not isinstance(properties, Mapping):
        yield "properties", None
    elif properties and not all(isinstance(each, dict | bool) for each in properties.values()):
        yield (
            "properties",
            {
                name: each if isinstance(each, dict | bool) else {}
                for name, each in properties.items()
            },
        )
    required = schema.get("required")
    if isinstance(required, list):
        if not all(isinstance(name, str) for name in required):
            yield "required", [name for name in required if isinstance(name, str)]
    elif required is not None:
        yield "required", None


def _is_output_schema(schema: object, *, free: bool) -> bool:
    if not isinstance(schema, Mapping) or not isinstance(schema.get("$schema"), str | None):
        return False
    return free or (schema.get("type") == "object" and not any(_odd_keywords(schema)))


def _is_execution(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("taskSupport") in (None, *_TASK_SUPPORT)


def _is_icons(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(icon, Mapping)
        and isinstance(icon.get("src"), str)
        and isinstance(icon.get("mimeType"), str | None)
        and icon.get("theme") in (None, "dark", "light")
        and _is_sizes(icon.get("sizes"))
        for icon in value
    )


def _is_sizes(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(x, str) for x in value))


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


_PARTS = (
    ("annotations", _is_object),
    ("execution", _is_execution),
    ("icons", _is_icons),
    ("_meta", _is_object),
)


def _mended_annotations(annotations: Mapping[str, Any], faults: list[str]) -> dict[str, Any]:
    mended = dict(annotations)
    for hint in _HINTS:
        if not isinstance(mended.get(hint), bool | None):
            del mended[hint]
            faults.append(f"{hint} is neither true nor false and was dropped")
    if not isinstance(mended.get("title"), str | None):
        del mended["title"]
    return mended


def _mend_cursor(page: dict[str, Any], notices: list[str]) -> None:
    cursor = page.get("nextCursor")
    if isinstance(cursor, int | float) and not isinstance(cursor, bool):
        page["nextCursor"] = str(cursor)
    elif not isinstance(cursor, str | None):
        del page["nextCursor"]
        notices.append("its cursor is not text; the list may go on where it ends here")


def _mend_caching(page: dict[str, Any], version: str | None) -> None:
    lifetime = page.get("ttlMs")
    if isinstance(lifetime, bool) or not isinstance(lifetime, int) or lifetime < 0:
        page.pop("ttlMs", None)
    if page.get("cacheScope") not in ("private", "public"):
        page.pop("cacheScope", None)
    if version is not None:
        page.setdefault("resultType", "complete")
        page.setdefault("ttlMs", 0)
        page.setdefault("cacheScope", "private")
