"""A tool's result as text for a model. Source: pool spec §10 "Rendering", design §8 "Rendering".

Results of the MCP SDK and results as they stand on the wire are read alike; the SDK is not
imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from host.text.json_text import compact_json, parse_json_strict
from host.text.sizes import size_text


def result_text(result: object) -> str:
    """The result's blocks, one under the other, trimmed; "" when there is nothing to say.

    Images, audio and other binary parts become a line that names type and size. The structured
    content stands in where the blocks come to nothing, and where the text is the same JSON
    written longer; otherwise the text wins. A structure that JSON cannot write (NaN) is as if
    absent.

    Args:
        result: a ``CallToolResult`` or its wire object.
    """
    content = read_field(result, "content")
    blocks = content if isinstance(content, list | tuple) else ()
    text = "\n".join(map(block_text, blocks)).strip()
    structure = read_field(result, "structured_content", "structuredContent")
    if structure is None:
        return text
    try:
        compact = compact_json(structure)
    except (ValueError, TypeError):
        return text
    return compact if not text or _mirrors(text, compact) else text


def read_field(holder: object, name: str, wire_name: str | None = None) -> Any:
    """A field of an SDK object, or of a wire object under its name there; None if absent."""
    if isinstance(holder, Mapping):
        return holder.get(wire_name or name)
    return getattr(holder, name, None)


def read_text_field(holder: object, name: str, wire_name: str | None = None) -> str | None:
    """The same where it is text; None otherwise."""
    value = read_field(holder, name, wire_name)
    return value if isinstance(value, str) else None


def _mirrors(text: str, compact: str) -> bool:
    """Whether the text is the compact JSON, key order included, written with more characters."""
    if len(compact) >= len(text):
        return False
    try:
        return compact_json(parse_json_strict(text)) == compact
    except ValueError:
        return False


def block_text(block: object) -> str:
    """One content block as ``result_text`` shows it, not trimmed."""
    kind = read_text_field(block, "type") or "unknown"
    if kind == "text":
        return read_text_field(block, "text") or ""
    if kind == "resource":
        return _resource_text(read_field(block, "resource"))
    if kind == "resource_link":
        return _link_text(block)
    media_type = read_text_field(block, "mime_type", "mimeType") or ""
    binary = read_text_field(block, "data")
    if binary is None and not (media_type and kind in ("image", "audio")):
        return f"[{kind} content]"
    return _omitted(kind, media_type, binary)


def _resource_text(resource: object) -> str:
    text = read_text_field(resource, "text")
    if text is not None:
        return text
    name = " ".join(filter(None, ("resource", read_text_field(resource, "uri"))))
    binary = read_text_field(resource, "blob")
    if binary is None:
        return f"[{name} content]"
    return _omitted(name, read_text_field(resource, "mime_type", "mimeType") or "", binary)


def _link_text(link: object) -> str:
    uri = read_text_field(link, "uri")
    if not uri:
        return "[resource_link content]"
    about = ": ".join(
        filter(None, (read_text_field(link, "name"), read_text_field(link, "description")))
    )
    return f"[resource_link {uri}" + (f" — {about}]" if about else "]")


def _omitted(name: str, media_type: str, binary: str | None) -> str:
    size = "" if binary is None else f"{size_text(_decoded_bytes(binary))} omitted"
    return f"[{name} {', '.join(filter(None, (media_type, size)))}]"


def _decoded_bytes(base64: str) -> int:
    """How many bytes the base64 text stands for, without decoding it."""
    chars = len(base64) - sum(map(base64.count, " \t\r\n"))
    padding = len(base64.rstrip()) - len(base64.rstrip().rstrip("="))
    return max(0, chars * 3 // 4 - padding)
