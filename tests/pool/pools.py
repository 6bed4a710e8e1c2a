"""Pools over servers in memory, for the tests of this room."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from host.errors import PoolError
from host.pool.rows import ServerRow
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from tests.fakes.mcp_servers.echo import Servers, memory_row


def quiet_settings(servers: Servers, **settings: Any) -> PoolSettings:
    """Settings over servers in memory, without chance and on virtual time."""
    certain: dict[str, Any] = {"jitter": lambda: 1.0, "now": virtual_now}
    return PoolSettings(create_transport=servers.create_transport, **(certain | settings))


def virtual_now() -> datetime:
    """The wall clock of a test."""
    return datetime.fromtimestamp(anyio.current_time(), UTC)


@asynccontextmanager
async def memory_pool(
    servers: Servers,
    rows: Iterable[ServerRow] | None = None,
    **settings: Any,
) -> AsyncIterator[ServerPool]:
    """A pool whose servers are ready, or have failed; by default a row for each server."""
    wanted = [memory_row(name) for name in servers.servers] if rows is None else rows
    with anyio.fail_after(10_000):
        async with ServerPool.open(wanted, settings=quiet_settings(servers, **settings)) as pool:
            await pool.wait_ready()
            yield pool


async def refused(pool: ServerPool, name: str, arguments: object = None, **how: Any) -> PoolError:
    """The error a call is refused or fails with."""
    with pytest.raises(PoolError) as error:
        await pool.call(name, arguments, **how)
    return error.value
