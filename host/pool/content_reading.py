"""Resources and prompts of the MCP SDK as the host's own records.

Objects of the SDK and objects as they stand on the wire are read alike; the SDK is not imported.
"""

from __future__ import annotations

from base64 import b64decode
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any, Literal, TypeVar, cast

from host.pool.results import block_text, read_field, read_text_field
from host.records import (
    Prompt,
    PromptArgument,
    PromptMessage,
    PromptMessages,
    Resource,
    ResourceContent,
    ResourceTemplate,
)
from host.text.redaction import Redactor

T = TypeVar("T")

_TEXTS = ("text", "title", "description")
_URL_SAFE = str.maketrans("-_", "+/")


def resource_of(entry: object) -> Resource:
    """A listed resource."""
    size = read_field(entry, "size")
    return Resource(
        uri=read_text_field(entry, "uri") or "",
        name=read_text_field(entry, "name") or read_text_field(entry, "uri") or "",
        title=read_text_field(entry, "title"),
        description=read_text_field(entry, "description"),
        mime_type=read_text_field(entry, "mime_type", "mimeType"),
        size=size if isinstance(size, int) and not isinstance(size, bool) else None,
    )


def template_of(entry: object) -> ResourceTemplate:
    """A listed template of addresses."""
    address = read_text_field(entry, "uri_template", "uriTemplate") or ""
    return ResourceTemplate(
        uri_template=address,
        name=read_text_field(entry, "name") or address,
        title=read_text_field(entry, "title"),
        description=read_text_field(entry, "description"),
        mime_type=read_text_field(entry, "mime_type", "mimeType"),
    )


def prompt_of(entry: object) -> Prompt:
    """A listed prompt; of two arguments with one name the first counts."""
    arguments: dict[str, PromptArgument] = {}
    for sent in _listed(entry, "arguments"):
        name = read_text_field(sent, "name") or ""
        argument = PromptArgument(
            name=name,
            title=read_text_field(sent, "title"),
            description=read_text_field(sent, "description"),
            required=read_field(sent, "required") is True,
        )
        arguments.setdefault(name, argument)
    return Prompt(
        name=read_text_field(entry, "name") or "",
        title=read_text_field(entry, "title"),
        description=read_text_field(entry, "description"),
        arguments=tuple(arguments.values()),
    )


def contents_of(result: object) -> list[ResourceContent]:
    """The parts of a resource. What was sent as text is text, and a blob is bytes, of any type."""
    return [_content(part) for part in _listed(result, "contents")]


def prompt_messages_of(result: object) -> PromptMessages:
    """The messages of a prompt."""
    return PromptMessages(
        messages=tuple(map(_message, _listed(result, "messages"))),
        description=read_text_field(result, "description"),
    )


def without_secrets(record: T, redactor: Redactor) -> T:
    """A record, or a list of them, with secrets taken out of texts; addresses and names stay."""
    if not redactor:
        return record
    if isinstance(record, list):
        return cast(T, [without_secrets(each, redactor) for each in record])
    told: dict[str, Any] = {}
    for field in fields(cast(Any, record)):
        value = getattr(record, field.name)
        if isinstance(value, str) and field.name in _TEXTS:
            told[field.name] = redactor.redact(value)
        elif isinstance(value, tuple):
            told[field.name] = tuple(without_secrets(each, redactor) for each in value)
    return cast(T, replace(cast(Any, record), **told))


def _listed(holder: object, name: str) -> list[Any]:
    found = read_field(holder, name)
    return list(found) if isinstance(found, list | tuple) else []


def _content(part: object) -> ResourceContent:
    text = read_text_field(part, "text")
    return ResourceContent(
        uri=read_text_field(part, "uri") or "",
        mime_type=read_text_field(part, "mime_type", "mimeType"),
        text=text,
        blob=_bytes(read_text_field(part, "blob")) if text is None else None,
    )


def _message(sent: object) -> PromptMessage:
    block = read_field(sent, "content")
    kind = read_text_field(block, "type") or "unknown"
    holder = read_field(block, "resource") if kind == "resource" else block
    is_bytes = kind in ("image", "audio", "resource") and read_text_field(holder, "text") is None
    binary = read_text_field(holder, "blob" if kind == "resource" else "data")
    role: Literal["user", "assistant"] = "user"
    if read_text_field(sent, "role") == "assistant":
        role = "assistant"
    return PromptMessage(
        role=role,
        text=block_text(block),
        kind=kind,
        blob=_bytes(binary) if is_bytes else None,
        mime_type=read_text_field(holder, "mime_type", "mimeType"),
        uri=read_text_field(holder, "uri"),
    )


def _bytes(base64: str | None) -> bytes | None:
    """What the base64 stands for, in either alphabet, padded or not; None where it is none."""
    if base64 is None:
        return None
    with suppress(ValueError):
        return b64decode(base64, validate=True)
    plain = "".join(base64.split()).translate(_URL_SAFE).rstrip("=")
    with suppress(ValueError):
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    return None
