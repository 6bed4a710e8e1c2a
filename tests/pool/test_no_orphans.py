"""No server outlives its host, however the host ends (design §8 "No orphans"). Linux."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.to_thread
import pytest

from host.pool.server_pool import ServerPool
from tests.absence import linux_processes
from tests.architecture import ROOT
from tests.fakes.mcp_servers.host_program import SERVERS, ready_groups, ten_rows
from tests.fakes.mcp_servers.processes import alive_in_group, group_gone

HOSTS = [("asyncio", "killed"), ("trio", "killed"), ("asyncio", "interrupted")]


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


@pytest.fixture(scope="module", autouse=True)
def on_linux() -> None:
    linux_processes()


@pytest.fixture(scope="module")
def hosts() -> Iterator[dict[tuple[str, str], subprocess.Popen[str]]]:
    """All the hosts at once: importing the SDK takes each of them a while."""
    started = {
        (backend, fate): subprocess.Popen(
            [sys.executable, "-m", "tests.fakes.mcp_servers.host_program", backend],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for backend, fate in HOSTS
    }
    yield started
    for process in started.values():
        process.kill()
        process.communicate()


async def told_groups(host: subprocess.Popen[str]) -> list[int]:
    assert host.stdout is not None
    with anyio.fail_after(60):
        groups: list[int] = json.loads(await anyio.to_thread.run_sync(host.stdout.readline))
    assert len(groups) == SERVERS
    assert all(alive_in_group(group) for group in groups)
    return groups


@pytest.mark.slow
async def test_nothing_survives_a_host_that_is_killed(
    hosts: dict[tuple[str, str], subprocess.Popen[str]], anyio_backend_name: str
) -> None:
    host = hosts[anyio_backend_name, "killed"]
    groups = await told_groups(host)
    host.kill()
    assert await group_gone(*groups)


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_nothing_survives_a_host_that_is_interrupted_while_it_ends(
    hosts: dict[tuple[str, str], subprocess.Popen[str]], anyio_backend: str
) -> None:
    host = hosts[anyio_backend, "interrupted"]
    groups = await told_groups(host)
    host.send_signal(signal.SIGINT)
    await anyio.sleep(0.2)
    host.send_signal(signal.SIGINT)
    with anyio.fail_after(15):
        await anyio.to_thread.run_sync(host.wait)
    assert await group_gone(*groups)


@pytest.mark.parametrize("anyio_backend", ["asyncio", pytest.param("trio", marks=pytest.mark.slow)])
async def test_nothing_survives_a_pool_however_its_block_is_left() -> None:
    groups: list[int] = []

    async def leave(how: str) -> None:
        with anyio.CancelScope() as scope:
            async with ServerPool.open(ten_rows()) as pool:
                await pool.wait_ready(60)
                mine = ready_groups(pool)
                assert len(mine) == SERVERS
                groups.extend(mine)
                if how == "exception":
                    raise LookupError(how)
                if how == "cancellation":
                    scope.cancel()
                    await anyio.sleep_forever()

    async def fail() -> None:
        with pytest.raises(LookupError):
            await leave("exception")

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave, "its end")
            tasks.start_soon(leave, "cancellation")
            tasks.start_soon(fail)
    assert len(groups) == 3 * SERVERS
    assert await group_gone(*groups)
