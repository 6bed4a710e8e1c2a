"""Answering the calls of an agent run: loading tools, blind calls, approval, dispatch."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import anyio

from host.catalogue import LOAD_TOOLS
from host.loop.call_reading import ReadCall
from host.loop.collaborators import Approver, Toolbox
from host.loop.discovery import Discovery
from host.loop.run_events import RunEvents
from host.loop.run_record import RunRecord
from host.loop.stop_reasons import call_key
from host.loop.tool_batch import CallAnswer, Dispatch, contained_call, error_message
from host.loop.transcript import tool_message
from host.records import Message, ToolCallOutcome, ToolCallRequest, ToolFailure, ToolSuccess
from host.text.json_text import compact_json

DENIED_TEXT = "The user did not allow this call."
"""What the model reads when a call was denied without a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCalls:
    """Begins and answers the calls of one step (the ``CallDesk`` of an agent run).

    Attributes:
        tell_message: hears of each message that is appended.
    """

    step: int
    toolbox: Toolbox
    discovery: Discovery
    record: RunRecord
    events: RunEvents
    approve: Approver | None
    tell_message: Callable[[Message, int], Awaitable[None]]
    _dispatched: set[str] = field(default_factory=set, init=False)

    def begin(self, call: ReadCall) -> CallAnswer | Dispatch:
        """Announces the call and answers it if nothing has to be awaited for that."""
        self.events.call(self.step, call.name, call.id, call.raw)
        try:
            return self._begun(call)
        except Exception as error:  # noqa: BLE001  # a toolbox's fault is the call's result
            return CallAnswer(text=error_message(error), ok=False)

    def answered(self, call: ReadCall, answer: CallAnswer) -> None:
        """Tells the watcher what a begun call was answered."""
        self.events.result(self.step, call.name, call.id, answer.text, ok=answer.ok)

    async def deliver(self, answers: Sequence[tuple[ReadCall, CallAnswer]]) -> None:
        """Appends the answers to the transcript, then tells of each message."""
        messages = [tool_message(call.id, answer.text) for call, answer in answers]
        self.record.messages.extend(messages)
        for call, answer in answers:
            if answer.begun:
                self.record.tool_calls.append(
                    ToolCallOutcome(
                        name=call.name, ok=answer.ok, id=call.id, seconds=answer.seconds
                    )
                )
            if call.id in self._dispatched:
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
        if blind and self.discovery.is_declared(call.name):
            problems = self.toolbox.check(call.name, call.args)
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
        outcome = await contained_call(self.toolbox.call, request)
        return CallAnswer(
            text=outcome_text(outcome),
            ok=isinstance(outcome, ToolSuccess),
            seconds=anyio.current_time() - started,
        )

    async def _refusal(self, request: ToolCallRequest) -> str | None:
        """What the model reads of a call that is not allowed; None for one that is."""
        if self.approve is None:
            return None
        try:
            decision = self.approve(request)
            if inspect.isawaitable(decision):
                decision = await decision
            refusal = _refusal_text(decision)
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


def _refusal_text(decision: object) -> str | None:
    match decision:
        case "allow":
            return None
        case ("deny", str(reason)):
            return reason or DENIED_TEXT
        case _:
            raise TypeError('approve must return "allow" or ("deny", reason)')
