"""The calls of a turn, read before anything is written down or run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from host.errors import ToolArgumentsError
from host.loop.stop_reasons import call_key
from host.loop.transcript import assistant_message, tool_call, unique_ids
from host.records import AssistantMessage, ToolCall, Turn
from host.text.tool_arguments import parse_tool_arguments
from host.text.tool_call_recovery import recover_tool_calls


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall:
    """One call as it was read.

    Attributes:
        id: unique in the transcript.
        raw: the arguments as the model wrote them.
        args: the arguments, repaired; None when they could not be read.
        problem: what the model is told of unreadable arguments; "" otherwise.
    """

    id: str
    name: str
    raw: str
    args: dict[str, Any] | None
    problem: str = ""

    @property
    def key(self) -> str:
        """What makes it identical to another: name and arguments, or their text if unreadable."""
        return f"{self.name}\0{self.raw}" if self.args is None else call_key(self.name, self.args)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTurn:
    """A turn as the run goes on with it.

    Attributes:
        turn: with the calls that count, under their ids in the transcript.
        recovered: how many of them the model wrote as text.
    """

    turn: Turn
    calls: tuple[ReadCall, ...]
    recovered: int = 0

    @property
    def message(self) -> AssistantMessage:
        """The turn as the transcript keeps it: arguments repaired, ``{}`` for unreadable ones."""
        calls = [tool_call(call.id, call.name, call.args) for call in self.calls]
        return assistant_message(self.turn.content, calls)


def read_turn(
    turn: Turn, *, taken_ids: Collection[str], recoverable: Sequence[str] | None = None
) -> ReadTurn:
    """The turn with its calls read; nameless ones are dropped (agent-core §18).

    Args:
        taken_ids: ids that the transcript holds already.
        recoverable: tool names by which calls written as text are recognised, when the turn
            makes none otherwise; None to take text as text.
    """
    calls: Sequence[ToolCall] = [
        call for call in turn.tool_calls if call["function"]["name"].strip()
    ]
    content, recovered = turn.content, 0
    if not calls and recoverable is not None and content.strip():
        found = recover_tool_calls(content, names=recoverable)
        calls, content, recovered = found.tool_calls, found.content, len(found.tool_calls)
    wanted = [call["id"] or f"call_{call['function']['name']}" for call in calls]
    ids = unique_ids(wanted, taken_ids)
    kept = tuple(
        ToolCall(id=call_id, type="function", function=call["function"])
        for call_id, call in zip(ids, calls, strict=True)
    )
    return ReadTurn(
        turn=replace(turn, content=content, tool_calls=kept),
        calls=tuple(_read_call(call, turn.finish_reason) for call in kept),
        recovered=recovered,
    )


def _read_call(call: ToolCall, finish_reason: str) -> ReadCall:
    raw = call["function"]["arguments"]
    name = call["function"]["name"]
    try:
        args = parse_tool_arguments(raw, finish_reason=finish_reason)
    except ToolArgumentsError as error:
        return ReadCall(id=call["id"], name=name, raw=raw, args=None, problem=str(error))
    return ReadCall(id=call["id"], name=name, raw=raw, args=args)


def recovery_notice(calls: int) -> str:
    """What whoever watches is told of calls that were written as text."""
    many = "1 tool call was" if calls == 1 else f"{calls} tool calls were"
    return (
        f"{many} written as text and read back from it; the endpoint's tool-call parser does not "
        "seem to match the model's template"
    )
