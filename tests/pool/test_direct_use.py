"""The host's own code gets connected clients, and clear words where there is none."""

from __future__ import annotations

import anyio
import pytest

from host.errors import PoolError, PoolErrorCode
from host.pool.server_pool import ServerPool
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.pools import memory_pool, quiet_settings, virtual_now


async def failed(pool: ServerPool, server_id: str) -> PoolError:
    with pytest.raises(PoolError) as error:
        await pool.client(server_id)
    return error.value


async def test_a_client_is_handed_out_connected() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers, lazy=True) as pool:
        client = await pool.client("fs")
        assert (await client.list_tools()).tools
        assert await pool.client("fs") is client
        assert servers.dials("fs") == 1


async def test_a_client_waits_for_a_dial_under_way() -> None:
    servers = Servers(fs=EchoServer())
    async with ServerPool.open([memory_row("fs")], settings=quiet_settings(servers)) as pool:
        await pool.client("fs")
        assert servers.dials("fs") == 1


@pytest.mark.parametrize(
    ("server_id", "code", "words"),
    [
        ("nobody", "unknown-server", 'no server "nobody" is configured'),
        ("off", "disabled", 'server "off" is disabled in its row'),
    ],
)
async def test_who_is_not_there_is_told(server_id: str, code: PoolErrorCode, words: str) -> None:
    rows = [memory_row("off", enabled=False)]
    async with memory_pool(Servers(off=EchoServer()), rows) as pool:
        error = await failed(pool, server_id)
        assert (error.code, str(error), error.server_id) == (code, words, server_id)


async def test_a_dial_that_failed_just_now_and_one_that_is_not_due_are_told_apart() -> None:
    servers = Servers(fs=EchoServer())
    servers.refused["fs"] = OSError("down")
    async with memory_pool(servers, lazy=True, crash_backoff_seconds=5) as pool:
        first = await failed(pool, "fs")
        assert (first.code, first.retry_at) == ("connect-failed", None)
        assert str(first) == 'server "fs" could not be connected: failed: down (OSError)'
        second = await failed(pool, "fs")
        assert second.code == "backoff"
        assert second.retry_at == pytest.approx(virtual_now().timestamp() + 5, abs=1)
        assert servers.dials("fs") == 1
        await anyio.sleep(5.1)
        assert (await failed(pool, "fs")).code == "connect-failed"
        assert servers.dials("fs") == 2


async def test_a_server_that_has_just_crashed_is_in_backoff() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers) as pool:
        watch = Watch(pool)
        servers.opened["fs"][-1].crash()
        await watch.until(lambda: "close crash" in watch.kinds("fs"))
        error = await failed(pool, "fs")
        assert error.code == "backoff"
        assert "closed its output" in str(error)


async def test_a_server_stopped_while_it_was_waited_for_is_told() -> None:
    servers = Servers(fs=EchoServer())
    servers.servers["fs"].hold_lists = anyio.Event()
    async with (
        ServerPool.open([memory_row("fs")], settings=quiet_settings(servers)) as pool,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(failed, pool, "fs")
        await anyio.sleep(1)
        await pool.stop("fs")


async def test_use_counts_as_use_and_hands_on_what_run_makes() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers, [memory_row("fs", idle_timeout_ms=2000)]) as pool:

        async def run(client: object) -> int:
            await anyio.sleep(9)
            return id(client)

        assert await pool.use("fs", run) == id(await pool.client("fs"))
        assert state_of(pool, "fs").status == "ready"


async def test_an_error_of_run_passes_through_and_is_not_repeated() -> None:
    runs: list[object] = []

    async def run(client: object) -> None:
        runs.append(client)
        raise LookupError("mine")

    async with memory_pool(Servers(fs=EchoServer())) as pool:
        with pytest.raises(LookupError, match="mine"):
            await pool.use("fs", run)
    assert len(runs) == 1
