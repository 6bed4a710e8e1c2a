"""The pool as a run's toolbox: one catalogue for the run, refusals in words, calls through."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from host.records import ToolCallRequest, ToolFailure, ToolSuccess
from host.toolbox import PoolToolbox
from tests.fakes.listings import Cache
from tests.fakes.mcp_servers.answering import greeting
from tests.fakes.mcp_servers.echo import ADD_SCHEMA, EchoServer, Servers, memory_row, tool
from tests.fakes.mcp_servers.in_memory import AnsweringFleet, AnsweringServer
from tests.fakes.mcp_servers.watching import state_of
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


# Resources

TOOL = {"name": "ping", "inputSchema": {"type": "object"}}


def library(*uris: str, **methods: Any) -> AnsweringServer:
    """A server with a tool and these resources."""
    return AnsweringServer(
        {
            **greeting({"resources": {}, "tools": {}}, instructions="Read me."),
            "tools/list": {"tools": [TOOL]},
            "resources/list": {"resources": [{"uri": uri, "name": uri} for uri in uris]},
            "resources/read": lambda params: {
                "contents": [{"uri": params["uri"], "text": f"text of {params['uri']}"}]
            },
            **{name.replace("_", "/"): held for name, held in methods.items()},
        }
    )


@asynccontextmanager
async def pool_of(*rows: dict[str, Any], **servers: AnsweringServer) -> AsyncIterator[ServerPool]:
    fleet = AnsweringFleet(**servers)
    changed = {row["id"]: row for row in rows}
    wanted = [row.model_copy(update=changed.get(row.id, {})) for row in fleet.rows()]
    with anyio.fail_after(10_000):
        settings = PoolSettings(create_transport=fleet.create_transport)
        async with ServerPool.open(wanted, settings=settings) as pool:
            await pool.wait_ready()
            yield pool


def told(answer: ToolSuccess | ToolFailure) -> str:
    return answer.message if isinstance(answer, ToolFailure) else str(answer.result)


async def test_resources_are_offered_only_on_request_and_where_there_are_some() -> None:
    async with pool_of(docs=library("a://1")) as pool:
        assert PoolToolbox(pool).meta_tools() == ()
        assert (await PoolToolbox(pool).call(request("list_resources"))) == ToolFailure(
            code="unknown-tool", message='there is no tool "list_resources"', status=404
        )
        assert PoolToolbox(pool, resources=True, servers=[]).meta_tools() == ()
        offered = PoolToolbox(pool, resources=True).meta_tools()
        assert [tool["function"]["name"] for tool in offered] == ["list_resources", "read_resource"]
    async with memory_pool(Servers(echo=EchoServer())) as pool:
        assert PoolToolbox(pool, resources=True).meta_tools() == ()


async def test_resources_are_listed_and_read_in_reach_only() -> None:
    async with pool_of(docs=library("a://1"), wiki=library("b://1")) as pool:
        toolbox = PoolToolbox(pool, resources=True, servers=["docs"])
        listed = told(await toolbox.call(request("list_resources")))
        assert "a://1" in listed
        assert "b://1" not in listed
        read = await toolbox.call(request("read_resource", uri=" a://1 "))
        assert told(read) == '<untrusted source="docs: a://1">\ntext of a://1\n</untrusted>'
        refused = await toolbox.call(request("read_resource", server="wiki", uri="b://1"))
        assert refused == ToolFailure(
            code="unknown-server",
            message="No server named wiki has resources. These have: docs.",
        )


async def test_a_server_is_named_by_its_label_where_that_says_which() -> None:
    rows = ({"id": "a", "label": "Docs"}, {"id": "b", "label": "docs"}, {"id": "c", "label": "C D"})
    servers = {name: library(f"{name}://1") for name in "abc"}
    async with pool_of(*rows, **servers) as pool:
        toolbox = PoolToolbox(pool, resources=True)
        listed = told(await toolbox.call(request("list_resources")))
        sources = [line for line in listed.splitlines() if line.startswith("<untrusted")]
        assert sources == [f'<untrusted source="{name}">' for name in ("a", "b", "C D")]
        one = told(await toolbox.call(request("list_resources", server="c d")))
        assert "c://1" in one
        assert "a://1" not in one
        missing = await toolbox.call(request("read_resource", uri="a://1"))
        assert told(missing) == "Name the server that has the resource. These have some: a, b, C D."


async def test_one_server_that_fails_leaves_the_lists_of_the_others() -> None:
    ill = library(resources_list={"error": {"code": -32603, "message": "no backend"}})
    async with pool_of(ill=ill, well=library("a://1")) as pool:
        listed = told(await PoolToolbox(pool, resources=True).call(request("list_resources")))
    assert listed.startswith('ill could not be asked: server "ill" answered with an error')
    assert "a://1" in listed


async def test_a_failed_reading_is_told_to_the_model() -> None:
    gone = library(resources_read={"error": {"code": -32002, "message": "not found"}})
    async with pool_of(docs=gone) as pool:
        toolbox = PoolToolbox(pool, resources=True)
        answer = await toolbox.call(request("read_resource", uri="a://2"))
        assert answer == ToolFailure(
            code="tool-error",
            message='server "docs" answered with an error: not found (-32002)',
            status=502,
        )
        for uri in (None, " ", 5):
            answer = await toolbox.call(request("read_resource", uri=uri))
            assert isinstance(answer, ToolFailure)
            assert answer.code == "invalid-arguments"


async def test_instructions_are_those_of_servers_that_the_run_has_something_of() -> None:
    rows = ({"id": "hidden", "hidden_tools": ("ping",)},)
    servers = {"shown": library(), "hidden": library(), "out": library()}
    async with pool_of(*rows, **servers) as pool:
        scope = ["shown", "hidden"]
        assert [s.server_id for s in PoolToolbox(pool, servers=scope).instructions()] == ["shown"]
        reading = PoolToolbox(pool, servers=scope, resources=True)
        assert [s.server_id for s in reading.instructions()] == scope
        assert [s.text for s in PoolToolbox(pool).instructions()] == ["Read me.", "Read me."]


async def test_the_servers_of_tools_that_will_be_called_are_dialled_meanwhile() -> None:
    servers, cache = Servers(one=EchoServer(), two=EchoServer()), Cache()
    async with memory_pool(servers, tools_cache=cache):
        servers.opened.clear()
    async with memory_pool(servers, tools_cache=cache) as pool:
        PoolToolbox(pool, servers=["one"]).wake(["one__ping", "two__ping"])
        assert state_of(pool, "one").status == "connecting"
        await pool.wait_ready()
        assert (servers.dials("one"), servers.dials("two")) == (1, 0)
    PoolToolbox(pool).wake(["one__ping"])  # the pool is closed by now


async def test_a_tool_that_went_during_the_run_is_gone_and_its_neighbours_are_named() -> None:
    server = EchoServer()
    async with memory_pool(Servers(echo=server)) as pool:
        toolbox = PoolToolbox(pool)
        server.tools = [tool("pings")]
        await pool.reconnect("echo", [memory_row("echo")])
        answer = await toolbox.call(request("echo__ping"))
    assert isinstance(answer, ToolFailure)
    assert answer.code == "unknown-tool"
    assert 'the tool "echo__ping" is gone' in answer.message
    assert "echo__pings" in answer.message
    assert server.calls == []


async def test_a_call_for_a_schema_that_changed_during_the_run_is_judged_by_the_new_one() -> None:
    server = EchoServer([tool("add", input_schema=ADD_SCHEMA)])
    async with memory_pool(Servers(echo=server)) as pool:
        toolbox = PoolToolbox(pool)
        range_of_a = {"a": {"type": "number", "maximum": 5}}
        server.tools = [tool("add", input_schema={"type": "object", "properties": range_of_a})]
        await pool.reconnect("echo", [memory_row("echo")])
        answer = await toolbox.call(request("echo__add", a=7, b=1))
        assert isinstance(answer, ToolFailure)
        assert answer.code == "invalid-arguments"
        assert '"maximum":5' in answer.message
        assert server.calls == []
        answer = await toolbox.call(request("echo__add", a=7))
        assert isinstance(answer, ToolFailure)
        assert "`a`" in answer.message
        assert isinstance(await toolbox.call(request("echo__add", a=4)), ToolSuccess)
