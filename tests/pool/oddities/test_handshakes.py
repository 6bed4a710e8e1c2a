"""B1 to B18, and A10: how servers begin, and what they say of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from host.errors import PoolError
from host.pool.rows import StdioServerRow
from host.pool.settings import PoolSettings
from tests.fakes.mcp_servers.answering import MODERN, greeting
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.neighbours import beside_memory
from tests.pool.oddities.answers import TOOL, pool_of, refusal, said, wire_server
from tests.pool.pools import refused

ALL_VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN]


def opened_with(version: str = "2025-06-18", **fields: Any) -> dict[str, Any]:
    """An answer to ``initialize``."""
    answer: dict[str, Any] = greeting({"tools": {}})["initialize"]
    return answer | {"protocolVersion": version} | fields


@pytest.mark.parametrize("seconds", [9, 22])
async def test_a_first_start_of_many_seconds_is_waited_for_while_others_serve(
    seconds: float,
) -> None:
    server = wire_server(tools_call=said("up"))
    server.delays = {"server/discover": seconds}
    async with pool_of(server, StdioServerRow(id="a", command="x"), is_ready=False) as pool:
        assert PoolSettings().connect_timeout_seconds == 60
        assert state_of(pool, "a").status == "connecting"
        assert await pool.call("near__held", hidden=True) == "3"
        assert state_of(pool, "a").status == "connecting"
        await pool.wait_ready()
        assert await pool.call("a__t") == "up"


async def test_of_all_versions_the_newest_is_spoken() -> None:
    table = greeting({"tools": {}}, modern=True, supportedVersions=ALL_VERSIONS)
    server = wire_server(tools_call=said("new", resultType="complete"))
    server.table |= table
    async with pool_of(server) as pool:
        assert state_of(pool, "a").era == MODERN
        assert server.times("initialize") == 0
        assert await pool.call("a__t") == "new"


@pytest.mark.parametrize("version", ALL_VERSIONS[:-1])
async def test_an_older_version_is_taken_and_nothing_newer_is_sent(version: str) -> None:
    server = wire_server(initialize=opened_with(version), tools_call=said("old"))
    async with pool_of(server) as pool:
        assert state_of(pool, "a").era == version
        assert await pool.call("a__t", {"x": 1}) == "old"
        asked = [entry for entry in server.asked if entry[0] != "server/discover"]
        assert [method for method, _ in asked] == [
            "initialize",
            "notifications/initialized",
            "tools/list",
            "tools/call",
        ]
        assert asked[-1][1] == {"name": "t", "arguments": {"x": 1}}
        assert asked[-2][1] == {}


async def test_what_is_newer_than_the_agreed_version_does_no_harm() -> None:
    tool = TOOL | {
        "title": "Newer",
        "outputSchema": {"type": "object"},
        "execution": {"taskSupport": "optional"},
        "icons": [{"src": "data:,"}],
    }
    answer = said("both", structuredContent={"a": 1})
    server = wire_server(tool, initialize=opened_with("2024-11-05"), tools_call=answer)
    async with pool_of(server) as pool:
        (shown,) = state_of(pool, "a").tools
        assert (shown.title, shown.withheld) == ("Newer", None)
        assert (await pool.call_raw("a__t")).structured_content == {"a": 1}


async def test_more_than_a_name_and_a_version_of_a_server_is_no_fault() -> None:
    who = {
        "name": "x",
        "version": "1",
        "id": 7,
        "title": "X",
        "description": "d",
        "websiteUrl": "https://x.test",
        "icons": [{"src": "https://x.test/i.png", "mimeType": "image/png", "sizes": ["48x48"]}],
    }
    async with pool_of(wire_server(initialize=opened_with(serverInfo=who))) as pool:
        assert (state_of(pool, "a").status, state_of(pool, "a").error) == ("ready", "")


async def test_unknown_members_of_capabilities_are_no_fault() -> None:
    odd = {"tools": {"list": True, "execute": True}, "x-own": {"y": 1}, "more": True}
    async with pool_of(wire_server(initialize=opened_with(capabilities=odd))) as pool:
        state = state_of(pool, "a")
        assert (state.status, len(state.tools)) == ("ready", 1)
        assert "tools" in (state.capabilities or {})


@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list", "prompts/list"])
async def test_a_list_whose_backend_is_down_leaves_the_tools_usable(method: str) -> None:
    both: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}
    server = wire_server(initialize=opened_with(capabilities=both), tools_call=said("up"))
    server.table[method] = refusal(-32603, "connect ECONNREFUSED 127.0.0.1:5432")
    async with pool_of(server) as pool:
        asked = {
            "resources/list": pool.list_resources,
            "resources/templates/list": pool.list_resource_templates,
            "prompts/list": pool.list_prompts,
        }
        with pytest.raises(PoolError, match="ECONNREFUSED"):
            await asked[method]("a")
        assert await pool.call("a__t") == "up"
        assert state_of(pool, "a").status == "ready"


class Chatty(EchoServer):
    """Logs before anybody has asked for a level."""

    async def _list(self, *args: Any) -> Any:
        listed = await super()._list(*args)
        for number in range(17):
            await self.say("info", f"line {number}")
        return listed


async def test_log_lines_that_nobody_asked_for_are_events_and_delay_nothing() -> None:
    servers = Servers(a=Chatty())
    async with beside_memory(servers, memory_row("a", era="legacy"), is_ready=False) as pool:
        watch = Watch(pool)
        assert await pool.wait_ready()
        assert await pool.call("a__ping") == "ping({})"
        await watch.until(lambda: len(watch.of("log")) == 17)
        assert [told.source for told in watch.of("log")] == ["server"] * 17


async def test_tools_are_listed_after_the_handshake_and_an_error_of_code_0_is_one() -> None:
    server = wire_server(tools_call=refusal(0, "not now"))
    async with pool_of(server) as pool:
        methods = [method for method, _ in server.asked]
        assert methods.index("notifications/initialized") < methods.index("tools/list")
        error = await refused(pool, "a__t")
        assert (error.code, "not now (0)" in str(error)) == ("tool-error", True)
        assert state_of(pool, "a").status == "ready"
