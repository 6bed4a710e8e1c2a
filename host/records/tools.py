"""Tools: their definitions, their catalogue entries, and one call from asking to answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict


class FunctionDefinition(TypedDict):
    """What a model is told of one function; ``parameters`` is a JSON Schema."""

    name: str
    description: NotRequired[str]
    parameters: NotRequired[dict[str, Any]]
    strict: NotRequired[bool | None]


class ToolDefinition(TypedDict):
    """One entry of a request's ``tools``, in the OpenAI shape."""

    type: Literal["function"]
    function: FunctionDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueTool:
    """One tool of the catalogue.

    Attributes:
        name: qualified (``<slug>__<tool>``, at most 64 characters).
        description: the server's text, without the label.
        annotations: MCP hints as the server sent them (``readOnlyHint``, …); claims, not facts.
        tokens: estimate of what its whole definition costs in a request.
    """

    name: str
    description: str
    title: str | None = None
    annotations: Mapping[str, Any] | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueServer:
    """One server's offered tools; ``stale`` when they are its last known ones."""

    id: str
    label: str
    tools: tuple[CatalogueTool, ...]
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRequest:
    """A call to dispatch.

    Attributes:
        id: the id its tool message will carry.
        args: the arguments, read and repaired.
        raw: the arguments as the model wrote them.
    """

    id: str
    name: str
    args: dict[str, Any] = field(default_factory=dict)
    raw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSuccess:
    """A call that was answered; ``result`` is text for the model, or any JSON value."""

    result: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFailure:
    """A call that failed, in words the model can act on; ``status`` is an HTTP status, if any."""

    code: str
    message: str
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallOutcome:
    """What became of one call of a run.

    Attributes:
        name: the tool that ran (inside a proxied call: the inner one).
        ok: False for a failed, refused, unreadable or interrupted call.
        id: the call's id in the transcript.
        seconds: how long the dispatch took; 0 for a call answered without one.
    """

    name: str
    ok: bool
    id: str
    seconds: float = 0.0
