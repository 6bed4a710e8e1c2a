"""Servers come, rest, fail and return in any order of events, each of them by itself."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from host.errors import PoolError
from host.pool.fleet import SLOT_SECONDS
from host.pool.redial import BROKEN, MAX_REDIALS, STEADY_SECONDS
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row, tool
from tests.fakes.mcp_servers.memory_transport import MemoryTransport
from tests.fakes.mcp_servers.task_server import Refusal, TaskServer
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.pools import memory_pool, quiet_settings, refused, virtual_now


class SlowlyClosed(Servers):
    """Servers whose connections take their time to close.

    Attributes:
        log: what was opened and closed, in order.
    """

    def __init__(self, **servers: EchoServer) -> None:
        super().__init__(**servers)
        self.log: list[str] = []

    def create_transport(self, row: Any) -> MemoryTransport:
        transport = super().create_transport(row)
        name = row.url.rpartition("/")[2]
        log, leave, enter = self.log, transport.__class__.__aexit__, transport.__class__.__aenter__

        class Slow(MemoryTransport):
            async def __aenter__(self) -> Any:
                log.append(f"open {name}")
                return await enter(transport)

            async def __aexit__(self, *error: Any) -> None:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.5)
                await leave(transport, *error)
                log.append(f"closed {name}")

        return Slow(self.servers[name].serve)


async def crashed(pool: ServerPool, servers: Servers, name: str) -> None:
    """End the server and wait until the pool knows."""
    watch = Watch(pool)
    servers.opened[name][-1].crash()
    await watch.until(lambda: "close crash" in watch.kinds(name))


# Resting


async def test_a_reap_that_was_due_to_an_earlier_connection_leaves_the_next_one_alone() -> None:
    servers = Servers(fs=EchoServer())
    rows = [memory_row("fs", idle_timeout_ms=5000)]
    async with memory_pool(servers, rows) as pool:
        await anyio.sleep(4.5)
        await pool.reconnect("fs", rows)
        await anyio.sleep(4)
        assert state_of(pool, "fs").status == "ready"
        await anyio.sleep(2)
        assert state_of(pool, "fs").status == "idle"
        assert servers.dials("fs") == 2


async def test_the_idle_clock_starts_at_the_end_of_the_last_of_several_uses() -> None:
    servers = Servers(fs=EchoServer())
    rows = [memory_row("fs", idle_timeout_ms=3000)]
    async with memory_pool(servers, rows) as pool:

        async def use(_client: object) -> None:
            await pool.call("fs__echo", {"sleepMs": 8000})
            await anyio.sleep(4)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.use, "fs", use)
            tasks.start_soon(pool.call, "fs__echo", {"sleepMs": 2000})
        assert state_of(pool, "fs").status == "ready"
        await anyio.sleep(2)
        assert state_of(pool, "fs").status == "ready"
        await anyio.sleep(2)
        assert state_of(pool, "fs").status == "idle"
        assert servers.dials("fs") == 1


async def test_a_call_that_comes_while_a_server_is_put_to_rest_is_made_on_the_next_connection() -> (
    None
):
    servers = SlowlyClosed(fs=EchoServer())
    async with memory_pool(servers) as pool, anyio.create_task_group() as tasks:
        tasks.start_soon(pool.stop, "fs")
        await anyio.sleep(0.1)
        assert state_of(pool, "fs").status == "idle"
        assert await pool.call("fs__ping") == "ping({})"
        assert servers.log == ["open fs", "closed fs", "open fs"]


async def test_a_server_that_dies_while_it_is_put_to_rest_rests() -> None:
    servers = SlowlyClosed(fs=EchoServer())
    async with memory_pool(servers) as pool:
        watch = Watch(pool)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.stop, "fs")
            await anyio.sleep(0.1)
            servers.opened["fs"][-1].crash()
        assert watch.kinds("fs") == ["close stop"]
        state = state_of(pool, "fs")
        assert (state.status, state.error, state.retry_at) == ("idle", "", None)
        assert await pool.call("fs__ping") == "ping({})"


async def test_a_server_stopped_from_within_its_own_use_is_dialled_again_by_the_next_call() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers) as pool:

        async def use(_client: object) -> str:
            await pool.stop("fs")
            return await pool.call("fs__ping")

        with anyio.fail_after(20):
            assert await pool.use("fs", use) == "ping({})"
        assert servers.dials("fs") == 2


async def test_a_dial_that_is_given_up_tells_of_no_connection_closed() -> None:
    servers = Servers(fs=EchoServer())
    servers.servers["fs"].hold_lists = anyio.Event()
    async with ServerPool.open([memory_row("fs")], settings=quiet_settings(servers)) as pool:
        watch = Watch(pool)
        await anyio.sleep(1)
        await pool.stop("fs")
        assert watch.kinds("fs") == []


# Failing


async def test_a_failed_wake_keeps_what_was_known_as_stale() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers) as pool:
        await pool.stop("fs")
        servers.refused["fs"] = OSError("down")
        error = await refused(pool, "fs__ping")
        assert (error.code, "failed: down" in str(error)) == ("unknown-tool", True)
        state = state_of(pool, "fs")
        assert (state.status, state.stale, len(state.tools)) == ("error", True, 4)
        assert [server.stale for server in pool.catalogue()] == [True]


async def test_a_failed_dial_is_one_event_with_time_and_reason() -> None:
    servers = Servers(fs=EchoServer())
    servers.servers["fs"].hold_lists = anyio.Event()
    rows = [memory_row("fs", connect_timeout_ms=2000)]
    async with ServerPool.open(rows, settings=quiet_settings(servers)) as pool:
        watch = Watch(pool)
        await pool.wait_ready()
        (event,) = watch.of("connect-failed")
        assert event.error == "did not answer within 2 s"
        assert event.seconds is not None
        assert 2 <= event.seconds < 3
        assert watch.kinds("fs") == ["connect-failed"]


async def test_a_stop_makes_failures_forgotten() -> None:
    servers = Servers(fs=EchoServer())
    servers.refused["fs"] = OSError("down")
    async with memory_pool(servers, crash_backoff_seconds=50) as pool:
        servers.refused.clear()
        await pool.stop("fs")
        assert state_of(pool, "fs").error == ""
        assert await pool.call("fs__ping") == "ping({})"


async def test_a_minute_without_failure_makes_the_delays_start_anew() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers) as pool:
        waits = []
        for up in (1, 1, STEADY_SECONDS + 1, 1):
            await anyio.sleep(up)
            await crashed(pool, servers, "fs")
            due = state_of(pool, "fs").retry_at
            assert due is not None
            waits.append(round((due - virtual_now()).total_seconds()))
            await anyio.sleep(waits[-1] + 0.1)
            await pool.sync([memory_row("fs")])
        assert waits == [1, 2, 1, 2]


async def test_a_server_that_flaps_costs_so_many_dials_an_hour_and_its_state_says_so() -> None:
    servers = Servers(fs=EchoServer(), near=EchoServer())
    rows = [memory_row("fs"), memory_row("near")]
    async with memory_pool(servers, rows, crash_backoff_seconds=0.1) as pool:
        for _ in range(3 * MAX_REDIALS):
            if state_of(pool, "fs").status == "ready":
                await crashed(pool, servers, "fs")
            await anyio.sleep(61)
            await pool.sync(rows)
            assert await pool.call("near__ping") == "ping({})"
        assert servers.dials("fs") == MAX_REDIALS + 2
        state = state_of(pool, "fs")
        assert (state.status, state.retry_at) == ("error", None)
        assert state.error == f"closed its output; {BROKEN}"
        assert BROKEN in str(await refused(pool, "fs__ping"))
        with pytest.raises(PoolError, match=BROKEN) as error:
            await pool.client("fs")
        assert (error.value.code, error.value.retry_at) == ("backoff", None)
        await pool.reconnect("fs", rows)
        assert await pool.call("fs__ping") == "ping({})"


# Syncing


async def test_an_edit_of_the_connection_during_its_dial_gives_that_up_and_dials_anew() -> None:
    servers = SlowlyClosed(fs=EchoServer(), other=EchoServer())
    servers.servers["fs"].hold_lists = anyio.Event()
    async with ServerPool.open([memory_row("fs")], settings=quiet_settings(servers)) as pool:
        watch = Watch(pool)
        await anyio.sleep(1)
        await pool.sync([memory_row("fs", "other")])
        assert watch.kinds("fs") == ["connect"]
        assert servers.log == ["open fs", "closed fs", "open other"]
        assert await pool.call("fs__ping") == "ping({})"


async def test_many_edits_in_a_row_leave_one_connection() -> None:
    servers = SlowlyClosed(fs=EchoServer(), other=EchoServer())
    async with memory_pool(servers, [memory_row("fs")]) as pool:
        for turn in range(6):
            pool.start([memory_row("fs", ("fs", "other")[turn % 2])])
            await anyio.sleep(0.05 * turn)
        assert await pool.call("fs__ping") == "ping({})"
        assert servers.servers["other"].calls == ["ping"]
        opened = sum(line.startswith("open") for line in servers.log)
        await anyio.sleep(5)
        assert sum(line.startswith("closed") for line in servers.log) == opened - 1


async def test_a_removed_server_fails_its_calls_at_once_and_is_no_more_in_the_state() -> None:
    servers = SlowlyClosed(fs=EchoServer(), near=EchoServer())
    seen: list[list[str]] = []
    async with memory_pool(servers) as pool, anyio.create_task_group() as tasks:
        pool.subscribe(
            lambda event: (
                seen.append([state.id for state in pool.state()]) if event.kind == "close" else None
            )
        )
        errors: list[PoolError] = []

        async def call() -> None:
            errors.append(await refused(pool, "fs__echo", {"sleepMs": 90_000}))

        tasks.start_soon(call)
        await servers.servers["fs"].started.wait()
        began = anyio.current_time()
        await pool.sync([memory_row("near")])
        assert anyio.current_time() - began < 3
        assert await pool.call("near__ping") == "ping({})"
        assert errors[0].code == "tool-error"
        assert seen == [["near"]]


async def test_only_a_sync_reads_the_rows_never_a_use() -> None:
    asked = 0
    servers = Servers(fs=EchoServer())

    def load() -> list[Any]:
        nonlocal asked
        asked += 1
        return [memory_row("fs")]

    async with ServerPool.open(load=load, settings=quiet_settings(servers, lazy=True)) as pool:
        await pool.call("fs__ping")
        await refused(pool, "fs__none")
        await pool.client("fs")
        await pool.stop("fs")
        assert asked == 1


async def test_no_more_servers_start_at_once_than_allowed_and_slow_ones_give_way() -> None:
    names = [f"s{number}" for number in range(6)]
    servers = SlowlyClosed(**{name: EchoServer() for name in names})
    held = anyio.Event()
    for server in servers.servers.values():
        server.hold_lists = held
    rows = [memory_row(name) for name in names]
    settings = quiet_settings(servers, max_concurrent_dials=2)
    async with ServerPool.open(rows, settings=settings) as pool:
        for started in (2, 4, 6):
            await anyio.sleep(SLOT_SECONDS - 0.5 if started == 2 else SLOT_SECONDS)
            assert len(servers.log) == started
        assert [state.status for state in pool.state()] == ["connecting"] * 6
        held.set()
        assert await pool.wait_ready()


async def test_what_a_server_says_before_it_is_ready_is_heard() -> None:
    class Talking(EchoServer):
        async def _list(self, *args: Any) -> Any:
            listed = await super()._list(*args)
            if self.lists == 1:
                await self.say("warning", "still warming up")
                await anyio.sleep(1)
            return listed

    heard: list[str] = []
    servers = Servers(fs=Talking())
    rows = [memory_row("fs", era="legacy")]
    async with ServerPool.open(settings=quiet_settings(servers)) as pool:
        pool.on_notification(lambda server_id, told: heard.append(f"{server_id} {told.method}"))
        pool.start(rows)
        await pool.wait_ready()
        assert heard == ["fs notifications/message"]


# The probe for the newer era


@pytest.mark.parametrize("code", [-32601, -32602, -32603, -32600, 0, -32000])
async def test_whatever_error_the_probe_meets_the_older_era_is_spoken(code: int) -> None:
    class Probed(TaskServer):
        async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            if method == "server/discover":
                raise Refusal(code, "Invalid request parameters")
            return await super().answer(method, params)

    await _speaks_the_older_era(Probed(is_modern=False))


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"supportedVersions": []},
        {"supportedVersions": ["2025-11-25"], "capabilities": {}},
        {"supportedVersions": "all", "capabilities": {}},
    ],
)
async def test_an_odd_answer_to_the_probe_is_none(odd: dict[str, Any]) -> None:
    class Probed(TaskServer):
        async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            if method == "server/discover":
                return odd
            return await super().answer(method, params)

    await _speaks_the_older_era(Probed(is_modern=False))


async def _speaks_the_older_era(server: TaskServer) -> None:
    settings = PoolSettings(create_transport=server.create_transport, now=virtual_now)
    async with ServerPool.open([memory_row("lab")], settings=settings) as pool:
        assert await pool.wait_ready()
        assert state_of(pool, "lab").era == "2025-11-25"
        assert await pool.call("lab__plain") == "at once"
        assert len(server.opened) == 1


# A lost session is tested over HTTP (test_http_transport, test_http_faults).


async def test_a_tool_that_is_gone_after_a_new_dial_is_refused_and_not_called() -> None:
    fs = EchoServer([tool("ping"), tool("old")])
    servers = Servers(fs=fs)
    async with memory_pool(servers) as pool:
        await pool.stop("fs")
        fs.tools = [tool("ping")]
        error = await refused(pool, "fs__old")
        assert error.code == "unknown-tool"
        assert fs.calls == []


# Waiting for a dial that is replaced


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("is_edit", [False, True])
async def test_a_call_that_waits_for_a_dial_is_made_on_the_one_that_takes_its_place(
    is_known: bool, is_edit: bool
) -> None:
    fs = EchoServer()
    servers = SlowlyClosed(fs=fs)
    answers: list[str] = []

    async with (
        memory_pool(servers, lazy=True) as pool,
        anyio.create_task_group() as tasks,
    ):
        if is_known:
            await pool.call("fs__echo")
            await pool.stop("fs")
        fs.hold_lists = anyio.Event()

        async def call() -> None:
            answers.append(await pool.call("fs__ping"))

        async def ask() -> None:
            client = await pool.client("fs")
            answers.append(str(len((await client.list_tools()).tools)))

        tasks.start_soon(call)
        tasks.start_soon(ask)
        await anyio.sleep(0.3)
        for number in range(2):
            if is_edit:
                tasks.start_soon(pool.sync, [memory_row("fs", headers={"X-Turn": str(number)})])
            else:
                tasks.start_soon(pool.reconnect, "fs", [memory_row("fs")])
            await anyio.sleep(1)
        fs.hold_lists.set()
    assert sorted(answers) == ["4", "ping({})"]
    assert fs.calls[-1] == "ping"


async def test_a_call_that_waits_for_a_server_that_is_removed_says_that_it_is_gone() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers) as pool, anyio.create_task_group() as tasks:
        await pool.stop("fs")
        servers.servers["fs"].hold_lists = anyio.Event()
        errors: list[PoolError] = []

        async def call() -> None:
            errors.append(await refused(pool, "fs__ping"))

        tasks.start_soon(call)
        await anyio.sleep(0.3)
        await pool.sync([])
        await anyio.sleep(0.1)
        assert [error.code for error in errors] == ["unknown-tool"]


async def test_a_call_that_waits_to_dial_again_begins_none_for_a_row_that_is_gone() -> None:
    servers = Servers(fs=EchoServer())
    async with memory_pool(servers) as pool, anyio.create_task_group() as tasks:
        await crashed(pool, servers, "fs")
        tasks.start_soon(refused, pool, "fs__ping")
        await anyio.sleep(0.1)
        await pool.sync([])
        await anyio.sleep(5)
        assert servers.dials("fs") == 1


# Leaving


@pytest.mark.parametrize("is_known", [False, True])
async def test_a_call_that_waits_for_a_dial_as_the_pool_is_closed_says_so(is_known: bool) -> None:
    fs = EchoServer()
    errors: list[PoolError] = []

    async def call(pool: ServerPool) -> None:
        errors.append(await refused(pool, "fs__ping"))

    async def ask(pool: ServerPool) -> None:
        with pytest.raises(PoolError) as error:
            await pool.client("fs")
        errors.append(error.value)

    async with (
        anyio.create_task_group() as tasks,
        memory_pool(Servers(fs=fs), lazy=True) as pool,
    ):
        if is_known:
            await pool.call("fs__ping")
            await pool.stop("fs")
        fs.hold_lists = anyio.Event()
        tasks.start_soon(call, pool)
        tasks.start_soon(ask, pool)
        await anyio.sleep(0.3)
    assert sorted((error.code, str(error)) for error in errors) == [
        ("connect-failed", "the pool was closed"),
        ("tool-error", "fs__ping: the pool was closed; the call was not made"),
    ]


async def test_a_pool_left_by_cancellation_ends_though_dials_still_wait_for_their_turn() -> None:
    names = [f"s{number}" for number in range(4)]
    servers = Servers(**{name: EchoServer() for name in names})
    for server in servers.servers.values():
        server.hold_lists = anyio.Event()
    settings = quiet_settings(servers, max_concurrent_dials=1)
    with anyio.fail_after(30), anyio.move_on_after(0.5) as left:
        async with ServerPool.open(map(memory_row, names), settings=settings) as pool:
            await pool.wait_ready()
    assert left.cancelled_caught
    assert sum(servers.dials(name) for name in names) == 1


async def test_a_pool_left_by_cancellation_ends_though_a_dial_waits_for_its_predecessor() -> None:
    servers = SlowlyClosed(fs=EchoServer())
    rows = [memory_row("fs")]
    with anyio.fail_after(30), anyio.move_on_after(1) as left:
        async with ServerPool.open(rows, settings=quiet_settings(servers)) as pool:
            await pool.wait_ready()
            await anyio.sleep_until(left.deadline - 0.25)
            await pool.reconnect("fs", rows)
    assert left.cancelled_caught
    assert servers.log == ["open fs", "closed fs"]
