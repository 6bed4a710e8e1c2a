"""The parts a loop is given from outside: a model, a toolbox, hooks, and callbacks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from host.records import (
    CatalogueServer,
    HookContext,
    HookEvent,
    HookOutcome,
    LedgerEntry,
    Message,
    RunEventKind,
    ToolCallRequest,
    ToolDefinition,
    ToolFailure,
    ToolSuccess,
    Turn,
)

TextSink: TypeAlias = Callable[[str], None]
"""Takes one piece of text: a delta or a notice."""

Now: TypeAlias = Callable[[], datetime]
"""Returns the wall clock's time, aware."""

Decision: TypeAlias = Literal["allow"] | tuple[Literal["deny"], str]
"""The last word on one call; the text of a refusal is what the model reads."""

Verdict: TypeAlias = Decision | Literal["ask"]
"""A policy's word on one call: a decision, or that a person is to make it."""


class Model(Protocol):
    """Answers one request at a time; retries, timeouts and negotiation are its own affair."""

    async def turn(
        self,
        messages: list[Message],
        tools: list[ToolDefinition],
        *,
        response_schema: dict[str, Any] | None = None,
        on_thinking: TextSink | None = None,
        on_output: TextSink | None = None,
        on_notice: TextSink | None = None,
    ) -> Turn:
        """Sends the messages and returns the whole answer; text is told as it arrives.

        ``tools`` is the same list object from step to step while nothing is loaded.
        """
        ...

    async def ask_json(self, system: str, user: str, schema: dict[str, Any]) -> object | None:
        """Asks a side question and returns the JSON value answered, or None without one."""
        ...


@runtime_checkable
class ContinuingModel(Protocol):
    """A model that can go on with an answer that was cut at its ceiling."""

    async def continue_turn(
        self,
        turn: Turn,
        messages: list[Message],
        tools: list[ToolDefinition],
        *,
        max_continuations: int = 1,
        on_thinking: TextSink | None = None,
        on_output: TextSink | None = None,
        on_notice: TextSink | None = None,
    ) -> Turn:
        """The turn with what was still to be said, or the same turn where that failed."""
        ...


class Toolbox(Protocol):
    """The tools of a run: their names, their definitions, and the way to call them."""

    def catalogue(self) -> Sequence[CatalogueServer]:
        """Every offered tool by server; read once per run."""
        ...

    def definitions(self, names: list[str]) -> Sequence[ToolDefinition]:
        """The definitions of the tools named; a name without one is left out."""
        ...

    def check(self, name: str, args: dict[str, Any]) -> Sequence[str]:
        """What keeps these arguments from fitting the tool's schema; empty when they fit."""
        ...

    async def call(self, request: ToolCallRequest) -> ToolSuccess | ToolFailure:
        """Makes the call; a name that nobody owns is answered with a failure that says so."""
        ...


@runtime_checkable
class MetaToolbox(Protocol):
    """A toolbox with tools of its own beside the catalogue, such as those that read resources."""

    def meta_tools(self) -> Sequence[ToolDefinition]:
        """Tools to declare from the start, called like all others; read once per run.

        A guided run, which declares nothing, has no use for them.
        """
        ...


@runtime_checkable
class WakingToolbox(Protocol):
    """A toolbox that gets ready for calls while the model is still thinking of them."""

    def wake(self, names: list[str]) -> None:
        """Hears which tools a run has just declared; neither waits nor raises."""
        ...


class HookRunner(Protocol):
    """Runs every hook of one event and returns what each did, in configured order."""

    async def __call__(self, event: HookEvent, context: HookContext, /) -> Sequence[HookOutcome]:
        """Runs the hooks; one that fails is an outcome, not an exception."""
        ...


class EventSink(Protocol):
    """Hears what happens in a run, as keyword fields.

    ``functools.partial(bus.emit, run_id)`` is one: the bus adds run id, number and time. It is
    called synchronously; what it raises is dropped, since a watcher never ends what it watches.
    """

    def __call__(
        self,
        *,
        kind: RunEventKind,
        text: str = "",
        name: str = "",
        step: str = "",
        ok: bool | None = None,
        usage: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002  # the event record's own field name
    ) -> object:
        """Takes one event."""
        ...


MessageSink: TypeAlias = Callable[[Message, int], object]
"""Called with each message the run appends and its step; an awaitable answer is awaited."""

TurnSink: TypeAlias = Callable[[Turn, int], object]
"""Called with each answered turn and its step; an awaitable answer is awaited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRequest:
    """What a step asks its model for, as first built: a request sent again is told once.

    Attributes:
        messages: the system prompt, the transcript and what is said around it.
        tools: the definitions declared.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallResult:
    """What a call was answered: the text of its tool message, whole."""

    id: str
    name: str
    text: str
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWindow:
    """How full the model's window is before a step.

    Attributes:
        used: tokens that the next request takes: as the endpoint counted so far, and the rest by
            estimate; None before anything was counted.
        limit: the window in tokens; 0 for unknown.
        ledger: what was counted.
    """

    used: int | None
    limit: int
    ledger: tuple[LedgerEntry, ...]


RequestSink: TypeAlias = Callable[[StepRequest, int], object]
"""Called with each step's request before it is sent; an awaitable answer is awaited.

Of a guided step that makes a call it is the request for the arguments, told once it was answered
with some: nobody knows before whether the step is that call.
"""

CallSink: TypeAlias = Callable[[ToolCallRequest, int], object]
"""Called with each call as it is announced, ``load_tools`` and repeated ones included.

Synchronously, and what it raises is dropped. The arguments are a copy; those of an unreadable
call are empty.
"""

ResultSink: TypeAlias = Callable[[ToolCallResult, int], object]
"""Called with what each announced call was answered; else like ``CallSink``."""

Approver: TypeAlias = Callable[[ToolCallRequest], Verdict | Awaitable[Verdict]]
"""Judges one call, whose arguments are a copy."""

PersonAsker: TypeAlias = Callable[[ToolCallRequest], Awaitable[Decision]]
"""Asks a person about one call; the time this takes does not count against the run's deadline."""

Transcript: TypeAlias = Sequence[Message]

BeforeStep: TypeAlias = Callable[
    [list[Message], int, RunWindow], Transcript | Awaitable[Transcript | None] | None
]
"""Called with the transcript, the step and the window; may return another transcript."""
