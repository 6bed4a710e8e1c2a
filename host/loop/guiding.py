"""Guided discovery: before a step the run's own model says, under a schema, what it needs.

For models that do not reach for a tool by themselves. The questions and their order are those of
``host.catalogue.guided``; each is a small request of its own, in the trace and in the bill. An
endpoint that cannot hold an answer to a schema is asked in words, and what it says then counts if
it can be read.

What hooks said of the question stands before it in each of them. The caller's system prompt is
for what is said: it stands before the instructions that ask for the answer, and nowhere else, since
it leads small models astray where they choose a word or write arguments. What arguments need to
know of the user belongs into a hook.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from host.catalogue import guided
from host.catalogue.guided import Exchange, GuidedQuestion, GuidedStep
from host.loop.asking import Asking, system_message
from host.loop.big_results import READ_RESULT, READ_RESULT_DEFINITION, ResultShelf
from host.loop.discovery import Discovery, Front
from host.loop.guided_steps import (
    call_turn,
    exchange_before,
    failures_in_a_row,
    new_reads,
    reply_in,
    steps_in,
)
from host.loop.hook_context import context_lead, message_text, question_index
from host.loop.run_events import RunEvents
from host.records import CatalogueServer, Message, RequestPurpose, ToolDefinition, Turn
from host.text.tool_call_recovery import recover_tool_calls

MAX_FAILURES = 2
"""How many failed calls in a row are tried again before the thing asked for is given up."""

MAX_READS = 5
"""How often a run reads on in cut results, whether the guide has it search or the model asks."""

ANSWER_REQUEST = "Every tool has answered. Tell the result in plain words, as an answer to me."
"""Said behind the results, which the model would repeat the call for otherwise."""

READ_REQUEST = (
    f"If the answer is in a part of a result that was left out, call {READ_RESULT} first."
)
"""Said behind that where a result was cut."""

_NO_TOOLS = Front(prompt="", tools=[])


@dataclass(slots=True, kw_only=True)
class Guide:
    """Leads one run from call to call until its question needs no further one.

    Attributes:
        shelf: the results that were cut, which the model may read on in.
    """

    discovery: Discovery
    asking: Asking
    events: RunEvents
    shelf: ResultShelf
    _asked: Message | None = field(default=None, init=False)
    _question: str = field(default="", init=False)
    _before: Exchange | None = field(default=None, init=False)
    _known: dict[str, GuidedStep] = field(default_factory=dict, init=False)
    _searched_for: set[str] = field(default_factory=set, init=False)
    _is_over: bool = field(default=False, init=False)
    _has_called: bool = field(default=False, init=False)
    _is_one_thing: bool | None = field(default=None, init=False)

    @property
    def is_done(self) -> bool:
        """Whether all calls are made: the model is to tell the result, and calls nothing more.

        Small models repeat the call that they see declared or in the transcript. What they may
        still do is read on in a result that was cut.
        """
        return self._is_over and self._has_called

    @property
    def front(self) -> Front:
        """What the model's own turns say of tools: no more than how to read on in a cut result."""
        return Front(prompt="", tools=[READ_RESULT_DEFINITION]) if self._reads_left else _NO_TOOLS

    @property
    def closing(self) -> str:
        """What is said behind the transcript, and is no part of it; "" for nothing."""
        if not self.is_done:
            return ""
        return f"{ANSWER_REQUEST} {READ_REQUEST}" if self._reads_left else ANSWER_REQUEST

    async def next_call(self, step: int, question: Message | None) -> Turn | None:
        """The turn that makes the next call; None when the model is to speak for itself.

        Args:
            question: as it stands in the transcript now.

        Raises:
            Interrupted: the run was stopped, or its time or its money is up.
        """
        self._hear(question)
        if self._is_over or not self.discovery.on_demand or not self._question.strip():
            return None
        turn = await self._searched(step)
        if turn is None and await self._is_due(step):
            turn = await self._called(step)
        self._is_over, self._has_called = turn is None, self._has_begun
        return turn

    async def in_plain_words(self, step: int, turn: Turn) -> Turn:
        """The turn, once all calls are made; where it says nothing but calls, another.

        That one is asked for the answer. The only calls that count are those that read on in a cut
        result, at a place that was not read before.

        Raises:
            Interrupted: the run was stopped, or its time is up.
        """
        if not self.is_done:
            return turn
        calls, words = turn.tool_calls, turn.content
        if not calls:
            found = recover_tool_calls(turn.content, names=self.discovery.callable_names)
            calls, words = found.tool_calls, found.content
        reads = new_reads(calls, self._steps)[: self._reads_left]
        if reads and (turn.tool_calls or self.asking.options.recover_tool_calls):
            return replace(turn, content=words, tool_calls=reads)
        turn = replace(turn, tool_calls=())
        if not calls or words.strip() or self.asking.is_spent:
            return turn
        return await self._answered(step) or turn

    async def _answered(self, step: int) -> Turn | None:
        self.events.tell("notice", step, text="the reply repeats a call; asked for the answer")
        asked = guided.answer_question(self._question, self._steps)
        reply = await self._written(step, self._messages(asked, says=True), asked, is_last=True)
        answer = guided.answer_in(reply_in(reply))
        if answer is None:
            return None
        self.events.tell("output", step, text=answer)
        return replace(reply, content=answer)

    def _hear(self, question: Message | None) -> None:
        """Takes in the question and the calls made for it.

        Calls that the transcript no longer shows were made all the same. Where the question is
        not to be found, the calls of this run are those made for it.
        """
        messages = self.asking.record.messages
        index = question_index(messages, question)
        if question is not None and question is not self._asked:
            self._asked, self._question = question, message_text(question)
            self._before = exchange_before(messages, index)
        own = {outcome.id for outcome in self.asking.record.tool_calls}
        for call_id, step in steps_in(messages[index + 1 :]).items():
            if index >= 0 or call_id in own:
                self._known.setdefault(call_id, step)

    async def _is_due(self, step: int) -> bool:
        if not self._has_begun:
            return await self._needs_a_tool(step)
        record = self.asking.record
        failures = failures_in_a_row(record.tool_calls)
        if 0 < failures <= MAX_FAILURES and record.tool_calls[-1].id not in record.denied:
            return True
        if failures > MAX_FAILURES + 1:  # one thing was given up, and so was the next
            return False
        if self._is_one_thing is None:
            reply = await self._answer("due", step, guided.several_question(self._question))
            self._is_one_thing = not guided.asks_for_several(reply)
        return not self._is_one_thing

    async def _needs_a_tool(self, step: int) -> bool:
        catalogue = self.discovery.catalogue
        reply = await self._answer("due", step, guided.due_question(catalogue, self._question))
        is_due = guided.tool_is_due(reply)
        if not is_due and self._before is not None and not guided.is_greeting(reply):
            asked = guided.due_question(catalogue, self._question, self._before)
            is_due = guided.tool_is_due(await self._answer("due", step, asked))
        self._say(step, "a tool is due" if is_due else "no tool is due", ok=is_due)
        return is_due

    async def _searched(self, step: int) -> Turn | None:
        """The turn that looks into a result that was cut, once for each; None for no such thing."""
        did_well = {outcome.id for outcome in self.asking.record.tool_calls if outcome.ok}
        cut = (self.shelf.id_of(call_id) for call_id in self._known if call_id in did_well)
        wanted = next((each for each in cut if each and each not in self._searched_for), None)
        if wanted is None or not self._reads_left:
            return None
        self._searched_for.add(wanted)
        asked = guided.search_question(self._question, self._before)
        messages = self._messages(asked)
        turn = await self._written(step, messages, asked)
        text = guided.search_in(reply_in(turn))
        if not text:
            self.asking.came_to_nothing()
            return None
        self._say(step, f"looks for {text} in {wanted}", ok=True)
        return await self._made(step, messages, turn, READ_RESULT, {"id": wanted, "search": text})

    async def _called(self, step: int) -> Turn | None:
        definition = await self._picked(step)
        if definition is None:
            return None
        name = definition["function"]["name"]
        self._say(step, f"picked {name}", ok=True)
        asked = guided.arguments_question(definition, self._question, self._steps, self._before)
        messages = self._messages(asked)
        turn = await self._written(step, messages, asked)
        args = guided.arguments_in(reply_in(turn))
        if args is None or guided.repeats_a_step(name, args, self._steps):
            self.asking.came_to_nothing()
            return None
        return await self._made(step, messages, turn, name, args)

    async def _made(
        self, step: int, messages: list[Message], turn: Turn, name: str, args: dict[str, Any]
    ) -> Turn:
        await self.asking.tell_request(step, messages, _NO_TOOLS)
        return call_turn(turn, name, args, number=len(self._known))

    async def _picked(self, step: int) -> ToolDefinition | None:
        catalogue: Sequence[CatalogueServer] = self.discovery.catalogue
        about = self._question, self._steps, self._before
        if guided.needs_server_pick(catalogue):
            reply = await self._answer("pick", step, guided.server_question(catalogue, *about))
            catalogue = guided.picked_server(reply, catalogue) or catalogue
        reply = await self._answer("pick", step, guided.pick_question(catalogue, *about))
        name = guided.picked_tool(reply, catalogue)
        if name is None:
            return None
        self.discovery.load([name])
        return self.discovery.definition(name)

    @property
    def _steps(self) -> Sequence[GuidedStep]:
        """The calls made for the question, with their results."""
        return list(self._known.values())

    @property
    def _has_begun(self) -> bool:
        return bool(self._known or self.asking.record.tool_calls)

    @property
    def _reads_left(self) -> int:
        """How often the model may still read on in what was cut; 0 where nothing was."""
        if not self.shelf.is_offered:
            return 0
        read = sum(call.name == READ_RESULT for call in self.asking.record.tool_calls)
        return max(0, MAX_READS - read)

    def _messages(self, asked: GuidedQuestion, *, says: bool = False) -> list[Message]:
        """A question as it is sent, with the caller's system prompt if it asks for the answer."""
        options, record = self.asking.options, self.asking.record
        own = options.system if says else ""
        lead = context_lead(record.context, options.hooks.preface) if options.hooks else ""
        user = "\n\n".join(part for part in (lead, asked.user) if part)
        return [
            *system_message("\n\n".join(part for part in (own, asked.system) if part)),
            {"role": "user", "content": user},
        ]

    async def _written(
        self, step: int, messages: list[Message], asked: GuidedQuestion, *, is_last: bool = False
    ) -> Turn:
        return await self.asking.step(
            step, "", _NO_TOOLS, messages, schema=asked.schema, is_last=is_last
        )

    async def _answer(
        self, purpose: RequestPurpose, step: int, asked: GuidedQuestion
    ) -> object | None:
        messages = self._messages(asked)
        return reply_in(await self.asking.aside(purpose, step, messages, schema=asked.schema))

    def _say(self, step: int, text: str, *, ok: bool) -> None:
        self.events.tell("decision", step, text=text, ok=ok)
