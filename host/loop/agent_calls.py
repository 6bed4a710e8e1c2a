"""Answering the calls of an agent run: loading tools, blind calls, approval, dispatch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import anyio

from host.catalogue import LOAD_TOOLS
from host.loop.agent_options import AgentLoopOptions
from host.loop.approval import NOBODY_ASKED_TEXT
from host.loop.big_results import READ_RESULT, READ_RESULT_DEFINITION, ResultShelf
from host.loop.call_reading import ReadCall
from host.loop.callbacks import resolved
from host.loop.collaborators import Approver, Decision, ToolCallResult, Verdict
from host.loop.discovery import Discovery
from host.loop.run_control import Interruption
from host.loop.run_events import RunEvents
from host.loop.run_record import RunRecord
from host.loop.stop_reasons import call_key
from host.loop.tool_batch import (
    CallAnswer,
    Dispatch,
    contained_call,
    error_message,
    never_made,
)
from host.loop.transcript import STOPPED_TEXT, tool_message
from host.records import (
    Message,
    StopReason,
    ToolCallOutcome,
    ToolCallRequest,
    ToolFailure,
    ToolSuccess,
)
from host.text.json_text import compact_json

DENIED_TEXT = "The user did not allow this call."
"""What the model reads when a call was denied without a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCalls:
    """Begins and answers the calls of one step (the ``CallDesk`` of an agent run).

    Attributes:
        shelf: keeps the results that are too long to be shown.
        tell_message: hears of each message that is appended.
    """

    step: int
    options: AgentLoopOptions
    discovery: Discovery
    record: RunRecord
    events: RunEvents
    shelf: ResultShelf
    interruption: Interruption
    tell_message: Callable[[Message, int], Awaitable[None]]
    _dispatched: set[str] = field(default_factory=set, init=False)

    def begin(self, call: ReadCall) -> CallAnswer | Dispatch:
        """Announces the call and answers it if nothing has to be awaited for that."""
        self.events.call(
            self.step,
            ToolCallRequest(id=call.id, name=call.name, args=call.args or {}, raw=call.raw),
        )
        try:
            return self._begun(call)
        except Exception as error:  # noqa: BLE001  # a toolbox's fault is the call's result
            return CallAnswer(text=error_message(error), ok=False)

    def cut_off(self, call: ReadCall, reason: StopReason) -> CallAnswer:
        """What the model reads of a call that was cut off; one still being judged was not made."""
        if call.id in self._dispatched:
            return CallAnswer(text=STOPPED_TEXT, ok=False)
        return never_made(reason)

    def answered(self, call: ReadCall, answer: CallAnswer) -> None:
        """Tells the watcher what a begun call was answered."""
        result = ToolCallResult(id=call.id, name=call.name, text=answer.text, ok=answer.ok)
        self.events.result(self.step, result)

    async def deliver(self, answers: Sequence[tuple[ReadCall, CallAnswer]]) -> None:
        """Appends the answers to the transcript, then tells of each message."""
        messages = [tool_message(call.id, answer.text) for call, answer in answers]
        self.record.messages.extend(messages)
        for call, answer in answers:
            self.shelf.share(call.id, answer.text)
            if answer.begun:
                self.record.tool_calls.append(
                    ToolCallOutcome(
                        name=call.name, ok=answer.ok, id=call.id, seconds=answer.seconds
                    )
                )
            if call.id in self._dispatched and not self.discovery.is_own(call.name):
                self.record.used[call.name] = None
        for message in messages:
            await self.tell_message(message, self.step)

    def _begun(self, call: ReadCall) -> CallAnswer | Dispatch:
        blind = self.discovery.is_blind(call.name)
        if blind:
            self.discovery.load([call.name])
        if call.args is None:
            return CallAnswer(text=self._unreadable(call, blind=blind), ok=False)
        if self.discovery.on_demand and call.name == LOAD_TOOLS:
            text, ok = self.discovery.answer_load(call.args)
            return CallAnswer(text=text, ok=ok)
        if self.shelf.is_offered and call.name == READ_RESULT:
            text, ok = self.shelf.answer(call.args)
            return CallAnswer(text=text, ok=ok)
        if blind and self.discovery.is_declared(call.name):
            problems = self.options.toolbox.check(call.name, call.args)
            if problems:
                return CallAnswer(text=self.discovery.misfit(call.name, problems), ok=False)
        request = ToolCallRequest(id=call.id, name=call.name, args=call.args, raw=call.raw)
        repeatable = self.discovery.is_repeatable(call.name)
        return Dispatch(
            run=partial(self._dispatch, request),
            key=call_key(call.name, call.args) if repeatable else None,
        )

    def _unreadable(self, call: ReadCall, *, blind: bool) -> str:
        """What the model reads of arguments that mean nothing; blind, with the schema."""
        if blind and self.discovery.is_declared(call.name):
            return self.discovery.misfit(call.name, [call.problem])
        return call.problem

    async def _dispatch(self, request: ToolCallRequest) -> CallAnswer:
        refusal = await self._refusal(request)
        if refusal is not None:
            return CallAnswer(text=refusal, ok=False)
        self._dispatched.add(request.id)
        started = anyio.current_time()
        with self.options.tracer.call(self.step, request) as span:
            outcome = await contained_call(self.options.toolbox.call, request)
            span.returned(outcome)
        text, ok = _readable(outcome)
        return CallAnswer(
            text=self._shown(request, text), ok=ok, seconds=anyio.current_time() - started
        )

    def _shown(self, request: ToolCallRequest, text: str) -> str:
        """As much of a result as the run has room for; the first cut one brings a tool."""
        was_offered = self.shelf.is_offered
        shown = self.shelf.shown(request.id, request.name, text)
        if self.shelf.is_offered and not was_offered:
            self.discovery.declare(READ_RESULT_DEFINITION)
        return shown

    async def _refusal(self, request: ToolCallRequest) -> str | None:
        """What the model reads of a call that is not allowed; None for one that is."""
        if self.options.approve is None:
            return None
        try:
            refusal = _refusal_text(await self._decision(request, self.options.approve))
        except Exception as error:  # noqa: BLE001  # without an approver's word no call is made
            refusal = f"This call could not be approved: {error_message(error)}"
        self.events.tell(
            "decision",
            self.step,
            text=refusal or "",
            name=request.name,
            ok=refusal is None,
            id=request.id,
        )
        return refusal

    async def _decision(self, request: ToolCallRequest, approve: Approver) -> Decision:
        verdict: Verdict = await resolved(approve, request)
        if verdict == "ask":
            return await self._word_of_a_person(request)
        return verdict

    async def _word_of_a_person(self, request: ToolCallRequest) -> Decision:
        if self.options.ask_person is None:
            return "deny", NOBODY_ASKED_TEXT
        with self.interruption.paused():
            return await self.options.ask_person(request)


def outcome_text(outcome: ToolSuccess | ToolFailure) -> str:
    """What the model reads: a text as it is, any other result as compact JSON, a failure's words.

    A result that JSON has no form for is written as Python writes it.
    """
    if isinstance(outcome, ToolFailure):
        return outcome.message or outcome.code
    if isinstance(outcome.result, str):
        return outcome.result
    try:
        return compact_json(outcome.result)
    except (TypeError, ValueError):
        return str(outcome.result)


def _readable(outcome: ToolSuccess | ToolFailure) -> tuple[str, bool]:
    """What the model reads, and whether the call did well and its result can be written."""
    try:
        return outcome_text(outcome), isinstance(outcome, ToolSuccess)
    except Exception as error:  # noqa: BLE001  # a result of any kind, with methods of its own
        return f"The result cannot be written down: {error_message(error)}", False


def _refusal_text(decision: object) -> str | None:
    match decision:
        case "allow":
            return None
        case ("deny", str(reason)):
            return reason or DENIED_TEXT
        case _:
            raise TypeError('an approver must return "allow", "ask" or ("deny", reason)')
