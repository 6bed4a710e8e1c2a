"""A list of rows becomes live servers: what is unchanged stays, the rest is closed and dialled."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from host.pool.rows import HttpServerRow
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.pools import memory_pool


def fleet(*names: str) -> Servers:
    return Servers(**{name: EchoServer() for name in names})


@pytest.mark.parametrize(
    "edit",
    [
        {"label": "Files"},
        {"slug": "files"},
        {"call_timeout_ms": 5},
        {"hidden_tools": ["ping"]},
        {"always_load": ["ping"]},
        {"hooks": [{"id": "h", "on": "beforeTurn", "tool": "ping"}]},
        {"trust_annotations": True},
    ],
    ids=lambda edit: next(iter(edit)),
)
async def test_an_edit_of_what_is_not_the_connection_keeps_it(edit: dict[str, Any]) -> None:
    servers = fleet("fs")
    async with memory_pool(servers) as pool:
        watch = Watch(pool)
        await pool.sync([memory_row("fs", **edit)])
        assert servers.dials("fs") == 1
        assert watch.kinds("fs") == []
        assert state_of(pool, "fs").status == "ready"


async def test_a_rename_changes_names_and_descriptions_without_a_new_listing() -> None:
    servers = fleet("fs")
    async with memory_pool(servers) as pool:
        await pool.sync([memory_row("fs", slug="files", label="My files")])
        (ping, *_) = pool.tools()
        assert ping["function"]["name"] == "files__ping"
        assert ping["function"].get("description") == "[My files] Answers."
        assert await pool.call("files__ping") == "ping({})"
        assert servers.servers["fs"].lists == 1


async def test_an_edit_of_the_connection_dials_anew_and_forgets_what_was_known() -> None:
    servers = fleet("fs", "other")
    async with memory_pool(servers, [memory_row("fs")]) as pool:
        watch = Watch(pool)
        servers.servers["other"].tools.pop()
        await pool.sync([memory_row("fs", "other")])
        assert watch.kinds("fs") == ["close changed", "connect"]
        assert (servers.dials("fs"), servers.dials("other")) == (1, 1)
        assert len(pool.tools()) == 3


async def test_an_edit_in_place_of_the_callers_row_is_noticed() -> None:
    servers = fleet("fs")
    row = HttpServerRow(id="fs", url="http://memory.test/fs", headers={"a": "1"})
    async with memory_pool(servers, [row]) as pool:
        assert row.headers is not None
        row.headers["a"] = "2"
        await pool.sync([row])
        assert servers.dials("fs") == 2
        shown = state_of(pool, "fs").row
        assert isinstance(shown, HttpServerRow)
        assert shown.headers == {"a": "***"}


async def test_rows_that_are_gone_are_closed_and_forgotten() -> None:
    servers = fleet("fs", "web")
    async with memory_pool(servers) as pool:
        watch = Watch(pool)
        await pool.sync([memory_row("web")])
        assert watch.kinds("fs") == ["close removed"]
        assert [state.id for state in pool.state()] == ["web"]
        await pool.sync([])
        assert pool.state() == []
        assert watch.kinds("web") == ["close removed"]


async def test_the_order_is_that_of_the_rows_whatever_came_up_first() -> None:
    servers = fleet("a", "b", "c")
    async with memory_pool(servers) as pool:
        await pool.sync([memory_row("c"), memory_row("a"), memory_row("b")])
        assert [state.id for state in pool.state()] == ["c", "a", "b"]
        assert [server.id for server in pool.catalogue()] == ["c", "a", "b"]
        assert servers.dials("a") == 1


async def test_disabling_closes_a_server_and_enabling_dials_it() -> None:
    servers = fleet("fs")
    async with memory_pool(servers) as pool:
        await pool.sync([memory_row("fs", enabled=False)])
        state = state_of(pool, "fs")
        assert (state.status, state.tools, pool.tools()) == ("disabled", (), [])
        await pool.sync([memory_row("fs")])
        assert state_of(pool, "fs").status == "ready"
        assert servers.dials("fs") == 2


async def test_of_two_rows_with_one_id_the_first_counts_and_the_other_is_told_once() -> None:
    servers = fleet("fs", "web")
    async with memory_pool(servers, [memory_row("fs")]) as pool:
        watch = Watch(pool)
        twice = [memory_row("fs"), memory_row("fs", "web")]
        await pool.sync(twice)
        await pool.sync(twice)
        assert (servers.dials("fs"), servers.dials("web")) == (1, 0)
        assert [event.level for event in watch.of("log", "fs")] == ["error"]


async def test_a_sync_dials_a_failed_server_only_when_it_is_due() -> None:
    servers = fleet("fs")
    servers.refused["fs"] = OSError("down")
    async with memory_pool(servers, crash_backoff_seconds=5) as pool:
        servers.refused.clear()
        await anyio.sleep(4)
        await pool.sync([memory_row("fs")])
        assert servers.dials("fs") == 1
        await anyio.sleep(1.1)
        await pool.sync([memory_row("fs")])
        assert state_of(pool, "fs").status == "ready"


async def test_a_lazy_pool_dials_nothing_on_its_own() -> None:
    servers = fleet("fs")
    async with memory_pool(servers, lazy=True) as pool:
        await pool.sync([memory_row("fs")])
        assert servers.dials("fs") == 0
        await pool.reconnect("fs", [memory_row("fs")])
        assert state_of(pool, "fs").status == "ready"
