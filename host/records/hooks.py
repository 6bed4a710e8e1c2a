"""Lifecycle hooks: when they run, what they are told, what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypedDict, get_args

HookEvent = Literal[
    "sessionStart", "beforeTurn", "afterTurn", "beforeCompact", "sessionEnd", "sessionDelete"
]
HOOK_EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)
"""Every event, in the order of a session."""

INJECT_EVENTS: tuple[HookEvent, ...] = ("sessionStart", "beforeTurn")
"""The events whose hooks may add context to the question."""


class HookMessage(TypedDict):
    """One message as hooks see it; ``uuid`` is stable across retries."""

    speaker: Literal["user", "assistant"]
    text: str
    uuid: str


class HookContext(TypedDict, total=False):
    """What a hook's templates may read, by dotted path. Keys are as hook authors write them.

    ``session`` {id}, ``turn`` {index, messages}, ``range`` {from, through (exclusive)},
    ``now`` ISO time, ``status`` ok | stopped | error, ``vars`` whatever the host adds.
    """

    session: dict[str, Any]
    host: str
    now: str
    prompt: str
    reply: str
    turn: dict[str, Any]
    compacting: list[HookMessage]
    range: dict[str, int]
    status: str
    vars: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookOutcome:
    """What one hook did.

    Attributes:
        text: what it answered; None for nothing.
        error: why it failed or was skipped.
        skipped: True when it never ran (missing placeholder, server not there, run ended).
        veto: True when it answered that the step must not happen.
        inject: whether its text goes on the question, event permitting.
        max_tokens: its own cap on that text.
    """

    server_id: str
    label: str
    hook_id: str
    event: HookEvent
    ok: bool
    text: str | None = None
    error: str | None = None
    skipped: bool = False
    veto: bool = False
    seconds: float = 0.0
    inject: bool = False
    max_tokens: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class HookNote:
    """A line for whoever watches: context that was added, a failure, or a veto.

    Attributes:
        source: the hook's server label; "" when the whole event failed.
        tokens: estimate of the added text; None for a failure.
    """

    event: HookEvent
    source: str
    hook_id: str
    tokens: int | None = None
    text: str | None = None
    error: str | None = None
    veto: bool = False
