"""Waiting for a fleet ends with its slow servers still on their way."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from host.assembly import wait_until_settled
from host.pool import ServerPool
from tests.fakes.mcp_servers.processes import plain_row


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


async def settled(*rows: Any) -> dict[str, str]:
    async with ServerPool.open(rows) as pool:
        await wait_until_settled(pool)
        return {state.id: state.status for state in pool.state()}


async def test_a_server_that_only_talks_while_it_connects_holds_up_nobody() -> None:
    with anyio.fail_after(20):
        rows = (plain_row("plain"), plain_row("talks", "--chatter", connect_timeout_ms=600_000))
        assert await settled(*rows) == {"plain": "ready", "talks": "connecting"}


async def test_a_fleet_that_is_slow_as_a_whole_is_waited_for() -> None:
    with anyio.fail_after(20):
        assert await settled(plain_row("slow", "--start-seconds", "1.5")) == {"slow": "ready"}


async def test_a_fleet_that_failed_as_a_whole_is_not_waited_for() -> None:
    with anyio.fail_after(20):
        assert await settled(plain_row("dead", "--exit-at-start", "x")) == {"dead": "error"}


async def test_a_fleet_of_nobody_is_settled() -> None:
    with anyio.fail_after(20):
        assert await settled() == {}
        off = plain_row("off", enabled=False)
        assert await settled(off) == {"off": "disabled"}
