"""Rows are read and applied at once, in a moment, or before going on."""

from __future__ import annotations

from collections.abc import Iterable

import anyio
import anyio.lowlevel
import pytest

from host.errors import PoolError
from host.pool.rows import ServerRow
from host.pool.server_pool import ServerPool
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row, tool
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.pools import memory_pool, quiet_settings


class Rows:
    """What ``load`` gives, and how often it was asked."""

    def __init__(self, *rows: ServerRow) -> None:
        self.rows: Iterable[ServerRow] = rows
        self.asked = 0
        self.error: Exception | None = None

    async def load(self) -> Iterable[ServerRow]:
        self.asked += 1
        await anyio.lowlevel.checkpoint()
        if self.error:
            raise self.error
        return self.rows


async def test_rows_are_loaded_when_none_are_given() -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer())
    rows = Rows(memory_row("fs"))
    async with ServerPool.open(load=rows.load, settings=quiet_settings(servers)) as pool:
        await pool.wait_ready()
        assert [state.id for state in pool.state()] == ["fs"]
        rows.rows = [memory_row("web")]
        await pool.sync()
        assert [state.id for state in pool.state()] == ["web"]


async def test_rows_may_be_loaded_without_waiting() -> None:
    servers = Servers(fs=EchoServer())
    async with ServerPool.open(
        load=lambda: [memory_row("fs")], settings=quiet_settings(servers)
    ) as pool:
        assert await pool.wait_ready()
        assert state_of(pool, "fs").status == "ready"


async def test_a_load_that_fails_keeps_the_pool_from_opening() -> None:
    rows = Rows()
    rows.error = OSError("no file")
    with pytest.raises(OSError, match="no file"):
        async with ServerPool.open(load=rows.load):
            pass


async def test_without_rows_and_without_a_load_nothing_is_touched() -> None:
    async with memory_pool(Servers(fs=EchoServer())) as pool:
        with pytest.raises(PoolError) as synced:
            await pool.sync()
        with pytest.raises(PoolError) as reconnected:
            await pool.reconnect("fs")
        assert synced.value.code == reconnected.value.code == "no-configs"
        assert state_of(pool, "fs").status == "ready"


async def test_a_load_that_fails_leaves_everything_as_it_was() -> None:
    servers = Servers(fs=EchoServer())
    rows = Rows(memory_row("fs"))
    async with ServerPool.open(load=rows.load, settings=quiet_settings(servers)) as pool:
        await pool.wait_ready()
        rows.error = OSError("no file")
        with pytest.raises(OSError, match="no file"):
            await pool.sync()
        with pytest.raises(OSError, match="no file"):
            await pool.reconnect("fs")
        assert servers.dials("fs") == 1
        assert await pool.call("fs__ping") == "ping({})"


async def test_syncs_put_off_become_one_in_a_moment() -> None:
    servers = Servers(fs=EchoServer())
    rows = Rows()
    async with ServerPool.open(load=rows.load, settings=quiet_settings(servers)) as pool:
        watch = Watch(pool)
        rows.rows = [memory_row("fs")]
        for _ in range(5):
            pool.sync_soon()
            await anyio.sleep(0.03)
        assert rows.asked == 1
        await watch.until(lambda: bool(watch.of("connect")))
        assert rows.asked == 2


async def test_a_sync_put_off_that_fails_is_told_and_not_raised() -> None:
    rows = Rows()
    async with ServerPool.open(load=rows.load) as pool:
        watch = Watch(pool)
        rows.error = OSError("no file")
        pool.sync_soon()
        await watch.until(lambda: bool(watch.of("log")))
        assert watch.of("log")[0].text == "the servers could not be synced: no file"
        pool.sync_soon()
        await pool.flush()
        assert len(watch.of("log")) == 2


async def test_flushing_does_what_was_put_off_and_waits_for_it() -> None:
    servers = Servers(fs=EchoServer())
    rows = Rows()
    async with ServerPool.open(load=rows.load, settings=quiet_settings(servers)) as pool:
        rows.rows = [memory_row("fs")]
        pool.sync_soon()
        await pool.flush()
        assert state_of(pool, "fs").status == "ready"
        await pool.flush()
        assert rows.asked == 2


async def test_flushing_waits_for_a_sync_that_is_under_way() -> None:
    servers = Servers(fs=EchoServer())
    rows = Rows()
    async with ServerPool.open(load=rows.load, settings=quiet_settings(servers)) as pool:
        rows.rows = [memory_row("fs")]
        servers.servers["fs"].hold_lists = anyio.Event()
        pool.sync_soon()
        await anyio.sleep(1)
        flushed = anyio.Event()

        async def flush() -> None:
            await pool.flush()
            flushed.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(flush)
            await anyio.sleep(1)
            assert not flushed.is_set()
            servers.servers["fs"].hold_lists.set()
        assert state_of(pool, "fs").status == "ready"


async def test_reconnecting_starts_from_nothing_and_tells_no_change() -> None:
    fs = EchoServer()
    async with memory_pool(Servers(fs=fs)) as pool:
        watch = Watch(pool)
        fs.tools = [tool("other")]
        await pool.reconnect("fs", [memory_row("fs")])
        assert watch.kinds("fs") == ["close reconnect", "connect"]
        assert await pool.call("fs__other") == "other({})"


async def test_reconnecting_an_unknown_server_still_syncs() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers, []) as pool:
        await pool.reconnect("nobody", [memory_row("fs")])
        assert state_of(pool, "fs").status == "ready"


async def test_reconnecting_a_disabled_server_does_not_start_it() -> None:
    servers = Servers(fs=EchoServer())
    row = memory_row("fs", enabled=False)
    async with memory_pool(servers, [row]) as pool:
        await pool.reconnect("fs", [row])
        assert (state_of(pool, "fs").status, servers.dials("fs")) == ("disabled", 0)


async def test_the_pool_opens_without_waiting_and_tells_what_happens_afterwards() -> None:
    servers = Servers(fs=EchoServer())
    async with ServerPool.open([memory_row("fs")], settings=quiet_settings(servers)) as pool:
        watch = Watch(pool)
        assert state_of(pool, "fs").status == "connecting"
        assert await pool.wait_ready()
        assert watch.kinds("fs") == ["connect"]


async def test_an_opened_pool_can_be_started_later() -> None:
    servers = Servers(fs=EchoServer())
    async with ServerPool.open(settings=quiet_settings(servers)) as pool:
        assert pool.state() == []
        watch = Watch(pool)
        pool.start([memory_row("fs")])
        assert await pool.wait_ready()
        assert watch.kinds("fs") == ["connect"]
