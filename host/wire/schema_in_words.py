"""A JSON Schema for an answer: as ``response_format``, and in words for who knows none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from host.records import Message, SystemMessage
from host.text.json_text import compact_json
from host.wire.capabilities import Capabilities
from host.wire.schema_compat import relax_schema, sanitize_schema


def response_format(
    schema: object, capabilities: Capabilities, *, name: str = "answer", strict: bool = True
) -> dict[str, Any]:
    """The ``response_format`` of a body; relaxed where the endpoint builds no strict grammar."""
    shape = sanitize_schema(schema)
    if not capabilities.strict_schemas:
        shape = relax_schema(shape)
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "strict": strict, "schema": shape},
    }


def schema_prompt(schema: object) -> str:
    """An instruction to answer with nothing but JSON that fits the schema."""
    shape = compact_json(sanitize_schema(schema))
    return f"Reply with one JSON value that fits this JSON Schema, and with nothing else:\n{shape}"


def with_schema_prompt(messages: Sequence[Message], schema: object) -> list[Message]:
    """A copy of the messages whose system prompt ends in the instruction; one is made if absent."""
    prompt = schema_prompt(schema)
    first: Mapping[str, Any] | None = messages[0] if messages else None
    if first is None or first["role"] not in ("system", "developer"):
        return [SystemMessage(role="system", content=prompt), *messages]
    content = first.get("content") or ""
    if isinstance(content, str):
        longer: str | list[dict[str, Any]] = f"{content}\n\n{prompt}" if content else prompt
    else:
        longer = [*content, {"type": "text", "text": prompt}]
    head: Any = {**first, "content": longer}
    return [head, *messages[1:]]
