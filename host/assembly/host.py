"""The host: everything a question needs, put together."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskGroup

from host.assembly.active_run import ActiveRun, RunStart
from host.assembly.background import HOOK_GRACE_SECONDS
from host.assembly.configured_model import ConfiguredModel
from host.assembly.local_engine import LocalEngine
from host.assembly.settling import both, wait_until_settled
from host.assembly.subscribers import Subscriber, tell
from host.config import EndpointChoice, HostConfig
from host.errors import ConfigError
from host.event_bus import EventBus
from host.loop import AgentLoopOptions, RunControl, RunHooks
from host.pool import ServerPool
from host.records import HookContext, HookEvent, HookOutcome, Message, Run
from host.toolbox import PoolToolbox
from host.wire import Endpoints

DEFAULT_SYSTEM_PROMPT = (
    "You act for the user through tools. Where a tool can look something up, compute it or do it, "
    "call it: never compute, guess or explain what a tool could do. When the tools have answered, "
    "tell the user the result in plain words."
)
"""Said to the model where the servers file has no ``agent.systemPrompt``."""


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
        session_id: str | None = None,
        servers: Sequence[str] | None = None,
        control: RunControl | None = None,
    ) -> AbstractAsyncContextManager[ActiveRun]:
        """Starts a run of one question for the length of a block; leaving early cancels it.

        Args:
            history: the conversation so far, as a run's ``messages`` gave it; without one the
                ``sessionStart`` hooks run, too.
            session_id: names the conversation to hooks; None for a new one.
            servers: ids of the servers it may reach; None for all, empty for none.
            control: a stop button of the caller's own.

        Raises:
            ConfigError: no endpoint or no model was configured (on entering).
        """
        run_id = str(uuid.uuid4())
        control = control or RunControl()
        emit = partial(self._emit, run_id)

        def prepare() -> AgentLoopOptions:
            agent = self._config.agent
            return AgentLoopOptions(
                self._model(),
                PoolToolbox(self.pool, servers=servers),
                [*history, {"role": "user", "content": question}],
                system=agent.system_prompt or DEFAULT_SYSTEM_PROMPT,
                discovery=agent.discovery,
                loaded=self.pool.always_loaded(servers),
                parallel=agent.parallel,
                max_tool_iterations=agent.max_tool_iterations,
                deadline=self._deadline(),
                hooks=self._hooks(session_id or run_id, servers, first=not history),
                on_event=emit,
                control=control,
                task_group=self._group,
            )

        return RunStart(ActiveRun(run_id, self.events, control, emit), prepare, self._runs)

    async def ask(
        self,
        question: str,
        *,
        history: Sequence[Message] = (),
        session_id: str | None = None,
        servers: Sequence[str] | None = None,
        control: RunControl | None = None,
    ) -> Run:
        """Runs one question to its end; arguments as for ``start``.

        Raises:
            ConfigError: no endpoint or no model was configured.
            RunFailed: an error ended the run; it carries the run so far.
        """
        starting = self.start(
            question, history=history, session_id=session_id, servers=servers, control=control
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

    def _emit(self, run_id: str, **fields: Any) -> None:
        tell(self._subscribers, self.events.emit(run_id, **fields))

    def _deadline(self) -> datetime | None:
        seconds = self._config.agent.deadline_seconds
        return None if seconds is None else datetime.now(UTC) + timedelta(seconds=seconds)

    def _hooks(self, session_id: str, servers: Sequence[str] | None, *, first: bool) -> RunHooks:
        async def run(event: HookEvent, context: HookContext) -> list[HookOutcome]:
            return await self.pool.run_hooks(event, context, servers=servers)

        events: tuple[HookEvent, ...] = ("sessionStart", "beforeTurn") if first else ("beforeTurn",)
        context: HookContext = {"session": {"id": session_id}, "host": "agent-host"}
        return RunHooks(run=run, context=context, events=events)

    def _model(self) -> ConfiguredModel:
        choice = self._endpoint
        model = None
        if choice is not None:
            model = choice.name if isinstance(choice, LocalEngine) else choice.model
        if choice is None or model is None:
            wanted = "no endpoint and model to ask; write agent.baseUrl and agent.model"
            raise ConfigError(self._config.source, [wanted])
        return ConfiguredModel(self.endpoints, choice, model, self._config.agent)
