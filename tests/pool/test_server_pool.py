"""The pool's own surface: listeners, capabilities, and the names the package offers."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime

import anyio
import pytest

import host.pool
from host.errors import PoolError
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row, tool
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.pools import memory_pool, quiet_settings, virtual_now


async def test_notifications_of_servers_reach_their_listeners_across_a_reconnect() -> None:
    fs = EchoServer()
    rows = [memory_row("fs", era="legacy")]
    async with memory_pool(Servers(fs=fs), rows) as pool:
        heard: list[tuple[str, str]] = []
        leave = pool.on_notification(lambda server, said: heard.append((server, said.method)))
        await fs.change(tool("x"))
        await anyio.sleep(1)
        await pool.reconnect("fs", rows)
        await fs.change(tool("y"))
        await anyio.sleep(1)
        leave()
        await fs.change(tool("z"))
        await anyio.sleep(1)
        assert heard == [("fs", "notifications/tools/list_changed")] * 2


async def test_log_lines_of_servers_are_events_cleaned_for_terminals() -> None:
    fs = EchoServer()
    async with memory_pool(Servers(fs=fs), [memory_row("fs", era="legacy")]) as pool:
        watch = Watch(pool)
        await fs.say("warning", "\x1b[31mdisk\x1b[0m full")
        await watch.until(lambda: bool(watch.of("log")))
        assert [(event.level, event.text) for event in watch.of("log")] == [
            ("warning", "disk full")
        ]


async def test_servers_are_found_by_what_they_can_do() -> None:
    async with memory_pool(Servers(fs=EchoServer(), web=EchoServer())) as pool:
        assert pool.servers_with("tools") == ["fs", "web"]
        assert pool.servers_with("prompts") == []
        await pool.stop("fs")
        assert pool.servers_with("tools") == ["web"]


async def test_servers_are_told_who_we_are() -> None:
    fs = EchoServer()
    settings = {"client_name": "tester", "client_version": "7"}
    async with memory_pool(Servers(fs=fs), [memory_row("fs", era="legacy")], **settings) as pool:
        assert state_of(pool, "fs").status == "ready"
        await pool.probe(memory_row("fs", era="legacy"))
        assert fs.clients == ["tester 7", "tester-probe 7"]


async def test_an_exception_in_the_block_comes_out_as_it_is() -> None:
    with pytest.raises(LookupError, match="mine"):
        async with memory_pool(Servers(fs=EchoServer())):
            raise LookupError("mine")


async def test_a_cancelled_block_closes_everything() -> None:
    servers = Servers(fs=EchoServer())
    with anyio.move_on_after(5) as scope:
        async with ServerPool.open([memory_row("fs")], settings=quiet_settings(servers)) as pool:
            await pool.wait_ready()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert servers.opened["fs"][0].closed.is_set()


async def test_an_empty_pool_is_ready_and_refuses_every_name() -> None:
    async with ServerPool.open() as pool:
        assert await pool.wait_ready()
        with pytest.raises(PoolError, match='there is no tool "x__y"'):
            await pool.call("x__y")


async def test_a_server_that_cannot_be_taken_in_fails_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    faults = [OverflowError("the clock is off")]

    def now() -> datetime:
        if faults:
            raise faults.pop()
        return virtual_now()

    servers = Servers(odd=EchoServer())
    row = memory_row("odd", era="legacy")  # else the clock is asked before, for the era
    async with memory_pool(servers, [row], now=now) as pool:
        assert state_of(pool, "odd").error == "sent what could not be read"
        await pool.reconnect("odd", [row])
        assert await pool.call("odd__ping") == "ping({})"
    assert "could not be taken in" in caplog.text


def test_settings_show_no_functions() -> None:
    assert "lambda" not in repr(PoolSettings(now=lambda: None))  # type: ignore[arg-type,return-value]


def test_the_package_offers_its_names_sorted_and_loads_nothing_heavy_itself() -> None:
    code = (
        "import host.pool, sys\n"
        "assert not {'mcp', 'pydantic', 'anyio'} & set(sys.modules), 'heavy'\n"
        "assert host.pool.qualified_name('a', 'b') == 'a__b'\n"
        "assert not {'mcp', 'pydantic', 'anyio'} & set(sys.modules), 'heavy for a name'\n"
        "[getattr(host.pool, name) for name in host.pool.__all__]\n"
        "assert callable(host.pool.probe) and 'openai' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert set(host.pool.__all__) <= set(dir(host.pool))
    assert host.pool.could_own("a", "a__b")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = host.pool.nothing
