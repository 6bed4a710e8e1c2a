"""Guided discovery: before a step the run's own model says, under a schema, what it needs.

For models that do not reach for a tool by themselves. The questions and their order are those of
``host.catalogue.guided``; each is a small request of its own, in the trace and in the bill. An
endpoint that cannot hold an answer to a schema is asked in words, and what it says then counts if
it can be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from host.catalogue import guided
from host.catalogue.guided import Exchange, GuidedQuestion, GuidedStep
from host.loop.asking import Asking, system_message
from host.loop.discovery import Discovery, Front
from host.loop.guided_steps import call_turn, reply_in
from host.loop.run_events import RunEvents
from host.records import CatalogueServer, Message, RequestPurpose, Turn
from host.text.tool_call_recovery import recover_tool_calls

MAX_FAILURES = 2
"""How many failed calls of a run are tried again before the model is left to itself."""


@dataclass(slots=True, kw_only=True)
class Guide:
    """Leads one run from call to call until its question needs no further one.

    Attributes:
        before: what was said before the question; None for nothing.
    """

    question: str
    before: Exchange | None
    discovery: Discovery
    asking: Asking
    events: RunEvents
    _is_over: bool = field(default=False, init=False)
    _has_called: bool = field(default=False, init=False)
    _is_one_thing: bool | None = field(default=None, init=False)
    _steps: Sequence[GuidedStep] = field(default=(), init=False)

    @property
    def is_done(self) -> bool:
        """Whether all calls are made: the model is to tell the result, and nothing it says calls.

        Small models repeat the call that they see declared or in the transcript.
        """
        return self._is_over and self._has_called

    @property
    def front(self) -> Front:
        """What the model's own turns say of tools: nothing, since it was asked what it needs."""
        return Front(prompt="", tools=[])

    async def next_call(self, step: int, steps: Sequence[GuidedStep], failed: int) -> Turn | None:
        """The turn that makes the next call; None when the model is to speak for itself.

        Args:
            steps: the calls made for this question, with their results.
            failed: how many of them failed.

        Raises:
            Interrupted: the run was stopped, or its time is up.
        """
        self._steps = steps
        if self._is_over or not self.discovery.on_demand or not self.question.strip():
            return None
        turn = await self._called(step, steps) if await self._is_due(step, steps, failed) else None
        self._is_over, self._has_called = turn is None, bool(steps)
        return turn

    async def in_plain_words(self, step: int, turn: Turn) -> Turn:
        """The turn; where it says nothing but a call again, one that was asked for the answer.

        Raises:
            Interrupted: the run was stopped, or its time is up.
        """
        read = recover_tool_calls(turn.content, names=self.discovery.callable_names)
        if not self.is_done or not read.tool_calls or read.content:
            return turn
        self.events.tell("notice", step, text="the reply repeats a call; asked for the answer")
        asked = guided.answer_question(self.question, self._steps)
        reply = await self._turn(step, asked)
        answer = guided.answer_in(reply_in(reply))
        if answer is None:
            return turn
        self.events.tell("output", step, text=answer)
        return replace(reply, content=answer)

    async def _is_due(self, step: int, steps: Sequence[GuidedStep], failed: int) -> bool:
        if not steps:
            reply = await self._answer("due", step, guided.due_question(self._all, self.question))
            is_due = guided.tool_is_due(reply)
            if not is_due and self.before is not None and not guided.is_greeting(reply):
                asked = guided.due_question(self._all, self.question, self.before)
                is_due = guided.tool_is_due(await self._answer("due", step, asked))
            self._say(step, "a tool is due" if is_due else "no tool is due", ok=is_due)
            return is_due
        if failed:
            return failed <= MAX_FAILURES
        if self._is_one_thing is None:
            reply = await self._answer("due", step, guided.several_question(self.question))
            self._is_one_thing = not guided.asks_for_several(reply)
        return not self._is_one_thing

    async def _called(self, step: int, steps: Sequence[GuidedStep]) -> Turn | None:
        name = await self._picked(step, steps)
        if name is None:
            return None
        self.discovery.load([name])
        definition = self.discovery.definition(name)
        if definition is None:
            return None
        self._say(step, f"picked {name}", ok=True)
        asked = guided.arguments_question(definition, self.question, steps, self.before)
        turn = await self._turn(step, asked)
        args = guided.arguments_in(reply_in(turn))
        if args is None or guided.repeats_a_step(name, args, steps):
            return None
        return call_turn(turn, name, args, number=len(steps))

    async def _picked(self, step: int, steps: Sequence[GuidedStep]) -> str | None:
        catalogue = self._all
        if guided.needs_server_pick(catalogue):
            asked = guided.server_question(catalogue, self.question, steps, self.before)
            reply = await self._answer("pick", step, asked)
            catalogue = guided.picked_server(reply, catalogue) or catalogue
        asked = guided.pick_question(catalogue, self.question, steps, self.before)
        return guided.picked_tool(await self._answer("pick", step, asked), catalogue)

    @property
    def _all(self) -> Sequence[CatalogueServer]:
        return self.discovery.catalogue

    async def _turn(self, step: int, asked: GuidedQuestion) -> Turn:
        user: Message = {"role": "user", "content": asked.user}
        return await self.asking.step(step, asked.system, self.front, [user], schema=asked.schema)

    async def _answer(
        self, purpose: RequestPurpose, step: int, asked: GuidedQuestion
    ) -> object | None:
        messages: list[Message] = [
            *system_message(asked.system),
            {"role": "user", "content": asked.user},
        ]
        return reply_in(await self.asking.aside(purpose, step, messages, schema=asked.schema))

    def _say(self, step: int, text: str, *, ok: bool) -> None:
        self.events.tell("decision", step, text=text, ok=ok)
