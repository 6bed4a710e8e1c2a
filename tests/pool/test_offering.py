"""What is offered follows the servers; clashes and a heavy list are told once."""

from __future__ import annotations

from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row, tool
from tests.fakes.mcp_servers.watching import Watch
from tests.pool.pools import memory_pool, refused


async def test_tools_come_in_configuration_order_whatever_came_up_first() -> None:
    servers = Servers(b=EchoServer([tool("x")]), a=EchoServer([tool("z"), tool("y")]))
    async with memory_pool(servers) as pool:
        names = [definition["function"]["name"] for definition in pool.tools()]
        assert names == ["b__x", "a__z", "a__y"]
        picked = pool.tools(names=["a__y", "nothing", "b__x", "a__y"], servers=["a", "b"])
        assert [definition["function"]["name"] for definition in picked] == ["a__y", "b__x"]
        assert pool.tools(servers=[]) == []


async def test_the_reading_surfaces_agree_on_scope_and_hiding() -> None:
    rows = [memory_row("fs", hidden_tools=["ping"], always_load=["add", "ping", "add"])]
    async with memory_pool(Servers(fs=EchoServer()), rows) as pool:
        (server,) = pool.catalogue()
        assert [shown.name for shown in server.tools] == ["fs__echo", "fs__add", "fs__read"]
        assert pool.always_loaded() == ["fs__add"]
        assert pool.always_loaded([]) == []
        assert pool.catalogue([]) == []
        assert pool.describe("fs__ping") is None
        hidden = pool.describe("fs__ping", hidden=True)
        assert hidden is not None
        assert (hidden.server_id, hidden.name, hidden.hidden) == ("fs", "ping", True)
        assert pool.describe("fs__add", servers=["web"]) is None
        (found,) = pool.search("adding numbers")
        assert [hit.name for hit in found.tools] == ["fs__add"]
        assert pool.search("adding numbers", limit=0) == []


async def test_a_shared_namespace_belongs_to_the_lowest_id_and_is_told_once() -> None:
    servers = Servers(b=EchoServer([tool("x")]), a=EchoServer([tool("y")]))
    rows = [memory_row("b", slug="same"), memory_row("a", slug="same")]
    async with memory_pool(servers, []) as pool:
        watch = Watch(pool)
        await pool.sync(rows)
        await pool.sync(rows)
        assert [definition["function"]["name"] for definition in pool.tools()] == ["same__y"]
        assert (await refused(pool, "same__x")).code == "unknown-tool"
        assert len(watch.of("log", "b")) == 1
        await pool.sync([memory_row("b", slug="other"), memory_row("a", slug="same")])
        assert len(pool.tools()) == 2
        await pool.sync(rows)
        assert len(watch.of("log", "b")) == 2


async def test_a_heavy_list_is_told_once_and_again_when_it_is_heavier() -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer())
    async with memory_pool(servers, tools_token_warning=60) as pool:
        watch = Watch(pool)
        pool.tools(names=["fs__ping"])
        assert not watch.of("log")
        pool.tools(servers=["fs"])
        pool.tools(servers=["fs"])
        assert len(watch.of("log")) == 1
        pool.tools()
        assert [event.level for event in watch.of("log")] == ["info", "info"]


async def test_the_weight_of_a_list_can_be_left_untold() -> None:
    async with memory_pool(Servers(fs=EchoServer()), tools_token_warning=0) as pool:
        watch = Watch(pool)
        pool.tools()
        assert not watch.of("log")
