"""Events for whoever watches: of a run, and of the pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal

RunEventKind = Literal[
    "step",
    "decision",
    "turn",
    "thinking",
    "output",
    "tool-call",
    "tool-result",
    "notice",
    "usage",
    "done",
]

PoolEventKind = Literal[
    "connect",
    "connect-failed",
    "close",
    "tools-changed",
    "call",
    "progress",
    "elicitation",
    "sampling",
    "log",
]

CloseReason = Literal[
    "idle", "stop", "reconnect", "removed", "changed", "redial", "shutdown", "crash", "needs-auth"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """One thing that happened in a run.

    Attributes:
        seq: counts from 1 within the run, unique.
        at: aware time.
        text: the delta, preview, notice or answer.
        name: the tool, for ``tool-call`` and ``tool-result``.
        step: the step's number as text; "" outside steps.
        ok: for ``tool-result`` and ``done``.
        usage: running totals for ``usage`` (promptTokens, completionTokens, totalTokens, …).
        id: the call's id, where there is one.
    """

    run_id: str
    seq: int
    at: datetime
    kind: RunEventKind
    text: str = ""
    name: str = ""
    step: str = ""
    ok: bool | None = None
    usage: Mapping[str, Any] | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEvent:
    """One thing that happened in the pool; fields that do not belong to its kind are None.

    Attributes:
        reason: why a connection closed.
        tools: how many tools were listed (``connect``, ``tools-changed``).
        before, after: fingerprints; added, removed: the server's own tool names.
        tool_name: the qualified name called.
        code: the pool error code of a failed call.
        chars: length of a result before any cut.
        progress, total: how far a call is and where it ends (``progress``); in the server's own
            units, ``total`` None when it does not know.
        mode, action: of an ``elicitation`` that was answered: ``form`` or ``url``; ``accept``,
            ``decline`` or ``cancel``. What a person answered is in no event.
        prompt_tokens, completion_tokens: what a ``sampling`` request of a server took.
        text: a log line, or what a call's ``progress`` is at; cleaned for terminals.
        source: who wrote a ``log`` line: the ``server`` itself, or the ``pool`` about it.
        logger: what the server calls the part of it that wrote the line.
    """

    kind: PoolEventKind
    server_id: str | None
    at: datetime
    seconds: float | None = None
    tools: int | None = None
    error: str | None = None
    reason: CloseReason | None = None
    before: str | None = None
    after: str | None = None
    added: tuple[str, ...] | None = None
    removed: tuple[str, ...] | None = None
    tool_name: str | None = None
    hidden: bool | None = None
    raw: bool | None = None
    ok: bool | None = None
    code: str | None = None
    chars: int | None = None
    truncated: bool | None = None
    cached: bool | None = None
    progress: float | None = None
    total: float | None = None
    mode: str | None = None
    action: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    level: str | None = None
    text: str | None = None
    source: Literal["server", "pool"] | None = None
    logger: str | None = None


def event_json(event: RunEvent | PoolEvent) -> dict[str, Any]:
    """The event as a JSON object: camelCase keys, ``at`` in ISO, absent fields left out."""
    shown: dict[str, Any] = {"event": "run" if isinstance(event, RunEvent) else "pool"}
    for name in (field.name for field in fields(event)):
        value = getattr(event, name)
        if value is not None and value != "":
            shown[camel_key(name)] = value.isoformat() if isinstance(value, datetime) else value
    return shown


def camel_key(name: str) -> str:
    """A field's name as JSON payloads write it: ``prompt_tokens`` -> ``promptTokens``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
