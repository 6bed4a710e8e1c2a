"""A neighbour that suffers fails the test: else it would prove nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from host.errors import PoolError
from tests.fakes.mcp_servers.echo import EchoServer, Servers
from tests.fakes.mcp_servers.watching import state_of
from tests.pool.neighbours import NEAR, beside, beside_memory


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


async def closed_in_memory() -> None:
    async with beside_memory(Servers(a=EchoServer())) as pool:
        await pool.stop(NEAR)
        await anyio.sleep_forever()


async def killed() -> None:
    async with beside() as pool:
        os.kill(state_of(pool, NEAR).pid or 0, signal.SIGKILL)
        await anyio.sleep_forever()


@pytest.mark.parametrize("suffer", [closed_in_memory, killed])
async def test_a_neighbour_that_suffers_fails_the_block(
    suffer: Callable[[], Awaitable[None]],
) -> None:
    with pytest.raises(ExceptionGroup) as failed:
        await suffer()
    assert failed.group_contains(PoolError, match="during the call")
