"""The host: everything a question needs, put together."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskGroup

from host.assembly.active_run import ActiveRun, RunStart
from host.assembly.background import HOOK_GRACE_SECONDS
from host.assembly.config_secrets import config_redactor
from host.assembly.configured_model import ConfiguredModel, model_name
from host.assembly.local_engine import LocalEngine
from host.assembly.loop_settings import approver, loop_settings
from host.assembly.run_tracer import run_tracer
from host.assembly.settling import both, wait_until_settled
from host.assembly.subscribers import Subscriber, tell
from host.catalogue import carry_over
from host.config import AgentSettings, EndpointChoice, HostConfig
from host.errors import ConfigError
from host.event_bus import EventBus
from host.loop import AgentLoopOptions, EventSink, PersonAsker, RunControl, RunHooks
from host.pool import ServerPool
from host.records import HookContext, HookEvent, HookOutcome, Message, Run
from host.text.redaction import Redactor
from host.toolbox import PoolToolbox
from host.wire import Endpoints

_TOLD_OF_SERVERS = ("notice", "tool-call", "tool-result")
"""Kinds of run events that repeat what servers said or are sent; the others are the model's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The arguments of ``Host.start``."""

    question: str
    history: Sequence[Message]
    preceding: Sequence[Message]
    session_id: str | None
    servers: Sequence[str] | None
    after: Run | None
    control: RunControl
    ask_person: PersonAsker | None


class Host:
    """A fleet, an endpoint and an event bus, ready for questions. Made by ``open_host``.

    Attributes:
        pool: the connections to the servers.
        endpoints: the connections to the model endpoint, and what was learned of it.
        events: what happens in runs.
    """

    def __init__(
        self,
        config: HostConfig,
        pool: ServerPool,
        endpoints: Endpoints,
        events: EventBus,
        endpoint: EndpointChoice | LocalEngine | None,
        subscribers: Sequence[Subscriber],
        group: TaskGroup,
    ) -> None:
        self.pool = pool
        self.endpoints = endpoints
        self.events = events
        self._config = config
        self._endpoint = endpoint
        self._subscribers = subscribers
        self._group = group
        self._runs: set[ActiveRun] = set()

    @property
    def agent(self) -> AgentSettings:
        """How questions are answered at this moment."""
        return self._config.agent

    async def settle(self) -> None:
        """Waits for the fleet as ``wait_until_settled`` does, and for a model's file to be loaded.

        Raises:
            ConfigError: the engine cannot load the file; told at once, as is the next.
            EngineFailed: the engine ended.
        """
        if isinstance(self._endpoint, LocalEngine):
            await both(self._endpoint.ready, partial(wait_until_settled, self.pool))
        else:
            await wait_until_settled(self.pool)

    def start(
        self,
        question: str,
        *,
        history: Sequence[Message] = (),
        preceding: Sequence[Message] = (),
        session_id: str | None = None,
        servers: Sequence[str] | None = None,
        after: Run | None = None,
        control: RunControl | None = None,
        ask_person: PersonAsker | None = None,
    ) -> AbstractAsyncContextManager[ActiveRun]:
        """Starts a run of one question for the length of a block; leaving early cancels it.

        Args:
            history: the conversation so far, as a run's ``messages`` gave it; without one the
                ``sessionStart`` hooks run, too.
            preceding: further messages before the question that belong to it, such as those of a
                server's prompt.
            session_id: names the conversation to hooks; None for a new one.
            servers: ids of the servers it may reach; None for all, empty for none.
            after: the run that this question follows, in place of ``history``: its conversation,
                the tools that it loaded, and what was measured.
            control: a stop button of the caller's own.
            ask_person: asked about calls that ``agent.approve`` leaves to a person; None denies
                them.

        Raises:
            ConfigError: no endpoint or no model was configured (on entering).
        """
        run_id = str(uuid.uuid4())
        asked = _Asked(
            question=question,
            history=history,
            preceding=preceding,
            session_id=session_id,
            servers=servers,
            after=after,
            control=control or RunControl(),
            ask_person=ask_person,
        )
        emit = partial(self._emit, run_id, config_redactor(self._config, self._endpoint))
        active = ActiveRun(run_id, self.events, asked.control, emit)
        return RunStart(active, partial(self._options, asked, run_id, emit), self._runs)

    async def ask(
        self,
        question: str,
        *,
        history: Sequence[Message] = (),
        preceding: Sequence[Message] = (),
        session_id: str | None = None,
        servers: Sequence[str] | None = None,
        after: Run | None = None,
        control: RunControl | None = None,
        ask_person: PersonAsker | None = None,
    ) -> Run:
        """Runs one question to its end; arguments as for ``start``.

        Raises:
            ConfigError: no endpoint or no model was configured.
            RunFailed: an error ended the run; it carries the run so far.
        """
        starting = self.start(
            question,
            history=history,
            preceding=preceding,
            session_id=session_id,
            servers=servers,
            after=after,
            control=control,
            ask_person=ask_person,
        )
        async with starting as active:
            return await active.result()

    async def end_session(self, session_id: str, *, status: str = "ok", reply: str = "") -> None:
        """Tells the ``sessionEnd`` hooks that a conversation is over; never raises.

        They get as long as hooks after a turn do (design §6).

        Args:
            status: how it ended: ``ok``, ``stopped`` or ``error``.
            reply: the last answer.
        """
        context: HookContext = {"session": {"id": session_id}, "status": status, "reply": reply}
        with anyio.move_on_after(HOOK_GRACE_SECONDS):
            await self.pool.run_hooks("sessionEnd", context)

    def adopt(self, config: HostConfig) -> None:
        """Takes over another configuration: its servers now, the rest with the next question.

        Servers whose connection is described as before stay connected. The endpoint stays the one
        that the host was opened with.
        """
        self._config = config
        self.pool.start(config.rows)

    async def end_runs(self) -> None:
        """Stops the runs that are still under way in other tasks, and waits for them a moment."""
        with anyio.move_on_after(HOOK_GRACE_SECONDS, shield=True):
            for active in tuple(self._runs):
                active.stop("the host is being closed")
                await active.ended()

    def reset_all(self) -> None:
        """Forgets everything learned of endpoints, and every run on the bus."""
        self.endpoints.reset()
        self.events.reset()

    def _options(self, asked: _Asked, run_id: str, emit: EventSink) -> AgentLoopOptions:
        agent, servers, after = self._config.agent, asked.servers, asked.after
        history = after.messages if after else asked.history
        carried = carry_over(after.loaded, after.used) if after else []
        toolbox = PoolToolbox(self.pool, servers=servers, resources=agent.resources)
        endpoint, name = self._named_model()
        model = ConfiguredModel(self.endpoints, endpoint, name, agent)
        return AgentLoopOptions(
            model,
            toolbox,
            [*history, *asked.preceding, {"role": "user", "content": asked.question}],
            loaded=[*self.pool.always_loaded(servers), *carried],
            ledger=after.ledger if after else (),
            hooks=self._hooks(asked.session_id or run_id, servers, first=not history),
            approve=approver(
                agent, toolbox.catalogue(), self._trusted(), readers=toolbox.meta_tools()
            ),
            ask_person=asked.ask_person,
            context_length=model.window,
            on_event=emit,
            control=asked.control,
            task_group=self._group,
            tracer=run_tracer(
                self._config,
                self.pool,
                endpoint,
                name,
                run_id=run_id,
                session_id=asked.session_id,
            ),
            **loop_settings(agent, now=datetime.now(UTC), instructions=toolbox.instructions()),
        )

    def _emit(self, run_id: str, redactor: Redactor, **fields: Any) -> None:
        if fields.get("kind") in _TOLD_OF_SERVERS:
            fields["text"] = redactor.redact(fields.get("text", ""))
        tell(self._subscribers, self.events.emit(run_id, **fields))

    def _trusted(self) -> set[str]:
        return {row.id for row in self._config.rows if row.trust_annotations}

    def _hooks(self, session_id: str, servers: Sequence[str] | None, *, first: bool) -> RunHooks:
        async def run(event: HookEvent, context: HookContext) -> list[HookOutcome]:
            return await self.pool.run_hooks(event, context, servers=servers)

        events: tuple[HookEvent, ...] = ("sessionStart", "beforeTurn") if first else ("beforeTurn",)
        context: HookContext = {"session": {"id": session_id}, "host": "agent-host"}
        return RunHooks(run=run, context=context, events=events)

    def _named_model(self) -> tuple[EndpointChoice | LocalEngine, str]:
        choice, model = self._endpoint, model_name(self._endpoint)
        if choice is None or model is None:
            wanted = "no endpoint and model to ask; write agent.baseUrl and agent.model"
            raise ConfigError(self._config.source, [wanted])
        return choice, model
