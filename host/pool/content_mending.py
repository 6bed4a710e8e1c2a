"""Lists of resources and prompts, and what they hold, as the SDK accepts them.

As with tools, the SDK refuses a whole page for one odd entry. An entry without what it is found by
goes, an odd part that only describes goes from its entry, and each page that lost something is
told of in one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from host.pool.mending import mend_page_fields
from host.pool.result_mending import (
    mend_result,
    mended_block,
    mended_resource,
    without_odd_parts,
)

_Entry = dict[str, Any]
_Mend = Callable[[Mapping[str, Any]], _Entry | None]
"""An entry as the SDK accepts it; None for one that cannot be used."""


def mend_answer(
    method: str, version: str | None, result: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The result as the SDK accepts it, and one line per repair; the input is not changed.

    Args:
        method: of the request it answers; those of this module, or of ``mend_result``.
        version: the protocol version the request carried (2026-07-28 and later); None before.
    """
    mended, notices = dict(result), list[str]()
    if not isinstance(mended.get("_meta"), Mapping | None):
        del mended["_meta"]
    if method in _LISTS:
        key, what, mend = _LISTS[method]
        mended[key] = _kept(mended.get(key), what, mend, notices)
        notices += mend_page_fields(mended, version)
    elif mended.get("resultType", "complete") != "complete":
        pass  # it asks for something; the contents come later
    elif method == "resources/read":
        sent = mended.get("contents")
        listed = [sent] if isinstance(sent, Mapping) else sent
        mended["contents"] = _kept(listed, "part of a resource", _content, notices)
    elif method == "prompts/get":
        mended["messages"] = list(_messages(mended.get("messages")))
        if not isinstance(mended.get("description"), str | None):
            del mended["description"]
    mended, others = mend_result(method, version, mended)
    return mended, (*notices, *others)


def _kept(sent: object, what: str, mend: _Mend, notices: list[str]) -> list[_Entry]:
    if not isinstance(sent, list):
        notices.append(f"sent no list where each {what} belongs; it counts as empty")
        return []
    mended = [mend(entry) if isinstance(entry, Mapping) else None for entry in sent]
    lost = [position for position, entry in enumerate(mended, start=1) if entry is None]
    if lost:
        which = f"{what} {lost[0]}" + (f" and {len(lost) - 1} more" if len(lost) > 1 else "")
        notices.append(f"{which} of {len(sent)} is malformed and was left out")
    return [entry for entry in mended if entry is not None]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _named(entry: Mapping[str, Any], found_by: str) -> _Entry | None:
    """The entry with a name; None without the text it is found by."""
    if not _is_text(entry.get(found_by)) or not entry[found_by]:
        return None
    mended = without_odd_parts(entry)
    if not _is_text(mended.get("name")):
        mended["name"] = entry[found_by]
    return mended


def _resource(entry: Mapping[str, Any]) -> _Entry | None:
    return _named(entry, "uri")


def _template(entry: Mapping[str, Any]) -> _Entry | None:
    return _named(entry, "uriTemplate")


def _prompt(entry: Mapping[str, Any]) -> _Entry | None:
    mended = _named(entry, "name")
    if mended is not None and mended.get("arguments") is not None:
        sent = mended["arguments"]
        arguments = map(_argument, sent if isinstance(sent, list) else ())
        mended["arguments"] = [argument for argument in arguments if argument is not None]
    return mended


def _argument(entry: object) -> _Entry | None:
    mended = _named(entry, "name") if isinstance(entry, Mapping) else None
    if mended is not None and not isinstance(mended.get("required"), bool | None):
        del mended["required"]
    return mended


def _content(entry: Mapping[str, Any]) -> _Entry | None:
    mended = mended_resource(entry)
    return mended if "text" in mended or "blob" in mended else None


def _messages(sent: object) -> Iterable[_Entry]:
    """One message for each block; a role that MCP does not have is the user's."""
    for entry in sent if isinstance(sent, list) else [sent]:
        if _is_text(entry):
            entry = {"content": entry}
        if not isinstance(entry, Mapping):
            continue
        role = "assistant" if entry.get("role") == "assistant" else "user"
        content = entry.get("content")
        for block in content if isinstance(content, list) else [content]:
            whole = {"type": "text", "text": block} if _is_text(block) else block
            yield {"role": role, "content": mended_block(whole)}


_LISTS: dict[str, tuple[str, str, _Mend]] = {
    "resources/list": ("resources", "resource", _resource),
    "resources/templates/list": ("resourceTemplates", "resource template", _template),
    "prompts/list": ("prompts", "prompt", _prompt),
}
"""For each method the key of its list, what an entry is called, and how one is mended."""
