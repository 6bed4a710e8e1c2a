"""A call finds its tool, fits its arguments, waits as long as it may, and says what it got."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp_types import ToolAnnotations

from host.errors import PoolError
from host.pool.server_pool import ServerPool
from host.pool.settings import ResultCacheSettings
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row, tool
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.neighbours import beside_memory
from tests.pool.pools import memory_pool, refused

READ = ToolAnnotations(read_only_hint=True)
IDEMPOTENT = ToolAnnotations(idempotent_hint=True)


async def test_a_tool_answers_as_text() -> None:
    async with memory_pool(Servers(fs=EchoServer())) as pool:
        assert await pool.call("fs__echo", {"text": "hi"}) == 'echo({"text":"hi"})'
        assert await pool.call("fs__ping", "") == "ping({})"
        assert await pool.call("fs__ping", {"empty": True}) == "(no output)"


async def test_arguments_are_made_to_fit_and_judged() -> None:
    async with memory_pool(Servers(fs=EchoServer())) as pool:
        assert await pool.call("fs__add", {"a": "1", "b": "2.5"}) == 'add({"a":1,"b":2.5})'
        error = await refused(pool, "fs__add", {"a": "x"})
        assert error.code == "invalid-arguments"
        assert str(error).startswith("fs__add: `a` must be a number")
        assert "`b` is required" in str(error)


@pytest.mark.parametrize("how", ["call", "row", "pool"])
async def test_fitting_can_be_switched_off_for_call_row_and_pool(how: str) -> None:
    row = memory_row("fs", coerce_arguments=False if how == "row" else None)
    async with memory_pool(Servers(fs=EchoServer()), [row], coerce_arguments=how != "pool") as pool:
        off = False if how == "call" else None
        assert await pool.call("fs__add", {"a": "1"}, coerce=off) == 'add({"a":"1"})'
        assert await pool.call("fs__ping", None, coerce=off) == "ping({})"
        assert (await refused(pool, "fs__add", "text", coerce=off)).code == "invalid-arguments"


async def test_a_tool_that_calls_its_answer_an_error_fails_with_its_words() -> None:
    async with memory_pool(Servers(fs=EchoServer())) as pool:
        error = await refused(pool, "fs__echo", {"fail": "no such file"})
        assert (error.code, str(error)) == ("tool-error", "no such file")
        assert (error.server_id, error.tool_name) == ("fs", "fs__echo")
        raw = await pool.call_raw("fs__echo", {"fail": "no such file"})
        assert raw.is_error


async def test_an_error_of_the_protocol_is_told_in_words() -> None:
    async with memory_pool(Servers(fs=EchoServer())) as pool:
        error = await refused(pool, "fs__echo", {"error": "not today"})
        assert error.code == "tool-error"
        assert 'server "fs" answered with an error: not today (-32000)' in str(error)


@pytest.mark.parametrize(
    ("call", "row", "pool_limit", "length"),
    [
        (60, 80, 90, 60),
        (None, 80, 90, 80),
        (None, None, 90, 90),
        (None, 0, 90, 500),
        (0, 80, 9, 500),
    ],
)
async def test_a_result_is_cut_to_the_limit_of_call_row_or_pool(
    call: int | None, row: int | None, pool_limit: int, length: int
) -> None:
    rows = [memory_row("fs", max_result_chars=row)]
    async with memory_pool(Servers(fs=EchoServer()), rows, max_result_chars=pool_limit) as pool:
        watch = Watch(pool)
        text = await pool.call("fs__echo", {"repeat": 500}, max_result_chars=call)
        assert length - 2 <= len(text) <= length
        (event,) = watch.of("call")
        assert (event.ok, event.chars, event.truncated) == (True, 500, length < 500)


async def test_unknown_hidden_and_out_of_scope_share_one_text() -> None:
    rows = [memory_row("fs", hidden_tools=["ping"]), memory_row("web")]
    async with memory_pool(Servers(fs=EchoServer(), web=EchoServer()), rows) as pool:
        hidden = await refused(pool, "fs__ping")
        unknown = await refused(pool, "fs__pong")
        outside = await refused(pool, "web__ping", servers=["fs"])
        assert (hidden.code, unknown.code, outside.code) == (
            "unknown-tool",
            "unknown-tool",
            "out-of-scope",
        )
        texts = {
            str(error).replace(name, "NAME")
            for error, name in [(hidden, "fs__ping"), (unknown, "fs__pong"), (outside, "web__ping")]
        }
        assert len(texts) == 1
        assert await pool.call("fs__ping", hidden=True) == "ping({})"
        assert (await refused(pool, "fs__echo", servers=[])).code == "out-of-scope"


async def test_a_time_out_does_not_wait_for_the_server_which_is_told() -> None:
    server = EchoServer()
    async with beside_memory(Servers(fs=server)) as pool:
        watch = Watch(pool)
        began = anyio.current_time()
        error = await refused(pool, "fs__echo", {"sleepMs": 100_000}, timeout_seconds=2)
        assert (error.code, error.timeout_seconds) == ("timeout", 2)
        assert anyio.current_time() - began < 2.5
        await server.cancelled.wait()
        assert [(event.ok, event.code) for event in watch.of("call")] == [(False, "timeout")]
        assert await pool.call("fs__ping") == "ping({})"


@pytest.mark.parametrize(
    ("row", "pool_seconds", "seconds"), [(3000, 9.0, 3), (None, 9.0, 9), (0, 9.0, 0)]
)
async def test_the_time_of_a_call_is_the_rows_or_the_pools(
    row: int | None, pool_seconds: float, seconds: float
) -> None:
    rows = [memory_row("fs", call_timeout_ms=row)]
    async with memory_pool(
        Servers(fs=EchoServer()), rows, call_timeout_seconds=pool_seconds
    ) as pool:
        assert (await refused(pool, "fs__echo", {"sleepMs": 60_000})).timeout_seconds == seconds


async def test_cancelling_a_call_tells_the_server_and_returns_at_once() -> None:
    server = EchoServer()
    async with memory_pool(Servers(fs=server)) as pool:
        watch = Watch(pool)
        with anyio.move_on_after(1) as scope:
            await pool.call("fs__echo", {"sleepMs": 100_000})
        assert scope.cancelled_caught
        await server.cancelled.wait()
        assert [event.ok for event in watch.of("call")] == [False]


@pytest.mark.parametrize(
    ("fields", "ends_well"),
    [
        ({"progress_extends_timeout": True}, True),
        ({}, False),
        ({"progress_extends_timeout": True, "max_call_timeout_ms": 3000}, False),
    ],
)
async def test_progress_extends_the_time_only_where_the_row_says_so(
    fields: dict[str, Any], ends_well: bool
) -> None:
    rows = [memory_row("fs", call_timeout_ms=2000, **fields)]
    async with memory_pool(Servers(fs=EchoServer()), rows) as pool:
        if ends_well:
            assert await pool.call("fs__echo", {"progress": 5}) == 'echo({"progress":5})'
        else:
            assert (await refused(pool, "fs__echo", {"progress": 5})).code == "timeout"


async def test_a_server_that_dies_during_a_call_fails_it_clearly_and_is_redialled() -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer())
    async with beside_memory(servers) as pool:
        fs = servers.servers["fs"]

        async def die() -> None:
            await fs.started.wait()
            servers.opened["fs"][-1].crash()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(die)
            error = await refused(pool, "fs__echo", {"sleepMs": 50_000})
        assert error.code == "tool-error"
        assert "closed its output during the call; whether it ran is unknown" in str(error)
        assert fs.calls == ["echo"]
        assert await pool.call("web__ping") == "ping({})"
        assert await pool.call("fs__ping") == "ping({})"
        assert servers.dials("fs") == 2
        assert servers.dials("web") == 1


@pytest.mark.parametrize(
    ("annotations", "calls"), [(READ, 2), (IDEMPOTENT, 2), (None, 1)], ids=["read", "idem", "other"]
)
async def test_only_a_harmless_call_is_repeated_after_a_death(
    annotations: ToolAnnotations | None, calls: int
) -> None:
    server = EchoServer([tool("work", annotations=annotations)])
    servers = Servers(fs=server)
    async with beside_memory(servers) as pool:

        async def die() -> None:
            await server.started.wait()
            servers.opened["fs"][-1].crash()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(die)
            if calls == 2:
                assert "work" in await pool.call("fs__work", {"sleepMs": 5000})
            else:
                await refused(pool, "fs__work", {"sleepMs": 5000})
        assert server.calls == ["work"] * calls


async def test_a_harmless_call_whose_server_stays_down_fails_as_it_did_first() -> None:
    server = EchoServer([tool("work", annotations=READ)])
    servers = Servers(fs=server)
    async with beside_memory(servers) as pool:

        async def die() -> None:
            await server.started.wait()
            servers.refused["fs"] = OSError("down")
            servers.opened["fs"][-1].crash()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(die)
            error = await refused(pool, "fs__work", {"sleepMs": 5000})
        assert error.code == "tool-error"
        assert "closed its output during the call" in str(error)
        with pytest.raises(PoolError, match="down"):
            await pool.call_raw("fs__work")


async def test_a_pool_torn_down_in_a_hurry_fails_its_calls() -> None:
    errors: list[str] = []
    server = EchoServer()

    async def call(pool: ServerPool) -> None:
        errors.append(str(await refused(pool, "fs__echo", {"sleepMs": 90_000})))

    async with anyio.create_task_group() as tasks, memory_pool(Servers(fs=server)) as pool:
        tasks.start_soon(call, pool)
        await server.started.wait()
        pool._commons.group.cancel_scope.cancel()
        await anyio.sleep_forever()
    assert errors == ["fs__echo: the pool was closed meanwhile"]


async def test_a_known_tool_whose_server_is_down_says_why() -> None:
    servers = Servers(fs=EchoServer())
    async with beside_memory(servers, crash_backoff_seconds=10) as pool:
        watch = Watch(pool)
        servers.opened["fs"][-1].crash()
        await watch.until(lambda: watch.kinds("fs") == ["close crash"])
        error = await refused(pool, "fs__ping")
        assert error.code == "unknown-tool"
        assert 'server "fs" closed its output; it can be tried again in 10 s' in str(error)
        assert servers.dials("fs") == 1
        assert str(await refused(pool, "fs__other")) == 'there is no tool "fs__other"'
        assert str(await refused(pool, "fs__ping", servers=["x"])) == 'there is no tool "fs__ping"'


async def test_every_call_is_one_event() -> None:
    async with memory_pool(Servers(fs=EchoServer())) as pool:
        watch = Watch(pool)
        await pool.call("fs__ping", hidden=True)
        await pool.call_raw("fs__echo", {"fail": True})
        await refused(pool, "fs__add", {})
        await refused(pool, "nowhere")
        seen = [
            (event.tool_name, event.server_id, event.ok, event.code, event.raw, event.hidden)
            for event in watch.of("call")
        ]
        assert seen == [
            ("fs__ping", "fs", True, None, False, True),
            ("fs__echo", "fs", False, "tool-error", True, False),
            ("fs__add", "fs", False, "invalid-arguments", False, False),
            ("nowhere", None, False, "unknown-tool", False, False),
        ]


async def test_answers_of_trusted_readers_are_kept_until_something_is_written() -> None:
    server = EchoServer(
        [tool("get", annotations=READ), tool("put"), tool("set", annotations=IDEMPOTENT)]
    )
    rows = [memory_row("fs", trust_annotations=True, max_result_chars=70)]
    async with memory_pool(Servers(fs=server), rows, result_cache=ResultCacheSettings()) as pool:
        watch = Watch(pool)
        whole = await pool.call("fs__get", {"repeat": 100}, max_result_chars=0)
        assert len(await pool.call("fs__get", {"repeat": 100})) <= 70
        assert len(whole) == 100
        assert server.calls == ["get"]
        assert watch.of("call")[-1].cached is True
        await pool.call("fs__get", {"repeat": 100}, cache=False)
        assert server.calls == ["get", "get"]
        await pool.call("fs__put")
        await pool.call("fs__get", {"repeat": 100})
        assert server.calls == ["get", "get", "put", "get"]
        await pool.call("fs__set")
        await pool.call("fs__set")
        await pool.call_raw("fs__set")
        await pool.call("fs__get", {"repeat": 100})
        assert server.calls[4:] == ["set", "set", "get"]


async def test_answers_of_untrusted_rows_and_errors_are_not_kept() -> None:
    server = EchoServer([tool("get", annotations=READ)])
    servers = Servers(fs=server, trusted=server)
    rows = [memory_row("fs"), memory_row("trusted", trust_annotations=True)]
    async with memory_pool(servers, rows, result_cache=ResultCacheSettings()) as pool:
        await pool.call("fs__get")
        await pool.call("fs__get")
        await refused(pool, "trusted__get", {"fail": True})
        await refused(pool, "trusted__get", {"fail": True})
        assert server.calls == ["get"] * 4


async def test_a_result_that_breaks_its_output_schema_is_handed_on_and_told() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    server = EchoServer([tool("count", output_schema=schema)])
    async with beside_memory(Servers(fs=server)) as pool:
        watch = Watch(pool)
        assert await pool.call("fs__count", {"structured": {"n": "x"}})
        assert await pool.call("fs__count", {"structured": {"n": "x"}})
        told = [event.text for event in watch.of("log")]
        assert len(told) == 1
        assert "does not keep to its output schema" in str(told[0])
        assert server.lists == 1
        assert state_of(pool, "fs").status == "ready"


async def test_calls_on_many_servers_do_not_wait_for_a_slow_one() -> None:
    servers = Servers(slow=EchoServer(), fast=EchoServer())
    async with beside_memory(servers) as pool, anyio.create_task_group() as tasks:
        tasks.start_soon(pool.call, "slow__echo", {"sleepMs": 40_000})
        await servers.servers["slow"].started.wait()
        began = anyio.current_time()
        for _ in range(20):
            await pool.call("fast__ping")
        assert anyio.current_time() - began < 1
        assert await pool.call("slow__ping") == "ping({})"
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("args", [{"text": "\ud800"}, {"\udfff": 1}, {"text": [float("nan")]}])
async def test_arguments_that_cannot_be_sent_are_refused_and_the_server_lives_on(
    args: dict[str, Any],
) -> None:
    servers = Servers(echo=EchoServer())
    async with memory_pool(servers) as pool:
        error = await refused(pool, "echo__ping", args)
        assert error.code == "invalid-arguments"
        assert "`arguments`" in str(error)
        assert "ping" in await pool.call("echo__ping", {"text": "whole: \U0001f600"})
    assert servers.servers["echo"].calls == ["ping"]


async def test_a_time_limit_that_is_no_number_is_refused_and_nothing_is_asked() -> None:
    servers = Servers(echo=EchoServer())
    async with memory_pool(servers) as pool:
        for call in (pool.call, pool.call_raw):
            with pytest.raises(ValueError, match="timeout_seconds must be a number"):
                await call("echo__ping", timeout_seconds=float("nan"))
        with pytest.raises(ValueError, match="timeout_seconds must be a number"):
            await pool.wait_ready(float("nan"))
    assert servers.servers["echo"].calls == []
