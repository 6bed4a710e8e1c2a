"""The pool as a run's toolbox: one catalogue for the run, refusals in words, calls through."""

from __future__ import annotations

from typing import Any

from host.records import ToolCallRequest, ToolFailure, ToolSuccess
from host.toolbox import PoolToolbox
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row, tool
from tests.pool.pools import memory_pool


def request(name: str, **args: Any) -> ToolCallRequest:
    return ToolCallRequest(id="c1", name=name, args=args)


async def test_a_call_goes_through_the_pool_and_comes_back_as_text() -> None:
    servers = Servers(echo=EchoServer())
    async with memory_pool(servers) as pool:
        answer = await PoolToolbox(pool).call(request("echo__ping", x=1))
    assert isinstance(answer, ToolSuccess)
    assert "ping" in answer.result
    assert servers.servers["echo"].calls == ["ping"]


async def test_a_tools_own_error_is_a_failure_with_its_words() -> None:
    async with memory_pool(Servers(echo=EchoServer())) as pool:
        answer = await PoolToolbox(pool).call(request("echo__ping", fail="out of paper"))
    assert isinstance(answer, ToolFailure)
    assert (answer.code, answer.status) == ("tool-error", 502)
    assert "out of paper" in answer.message


async def test_an_unknown_name_is_refused_with_the_nearest_ones() -> None:
    async with memory_pool(Servers(echo=EchoServer())) as pool:
        answer = await PoolToolbox(pool).call(request("echo__pingg"))
    assert isinstance(answer, ToolFailure)
    assert answer.code == "unknown-tool"
    assert "echo__ping" in answer.message


async def test_a_server_out_of_reach_is_neither_listed_nor_called_nor_named() -> None:
    servers = Servers(one=EchoServer(), two=EchoServer())
    async with memory_pool(servers) as pool:
        toolbox = PoolToolbox(pool, servers=["one"])
        assert [server.id for server in toolbox.catalogue()] == ["one"]
        answer = await toolbox.call(request("two__ping"))
        assert PoolToolbox(pool, servers=[]).catalogue() == []
    assert isinstance(answer, ToolFailure)
    assert answer.code == "out-of-scope"
    assert "one__ping" in answer.message
    assert servers.servers["two"].calls == []


async def test_the_catalogue_and_definitions_stay_as_they_were_when_the_run_began() -> None:
    server = EchoServer()
    async with memory_pool(Servers(echo=server)) as pool:
        toolbox = PoolToolbox(pool)
        before = toolbox.catalogue()
        await server.change(tool("other"))
        await pool.reconnect("echo", [memory_row("echo")])
        assert pool.catalogue() != before
        assert toolbox.catalogue() == before
        assert [d["function"]["name"] for d in toolbox.definitions(["echo__ping", "no__such"])] == [
            "echo__ping"
        ]


async def test_arguments_are_checked_after_coercion() -> None:
    async with memory_pool(Servers(echo=EchoServer())) as pool:
        toolbox = PoolToolbox(pool)
        assert toolbox.check("echo__add", {"a": "1", "b": 2}) == []
        (problem,) = toolbox.check("echo__add", {"a": 1})
        assert "b" in problem
        assert toolbox.check("no__such", {}) == []
