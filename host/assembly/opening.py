"""Opening the house, room by room, in the order data runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from types import TracebackType

from host.assembly.background import HOOK_GRACE_SECONDS, Background
from host.assembly.configured_model import model_name
from host.assembly.fleet_settings import pool_settings
from host.assembly.host import Host
from host.assembly.live_config import LiveConfig
from host.assembly.local_engine import LocalEngine
from host.assembly.sampling import Sampler
from host.assembly.subscribers import Subscriber, tell
from host.config import (
    AgentSettings,
    EndpointChoice,
    HostConfig,
    ModelFile,
    configured_model,
    is_watchable,
)
from host.errors import ConfigError
from host.event_bus import EventBus
from host.loop import PersonAsker
from host.pool import ElicitationMode, OnElicit, OnSample, ServerPool, ToolsCache
from host.records import PoolEvent
from host.wire import Endpoints


class open_host:  # noqa: N801  # reads as a verb where it is used: async with open_host(config)
    """Opens the whole house for the length of a block; the servers are being dialled on entry.

    Args:
        config: what a servers file said (``load_config``).
        subscribers: called with every event of runs and pool, synchronously.
        endpoint: the endpoint to ask, or the model's file to serve; None for what the servers file
            or the environment names. A file is being loaded on entry.
        on_notice: hears how far the loading is.
        watch: True takes over every edit of the servers file, of which subscribers hear as events
            of kind ``log``; one with mistakes changes nothing.
        on_elicit, elicitation_modes: asks a person what a server wants to know, and which kinds
            of question (``PoolSettings``); None, and servers are told that nobody can be asked.
        ask_person: asked each time that a server wants the model, which its row must allow; None
            refuses what ``agent.approve`` does not list. Runs have an asker of their own.
        tools_cache: keeps listings (``PoolSettings``), so that servers whose tools are known are
            not dialled before one of them is loaded or called.
        dial_known: True dials them all the same.

    Raises:
        ConfigError: the model's file that the servers file names is none, or there is no file to
            watch; on entry, also that the former cannot be served.
        EngineFailed: the engine for it ended (on entry).
    """

    def __init__(
        self,
        config: HostConfig,
        *subscribers: Subscriber,
        endpoint: EndpointChoice | ModelFile | None = None,
        on_notice: Callable[[str], None] | None = None,
        watch: bool = False,
        on_elicit: OnElicit | None = None,
        elicitation_modes: Sequence[ElicitationMode] = ("form",),
        ask_person: PersonAsker | None = None,
        tools_cache: ToolsCache | None = None,
        dial_known: bool = False,
    ) -> None:
        if watch and not is_watchable(config.source):
            raise ConfigError(config.source, ["cannot be watched: it is no file"])
        self._config = config
        self._subscribers = subscribers
        self._model = endpoint or configured_model(config, env=os.environ)
        self._on_notice = on_notice
        self._watch = watch
        self._on_elicit = on_elicit
        self._elicitation_modes = elicitation_modes
        self._ask_person = ask_person
        self._tools_cache = tools_cache
        self._dial_known = dial_known
        self._rooms = AsyncExitStack()

    async def __aenter__(self) -> Host:
        async with AsyncExitStack() as rooms:
            endpoints = await rooms.enter_async_context(Endpoints())
            endpoint = await self._endpoint(rooms)
            settings = pool_settings(
                self._config,
                on_elicit=self._on_elicit,
                elicitation_modes=self._elicitation_modes,
                on_sample=self._sampler(endpoints, endpoint, lambda: host.agent),
                tools_cache=self._tools_cache,
                dial_known=self._dial_known,
            )
            pool = await rooms.enter_async_context(ServerPool.open(settings=settings))
            pool.subscribe(partial(tell, self._subscribers))
            group = await rooms.enter_async_context(Background(grace_seconds=HOOK_GRACE_SECONDS))
            host = Host(
                self._config, pool, endpoints, EventBus(), endpoint, self._subscribers, group
            )
            rooms.push_async_callback(host.end_runs)
            pool.start(self._config.rows)
            if self._watch:
                await self._follow(rooms, host)
            self._rooms = rooms.pop_all()
        return host

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._rooms.__aexit__(kind, error, trace)

    def _sampler(
        self,
        endpoints: Endpoints,
        source: EndpointChoice | LocalEngine | None,
        agent: Callable[[], AgentSettings],
    ) -> OnSample | None:
        """What lets servers ask the model; None without one."""
        model = model_name(source)
        if source is None or model is None:
            return None
        return Sampler(endpoints, source, model, agent, self._ask_person)

    async def _follow(self, rooms: AsyncExitStack, host: Host) -> None:
        def notice(level: str, text: str) -> None:
            event = PoolEvent(
                kind="log",
                server_id=None,
                at=datetime.now(UTC),
                level=level,
                text=text,
                source="pool",
            )
            tell(self._subscribers, event)

        live = LiveConfig(self._config, apply=host.adopt, notice=notice)
        group = await rooms.enter_async_context(Background())
        group.start_soon(live.follow)

    async def _endpoint(self, rooms: AsyncExitStack) -> EndpointChoice | LocalEngine | None:
        if not isinstance(self._model, ModelFile):
            return self._model
        engine = LocalEngine.configured(self._model, self._config, self._on_notice)
        return await rooms.enter_async_context(engine)
