"""A tool as it stands on the wire, whatever it came as. The MCP SDK is not imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SDK_FIELDS = {
    "name": "name",
    "title": "title",
    "description": "description",
    "input_schema": "inputSchema",
    "output_schema": "outputSchema",
    "annotations": "annotations",
    "execution": "execution",
    "meta": "_meta",
}


def wire_tool(tool: object) -> Mapping[str, Any] | None:
    """The tool as a JSON object in the protocol's camelCase; None for what is no tool.

    Args:
        tool: a wire object (returned as it is), a tool of the MCP SDK, or a ``ListedTool``.
            Schemas are shared, not copied; what the SDK left None is absent.
    """
    if isinstance(tool, Mapping):
        return tool
    sent = getattr(tool, "sent", None)
    if isinstance(sent, Mapping):
        return sent
    if not isinstance(getattr(tool, "name", None), str):
        return None
    fields = {wire: _plain(getattr(tool, name, None)) for name, wire in _SDK_FIELDS.items()}
    return {wire: value for wire, value in fields.items() if value is not None}


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(by_alias=True, exclude_none=True) if callable(dump) else value
