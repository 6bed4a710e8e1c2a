"""The engine under ``run_tool_loop`` and ``stream_tool_loop``: a generator of what happens."""

from __future__ import annotations

import random
import string
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

import anyio
from anyio.abc import TaskGroup

from host.loop.collaborators import Now
from host.loop.decision_point import decision_point
from host.loop.loop_events import ExecutedCall, LoopEvent, LoopEvents, capped_turn, turn_results
from host.loop.loop_observers import ObserverCircle, Observers
from host.loop.next_step import (
    stop_after_call,
    stop_after_turn,
    stop_before_call,
    stop_before_request,
)
from host.loop.own_task import in_own_task
from host.loop.stop_reasons import STUCK_AFTER, Budget, Deadline, Streak, flat_signature
from host.loop.tool_batch import contained_call
from host.loop.transcript import assistant_message, ids_in, kept_ids, tool_call, tool_message
from host.loop.wall_clock import utc_now
from host.records import Message, StopReason, ToolCallRequest, ToolFailure, ToolSuccess
from host.text.json_text import any_json

Raw = TypeVar("Raw")
P = ParamSpec("P")
Outcome: TypeAlias = ToolSuccess | ToolFailure

RUN_ID_CHARS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RawEvent(Generic[Raw]):
    """One event of the model's stream, before anything was read from it."""

    event: Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultEvent:
    """One executed call, before its result is rendered for the model.

    Attributes:
        tool_call_id: None where the model gave no id.
    """

    tool_name: str
    tool_call_id: str | None
    label: str
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Capped:
    """The loop stopped before the model was done; always the last thing yielded.

    Attributes:
        pending: how many calls the last turn made, executed ones included; 0 for a deadline.
    """

    pending: int
    stop_reason: StopReason


@dataclass(slots=True)
class _Turn:
    """What one answer of the model held."""

    text_parts: list[str] = field(default_factory=list)
    calls: list[ToolCallRequest] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.text_parts)


def default_label(call: ToolCallRequest) -> str:
    """The tool's name."""
    return call.name


def default_rendering(label: str, outcome: Outcome) -> str:
    """One line: the label and the result as compact JSON, or the failure's code and words.

    What JSON has no form for in a result is written all the same (``any_json``).
    """
    if isinstance(outcome, ToolSuccess):
        return f"- {label} → ok: {any_json(outcome.result)}"
    return f"- {label} → failed ({outcome.code}): {outcome.message}"


def new_run_id() -> str:
    """A run id that has not been used before, as far as chance allows."""
    letters = string.ascii_lowercase + string.digits
    return "agent-run-" + "".join(random.choices(letters, k=RUN_ID_CHARS))


@dataclass(slots=True, kw_only=True)
class BoundedLoop(Generic[Raw]):
    """One turn of a conversation: asks, runs the calls, asks again, until an answer or a limit.

    The fields down to ``now`` are the options of ``stream_tool_loop``; the rest is what has
    happened so far. Use it once.
    """

    system_prompt: str
    user_message: str
    prior_messages: Sequence[Message] = ()
    stream_turn: Callable[[list[Message]], AsyncIterable[Raw]]
    extract_text: Callable[[Raw], str]
    extract_tool_call: Callable[[Raw], ToolCallRequest | None]
    execute_tool_call: Callable[[ToolCallRequest], Awaitable[Outcome]]
    is_executable_tool: Callable[[str], bool]
    max_tool_turns: int = 200
    deadline: datetime | float | None = None
    max_cost_usd: float | None = None
    cost_of: Callable[[ToolCallRequest, Outcome], float] | None = None
    render_result: Callable[[str, Outcome], str] | None = None
    label_for: Callable[[ToolCallRequest], str] | None = None
    run_id: str | None = None
    scenario_id: str | None = None
    hooks: Observers = None
    task_group: TaskGroup | None = None
    now: Now = utc_now

    turns: int = field(default=0, init=False)
    text_parts: list[str] = field(default_factory=list, init=False)
    results: list[ExecutedCall] = field(default_factory=list, init=False)
    stop_reason: StopReason | None = field(default=None, init=False)
    _messages: list[Message] = field(init=False)
    _pending: int = field(default=0, init=False)
    _streak: Streak = field(default_factory=Streak, init=False)
    _budget: Budget = field(init=False)
    _events: LoopEvents = field(init=False)
    _observers: ObserverCircle = field(init=False)

    def __post_init__(self) -> None:
        self._messages = [
            {"role": "system", "content": self.system_prompt},
            *self.prior_messages,
            {"role": "user", "content": self.user_message},
        ]
        self._budget = Budget(max_cost=self.max_cost_usd)
        run_id = new_run_id() if self.run_id is None else self.run_id
        self._events = LoopEvents(run_id=run_id, scenario_id=self.scenario_id, now=self.now)
        self._observers = ObserverCircle(self.hooks, self.task_group)

    async def play(self) -> AsyncGenerator[RawEvent[Raw] | ToolResultEvent | Capped, None]:
        """Runs the loop to its end, yielding what happens when it happens."""
        deadline = Deadline.of(self.deadline, now=self.now(), clock_seconds=anyio.current_time())
        payload = {"maxToolTurns": self.max_tool_turns, "messageCount": len(self._messages)}
        await self._tell(self._events.run, "before", payload)
        while self.stop_reason is None:
            step, self.turns, self._pending = self.turns, self.turns + 1, 0
            self.stop_reason = stop_before_request(deadline, anyio.current_time())
            if self.stop_reason is None:
                async with aclosing(self._play_turn(step)) as events:
                    async for event in events:
                        yield event
        await self._tell(self._events.run, "after", self.end_payload())
        if self.stop_reason != "completed":
            yield Capped(pending=self._pending, stop_reason=self.stop_reason)

    def end_payload(self) -> dict[str, Any]:
        """What the last event tells of the run."""
        return {"turns": self.turns, "stopReason": self.stop_reason}

    def answer_payload(self) -> dict[str, Any]:
        """What its last turn's event tells of a completed run."""
        return {"pendingToolCalls": 0}

    async def _play_turn(self, step: int) -> AsyncGenerator[RawEvent[Raw] | ToolResultEvent, None]:
        payload: dict[str, Any] = {"messageCount": len(self._messages)}
        await self._tell(self._events.turn, step, "before", payload)
        turn = _Turn()
        async with aclosing(self._drain(turn)) as raw_events:
            async for raw_event in raw_events:
                yield raw_event
        self.text_parts.extend(turn.text_parts)
        self._pending = len(turn.calls)
        self.stop_reason = stop_after_turn(
            len(turn.calls), tool_turns_left=self.max_tool_turns - step
        )
        if self.stop_reason is None:
            async with aclosing(self._play_batch(step, turn)) as result_events:
                async for result_event in result_events:
                    yield result_event
        if self.stop_reason == "completed":
            payload = self.answer_payload()
        elif self.stop_reason is not None:
            payload = capped_turn(len(turn.calls), self.stop_reason)
        else:
            payload = turn_results(self.results[-len(turn.calls) :])
        await self._tell(self._events.turn, step, "after", payload)

    async def _drain(self, turn: _Turn) -> AsyncGenerator[RawEvent[Raw], None]:
        stream = aiter(self.stream_turn(list(self._messages)))
        try:
            async for raw in stream:
                yield RawEvent(event=raw)
                turn.text_parts.append(self.extract_text(raw))
                call = self.extract_tool_call(raw)
                if call is not None and self.is_executable_tool(call.name):
                    turn.calls.append(call)
        finally:  # a consumer that leaves early leaves no half-read stream behind
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    async def _play_batch(self, step: int, turn: _Turn) -> AsyncGenerator[ToolResultEvent, None]:
        ids = self._append_assistant(turn)
        batch: list[tuple[ExecutedCall, str]] = []
        for position, (call, call_id) in enumerate(zip(turn.calls, ids, strict=True)):
            self._streak = self._streak.after(flat_signature(call.name, call.args))
            self.stop_reason = stop_before_call(self._streak.length, STUCK_AFTER)
            if self.stop_reason is not None:
                return
            await self._tell(self._events.tool_call, step, position, call)
            outcome = await in_own_task(partial(contained_call, self.execute_tool_call, call))
            self.stop_reason = self._charge(call, outcome)
            label = (self.label_for or default_label)(call)
            yield ToolResultEvent(
                tool_name=call.name, tool_call_id=call.id or None, label=label, outcome=outcome
            )
            done = ExecutedCall(call=call, label=label, outcome=outcome)
            self.results.append(done)
            if self.stop_reason is None:
                rendered = (self.render_result or default_rendering)(label, outcome)
                batch.append((done, rendered))
                self._messages.append(tool_message(call_id, rendered))
            await self._tell(self._events.tool_call, step, position, call, outcome)
            if self.stop_reason is not None:
                return
        await self._offer_decision(step, turn.text, batch)

    def _append_assistant(self, turn: _Turn) -> list[str]:
        ids = kept_ids(
            [call.id for call in turn.calls],
            [f"call_{call.name}" for call in turn.calls],
            ids_in(self._messages),
        )
        calls = [
            tool_call(call_id, call.name, call.args)
            for call_id, call in zip(ids, turn.calls, strict=True)
        ]
        self._messages.append(assistant_message(turn.text.strip(), calls))
        return ids

    def _charge(self, call: ToolCallRequest, outcome: Outcome) -> StopReason | None:
        if self.max_cost_usd is None or self.cost_of is None:
            return None
        self._budget = self._budget.charged(self.cost_of(call, outcome))
        return stop_after_call(self._budget)

    async def _tell(self, build: Callable[P, LoopEvent], *args: P.args, **kwargs: P.kwargs) -> None:
        if self._observers:
            await self._observers.event(build(*args, **kwargs))

    async def _offer_decision(
        self, step: int, turn_text: str, batch: Sequence[tuple[ExecutedCall, str]]
    ) -> None:
        failed = any(isinstance(done.outcome, ToolFailure) for done, _ in batch)
        if not failed or not self._observers:
            return
        point = decision_point(
            self._events.run_id,
            self.scenario_id,
            step,
            messages=self._messages,
            turn_text=turn_text,
            batch=batch,
        )
        await self._observers.decision_point(point)
