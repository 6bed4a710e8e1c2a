"""Servers are dialled, rested, lost and found again, each by itself.

Where one is at fault, a neighbour has calls in flight, and all of them succeed.
"""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from host.pool.redial import MAX_REDIALS
from host.pool.rows import ServerRow
from host.pool.server_pool import ServerPool
from tests.fakes.mcp_servers.echo import EchoServer, Servers, echo_tools, memory_row, tool
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.neighbours import NEAR_ROW, beside_memory
from tests.pool.pools import memory_pool, quiet_settings, refused, virtual_now


async def crashed(pool: ServerPool, servers: Servers, name: str) -> None:
    """End the server and wait until the pool knows."""
    watch = Watch(pool)
    servers.opened[name][-1].crash()
    await watch.until(lambda: "close crash" in watch.kinds(name))


async def test_a_ready_server_shows_what_it_is() -> None:
    async with memory_pool(Servers(fs=EchoServer())) as pool:
        state = state_of(pool, "fs")
        assert (state.status, state.error, state.stale) == ("ready", "", False)
        assert [shown.qualified for shown in state.tools] == [
            "fs__ping",
            "fs__echo",
            "fs__add",
            "fs__read",
        ]
        assert (state.era, state.instructions) == ("2026-07-28", "Echoes.")
        assert state.capabilities is not None
        assert "tools" in state.capabilities
        assert state.started_at is not None


@pytest.mark.parametrize(("era", "spoken"), [("legacy", "2025-11-25"), ("2026-07-28",) * 2])
async def test_an_era_can_be_pinned(era: str, spoken: str) -> None:
    async with memory_pool(Servers(fs=EchoServer()), [memory_row("fs", era=era)]) as pool:
        assert state_of(pool, "fs").era == spoken
        assert await pool.call("fs__ping") == "ping({})"


async def test_a_slow_dial_never_delays_the_others() -> None:
    slow = EchoServer()
    servers = Servers(slow=slow, fs=EchoServer(), web=EchoServer())
    rows = map(memory_row, servers.servers)
    async with beside_memory(servers, *rows, max_concurrent_dials=1, is_ready=False) as pool:
        slow.hold_lists = anyio.Event()
        watch = Watch(pool)
        began = anyio.current_time()
        await watch.until(lambda: len(watch.of("connect")) == 2)
        assert await pool.call("fs__ping") == "ping({})"
        assert anyio.current_time() - began < 5
        assert state_of(pool, "slow").status == "connecting"
        assert not await pool.wait_ready(1)
        slow.hold_lists.set()
        assert await pool.wait_ready()
        assert await pool.call("slow__ping") == "ping({})"


async def test_a_call_waits_for_the_first_dial_of_the_server_that_may_own_its_name() -> None:
    fs = EchoServer()
    servers = Servers(fs=fs)
    async with ServerPool.open([memory_row("fs")], settings=quiet_settings(servers)) as pool:
        assert await pool.call("fs__ping") == "ping({})"
        assert servers.dials("fs") == 1


async def test_a_dial_that_takes_too_long_fails_at_its_deadline_and_frees_everything() -> None:
    fs = EchoServer()
    fs.hold_lists = anyio.Event()
    servers = Servers(fs=fs)
    row = memory_row("fs", connect_timeout_ms=3000)
    began = anyio.current_time()
    async with beside_memory(servers, row) as pool:
        assert anyio.current_time() - began < 4
        state = state_of(pool, "fs")
        assert (state.status, state.error) == ("error", "did not answer within 3 s")
        await servers.opened["fs"][0].closed.wait()


async def test_one_deadline_covers_all_pages_and_no_partial_list_is_kept() -> None:
    class SlowPages(EchoServer):
        async def _list(self, *args: Any) -> Any:
            await anyio.sleep(2)
            return await super()._list(*args)

    servers = Servers(fs=SlowPages(page_size=1))
    async with beside_memory(servers, memory_row("fs", connect_timeout_ms=5000)) as pool:
        assert state_of(pool, "fs").status == "error"
        assert state_of(pool, "fs").tools == ()


async def test_all_pages_are_read_in_order() -> None:
    tools = [tool(f"t{number}") for number in range(7)]
    async with memory_pool(Servers(fs=EchoServer(tools, page_size=2))) as pool:
        assert [shown.name for shown in state_of(pool, "fs").tools] == [each.name for each in tools]


async def test_a_transport_that_cannot_be_made_is_a_failed_connect() -> None:
    servers = Servers(fs=EchoServer())
    servers.refused["fs"] = OSError("no such device")
    async with beside_memory(servers) as pool:
        assert state_of(pool, "fs").error == "failed: no such device (OSError)"


async def test_no_time_at_all_to_connect_fails() -> None:
    row = memory_row("fs", connect_timeout_ms=0)
    async with beside_memory(Servers(fs=EchoServer()), row) as pool:
        assert state_of(pool, "fs").error == "did not answer within 0 s"


async def test_a_crash_keeps_the_last_tools_as_stale_and_the_catalogue_shows_them() -> None:
    servers = Servers(fs=EchoServer())
    async with beside_memory(servers) as pool:
        await crashed(pool, servers, "fs")
        state = state_of(pool, "fs")
        assert (state.status, state.stale, len(state.tools)) == ("error", True, 4)
        assert state.error == "closed its output"
        assert state.retry_at is not None
        (shown,) = pool.catalogue()
        assert shown.stale
        assert len(pool.tools()) == 4


async def test_a_crashed_server_is_dialled_by_the_next_use_after_a_short_wait() -> None:
    servers = Servers(fs=EchoServer())
    async with beside_memory(servers) as pool:
        await crashed(pool, servers, "fs")
        began = anyio.current_time()
        assert await pool.call("fs__ping") == "ping({})"
        assert 0.9 <= anyio.current_time() - began < 1.5
        assert not state_of(pool, "fs").stale


async def test_failures_in_a_row_are_redialled_ever_later_and_then_not_at_all() -> None:
    servers = Servers(fs=EchoServer())
    servers.refused["fs"] = OSError("down")
    rows: list[ServerRow] = [memory_row("fs"), NEAR_ROW]
    async with beside_memory(servers) as pool:
        waits = []
        for count in range(MAX_REDIALS + 1):
            due = state_of(pool, "fs").retry_at
            assert due is not None
            waits.append(round((due - virtual_now()).total_seconds()))
            await pool.sync(rows)
            assert servers.dials("fs") == count + 1
            await anyio.sleep(waits[-1] + 0.1)
            await pool.sync(rows)
        assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]
        assert state_of(pool, "fs").retry_at is None
        await anyio.sleep(5_000)
        await pool.sync(rows)
        assert servers.dials("fs") == MAX_REDIALS + 2
        servers.refused.clear()
        await pool.reconnect("fs", rows)
        assert state_of(pool, "fs").status == "ready"


async def test_a_known_tool_of_a_server_that_failed_too_often_says_what_to_do() -> None:
    servers = Servers(fs=EchoServer())
    async with beside_memory(servers, crash_backoff_seconds=0.01) as pool:
        await crashed(pool, servers, "fs")
        servers.refused["fs"] = OSError("down")
        for _ in range(MAX_REDIALS + 1):
            await anyio.sleep(60)
            await pool.sync([memory_row("fs"), NEAR_ROW])
        error = await refused(pool, "fs__ping")
        assert str(error).endswith("; it failed too often and waits to be reconnected")
        assert error.code == "unknown-tool"


async def test_a_stopped_server_rests_across_syncs_until_it_is_used() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers) as pool:
        watch = Watch(pool)
        await pool.stop("fs")
        state = state_of(pool, "fs")
        assert (state.status, state.stale, state.pid) == ("idle", True, None)
        await pool.sync([memory_row("fs")])
        assert servers.dials("fs") == 1
        assert watch.kinds("fs") == ["close stop"]
        assert await pool.call("fs__ping") == "ping({})"
        assert servers.dials("fs") == 2
        await pool.stop("unknown")


async def test_a_listener_of_close_reads_the_final_state() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers) as pool:
        seen: list[str] = []
        pool.subscribe(lambda _: seen.append(state_of(pool, "fs").status))
        await pool.stop("fs")
        assert seen == ["idle"]


async def test_stopping_a_server_ends_its_dial_without_waiting_for_it() -> None:
    fs = EchoServer()
    fs.hold_lists = anyio.Event()
    servers = Servers(fs=fs)
    async with ServerPool.open([memory_row("fs")], settings=quiet_settings(servers)) as pool:
        await anyio.sleep(1)
        with anyio.fail_after(3):
            await pool.stop("fs")
        assert state_of(pool, "fs").status == "idle"
        assert servers.opened["fs"][0].closed.is_set()


async def test_a_server_stopped_before_its_turn_is_never_dialled() -> None:
    servers = Servers(slow=EchoServer(), fs=EchoServer())
    servers.servers["slow"].hold_lists = anyio.Event()
    rows = [memory_row("slow"), memory_row("fs")]
    settings = quiet_settings(servers, max_concurrent_dials=1)
    async with ServerPool.open(rows[:1], settings=settings) as pool:
        await anyio.sleep(0.5)
        pool.start(rows)
        await anyio.sleep(0.5)
        assert state_of(pool, "fs").status == "connecting"
        with anyio.fail_after(3):
            await pool.stop("fs")
        assert (state_of(pool, "fs").status, servers.dials("fs")) == ("idle", 0)
        assert await pool.call("fs__ping") == "ping({})"


async def test_a_disabled_server_stays_disabled_when_it_is_stopped() -> None:
    row = memory_row("fs", enabled=False)
    async with memory_pool(Servers(fs=EchoServer()), [row]) as pool:
        await pool.stop("fs")
        assert state_of(pool, "fs").status == "disabled"


async def test_an_unused_server_is_put_to_rest_and_woken_by_the_next_call() -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer())
    rows = [memory_row("fs", idle_timeout_ms=5000), memory_row("web", idle_timeout_ms=0)]
    async with memory_pool(servers, rows, idle_timeout_seconds=2) as pool:
        watch = Watch(pool)
        await anyio.sleep(4)
        await pool.call("fs__ping")
        await anyio.sleep(4)
        assert state_of(pool, "fs").status == "ready"
        await anyio.sleep(2)
        assert state_of(pool, "fs").status == "idle"
        assert watch.kinds("fs") == ["close idle"]
        assert len(pool.tools()) == 8
        await anyio.sleep(100)
        assert state_of(pool, "web").status == "ready"
        assert await pool.call("fs__ping") == "ping({})"


async def test_a_call_longer_than_the_idle_timeout_is_not_cut_off() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers, [memory_row("fs", idle_timeout_ms=2000)]) as pool:
        assert "sleepMs" in await pool.call("fs__echo", {"sleepMs": 9000})
        assert state_of(pool, "fs").status == "ready"
        await anyio.sleep(5)
        assert state_of(pool, "fs").status == "idle"


async def test_an_edited_idle_timeout_starts_the_clock_anew() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers) as pool:
        await anyio.sleep(50)
        await pool.sync([memory_row("fs", idle_timeout_ms=3000)])
        assert state_of(pool, "fs").status == "ready"
        await anyio.sleep(2)
        assert state_of(pool, "fs").status == "ready"
        await anyio.sleep(2)
        assert state_of(pool, "fs").status == "idle"
        assert servers.dials("fs") == 1


async def test_two_calls_on_a_cold_server_start_it_once() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers, lazy=True) as pool:
        assert state_of(pool, "fs").status == "idle"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.call, "fs__ping")
            tasks.start_soon(pool.call, "fs__echo")
        assert servers.dials("fs") == 1


async def test_an_unknown_name_wakes_only_servers_in_scope_that_may_own_it() -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer(), mail=EchoServer())
    async with memory_pool(servers, lazy=True) as pool:
        assert (await refused(pool, "fs__ping", servers=["web"])).code == "unknown-tool"
        assert servers.dials("fs") == servers.dials("web") == 0
        await refused(pool, "fs__none", servers=["fs", "web"])
        assert (servers.dials("fs"), servers.dials("web"), servers.dials("mail")) == (1, 0, 0)


async def test_a_cancelled_caller_does_not_cancel_a_dial_others_wait_for() -> None:
    fs = EchoServer()
    fs.hold_lists = anyio.Event()
    servers = Servers(fs=fs)
    async with memory_pool(servers, lazy=True) as pool:
        with anyio.move_on_after(1):
            await pool.call("fs__ping")
        fs.hold_lists.set()
        assert await pool.call("fs__ping") == "ping({})"
        assert servers.dials("fs") == 1


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_burst_of_changes_is_one_new_listing(era: str) -> None:
    fs = EchoServer()
    async with memory_pool(Servers(fs=fs), [memory_row("fs", era=era)]) as pool:
        watch = Watch(pool)
        await anyio.sleep(1)
        await fs.change(*echo_tools(), tool("new"), times=5)
        await watch.until(lambda: bool(watch.of("tools-changed")))
        await anyio.sleep(20)
        assert fs.lists == 2
        (event,) = watch.of("tools-changed")
        assert (event.added, event.removed, event.tools) == (("new",), (), 5)
        assert event.before != event.after == state_of(pool, "fs").tools_fingerprint
        assert await pool.call("fs__new") == "new({})"


async def test_odd_tools_of_a_new_listing_are_told() -> None:
    fs = EchoServer()
    async with memory_pool(Servers(fs=fs), [memory_row("fs", era="legacy")]) as pool:
        watch = Watch(pool)
        await fs.change(tool("twice"), tool("twice"))
        await watch.until(lambda: bool(watch.of("tools-changed")))
        (told,) = watch.of("log")
        assert told.text == 'tool "twice": it is listed twice; the first counts'


async def test_changes_that_are_none_are_looked_at_ever_more_rarely() -> None:
    fs = EchoServer()
    async with beside_memory(Servers(fs=fs), memory_row("fs", era="legacy")) as pool:
        watch = Watch(pool)
        for _ in range(20):
            await fs.change(*echo_tools())
            await anyio.sleep(1)
        assert 2 < fs.lists < 7
        assert not watch.of("tools-changed")


async def test_a_new_listing_that_fails_leaves_the_old_one() -> None:
    fs = EchoServer()
    async with beside_memory(Servers(fs=fs), memory_row("fs", era="legacy")) as pool:
        watch = Watch(pool)
        fs.fail_lists = True
        await fs.change(tool("new"))
        await watch.until(lambda: bool(watch.of("log")))
        assert "could not list its tools again" in str(watch.of("log")[0].text)
        assert len(pool.tools()) == 4
        assert state_of(pool, "fs").status == "ready"


async def test_a_cold_server_that_comes_back_different_tells_it() -> None:
    fs = EchoServer()
    servers = Servers(fs=fs)
    async with memory_pool(servers) as pool:
        await pool.stop("fs")
        fs.tools = [tool("ping"), tool("other")]
        watch = Watch(pool)
        await pool.call("fs__ping")
        assert watch.kinds("fs") == ["connect", "tools-changed"]
        (event,) = watch.of("tools-changed")
        assert (event.added, event.removed) == (("other",), ("echo", "add", "read"))


async def test_a_server_without_tools_is_ready() -> None:
    async with memory_pool(Servers(fs=EchoServer([]))) as pool:
        assert state_of(pool, "fs").status == "ready"
        assert pool.catalogue() == []


async def test_without_an_index_nothing_is_listed_and_every_name_refused() -> None:
    fs = EchoServer()
    servers = Servers(fs=fs)
    async with memory_pool(servers, index_tools=False) as pool:
        assert state_of(pool, "fs").status == "ready"
        assert (fs.lists, pool.tools()) == (0, [])
        assert state_of(pool, "fs").instructions == "Echoes."
        assert (await refused(pool, "fs__ping")).code == "unknown-tool"
        tools = await pool.use("fs", lambda client: client.list_tools())
        assert len(tools.tools) == 4


async def test_closing_the_pool_closes_every_connection_and_fails_calls_in_flight() -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer())
    codes: list[str] = []

    async def call(pool: ServerPool) -> None:
        error = await refused(pool, "fs__echo", {"sleepMs": 90_000})
        assert "was closed with the pool during the call" in str(error)
        codes.append(error.code)

    async with anyio.create_task_group() as tasks:
        async with memory_pool(servers) as pool:
            watch = Watch(pool)
            tasks.start_soon(call, pool)
            await servers.servers["fs"].started.wait()
        assert watch.kinds("fs") == ["close shutdown"]
        assert watch.kinds("web") == ["close shutdown"]
    assert codes == ["tool-error"]
    assert all(each.closed.is_set() for opened in servers.opened.values() for each in opened)
    with pytest.raises(RuntimeError, match="the pool is closed"):
        await pool.call("fs__ping")
    assert pool.state() == []
