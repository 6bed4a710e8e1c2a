"""Beside calls a session hears of changes, sets its log level, and reads past odd results."""

from __future__ import annotations

import anyio
import pytest
from mcp_types import CallToolResult

from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row, tool
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.pools import memory_pool


async def test_a_stream_of_changes_that_ends_is_opened_again_and_the_tools_looked_at() -> None:
    fs = EchoServer()
    async with memory_pool(Servers(fs=fs)) as pool:
        watch = Watch(pool)
        await anyio.sleep(1)
        fs.drop_listeners()
        fs.tools.append(tool("while_nobody_listened"))
        await watch.until(lambda: bool(watch.of("tools-changed")), seconds=30)
        await fs.change(tool("only"))
        await watch.until(lambda: len(watch.of("tools-changed")) == 2, seconds=30)
        assert [shown.name for shown in state_of(pool, "fs").tools] == ["only"]


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_row_sets_the_log_level_in_the_way_of_its_era(era: str) -> None:
    fs = EchoServer()
    rows = [memory_row("fs", era=era, log_level="warning")]
    async with memory_pool(Servers(fs=fs), rows) as pool:
        await pool.call("fs__ping")
        await anyio.sleep(1)
        assert fs.levels == (["warning"] if era == "legacy" else [])


async def test_a_server_that_refuses_the_log_level_stays_usable() -> None:
    rows = [memory_row("fs", era="legacy", log_level="emergency")]
    async with memory_pool(Servers(fs=EchoServer()), []) as pool:
        watch = Watch(pool)
        await pool.sync(rows)
        await watch.until(lambda: bool(watch.of("log")))
        assert watch.of("log")[0].text == (
            "does not set its log level; it answered with an error: no such level here (-32000)"
        )
        assert await pool.call("fs__ping") == "ping({})"


async def test_the_result_of_a_tool_that_is_not_listed_costs_no_extra_request() -> None:
    fs = EchoServer()
    async with memory_pool(Servers(fs=fs), index_tools=False) as pool:
        result = await pool.use("fs", lambda client: client.call_tool("unlisted", {}))
        assert isinstance(result, CallToolResult)
        assert fs.lists == 0
