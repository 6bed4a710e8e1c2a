"""What servers hand out beside tools: resources, prompts, and words about themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One entry of a server's list of resources, as the server wrote it.

    Attributes:
        uri: what it is read by.
        name: the server's own; the uri where the server gave none.
        size: in bytes, if the server says so; a claim.
    """

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTemplate:
    """A pattern of addresses that a server has resources for (RFC 6570)."""

    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceContent:
    """One part of a resource that was read.

    Attributes:
        uri: its own address; may be one below that of the resource.
        mime_type: what the server says it is; whether it is text or bytes does not follow it.
        text: None for one sent as bytes.
        blob: None for one sent as text, and for bytes that could not be decoded.
    """

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """What a prompt can be given; always a text."""

    name: str
    title: str | None = None
    description: str | None = None
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One entry of a server's list of prompts."""

    name: str
    title: str | None = None
    description: str | None = None
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessage:
    """One message of a prompt.

    Attributes:
        kind: of its content: ``text``, ``image``, ``audio``, ``resource``, ``resource_link``.
        text: the content as a model can read it; a line in brackets for what is no text.
        blob: the bytes of an image, a sound or a binary resource; None for others.
        uri: of a resource or a link to one; None for others.
    """

    role: Literal["user", "assistant"]
    text: str
    kind: str = "text"
    blob: bytes | None = None
    mime_type: str | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessages:
    """A prompt with its arguments filled in."""

    messages: tuple[PromptMessage, ...]
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInstructions:
    """What a server tells models about the use of its tools; ``text`` is as the server wrote it."""

    server_id: str
    label: str
    text: str
