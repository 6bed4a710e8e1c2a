"""The stdio transport reads whatever a child writes, and knows how it ended.

Beside each, a server of a pool has calls in flight, and all of them succeed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import TextContent

from host.errors import PoolError
from host.pool.guard import ProcessGuard
from host.pool.rows import StdioServerRow
from host.pool.stdio import MAX_NOISE_CHARS, StdioTransport
from tests.fakes.mcp_servers.processes import alive_in_group, group_gone, plain_row
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.neighbours import beside


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


@asynccontextmanager
async def connected(
    *flags: str, max_line_bytes: int = 1 << 24, noise: list[str] | None = None
) -> AsyncIterator[tuple[Client, StdioTransport]]:
    guard = ProcessGuard()
    transport = StdioTransport(
        plain_row("a", *flags),
        env=dict(os.environ),
        guard=guard,
        on_noise=None if noise is None else noise.append,
        max_line_bytes=max_line_bytes,
    )
    try:
        with anyio.fail_after(20):
            async with beside(), Client(transport, mode="legacy", cache=None) as client:
                yield client, transport
    finally:
        await guard.aclose()


async def said(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    block = result.content[0]
    assert isinstance(block, TextContent)
    return block.text


async def test_a_child_is_talked_to_and_leaves_nothing() -> None:
    async with connected() as (client, transport):
        assert await said(client, "echo", text="hë") == "hë"
        pid = transport.pid
        assert pid is not None
        assert alive_in_group(pid) == [pid]
        assert transport.end_note() == ""
    assert not alive_in_group(pid)
    assert transport.end_note() == "exited with code 0"


async def test_garbage_is_skipped_counted_and_told_once_cut_short() -> None:
    noise: list[str] = []
    async with connected("--garbage", "--bad-utf8", noise=noise) as (client, transport):
        assert await said(client, "echo", text="x") == "x"
        assert transport.noise_count == 4
    assert noise == ["Starting server"]


async def test_a_long_garbage_line_is_told_cut_short() -> None:
    noise: list[str] = []
    async with connected("--garbage-line", noise=noise) as (client, _):
        await said(client, "echo", text="x")
    assert noise == ["y" * MAX_NOISE_CHARS + "…"]


async def test_a_big_line_is_read_in_reasonable_time() -> None:
    async with connected() as (client, _):
        began = anyio.current_time()
        assert len(await said(client, "repeat", count=10_000_000)) == 10_000_000
        assert anyio.current_time() - began < 3


async def test_a_line_over_the_limit_ends_the_session_and_names_the_limit() -> None:
    async with connected(max_line_bytes=1 << 20) as (client, transport):
        with pytest.raises(MCPError):
            await said(client, "repeat", count=2_000_000)
        assert "1 MiB" in transport.end_note()
        assert transport.pid is not None
    assert await group_gone(transport.pid)


async def test_a_shouting_child_is_not_blocked_and_its_tail_is_kept() -> None:
    async with connected("--shout", "1000000", "--colours") as (client, transport):
        assert await said(client, "echo", text="x") == "x"
        assert transport.stderr_tail().endswith("red � alert")
        assert len(transport.stderr_tail()) <= 4000


async def test_a_crash_is_known_at_once_with_signal_and_last_words() -> None:
    async with connected() as (client, transport):
        with pytest.raises(MCPError):
            await said(client, "crash")
        assert transport.end_note() == "was ended by SIGKILL"
        assert transport.stderr_tail() == "the tool crashed"


async def test_what_a_child_prints_when_told_to_end_is_no_garbage() -> None:
    noise: list[str] = []
    async with connected("--garbage-at-end", noise=noise) as (client, _):
        await said(client, "echo", text="x")
    assert noise == []


async def test_a_signal_without_a_name_is_known_by_its_number() -> None:
    async with connected() as (client, transport):
        with pytest.raises(MCPError):
            await said(client, "crash", signal=40)
        assert transport.end_note() == "was ended by signal 40"


async def test_an_exit_code_is_known() -> None:
    async with connected() as (client, transport):
        with pytest.raises(MCPError):
            await said(client, "exit", code=7)
        assert transport.end_note() == "exited with code 7"


async def test_a_crash_is_noticed_though_a_grandchild_holds_the_output_open() -> None:
    async with connected("--grandchild") as (client, transport):
        with pytest.raises(MCPError):
            await said(client, "crash")
        assert transport.end_note() == "was ended by SIGKILL"
    assert transport.pid is not None
    assert await group_gone(transport.pid, seconds=1)


async def test_environment_and_folder_reach_the_child(tmp_path: Any) -> None:
    guard = ProcessGuard()
    row = plain_row("a", cwd=str(tmp_path))
    transport = StdioTransport(row, env={"SOME": "thing"}, guard=guard)
    with anyio.fail_after(10):
        async with Client(transport, mode="legacy", cache=None) as client:
            assert await said(client, "environment", name="SOME") == "thing"
            assert await said(client, "environment", name="HOME") == "(unset)"
            assert await said(client, "folder") == str(tmp_path)
    await guard.aclose()


def scripted(answer: str) -> StdioServerRow:
    """A child whose tool ``t`` answers with what the code prints, and knows a secret ``s``."""
    code = f"""
import json, os, sys
s = os.environ["KEY"]
def say(identifier, result):
    print('{{"jsonrpc":"2.0","id":%s,"result":%s}}' % (json.dumps(identifier), result), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    method, identifier = asked["method"], asked.get("id")
    if method == "initialize":
        say(identifier, json.dumps({{"protocolVersion": "2025-06-18",
            "capabilities": {{"tools": {{}}}}, "serverInfo": {{"name": "x", "version": "1"}}}}))
    elif method == "tools/list":
        say(identifier, json.dumps({{"tools": [
            {{"name": "t", "description": "x\\ud83d", "inputSchema": {{"type": "object"}}}}]}}))
    elif method == "tools/call":
        {answer}
    elif identifier is not None:
        print(json.dumps({{"jsonrpc": "2.0", "id": identifier,
            "error": {{"code": -32601, "message": "no"}}}}), flush=True)
"""
    return StdioServerRow(
        id="a", command=sys.executable, args=("-I", "-S", "-c", code), env={"KEY": SECRET}
    )


SECRET = "canary-0123456789-abcdefghij"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            """say(identifier, json.dumps({"content": [{"type": "text", "text": "a\\ud83d"}]}))""",
            "a\ufffd",
        ),
        (
            """say(identifier, '{"structuredContent": {"a": %s%s}}' % ("[" * 220, "]" * 220))""",
            '{"a":' + "[" * 220 + "]" * 220 + "}",
        ),
        (
            """say(identifier, "[" * 100000 + "]" * 100000)""",
            'a__t: server "a" sent an answer that cannot be read: it is nested too deep',
        ),
        (
            """say(identifier, "7")""",
            'a__t: server "a" sent an answer that cannot be read: it is not JSON-RPC',
        ),
        (
            """say(identifier, json.dumps({"isError": True, "content":
                [{"type": "text", "text": "no " + s}]}))""",
            "no ***",
        ),
    ],
)
async def test_an_odd_answer_ends_its_call_at_once_and_the_server_lives_on(
    answer: str, told: str
) -> None:
    async with beside(scripted(answer), is_ready=False) as pool:
        watch = Watch(pool)
        assert await pool.wait_ready(10)
        assert pool.tools()[0]["function"]["description"] == "[a] x\ufffd"
        pid = state_of(pool, "a").pid
        raised = ""
        with anyio.fail_after(5):
            try:
                said = await pool.call("a__t")
            except PoolError as error:
                said, raised = str(error), repr((error, error.__cause__, error.__context__))
        assert SECRET not in raised
        assert said == told
        assert state_of(pool, "a").pid == pid
        assert SECRET not in repr(watch.events)


@pytest.mark.parametrize("before", [0, MAX_NOISE_CHARS - 10, 4 * MAX_NOISE_CHARS - 10])
async def test_a_secret_in_garbage_is_not_told_in_part(before: int) -> None:
    noise: list[str] = []
    guard = ProcessGuard()
    row = scripted(f"print('x' * {before} + s); say(identifier, json.dumps(dict(content=[])))")
    env = dict(os.environ) | {"KEY": SECRET}
    transport = StdioTransport(row, env=env, guard=guard, on_noise=noise.append)
    with anyio.fail_after(20):
        async with beside(), Client(transport, mode="legacy", cache=None) as client:
            await client.call_tool("t", {})
    await guard.aclose()
    assert noise[0].startswith("x" * min(before, MAX_NOISE_CHARS) or "***")
    assert "can" not in noise[0]
