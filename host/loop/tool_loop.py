"""The bounded tool loop: one turn of a conversation over callables, awaited or streamed.

It knows no provider and no tools: a model is a function from messages to a stream of events, a
tool an awaitable that answers a call. Behaviour: tool-loop spec; limits are stop reasons, never
exceptions.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Required, TypeAlias, TypedDict, Unpack

from anyio.abc import TaskGroup

from host.loop.bounded_loop import (
    BoundedLoop,
    Capped,
    Outcome,
    Raw,
    RawEvent,
    ToolResultEvent,
)
from host.loop.collaborators import Now
from host.loop.loop_events import ExecutedCall
from host.loop.loop_observers import Observers
from host.records import Message, StopReason, ToolCallRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnText:
    """A piece of the model's text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCall:
    """A call the model makes; an empty ``id`` is no id."""

    call: ToolCallRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOther:
    """Anything else in a model's stream; the loop ignores it."""

    event: object


TurnEvent: TypeAlias = TurnText | TurnCall | TurnOther


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLoopResult:
    """How a turn of the bounded loop went.

    Attributes:
        final_text: all text of all turns, nothing between, nothing trimmed.
        tool_results: the executed calls in order, failures included.
        turns: requests made; a deadline counts the one it prevented.
        stop_reason: ``completed`` unless a limit stopped it; only that one is the model's word.
    """

    final_text: str
    tool_results: tuple[ExecutedCall, ...]
    turns: int
    stop_reason: StopReason


class ToolLoopOptions(TypedDict, total=False):
    """What both entry points take, as keyword arguments.

    ``prior_messages``: the conversation so far, between system prompt and question.
    ``execute_tool_call``: makes a call, in a task of its own; what it raises is a failure
    ``executor_error``, also a cancellation that nobody asked for.
    ``is_executable_tool``: whether a name may be called; other calls are ignored altogether.
    ``max_tool_turns`` (200): that many turns run tools, and the model is asked once more.
    ``deadline``: a datetime or epoch seconds, looked at before each request and nowhere else.
    ``max_cost_usd`` with ``cost_of(call, outcome)``: stops once that much is spent; either alone
    does nothing (tool-loop spec §6).
    ``render_result(label, outcome)``: what the model reads; ``label_for(call)``: the tool's name.
    ``run_id`` (``agent-run-`` and chance), ``scenario_id``: for observers.
    ``hooks``: observers, see ``LoopHooks``; asynchronous ones run in ``task_group``, or are
    awaited in order, three seconds each at most.
    ``now``: the wall clock.
    """

    system_prompt: Required[str]
    user_message: Required[str]
    prior_messages: Sequence[Message]
    execute_tool_call: Required[Callable[[ToolCallRequest], Awaitable[Outcome]]]
    is_executable_tool: Required[Callable[[str], bool]]
    max_tool_turns: int
    deadline: datetime | float | None
    max_cost_usd: float | None
    cost_of: Callable[[ToolCallRequest, Outcome], float] | None
    render_result: Callable[[str, Outcome], str] | None
    label_for: Callable[[ToolCallRequest], str] | None
    run_id: str | None
    scenario_id: str | None
    hooks: Observers
    task_group: TaskGroup | None
    now: Now


async def run_tool_loop(
    *,
    stream_turn: Callable[[list[Message]], AsyncIterable[TurnEvent]],
    **options: Unpack[ToolLoopOptions],
) -> ToolLoopResult:
    """Runs a turn to its end and returns what came of it.

    What ``stream_turn`` and the other callables raise escapes, except the executor's; observers
    then hear no end of the turn or the run, as there was none (tool-loop spec §8, a hole kept).

    Args:
        stream_turn: asks the model; gets its own copy of the message list each time.
        options: see ``ToolLoopOptions``.
    """
    loop = _AwaitedLoop(
        stream_turn=stream_turn,
        extract_text=_text_of,
        extract_tool_call=_call_of,
        **options,
    )
    async with aclosing(loop.play()) as events:
        async for _ in events:
            pass
    return ToolLoopResult(
        final_text="".join(loop.text_parts),
        tool_results=tuple(loop.results),
        turns=loop.turns,
        stop_reason=loop.stop_reason or "completed",
    )


def stream_tool_loop(
    *,
    stream_turn: Callable[[list[Message]], AsyncIterable[Raw]],
    extract_text: Callable[[Raw], str],
    extract_tool_call: Callable[[Raw], ToolCallRequest | None],
    **options: Unpack[ToolLoopOptions],
) -> AsyncGenerator[RawEvent[Raw] | ToolResultEvent | Capped, None]:
    """Runs a turn while it is iterated, and yields what happens.

    Every raw event as it comes, every executed call's result before it is rendered, and one
    ``Capped`` last when a limit stopped it. Close the generator when leaving early: the model's
    stream is closed with it, and observers hear no end. Errors as in ``run_tool_loop``.

    Args:
        stream_turn: asks the model; gets its own copy of the message list each time.
        extract_text: a raw event's text, "" for none.
        extract_tool_call: a raw event's call, or None; an event may hold both.
        options: see ``ToolLoopOptions``.
    """
    return BoundedLoop(
        stream_turn=stream_turn,
        extract_text=extract_text,
        extract_tool_call=extract_tool_call,
        **options,
    ).play()


class _AwaitedLoop(BoundedLoop[TurnEvent]):
    """The loop whose caller waits for the text, so that observers are told its length."""

    def end_payload(self) -> dict[str, Any]:
        return {
            "turns": self.turns,
            "toolResults": len(self.results),
            "stopReason": self.stop_reason,
        }

    def answer_payload(self) -> dict[str, Any]:
        return {"pendingToolCalls": 0, "finalTextChars": sum(map(len, self.text_parts))}


def _text_of(event: TurnEvent) -> str:
    return event.text if isinstance(event, TurnText) else ""


def _call_of(event: TurnEvent) -> ToolCallRequest | None:
    return event.call if isinstance(event, TurnCall) else None
