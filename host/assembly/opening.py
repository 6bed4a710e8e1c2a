"""Opening the house, room by room, in the order data runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from types import TracebackType

from host.assembly.background import HOOK_GRACE_SECONDS, Background
from host.assembly.fleet_settings import pool_settings
from host.assembly.host import Host
from host.assembly.local_engine import LocalEngine
from host.assembly.subscribers import Subscriber, tell
from host.config import EndpointChoice, HostConfig, ModelFile, configured_model
from host.event_bus import EventBus
from host.pool import ServerPool
from host.wire import Endpoints


class open_host:  # noqa: N801  # reads as a verb where it is used: async with open_host(config)
    """Opens the whole house for the length of a block; the servers are being dialled on entry.

    Args:
        config: what a servers file said (``load_config``).
        subscribers: called with every event of runs and pool, synchronously.
        endpoint: the endpoint to ask, or the model's file to serve; None for what the servers file
            or the environment names. A file is being loaded on entry.
        on_notice: hears how far the loading is.

    Raises:
        ConfigError: the model's file that the servers file names is none; on entry, also that it
            cannot be served.
        EngineFailed: the engine for it ended (on entry).
    """

    def __init__(
        self,
        config: HostConfig,
        *subscribers: Subscriber,
        endpoint: EndpointChoice | ModelFile | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        self._config = config
        self._subscribers = subscribers
        self._model = endpoint or configured_model(config, env=os.environ)
        self._on_notice = on_notice
        self._rooms = AsyncExitStack()

    async def __aenter__(self) -> Host:
        async with AsyncExitStack() as rooms:
            endpoints = await rooms.enter_async_context(Endpoints())
            endpoint = await self._endpoint(rooms)
            pool = await rooms.enter_async_context(
                ServerPool.open(settings=pool_settings(self._config))
            )
            pool.subscribe(partial(tell, self._subscribers))
            group = await rooms.enter_async_context(Background(grace_seconds=HOOK_GRACE_SECONDS))
            host = Host(
                self._config, pool, endpoints, EventBus(), endpoint, self._subscribers, group
            )
            rooms.push_async_callback(host.end_runs)
            pool.start(self._config.rows)
            self._rooms = rooms.pop_all()
        return host

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._rooms.__aexit__(kind, error, trace)

    async def _endpoint(self, rooms: AsyncExitStack) -> EndpointChoice | LocalEngine | None:
        if not isinstance(self._model, ModelFile):
            return self._model
        engine = LocalEngine.configured(self._model, self._config, self._on_notice)
        return await rooms.enter_async_context(engine)
