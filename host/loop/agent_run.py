"""One run of the agent loop under way: its steps, from the question to the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import anyio

from host.catalogue import LOAD_TOOLS
from host.errors import ContextOverflow
from host.loop.agent_calls import AgentCalls
from host.loop.agent_options import AgentLoopOptions
from host.loop.asking import Asking
from host.loop.big_results import ResultShelf, marked_numbers
from host.loop.call_reading import ReadCall, ReadTurn, read_turn, recovery_notice
from host.loop.callbacks import resolved, told
from host.loop.discovery import Front
from host.loop.folding import Folding
from host.loop.guiding import Guide
from host.loop.hook_context import (
    last_question,
    message_text,
    question_after,
    question_index,
    with_context,
)
from host.loop.next_step import stop_after_empty, stop_after_turn, stop_before_call
from host.loop.routing import Routing, opened_discovery
from host.loop.run_control import Interrupted, Interruption
from host.loop.run_events import RunEvents
from host.loop.run_hooks import gather_before, notify_briefly, notify_later
from host.loop.run_record import RunRecord
from host.loop.stop_reasons import Budget, Repetition
from host.loop.tool_batch import error_message, run_batch
from host.loop.transcript import assistant_message
from host.records import AssistantMessage, Message, StopReason, Turn

SUMMARISED_STOPS: frozenset[StopReason] = frozenset({"backstop", "stuck-loop"})
"""The stops after which one more request makes sense: neither time nor money is out."""

SUMMARY_REQUEST = (
    "No more tool calls are possible in this turn. Answer now from what has been found out so "
    "far, and say plainly what is still missing."
)
"""What a model without tools is asked last; it never enters the transcript."""

EMPTY_REQUEST = "Your last reply was empty. Answer the question, or call a tool."
"""Said to a model that said nothing; it never enters the transcript."""


def _events_of(options: AgentLoopOptions) -> RunEvents:
    return RunEvents(
        sink=options.on_event, on_call=options.on_tool_call, on_result=options.on_tool_result
    )


class AgentRun:
    """One run under way; what it has done is in ``record``, whatever happens to it."""

    def __init__(
        self, options: AgentLoopOptions, record: RunRecord, interruption: Interruption
    ) -> None:
        self._options = options
        self._record = record
        self._interruption = interruption
        self._events = _events_of(options)
        self._question = last_question(record.messages)
        self._question_text = message_text(self._question) if self._question else ""
        self._repetition = Repetition()
        self._empty_turns = 0
        self._step = 0
        self._answered = False
        self._discovery = opened_discovery(options)
        record.tools = self._discovery.tools.keys()
        self._shelf = ResultShelf(
            options.max_result_chars,
            taken=marked_numbers(map(message_text, record.messages)),
            through=self._discovery.calling_tool,
        )
        self._asking = Asking(
            options=options,
            record=record,
            discovery=self._discovery,
            events=self._events,
            interruption=interruption,
            budget=Budget(max_cost=options.max_cost),
        )
        self._folding = Folding(
            options=options, record=record, asking=self._asking, events=self._events
        )
        self._routing = Routing(
            options=options, discovery=self._discovery, asking=self._asking, events=self._events
        )
        self._guide = self._opened_guide() if options.discovery == "guided" else None

    def _opened_guide(self) -> Guide:
        return Guide(
            discovery=self._discovery,
            asking=self._asking,
            events=self._events,
            shelf=self._shelf,
        )

    async def play(self) -> StopReason:
        """Runs to the end; returns why it ended."""
        started = anyio.current_time()
        try:
            reason = await self._play()
            await self._answer_unmade_calls(reason)
            return reason
        finally:
            self._record.loaded = self._discovery.loaded
            self._record.whole_results = {
                call.id: whole
                for call in self._record.tool_calls
                if (whole := self._shelf.whole(call.id)) is not None
            }
            self._record.seconds = anyio.current_time() - started

    async def notify_hooks(self) -> None:
        """Tells the ``afterTurn`` hooks of the answer, if there was one."""
        hooks, turn = self._options.hooks, self._record.turn
        if hooks is None or turn is None or not self._answered:
            return
        ended = (hooks, tuple(self._record.messages), self._question, turn.content)
        group = self._options.task_group
        if group is not None and notify_later(group, *ended, self._events.note):
            return
        notes = await notify_briefly(*ended, self._events.note, control=self._interruption.control)
        self._record.notes.extend(notes)

    async def _play(self) -> StopReason:
        try:
            await self._tell_repairs()
            await self._gather_context()
            reason = self._due() or await self._take_steps()
            if reason in SUMMARISED_STOPS and self._options.finish == "summarise":
                await self._answer_unmade_calls(reason)
                await self._summarise()
        except Interrupted as stop:
            reason = stop.reason
        if reason == "stopped":
            self._events.tell("notice", text=self._interruption.control.words)
        return reason

    async def _tell_repairs(self) -> None:
        """Tells of the answers that the given messages lacked."""
        given = set(map(id, self._options.messages))
        for message in self._record.messages:
            if id(message) not in given:
                await self._tell_message(message, self._step)

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
        await self._choose_tools()
        reason = self._due()
        while reason is None:
            reason = await self._take_step(self._step)
            if reason is None:
                self._step += 1
                reason = self._due()
        return reason

    async def _choose_tools(self) -> None:
        chosen = await self._routing.choose(self._question_text)
        messages = self._record.messages
        self._discovery.reread(messages)
        await self._show([*self._options.loaded, *chosen])
        self._routing.begin_with(chosen)

    def _due(self) -> StopReason | None:
        due = self._interruption.due()
        if due is None and self._asking.is_spent:
            return "budget"
        is_spent = self._step >= self._options.max_tool_iterations
        return due or ("backstop" if is_spent else None)

    async def _take_step(self, step: int) -> StopReason | None:
        await self._prepare(step)
        reason = self._due()
        if reason is not None:
            return reason
        turn = await self._next_turn(step)
        read = self._read(turn)
        if read.recovered:
            self._events.tell("notice", step, text=recovery_notice(read.recovered))
        is_empty = not read.calls and not read.turn.content.strip()
        self._empty_turns = self._empty_turns + 1 if is_empty else 0
        if is_empty and self._options.stuck_empty_after:
            return await self._pass_over(read.turn, step)
        await self._accept(read.turn, read.message, step)
        calls = [self._discovery.unwrapped(call) for call in read.calls]
        reason = stop_after_turn(len(calls), budget=self._asking.budget)
        self._answered = reason == "completed"
        reason = reason or self._stuck(calls)
        return reason or await self._run_calls(calls, step)

    def _read(self, turn: Turn) -> ReadTurn:
        """The turn with its calls, those written as text among them where that is wanted."""
        names = self._discovery.callable_names
        recoverable = names if names and self._reads_calls else None
        return read_turn(turn, taken_ids=self._record.taken_ids, recoverable=recoverable)

    async def _pass_over(self, turn: Turn, step: int) -> StopReason | None:
        """Takes in a turn that said nothing: it is no answer, and no part of the transcript."""
        self._record.turn = turn
        await told(self._options.on_turn, turn, step)
        self._events.tell("notice", step, text="the reply was empty")
        if self._asking.budget.spent_up:
            return "budget"
        return stop_after_empty(self._empty_turns, self._options.stuck_empty_after)

    async def _run_calls(self, calls: Sequence[ReadCall], step: int) -> StopReason | None:
        before = self._discovery.loaded
        reason = await run_batch(
            calls,
            self._desk(step),
            parallel=self._options.parallel,
            interruption=self._interruption,
        )
        if self._discovery.on_demand and all(call.name == LOAD_TOOLS for call in calls):
            new = tuple(name for name in self._discovery.loaded if name not in before)
            self._record.requests[-1] = replace(self._record.requests[-1], loaded=new)
        return reason

    @property
    def _reads_calls(self) -> bool:
        """Whether a call that the model wrote as text is one."""
        is_done = self._guide is not None and self._guide.is_done
        return self._options.recover_tool_calls and not is_done

    def _desk(self, step: int) -> AgentCalls:
        return AgentCalls(
            step=step,
            options=self._options,
            discovery=self._discovery,
            record=self._record,
            events=self._events,
            shelf=self._shelf,
            interruption=self._interruption,
            tell_message=self._tell_message,
        )

    async def _prepare(self, step: int) -> None:
        """Lets the caller replace the transcript, then folds it where it grew too long."""
        before = self._record.messages
        if self._options.before_step is not None:
            window = await self._folding.window(step)
            replaced = await self._interruption.cut_short(
                partial(resolved, self._options.before_step, list(before), step, window)
            )
            if replaced is not None:
                self._question = question_after(before, replaced, self._question)
                self._rewrite(list(replaced))
        await self._take_folded(await self._folding.folded(step, self._record.messages))

    async def _take_folded(self, folded: list[Message]) -> bool:
        """Takes a folded transcript and shows again what it lost; whether it is another."""
        if folded is self._record.messages:
            return False
        known = self._discovery.loaded
        self._rewrite(folded)
        await self._show(known)
        return True

    async def _show(self, names: Sequence[str]) -> None:
        """Appends what the model has to read of these tools."""
        record = self._record
        await self._append(
            self._discovery.shortlist(names, record.messages, taken_ids=record.taken_ids)
        )

    def _rewrite(self, messages: list[Message]) -> None:
        """Takes other messages for the transcript."""
        self._record.rewrite(messages)
        self._discovery.reread(messages)

    async def _next_turn(self, step: int) -> Turn:
        if self._guide is None:
            front = self._routing.front(step)
        else:
            turn = await self._guide.next_call(step, self._question)
            if turn is not None:
                return turn
            front = self._guide.front
        closing: list[Message] = []
        if self._empty_turns:
            closing = [{"role": "user", "content": EMPTY_REQUEST}]
        elif self._guide is not None and self._guide.closing:
            closing = [{"role": "user", "content": self._guide.closing}]
        turn = await self._asked(step, front, closing)
        return turn if self._guide is None else await self._guide.in_plain_words(step, turn)

    async def _asked(self, step: int, front: Front, closing: Sequence[Message]) -> Turn:
        """The model's turn on the transcript, folded and asked again where it did not fit."""
        system = self._options.system
        try:
            return await self._asking.step(step, system, front, [*self._history(), *closing])
        except ContextOverflow as overflow:
            forced = await self._folding.forced(step, self._record.messages, overflow)
            if not await self._take_folded(forced):
                raise
        return await self._asking.step(step, system, front, [*self._history(), *closing])

    def _history(self) -> list[Message]:
        messages, hooks = self._record.messages, self._options.hooks
        if hooks is None:
            return messages
        index = question_index(messages, self._question)
        return with_context(messages, index, self._record.context, hooks.preface)

    async def _accept(self, turn: Turn, message: AssistantMessage, step: int) -> None:
        """Tells of the turn, then writes it down."""
        self._record.turn = turn
        await told(self._options.on_turn, turn, step)
        self._record.messages.append(message)
        await self._tell_message(message, step)

    def _stuck(self, calls: Sequence[ReadCall]) -> StopReason | None:
        options = self._options
        self._repetition, streak, alternation = self._repetition.after_step(
            None
            if options.stuck_exempts_read_only and self._discovery.is_read_only(call.name)
            else call.key
            for call in calls
        )
        return stop_before_call(
            streak,
            options.stuck_after,
            alternation=alternation,
            pairs_after=options.stuck_pairs_after,
        )

    async def _summarise(self) -> None:
        """Has the model sum up, if it can; the run has its end already, and keeps it."""
        closing: Message = {"role": "user", "content": SUMMARY_REQUEST}
        try:
            turn = await self._asking.step(
                self._step,
                self._options.system,
                Front(prompt="", tools=[]),
                [*self._history(), closing],
                is_last=True,
            )
        except Interrupted as stop:
            is_stop = stop.reason == "stopped"
            self._say_no_summary(self._interruption.control.words if is_stop else "time is up")
            return
        except Exception as error:  # noqa: BLE001  # the run has its end already
            self._say_no_summary(error_message(error))
            return
        answer = replace(self._read(turn).turn, tool_calls=())
        if answer.content.strip():
            await self._accept(answer, assistant_message(answer.content), self._step)
            self._answered = True
        else:  # what stands in the transcript stays the last word
            await told(self._options.on_turn, answer, self._step)
            self._say_no_summary("the reply says nothing")

    def _say_no_summary(self, why: str) -> None:
        self._events.tell("notice", self._step, text=f"no summary: {why}")

    async def _answer_unmade_calls(self, reason: StopReason) -> None:
        await self._append(self._record.unanswered(reason))

    async def _append(self, messages: Sequence[Message]) -> None:
        self._record.messages.extend(messages)
        for message in messages:
            await self._tell_message(message, self._step)

    async def _tell_message(self, message: Message, step: int) -> None:
        await told(self._options.on_message, message, step)
