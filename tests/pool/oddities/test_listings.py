"""C1 to C16: what servers say of their tools."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest

from host.catalogue import catalogue_prompt
from host.catalogue.keywords import preselect_by_keywords
from host.catalogue.name_resolution import advice
from tests.fakes.mcp_servers.echo import EchoServer, Servers, tool
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.neighbours import beside_memory
from tests.pool.oddities.answers import TOOL, pool_of, said, wire_server
from tests.pool.pools import refused


def ordered(default: str) -> dict[str, Any]:
    """A tool's schema with a set written out as a default."""
    return {"type": "object", "properties": {"fields": {"type": "string", "default": default}}}


async def test_a_default_that_differs_by_run_is_told_once_and_blocks_no_call() -> None:
    first, second = tool("t", input_schema=ordered("a,b")), tool("t", input_schema=ordered("b,a"))
    await _differs(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [("Takes {'a', 'b'}.", "Takes {'b', 'a'}."), ("Files in /home/a.", "Files in /root.")],
)
async def test_a_description_that_differs_by_run_is_told_once_and_blocks_no_call(
    first: str, second: str
) -> None:
    await _differs(tool("t", description=first), tool("t", description=second))


async def _differs(first: types.Tool, second: types.Tool) -> None:
    server = EchoServer([tool("x"), first, tool("y")])
    async with beside_memory(Servers(a=server)) as pool:
        watch = Watch(pool)
        before = [each["function"]["name"] for each in pool.tools()]
        await pool.stop("a")
        server.tools[1] = second
        assert await pool.call("a__t", {"fields": "a"}) == 't({"fields":"a"})'
        assert [each["function"]["name"] for each in pool.tools()] == before
        (told,) = watch.of("tools-changed")
        assert (told.added, told.removed) == ((), ())


async def test_four_hundred_tools_are_a_catalogue_of_names_and_none_is_loaded() -> None:
    server = EchoServer([tool(f"t{number}", description="d" * 500) for number in range(401)])
    async with beside_memory(Servers(a=server)) as pool:
        (shown,) = pool.catalogue()
        assert len(shown.tools) == 401
        assert pool.always_loaded() == []
        prompt = catalogue_prompt(pool.catalogue())
        assert all(f"a__t{number}\n" in f"{prompt}\n" for number in range(401))
        assert "ddd" not in prompt


async def test_a_tool_under_two_names_is_kept_twice_and_found_under_both() -> None:
    tools = [tool(name, description="Gets an article.") for name in ("get_article", "wp_article")]
    async with beside_memory(Servers(wikipedia=EchoServer(tools))) as pool:
        (found,) = pool.search("get article")
        assert [each.name for each in found.tools] == [
            "wikipedia__get_article",
            "wikipedia__wp_article",
        ]
        assert await pool.call("wikipedia__wp_article") == "wp_article({})"


async def test_one_name_in_five_servers_is_called_in_each_and_ambiguous_alone() -> None:
    ids = ["airtable", "clickhouse", "motherduck", "sqlite", "supabase"]
    servers = Servers(**{name: EchoServer([tool("list_tables")]) for name in ids})
    async with beside_memory(servers) as pool:
        for name in ids:
            assert await pool.call(f"{name}__list_tables") == "list_tables({})"
            assert servers.servers[name].calls == ["list_tables"]
        assert (await refused(pool, "list_tables")).code == "unknown-tool"
        told = advice("list_tables", pool.catalogue())
        assert told == f"list_tables is in several servers: {', '.join(owned(ids))}"


def owned(ids: list[str]) -> list[str]:
    return [f"{name}__list_tables" for name in ids]


async def test_unknown_keys_of_a_tool_never_reach_the_model() -> None:
    odd = TOOL | {"id": 5, "tags": ["a"], "httpMethod": "GET", "x-original-path": "/v1/{id}"}
    async with pool_of(wire_server(odd, tools_call=said("up"))) as pool:
        (sent,) = pool.tools()
        assert sent == {
            "type": "function",
            "function": {"name": "a__t", "description": "[a]", "parameters": {"type": "object"}},
        }
        assert await pool.call("a__t") == "up"


async def test_unknown_or_no_hints_beside_known_ones_are_no_fault() -> None:
    tools = [
        {**TOOL, "name": "some", "annotations": {"category": "x", "readOnlyHint": True}},
        {**TOOL, "name": "none", "annotations": {}},
        {**TOOL, "name": "null", "annotations": None},
    ]
    async with pool_of(wire_server(*tools)) as pool:
        some, none, null = state_of(pool, "a").tools
        assert some.annotations is not None
        assert some.annotations["readOnlyHint"] is True
        assert not none.annotations
        assert not null.annotations


async def test_a_tool_for_an_apps_own_screen_is_listed_and_not_offered() -> None:
    shown = {**TOOL, "name": "shown", "_meta": {"ui": {"visibility": ["model", "app"]}}}
    app = {**TOOL, "name": "app", "_meta": {"ui": {"visibility": ["app"]}}}
    async with pool_of(wire_server(app, shown, tools_call=said("up"))) as pool:
        assert [each["function"]["name"] for each in pool.tools()] == ["a__shown"]
        assert [each.name for each in state_of(pool, "a").tools if each.withheld] == ["app"]
        assert (await refused(pool, "a__app")).code == "unknown-tool"
        assert await pool.call("a__app", hidden=True) == "up"


async def test_an_endless_description_is_cut_in_a_definition_and_absent_from_the_catalogue() -> (
    None
):
    text = "Lists campaigns. " + "x" * 18_903
    server = EchoServer([tool("t", description=text)])
    async with beside_memory(Servers(a=server), max_description_chars=1024) as pool:
        told = pool.tools()[0]["function"]["description"]
        assert len(told) <= 1024
        assert told.startswith("[a] Lists campaigns. ")
        assert "[truncated: kept" in told
        assert "xxx" not in catalogue_prompt(pool.catalogue())
        described = pool.describe("a__t")
        assert described is not None
        assert described.description == text


async def test_chinese_words_and_signs_are_kept_and_found() -> None:
    tools = [
        tool("maps_weather", description="根据城市名称查询指定城市的天气\u200b 🌦"),
        tool("maps_route", description="规划步行路线"),
    ]
    async with beside_memory(Servers(amap=EchoServer(tools))) as pool:
        (found,) = pool.search("天气")
        assert [each.name for each in found.tools] == ["amap__maps_weather"]
        assert preselect_by_keywords(pool.catalogue(), "北京的天气").names == (
            "amap__maps_weather",
        )
        assert found.tools[0].description == "根据城市名称查询指定城市的天气 🌦"
