"""The requests of a run: each sent, heard, counted and written to the trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from host.loop.agent_options import AgentLoopOptions
from host.loop.cache_watch import CacheWatch
from host.loop.callbacks import told
from host.loop.collaborators import ContinuingModel, Model, StepRequest, TextSink
from host.loop.discovery import Discovery, Front
from host.loop.ledger import SentRequest, record_request
from host.loop.run_control import Interrupted, Interruption
from host.loop.run_events import RunEvents
from host.loop.run_record import RunRecord, usage_sum
from host.loop.stop_reasons import Budget
from host.records import (
    LedgerEntry,
    Message,
    RequestPurpose,
    RequestTrace,
    Turn,
    TurnUsage,
)
from host.text.json_text import compact_json
from host.text.tokens import estimate_tokens, tools_tokens

LENGTH_NOTICE = (
    "the reply was cut off at its token ceiling; raise max_tokens if answers or calls look cut"
)


@dataclass(slots=True, kw_only=True)
class Asking:
    """Asks the models of one run; whatever was asked is in the record, and charged.

    Once the cost limit is reached, nothing more is asked.
    """

    options: AgentLoopOptions
    record: RunRecord
    discovery: Discovery
    events: RunEvents
    interruption: Interruption
    budget: Budget
    _told_step: int = field(default=-1, init=False)
    _watch: CacheWatch = field(default_factory=CacheWatch, init=False)
    _measured: tuple[tuple[LedgerEntry, ...], SentRequest | None] = field(
        default=((), None), init=False
    )

    async def step(
        self,
        step: int,
        system: str,
        front: Front,
        messages: list[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        is_last: bool = False,
    ) -> Turn:
        """Asks for the run's next turn; what is said is told as it comes.

        Args:
            system: the caller's own prompt; the catalogue of ``front`` is put behind it.
            schema: the shape the reply is to have; such a reply is not told as text, nor is the
                request told of: ``tell_request``, once it is known to be the step's own.
            is_last: no tool can follow, so none would be declared in any way of discovery.

        Raises:
            Interrupted: the run was stopped, or its time or its money is up.
        """
        self._stop_if_spent()
        self.events.tell("turn", step)
        whole = [*system_message(front.system(system)), *messages]
        if schema is None:
            await self.tell_request(step, whole, front)
        listen = self._listeners(step, heard=schema is None)
        started = anyio.current_time()

        # Of a request that holds the transcript, before it is continued, which adds up prompts.
        measured: list[TurnUsage] = []

        async def asked() -> Turn:
            model = self.options.model
            if schema is not None:
                return await model.turn(whole, front.tools, response_schema=dict(schema), **listen)
            turn = await model.turn(whole, front.tools, **listen)
            measured.append(turn.usage)
            return await self._continued(turn, whole, front, listen)

        tracer = self.options.tracer
        with tracer.request(step, whole, front.tools, as_json=schema is not None) as span:
            turn = await self.interruption.cut_short(asked)
            span.answered(turn)
        eager = 0 if is_last else self.discovery.eager_tokens
        self._count("turn", step, turn.usage, started, front=front, eager_tokens=eager)
        extra = self._measured_cache(whole, front, measured[0]) if measured else {}
        self.events.usage(step, self.record.usage, turn, extra)
        if turn.finish_reason == "length":
            self.events.tell("notice", step, text=LENGTH_NOTICE)
        return turn

    async def aside(
        self,
        purpose: RequestPurpose,
        step: int,
        messages: list[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        model: Model | None = None,
    ) -> Turn:
        """Asks beside the run; what is answered is not told as the run's text.

        Args:
            schema: the shape the answer is to have; None for text.
            model: None for the run's own.

        Raises:
            Interrupted: the run was stopped, or its time or its money is up.
        """
        self._stop_if_spent()
        started = anyio.current_time()
        listen = self._listeners(step, heard=False)
        if schema is not None:
            listen["response_schema"] = dict(schema)
        asked = model or self.options.model
        with self.options.tracer.request(
            step,
            messages,
            purpose=purpose,
            as_json=schema is not None,
            own_model=asked is self.options.model,
        ) as span:
            turn = await self.interruption.cut_short(lambda: asked.turn(messages, [], **listen))
            span.answered(turn)
        self._count(purpose, step, turn.usage, started)
        return turn

    async def aside_json(
        self, model: Model, step: int, system: str, user: str, schema: dict[str, Any]
    ) -> object | None:
        """Asks a model to choose tools; its tokens are estimated, since nobody counts them.

        Raises:
            Interrupted: the run was stopped, or its time or its money is up.
        """
        self._stop_if_spent()
        started = anyio.current_time()
        asked: list[Message] = [*system_message(system), {"role": "user", "content": user}]
        is_own = model is self.options.model
        tracer = self.options.tracer
        with tracer.request(step, asked, purpose="select", as_json=True, own_model=is_own) as span:
            answer = await self.interruption.cut_short(lambda: model.ask_json(system, user, schema))
            span.answered(Turn(content=compact_json(answer)))
        usage = _estimated(f"{system}\n{user}", answer)
        self._count("select", step, usage, started)
        return answer

    @property
    def is_spent(self) -> bool:
        """Whether the cost limit is reached; before the first request it never is."""
        return bool(self.record.requests) and self.budget.spent_up

    def came_to_nothing(self) -> None:
        """Hears that the last request made no turn: an eager run would not have asked that."""
        last = self.record.requests[-1]
        self.record.requests[-1] = replace(last, eager_schema_tokens=0)

    async def tell_request(self, step: int, messages: list[Message], front: Front) -> None:
        """Tells the caller what the step asks; the first of a step alone."""
        if self._told_step != step:
            self._told_step = step
            request = StepRequest(messages=tuple(messages), tools=tuple(front.tools))
            await told(self.options.on_request, request, step)

    def _stop_if_spent(self) -> None:
        if self.is_spent:
            raise Interrupted("budget")

    @property
    def front_tokens(self) -> int:
        """What a request takes beside its transcript, by estimate."""
        front = self.discovery.front
        return estimate_tokens(front.system(self.options.system)) + tools_tokens(front.tools)

    def _measured_cache(
        self, messages: list[Message], front: Front, usage: TurnUsage
    ) -> Mapping[str, Any]:
        """Notes what the endpoint counted, and returns what is to be told of its cache."""
        through = len(self.record.messages) - 1
        self._measure(SentRequest.of(messages, front.tools, usage, through=through))
        return self._watch.answered(messages, front.tools, usage)

    def _measure(self, request: SentRequest) -> None:
        """Writes what the endpoint counted into the ledger.

        A ledger that is not the one of the last measuring was given, or rebased since.
        """
        known, previous = self._measured
        before = self.record.ledger
        after = record_request(before, previous if known is before else None, request)
        if after is not before:
            self.record.ledger = after
            self._measured = (after, request)

    def _listeners(self, step: int, *, heard: bool) -> dict[str, Any]:
        listen: dict[str, Any] = {
            "on_thinking": lambda text: self.events.tell("thinking", step, text=text),
            "on_notice": self._notice(step),
        }
        if heard:
            listen["on_output"] = lambda text: self.events.tell("output", step, text=text)
        return listen

    def _notice(self, step: int) -> TextSink:
        return lambda text: self.events.tell("notice", step, text=text)

    async def _continued(
        self, turn: Turn, messages: list[Message], front: Front, listen: Mapping[str, Any]
    ) -> Turn:
        model, most = self.options.model, self.options.max_continuations
        if not most or turn.finish_reason != "length" or not isinstance(model, ContinuingModel):
            return turn
        return await model.continue_turn(
            turn, messages, front.tools, max_continuations=most, **listen
        )

    def _count(
        self,
        purpose: RequestPurpose,
        step: int,
        usage: TurnUsage,
        started: float,
        *,
        front: Front = Front(prompt="", tools=[]),  # noqa: B008  # frozen, and its list is not touched
        eager_tokens: int = 0,
    ) -> None:
        """Writes an answered request down."""
        tools = front.tools
        self.record.requests.append(
            RequestTrace(
                step=step,
                tools=tuple(tool["function"]["name"] for tool in tools),
                catalogue_tokens=estimate_tokens(front.prompt),
                schema_tokens=tools_tokens(tools),
                eager_schema_tokens=eager_tokens,
                usage=usage,
                seconds=anyio.current_time() - started,
                purpose=purpose,
            )
        )
        self.record.usage = usage_sum(self.record.usage, usage)
        if self.options.price is not None:
            self.budget = self.budget.charged(self.options.price(usage))


def system_message(system: str) -> list[Message]:
    """The system prompt as a message; [] for none."""
    return [{"role": "system", "content": system}] if system else []


def _estimated(asked: str, answer: object) -> TurnUsage:
    prompt, completion = estimate_tokens(asked), estimate_tokens(compact_json(answer))
    return TurnUsage(
        prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion
    )
