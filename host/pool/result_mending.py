"""Answers of servers as the SDK accepts them: one odd part must not cost the whole answer.

The SDK refuses a call's result for one block of a kind it does not know, and every result of the
2026 era that lacks its bookkeeping fields (sdk.md §2.14). What is lost here is told in a text
block, in the words ``result_text`` has for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from host.pool.mending import mend_tools

_CACHEABLE = frozenset(
    {
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    }
)
_PLAIN = {"type", "text"}
"""The parts of nearly every block there is: such a one is not looked at further."""

MENDED_METHODS = _CACHEABLE | {"tools/call", "prompts/get", "initialize"}
"""Requests whose answers are worth looking at in either era."""


def mend_result(
    method: str, version: str | None, result: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The result as the SDK accepts it, and one line per repair; the input is not changed.

    Args:
        method: of the request it answers.
        version: the protocol version the request carried (2026-07-28 and later); None before.
    """
    mended: dict[str, Any] = dict(result)
    notices: tuple[str, ...] = ()
    if method == "tools/list":
        page = mend_tools(result, version)
        mended, notices = page.result, page.notices
    elif method == "tools/call" and mended.get("resultType", "complete") == "complete":
        _mend_call(mended, free_structure=version is not None)
    elif method == "initialize":
        _mend_handshake(mended)
    if version is not None:
        mended.setdefault("resultType", "complete")
        if method in _CACHEABLE:
            mended.setdefault("ttlMs", 0)
            mended.setdefault("cacheScope", "private")
    return mended, notices


def _mend_call(result: dict[str, Any], *, free_structure: bool) -> None:
    content = result.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    result["content"] = [
        mended_block(block) for block in (content if isinstance(content, list) else [])
    ]
    if not isinstance(result.get("isError", False), bool):
        result["isError"] = result["isError"] in ("true", "True", 1)
    if not isinstance(result.get("_meta"), Mapping | None):
        del result["_meta"]
    structure = result.get("structuredContent")
    if not free_structure and not isinstance(structure, Mapping | None):
        del result["structuredContent"]


def mended_block(block: object) -> dict[str, Any]:
    """A content block as the SDK accepts it; one that cannot be told is named in a text block."""
    if type(block) is dict and block.keys() == _PLAIN and block["type"] == "text":
        text = block["text"]
        return block if isinstance(text, str) else _told("text")
    if not isinstance(block, Mapping):
        return _told("unknown")
    kind = block.get("type")
    needed = _NEEDED.get(kind) if isinstance(kind, str) else None
    if needed is None or not needed(block):
        return _told(kind if isinstance(kind, str) and kind else "unknown")
    mended = {**_DEFAULTS.get(str(kind), {}), **without_odd_parts(block)}
    if kind in _DEFAULTS:
        mended |= {part: mended.get(part) or "" for part in _DEFAULTS[str(kind)]}
    if kind == "resource":
        mended["resource"] = mended_resource(mended["resource"])
    return mended


def without_odd_parts(described: Mapping[str, Any]) -> dict[str, Any]:
    """A block or an entry of a list without those optional parts that the SDK would refuse."""
    return {
        part: value
        for part, value in described.items()
        if value is None or part not in _OPTIONAL or _OPTIONAL[part](value)
    }


def _told(kind: str) -> dict[str, Any]:
    return {"type": "text", "text": f"[{kind} content]"}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_resource(block: Mapping[str, Any]) -> bool:
    resource = block.get("resource")
    return isinstance(resource, Mapping) and (
        _is_text(resource.get("text")) or _is_text(resource.get("blob"))
    )


def mended_resource(resource: Mapping[str, Any]) -> dict[str, Any]:
    """The contents of a resource without the parts that the SDK would refuse."""
    mended = dict(resource)
    if not _is_text(mended.get("uri")):
        mended["uri"] = ""
    if not isinstance(mended.get("mimeType"), str | None):
        del mended["mimeType"]
    if not isinstance(mended.get("_meta"), Mapping | None):
        del mended["_meta"]
    for part in ("text", "blob"):
        if part in mended and not _is_text(mended[part]):
            del mended[part]
    return mended


def _is_annotations(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and _is_audience(value.get("audience"))
        and _is_priority(value.get("priority"))
        and isinstance(value.get("lastModified"), str | None)
    )


def _is_audience(value: object) -> bool:
    return value is None or (
        isinstance(value, list) and all(who in ("user", "assistant") for who in value)
    )


def _is_priority(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_Fits = Callable[[Any], bool]
_NEEDED: dict[str, _Fits] = {
    "text": lambda block: _is_text(block.get("text")),
    "image": lambda block: _is_text(block.get("data")),
    "audio": lambda block: _is_text(block.get("data")),
    "resource": _is_resource,
    "resource_link": lambda block: _is_text(block.get("uri")),
}
_DEFAULTS: dict[str, dict[str, str]] = {
    "image": {"mimeType": ""},
    "audio": {"mimeType": ""},
    "resource_link": {"name": ""},
}
_OPTIONAL: dict[str, _Fits] = {
    "annotations": _is_annotations,
    "_meta": _is_mapping,
    "mimeType": _is_text,
    "name": _is_text,
    "title": _is_text,
    "description": _is_text,
    "size": _is_size,
    "icons": lambda value: False,  # for user interfaces; nobody here would see them
}


def _mend_handshake(result: dict[str, Any]) -> None:
    sent = result.get("capabilities")
    result["capabilities"] = {
        name: value
        for name, value in (sent.items() if isinstance(sent, Mapping) else ())
        if isinstance(value, Mapping)
    }
    extra = result["capabilities"].get("experimental", {})
    if not all(isinstance(value, Mapping) for value in extra.values()):
        del result["capabilities"]["experimental"]
    who = result.get("serverInfo")
    known = dict(who) if isinstance(who, Mapping) else {}
    result["serverInfo"] = {
        part: known[part] if _is_text(known.get(part)) else ""
        for part in ("name", "version", *(["title"] if "title" in known else []))
    }
    if not isinstance(result.get("instructions"), str | None):
        del result["instructions"]
