"""The agent loop: one question, asked with tools until it is answered or a limit is reached."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import anyio

from host.errors import ContextOverflow, RunFailed, RunOverflow
from host.loop.agent_calls import AgentCalls
from host.loop.agent_options import AgentLoopOptions
from host.loop.call_reading import ReadCall, read_turn
from host.loop.discovery import Discovery
from host.loop.hook_context import last_question, question_index, with_context
from host.loop.next_step import stop_after_turn, stop_before_call, stop_before_request
from host.loop.run_control import Interrupted, Interruption, RunControl
from host.loop.run_events import RunEvents
from host.loop.run_hooks import gather_before, notify_briefly, notify_later
from host.loop.run_record import RunRecord, usage_sum
from host.loop.stop_reasons import Budget, Deadline, Streak
from host.loop.tool_batch import error_message, run_batch
from host.loop.transcript import assistant_message, ids_in, not_run_text, with_answers
from host.records import AssistantMessage, Message, Run, StopReason, ToolDefinition, Turn

SUMMARISED_STOPS: frozenset[StopReason] = frozenset({"backstop", "stuck-loop"})
"""The stops after which one more request makes sense: neither time nor money is out."""

SUMMARY_REQUEST = (
    "No more tool calls are possible in this turn. Answer now from what has been found out so "
    "far, and say plainly what is still missing."
)
"""What a model without tools is asked last; it never enters the transcript."""

LENGTH_NOTICE = (
    "the reply was cut off at its token ceiling; raise max_tokens if answers or calls look cut"
)

Subject = TypeVar("Subject")
Value = TypeVar("Value")


async def run_agent_loop(options: AgentLoopOptions) -> Run:
    """Asks the question and returns the run; a limit or a stop is its ``stop_reason``.

    Every call of the returned transcript has its tool message, so it can be handed back as
    ``messages``. Calls of the given messages that nothing answers are answered in it as never
    made, and are not made now. Cancelling the task cancels the run and passes through.

    Raises:
        RunOverflow: a request did not fit the model's window.
        RunFailed: the model, a callback or the toolbox's catalogue raised; ``__cause__`` is
            that. Both carry the run so far, its ``stop_reason`` being ``stopped``.
        ValueError: the deadline is a datetime without a zone.
    """
    deadline = Deadline.of(options.deadline, now=options.now(), clock_seconds=anyio.current_time())
    control = options.control or RunControl()
    record = RunRecord(
        messages=with_answers(options.messages, not_run_text("stopped")),
        max_tool_iterations=options.max_tool_iterations,
    )
    try:
        loop = _AgentRun(options, record, Interruption(control=control, deadline=deadline))
        reason = await loop.play()
        await loop.notify_hooks()
    except Exception as error:
        record.messages.extend(record.unanswered(None))
        so_far = record.run("stopped")
        if isinstance(error, ContextOverflow):
            raise RunOverflow(error, so_far) from error
        raise RunFailed(error_message(error), so_far) from error
    return record.run(reason)


class _AgentRun:
    """One run under way; what it has done is in ``record``, whatever happens to it."""

    def __init__(
        self, options: AgentLoopOptions, record: RunRecord, interruption: Interruption
    ) -> None:
        self._options = options
        self._record = record
        self._interruption = interruption
        self._events = RunEvents(sink=options.on_event)
        self._question = last_question(record.messages)
        self._budget = Budget(max_cost=options.max_cost)
        self._streak = Streak()
        self._step = 0
        self._answered = False
        self._discovery = Discovery(options.toolbox, options.discovery, options.loaded)

    async def play(self) -> StopReason:
        """Runs to the end; returns why it ended."""
        started = anyio.current_time()
        try:
            reason = await self._play()
            await self._answer_unmade_calls(reason)
            return reason
        finally:
            self._record.loaded = self._discovery.loaded
            self._record.seconds = anyio.current_time() - started

    async def notify_hooks(self) -> None:
        """Tells the ``afterTurn`` hooks of the answer, if there was one."""
        hooks, turn = self._options.hooks, self._record.turn
        if hooks is None or turn is None or not self._answered:
            return
        told = (hooks, tuple(self._record.messages), self._question, turn.content)
        group = self._options.task_group
        if group is not None and notify_later(group, *told, self._events.note):
            return
        notes = await notify_briefly(*told, self._events.note, control=self._interruption.control)
        self._record.notes.extend(notes)

    async def _play(self) -> StopReason:
        try:
            await self._gather_context()
            reason = await self._take_steps()
            if reason in SUMMARISED_STOPS and self._options.finish == "summarise":
                await self._answer_unmade_calls(reason)
                await self._summarise()
        except Interrupted as stop:
            reason = stop.reason
        if reason == "stopped":
            why = self._interruption.control.reason
            self._events.tell("notice", text=f"stopped: {why}" if why else "stopped")
        return reason

    async def _gather_context(self) -> None:
        hooks = self._options.hooks
        if hooks is None:
            return
        gathered = await self._interruption.cut_short(
            partial(gather_before, hooks, self._record.messages, self._question, self._events.note)
        )
        self._record.context = gathered.context
        self._record.notes.extend(gathered.notes)

    async def _take_steps(self) -> StopReason:
        reason = self._due()
        while reason is None:
            reason = await self._take_step(self._step)
            if reason is None:
                self._step += 1
                reason = self._due()
        return reason

    def _due(self) -> StopReason | None:
        return stop_before_request(
            self._interruption.deadline,
            anyio.current_time(),
            stopped=self._interruption.control.stopped,
            requests_left=self._options.max_tool_iterations - self._step,
        )

    async def _take_step(self, step: int) -> StopReason | None:
        await self._replace_messages(step)
        system = self._discovery.system(self._options.system)
        turn = await self._ask(step, system, self._discovery.show())
        names = self._discovery.callable_names
        read = read_turn(
            turn,
            taken_ids=ids_in(self._record.messages),
            recoverable=names if names and self._options.recover_tool_calls else None,
        )
        if read.recovered:
            self._events.tell("notice", step, text=_recovery_notice(read.recovered))
        await self._accept(read.turn, read.message, step)
        reason = stop_after_turn(len(read.calls), budget=self._budget)
        self._answered = reason == "completed"
        reason = reason or self._stuck(read.calls)
        if reason is not None:
            return reason
        desk = AgentCalls(
            step=step,
            toolbox=self._options.toolbox,
            discovery=self._discovery,
            record=self._record,
            events=self._events,
            approve=self._options.approve,
            tell_message=self._tell_message,
        )
        return await run_batch(
            read.calls, desk, parallel=self._options.parallel, interruption=self._interruption
        )

    async def _replace_messages(self, step: int) -> None:
        before_step = self._options.before_step
        if before_step is None:
            return
        replaced = await self._interruption.cut_short(
            partial(_resolved, before_step, list(self._record.messages), step)
        )
        if replaced is not None:
            self._record.messages = list(replaced)

    async def _ask(
        self,
        step: int,
        system: str,
        tools: list[ToolDefinition],
        closing: Sequence[Message] = (),
    ) -> Turn:
        self._events.tell("turn", step)
        messages = [*_system_message(system), *self._history(), *closing]
        started = anyio.current_time()
        turn = await self._interruption.cut_short(
            lambda: self._options.model.turn(
                messages,
                tools,
                on_thinking=lambda text: self._events.tell("thinking", step, text=text),
                on_output=lambda text: self._events.tell("output", step, text=text),
                on_notice=lambda text: self._events.tell("notice", step, text=text),
            )
        )
        seconds = anyio.current_time() - started
        self._record.requests.append(self._discovery.trace(step, tools, turn.usage, seconds))
        self._record.usage = usage_sum(self._record.usage, turn.usage)
        if self._options.price is not None:
            self._budget = self._budget.charged(self._options.price(turn.usage))
        self._events.usage(step, self._record.usage, turn)
        if turn.finish_reason == "length":
            self._events.tell("notice", step, text=LENGTH_NOTICE)
        return turn

    def _history(self) -> list[Message]:
        messages, hooks = self._record.messages, self._options.hooks
        if hooks is None:
            return messages
        index = question_index(messages, self._question)
        return with_context(messages, index, self._record.context, hooks.preface)

    async def _accept(self, turn: Turn, message: AssistantMessage, step: int) -> None:
        """Tells of the turn, then writes it down."""
        self._record.turn = turn
        await _told(self._options.on_turn, turn, step)
        self._record.messages.append(message)
        await self._tell_message(message, step)

    def _stuck(self, calls: Sequence[ReadCall]) -> StopReason | None:
        exempt = self._options.stuck_exempts_read_only
        self._streak, longest = self._streak.after_step(
            None if exempt and self._discovery.is_read_only(call.name) else call.key
            for call in calls
        )
        return stop_before_call(longest, self._options.stuck_after)

    async def _summarise(self) -> None:
        closing: list[Message] = [{"role": "user", "content": SUMMARY_REQUEST}]
        turn = await self._ask(self._step, self._options.system, [], closing)
        answer = replace(turn, tool_calls=())
        await self._accept(answer, assistant_message(answer.content), self._step)
        self._answered = True

    async def _answer_unmade_calls(self, reason: StopReason) -> None:
        missing = self._record.unanswered(reason)
        self._record.messages.extend(missing)
        for message in missing:
            await self._tell_message(message, self._step)

    async def _tell_message(self, message: Message, step: int) -> None:
        await _told(self._options.on_message, message, step)


async def _told(sink: Callable[[Subject, int], object] | None, subject: Subject, step: int) -> None:
    if sink is not None:
        answer = sink(subject, step)
        if inspect.isawaitable(answer):
            await answer


async def _resolved(
    callback: Callable[[list[Message], int], Value | Awaitable[Value]],
    messages: list[Message],
    step: int,
) -> Value:
    answer = callback(messages, step)
    return await answer if inspect.isawaitable(answer) else answer


def _system_message(system: str) -> list[Message]:
    return [{"role": "system", "content": system}] if system else []


def _recovery_notice(calls: int) -> str:
    many = "1 tool call was" if calls == 1 else f"{calls} tool calls were"
    return (
        f"{many} written as text and read back from it; the endpoint's tool-call parser does not "
        "seem to match the model's template"
    )
