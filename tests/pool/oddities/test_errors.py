"""G1 to G9: how calls fail, and whom that concerns."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from host.errors import PoolError
from host.pool.server_pool import ServerPool
from tests.fakes.mcp_servers.asking import AskingServer, form, sample
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row
from tests.fakes.mcp_servers.watching import state_of
from tests.pool.neighbours import beside_memory
from tests.pool.oddities.answers import pool_of, refusal, said, wire_server
from tests.pool.pools import refused

UNKNOWN = "Unknown tool: t"
CODES = [-32602, -32603, -32601, -32600]


@pytest.mark.parametrize(
    "answer",
    [said(UNKNOWN, isError=True), *(refusal(code, UNKNOWN) for code in CODES)],
    ids=["isError", *map(str, CODES)],
)
async def test_a_tool_that_its_server_does_not_know_is_one_kind_of_error(
    answer: dict[str, Any],
) -> None:
    async with pool_of(wire_server(tools_call=answer)) as pool:
        error = await refused(pool, "a__t")
        assert (error.code, UNKNOWN in str(error)) == ("tool-error", True)
        assert state_of(pool, "a").status == "ready"


async def test_a_method_not_found_at_a_call_takes_no_tool_away() -> None:
    server = wire_server(tools_call=refusal(-32601, "Method not found"))
    async with pool_of(server) as pool:
        error = await refused(pool, "a__t")
        assert error.code == "tool-error"
        assert [each["function"]["name"] for each in pool.tools()] == ["a__t"]
        server.table["tools/call"] = said("found")
        assert await pool.call("a__t") == "found"
        assert server.times("tools/list") == 1


async def test_a_name_that_is_not_listed_is_refused_and_never_sent() -> None:
    server = wire_server(tools_call=said("started a browser"))
    async with pool_of(server) as pool:
        assert (await refused(pool, "a__navigate")).code == "unknown-tool"
        assert server.times("tools/call") == 0


async def test_of_a_page_of_complaints_the_first_lines_are_kept() -> None:
    lines = [f"{number} validation errors" for number in range(200)]
    answer = said("\n".join(lines), isError=True)
    async with pool_of(wire_server(tools_call=answer)) as pool:
        error = await refused(pool, "a__t", max_result_chars=300)
        assert len(str(error)) <= 300
        assert str(error).splitlines()[:5] == lines[:5]
        assert "[truncated: kept" in str(error)
        assert str(await refused(pool, "a__t")) == "\n".join(lines)


async def test_a_server_that_dies_in_every_call_is_started_again_ever_later() -> None:
    server = EchoServer()
    servers = Servers(a=server)
    async with beside_memory(servers) as pool:
        for wait in (1.0, 2.0, 4.0):
            server.started = anyio.Event()
            error: list[PoolError] = []
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_die_of, pool, error)
                await server.started.wait()
                servers.opened["a"][-1].crash()
            assert error[0].code == "tool-error"
            assert "closed its output during the call; whether it ran is unknown" in str(error[0])
            assert state_of(pool, "a").status == "error"
            await anyio.sleep(wait + 0.01)
            assert await pool.call("a__ping") == "ping({})"
        assert servers.dials("a") == 4


async def _die_of(pool: ServerPool, errors: list[PoolError]) -> None:
    errors.append(await refused(pool, "a__echo", {"sleepMs": 50_000}))


@pytest.mark.parametrize("era", ["legacy", "auto"])
@pytest.mark.parametrize("asked", [form(name={"type": "string"}), sample()], ids=["form", "model"])
async def test_a_question_that_nobody_serves_ends_its_call_readably(
    era: str, asked: dict[str, Any]
) -> None:
    row = memory_row("a", era=era)
    async with beside_memory(Servers(a=AskingServer()), row) as pool:
        told = await _told(pool, {"ask": {"k": asked}})
        assert "not supported" in told
        assert await pool.call("a__ping") == "ping({})"


async def _told(pool: ServerPool, arguments: dict[str, Any]) -> str:
    """What a model reads of a call, whichever way it went."""
    try:
        return await pool.call("a__echo", arguments)
    except PoolError as error:
        return f"{error.code}: {error}"


async def test_a_call_of_six_seconds_holds_up_no_other_server() -> None:
    servers = Servers(a=EchoServer(), b=EchoServer())
    async with beside_memory(servers) as pool, anyio.create_task_group() as tasks:
        began = anyio.current_time()
        tasks.start_soon(pool.call, "a__echo", {"sleepMs": 6000})
        await servers.servers["a"].started.wait()
        for _ in range(5):
            assert await pool.call("b__ping") == "ping({})"
        assert await pool.call("a__ping") == "ping({})"
        assert anyio.current_time() - began < 6


async def test_what_a_server_says_of_its_network_is_passed_on() -> None:
    answer = refusal(-32603, "getaddrinfo EAI_AGAIN api.notion.com")
    async with pool_of(wire_server(tools_call=answer)) as pool:
        error = await refused(pool, "a__t")
        assert str(error) == (
            'a__t: server "a" answered with an error: getaddrinfo EAI_AGAIN api.notion.com (-32603)'
        )
