"""Opening the house, room by room, in the order data runs."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from functools import partial
from types import TracebackType

from host.assembly.background import HOOK_GRACE_SECONDS, Background
from host.assembly.fleet_settings import pool_settings
from host.assembly.host import Host
from host.assembly.subscribers import Subscriber, tell
from host.config import EndpointChoice, HostConfig, configured_endpoint
from host.event_bus import EventBus
from host.pool import ServerPool
from host.wire import Endpoints


class open_host:  # noqa: N801  # reads as a verb where it is used: async with open_host(config)
    """Opens the whole house for the length of a block; the servers are being dialled on entry.

    Args:
        config: what a servers file said (``load_config``).
        subscribers: called with every event of runs and pool, synchronously.
        endpoint: the endpoint to ask; None for the one of the file or the environment.
    """

    def __init__(
        self, config: HostConfig, *subscribers: Subscriber, endpoint: EndpointChoice | None = None
    ) -> None:
        self._config = config
        self._subscribers = subscribers
        self._endpoint = endpoint or configured_endpoint(config, env=os.environ)
        self._rooms = AsyncExitStack()

    async def __aenter__(self) -> Host:
        async with AsyncExitStack() as rooms:
            endpoints = await rooms.enter_async_context(Endpoints())
            pool = await rooms.enter_async_context(
                ServerPool.open(settings=pool_settings(self._config))
            )
            pool.subscribe(partial(tell, self._subscribers))
            group = await rooms.enter_async_context(Background(grace_seconds=HOOK_GRACE_SECONDS))
            host = Host(
                self._config, pool, endpoints, EventBus(), self._endpoint, self._subscribers, group
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
