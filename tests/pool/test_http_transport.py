"""HTTP servers that refuse, break off, forget or vanish fail calls, never the pool."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from mcp import MCPError

from host.errors import PoolError
from host.pool.fleet import FORGOTTEN, RETIRE_SECONDS
from host.pool.redial import BROKEN, MAX_REDIALS
from host.pool.rows import HttpServerRow, StdioServerRow
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from tests.fakes.mcp_servers import http_server as http_server_module
from tests.fakes.mcp_servers.http_server import PlainHttpServer, http_server
from tests.fakes.mcp_servers.processes import plain_row
from tests.fakes.mcp_servers.watching import Watch, state_of


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


@pytest.fixture
def web() -> Iterator[PlainHttpServer]:
    with http_server() as server:
        yield server


@pytest.fixture
def neighbour() -> StdioServerRow:
    return plain_row("near", "--mark", "still here")


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def failed(pool: ServerPool, name: str) -> PoolError:
    with anyio.fail_after(10), pytest.raises(PoolError) as error:
        await pool.call(name)
    return error.value


async def test_a_server_over_http_is_called_with_its_rows_headers(web: PlainHttpServer) -> None:
    row = web.row(headers={"Authorization": "Bearer secret-token"})
    async with ServerPool.open([row]) as pool:
        assert await pool.wait_ready(10)
        assert await pool.call("web__write", {}) == "called"
        state = state_of(pool, "web")
        assert (state.status, state.era, state.pid) == ("ready", "2025-06-18", None)
        assert "secret-token" not in repr(pool.state())
    assert all(seen["authorization"] == "Bearer secret-token" for seen in web.headers_seen)
    assert "DELETE" in web.methods


async def test_a_refused_port_fails_its_own_server_only(neighbour: StdioServerRow) -> None:
    row = HttpServerRow(id="web", url=f"http://127.0.0.1:{unused_port()}/mcp?key=sesame")
    async with ServerPool.open([row, neighbour]) as pool:
        assert await pool.wait_ready(10)
        state = state_of(pool, "web")
        assert state.status == "error"
        assert "could not be reached: nothing listens at its address" in state.error
        assert "sesame" not in repr(pool.state())
        assert await pool.call("near__mark") == "still here"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "answered HTTP 401; it wants authorisation"),
        (403, "answered HTTP 403; it denies access"),
        (404, "answered HTTP 404; nothing is there"),
        (500, "answered HTTP 500; internal server error"),
    ],
)
async def test_a_server_that_refuses_the_dial_is_told_by_its_status(
    web: PlainHttpServer, neighbour: StdioServerRow, status: int, words: str
) -> None:
    web.status["*"] = status
    async with ServerPool.open([web.row(), neighbour]) as pool:
        assert await pool.wait_ready(10)
        assert words in state_of(pool, "web").error
        assert await pool.call("near__mark") == "still here"


@pytest.mark.parametrize(
    ("status", "retry_after", "words"),
    [
        (403, "", 'HTTP 403; it denies access; check the row\'s headers; it says: "no"'),
        (429, "7", 'HTTP 429; it is asked too often (retry after 7); it says: "no"'),
        (
            500,
            "",
            'HTTP 500; internal server error; it says: "no"; whether the tool ran is unknown',
        ),
    ],
)
async def test_a_refused_call_fails_alone_and_the_next_one_works(
    web: PlainHttpServer, status: int, retry_after: str, words: str
) -> None:
    async with ServerPool.open([web.row()]) as pool:
        assert await pool.wait_ready(10)
        web.status["tools/call"] = status
        web.retry_after = retry_after
        error = await failed(pool, "web__write")
        assert error.code == "tool-error"
        assert str(error) == f'web__write: server "web" answered {words}'
        del web.status["tools/call"]
        assert await pool.call("web__write") == "called"
        assert state_of(pool, "web").status == "ready"


@pytest.mark.parametrize("how", ["half", "garbage"])
async def test_a_broken_body_fails_its_call_only(web: PlainHttpServer, how: str) -> None:
    async with ServerPool.open([web.row()]) as pool:
        assert await pool.wait_ready(10)
        web.break_call = how
        error = await failed(pool, "web__write")
        assert error.code == "tool-error"
        assert web.calls == ["write"]
        web.break_call = ""
        assert await pool.call("web__write") == "called"


async def test_a_server_that_vanished_fails_calls_and_works_again_when_it_is_back() -> None:
    with http_server() as web:
        row, port = web.row(), web.server_address[1]
    with http_server(port):
        opened = ServerPool.open([row])
        pool = await opened.__aenter__()
        assert await pool.wait_ready(10)
    try:
        error = await failed(pool, "web__write")
        assert "could not be reached" in str(error)
        with http_server(port) as back:
            back.session = "another"
            with anyio.fail_after(10):
                assert await pool.call("web__write") == "called"
    finally:
        await opened.__aexit__(None, None, None)


async def test_a_forgotten_session_is_renewed_and_the_call_made_once(
    web: PlainHttpServer,
) -> None:
    async with ServerPool.open([web.row()]) as pool:
        assert await pool.wait_ready(10)
        watch = Watch(pool)
        web.session = "two"
        assert await pool.call("web__write") == "called"
        assert web.calls == ["write"]
        await watch.until(lambda: "close redial" in watch.kinds("web"))
        assert sorted(watch.kinds("web")) == ["close redial", "connect"]


async def test_a_forgotten_session_whose_server_is_gone_leaves_the_call_unmade(
    web: PlainHttpServer,
) -> None:
    async with ServerPool.open([web.row()]) as pool:
        assert await pool.wait_ready(10)
        web.session = "two"
        web.status["initialize"] = 503
        error = await failed(pool, "web__write")
        assert error.code == "unknown-tool"
        assert 'server "web" answered HTTP 503' in str(error)
        assert web.calls == []


async def test_calls_that_meet_a_forgotten_session_together_share_one_redial(
    web: PlainHttpServer,
) -> None:
    async with ServerPool.open([web.row()]) as pool:
        assert await pool.wait_ready(10)
        web.session = "two"
        answers: list[str] = []

        async def call() -> None:
            answers.append(await pool.call("web__write"))

        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(call)
        assert answers == ["called"] * 5
        assert web.methods.count("initialize") == 2


async def test_a_nested_call_does_not_deadlock_the_redial_of_its_own_server(
    web: PlainHttpServer,
) -> None:
    async with ServerPool.open([web.row()]) as pool:
        assert await pool.wait_ready(10)
        web.session = "two"

        async def run(_client: object) -> str:
            return await pool.call("web__write")

        with anyio.fail_after(10):
            assert await pool.use("web", run) == "called"


async def test_a_client_whose_session_was_lost_is_not_handed_out_again(
    web: PlainHttpServer,
) -> None:
    async with ServerPool.open([web.row()]) as pool:
        assert await pool.wait_ready(10)
        client = await pool.client("web")
        web.session = "two"
        with pytest.raises(MCPError):
            await client.list_tools()
        assert state_of(pool, "web").status == "idle"
        assert web.methods.count("initialize") == 1
        assert len((await (await pool.client("web")).list_tools()).tools) == 2
        assert web.methods.count("initialize") == 2


async def test_a_server_that_forgets_us_at_each_call_is_left_alone_ever_longer_and_says_why(
    web: PlainHttpServer,
) -> None:
    web.status["tools/call"] = 404
    settings = PoolSettings(crash_backoff_seconds=30)
    async with ServerPool.open([web.row()], settings=settings) as pool:
        assert await pool.wait_ready(10)
        error = await failed(pool, "web__write")
        assert "has forgotten our session; the call was not made" in str(error)
        for _ in range(5):
            error = await failed(pool, "web__write")
        assert FORGOTTEN in str(error)
        assert "it can be tried again in" in str(error)
        with pytest.raises(PoolError, match=FORGOTTEN) as refusal:
            await pool.client("web")
        assert refusal.value.code == "backoff"
        state = state_of(pool, "web")
        assert (state.status, state.stale, state.retry_at is None) == ("error", True, False)
        assert web.methods.count("initialize") == 2
        assert web.calls == []


async def test_a_session_that_never_lasts_opens_the_breaker_until_it_is_reconnected(
    web: PlainHttpServer,
) -> None:
    row = web.row()
    settings = PoolSettings(crash_backoff_seconds=0.001)
    web.status["tools/call"] = 404
    async with ServerPool.open([row], settings=settings) as pool:
        assert await pool.wait_ready(10)
        with anyio.fail_after(30):
            while BROKEN not in (error := str(await failed(pool, "web__write"))):
                assert web.methods.count("initialize") <= MAX_REDIALS + 2
        assert f"{FORGOTTEN}; {BROKEN}" in error
        del web.status["tools/call"]
        await pool.reconnect("web", [row])
        assert await pool.call("web__write") == "called"


async def test_what_the_pool_asks_by_itself_never_dials_anew(
    monkeypatch: pytest.MonkeyPatch, web: PlainHttpServer
) -> None:
    answer = http_server_module._answer

    def logging_too(server: PlainHttpServer, message: dict[str, Any]) -> dict[str, Any]:
        answered = answer(server, message)
        if message["method"] == "initialize":
            answered["result"]["capabilities"]["logging"] = {}
        return answered

    monkeypatch.setattr(http_server_module, "_answer", logging_too)
    web.status["logging/setLevel"] = 404
    async with ServerPool.open([web.row(era="legacy", log_level="info")]) as pool:
        watch = Watch(pool)
        await watch.until(lambda: bool(watch.of("log")))
        assert "does not set its log level" in str(watch.of("log")[0].text)
        for _ in range(3):
            assert await pool.call("web__write") == "called"
        assert web.methods.count("initialize") == 1
        web.session = "two"
        assert await pool.call("web__write") == "called"
        assert web.methods.count("initialize") == 2


async def test_a_pool_is_closed_at_once_though_a_lost_session_still_owes_an_answer(
    web: PlainHttpServer,
) -> None:
    errors: list[PoolError] = []
    web.delays["tools/call"] = RETIRE_SECONDS - 1

    async def call(pool: ServerPool) -> None:
        errors.append(await failed(pool, "web__write"))

    async with anyio.create_task_group() as tasks:
        async with ServerPool.open([web.row()]) as pool:
            assert await pool.wait_ready(10)
            tasks.start_soon(call, pool)
            with anyio.fail_after(5):
                while "tools/call" not in web.methods:  # noqa: ASYNC110 - another thread's doing
                    await anyio.sleep(0.01)
            web.session = "two"
            web.delays.clear()
            assert await pool.call("web__read") == "called"
            began = anyio.current_time()
        assert anyio.current_time() - began < RETIRE_SECONDS / 2
    (error,) = errors
    assert error.code == "tool-error"
    assert "was closed with the pool during the call" in str(error)


async def test_use_runs_again_on_a_new_session(web: PlainHttpServer) -> None:
    async with ServerPool.open([web.row()]) as pool:
        assert await pool.wait_ready(10)
        web.session = "two"
        with anyio.fail_after(10):
            tools = await pool.use("web", lambda client: client.list_tools())
        assert [tool.name for tool in tools.tools] == ["read", "write"]


@pytest.mark.parametrize(("tool", "calls"), [("read", 2), ("write", 1)])
async def test_only_harmless_calls_are_repeated_after_a_cut_answer(
    web: PlainHttpServer, tool: str, calls: int
) -> None:
    async with ServerPool.open([web.row()]) as pool:
        assert await pool.wait_ready(10)
        web.break_call = "half"
        await failed(pool, f"web__{tool}")
        assert web.calls == [tool] * calls


async def test_a_slow_answer_over_http_times_out_without_waiting_for_it(
    web: PlainHttpServer,
) -> None:
    async with ServerPool.open([web.row()]) as pool:
        assert await pool.wait_ready(10)
        web.delays["tools/call"] = 5
        began = anyio.current_time()
        with pytest.raises(PoolError) as error:
            await pool.call("web__write", timeout_seconds=0.2)
        assert error.value.code == "timeout"
        assert anyio.current_time() - began < 1
        web.delays.clear()
        assert await pool.call("web__write") == "called"


async def test_the_older_transport_is_tried_where_the_row_allows_it(web: PlainHttpServer) -> None:
    web.speaks_streamable = False
    rows = [
        web.row("old", "/sse", transport_fallback="sse"),
        web.row("strict", "/sse"),
    ]
    async with ServerPool.open(rows) as pool:
        assert await pool.wait_ready(10)
        assert await pool.call("old__write") == "called"
        assert "answered HTTP 405" in state_of(pool, "strict").error


async def test_the_older_transport_that_breaks_ends_as_a_crash(web: PlainHttpServer) -> None:
    web.speaks_streamable = False
    async with ServerPool.open([web.row("old", "/sse", transport_fallback="sse")]) as pool:
        assert await pool.wait_ready(10)
        watch = Watch(pool)
        web.streams[-1].put(None)
        await watch.until(lambda: watch.kinds("old") == ["close crash"])
        assert await pool.call("old__write") == "called"


async def test_fifteen_slow_calls_run_side_by_side_over_one_connection(
    web: PlainHttpServer,
) -> None:
    async with ServerPool.open([web.row()]) as pool:
        assert await pool.wait_ready(10)
        web.delays["tools/call"] = 0.3
        began = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            for _ in range(15):
                tasks.start_soon(pool.call, "web__write")
        assert anyio.current_time() - began < 2
