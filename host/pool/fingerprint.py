"""Digests: of a server's tools, to see that they changed, and of how a row connects.

Source: pool spec §12.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from host.pool.wire_tool import wire_tool
from host.text.json_text import canonical_json

if TYPE_CHECKING:
    from host.pool.rows import ServerRow


def tools_fingerprint(tools: Iterable[object]) -> str:
    """SHA-256 (hex) of what the tools are to a caller: name, description, input schema, hints.

    Their order does not count, nor do titles, output schemas and ``_meta``. Tools are the SDK's,
    wire objects or listed ones; what is no tool at all is left out.

    Raises:
        ValueError: a tool holds something that JSON cannot write (NaN).
    """
    facts = [_facts(wire) for tool in tools if (wire := wire_tool(tool)) is not None]
    return _digest(sorted(facts, key=lambda each: str(each[0])))


def connection_digest(row: ServerRow) -> str:
    """SHA-256 (hex) of what decides which server a row reaches; ``enabled`` does not count."""
    if row.transport == "stdio":
        return _digest([row.transport, row.command, row.cwd or "", row.args or (), row.env or {}])
    return _digest([row.transport, row.url, row.headers or {}])


def _facts(tool: Mapping[str, Any]) -> list[object]:
    return [
        tool.get("name"),
        tool.get("description") or "",
        tool.get("inputSchema") or {"type": "object"},
        tool.get("annotations"),
    ]


def _digest(value: object) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
