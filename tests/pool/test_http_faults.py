"""Whatever an HTTP server does to a call, that call alone suffers, and is never made twice.

In each test two neighbours, one over HTTP and one over stdio, have calls in flight all the time,
and all of them succeed.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import MCPError

from host.errors import PoolError
from host.pool import http_containment
from host.pool.line_splitter import MAX_LINE_BYTES
from host.pool.rows import ServerRow
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from tests.fakes.mcp_servers.http_faults import (
    PAGE,
    Fault,
    FaultyHttpServer,
    answer_on_resumption,
    bomb,
    endless_body,
    endless_events,
    endless_refusal,
    events_without_answer,
    faulty_server,
    hang_up,
    late,
    never,
    primed,
    priming,
    resumed,
    slow_body,
    slow_head,
    status,
    truncated,
)
from tests.fakes.mcp_servers.http_server import READ_TOOL
from tests.fakes.mcp_servers.processes import plain_row
from tests.fakes.mcp_servers.watching import Watch, state_of

UNKNOWN = "whether the tool ran is unknown"
TIMED_OUT = "did not answer within 0.3 s"


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


@pytest.fixture
def web() -> Iterator[FaultyHttpServer]:
    with faulty_server() as server:
        yield server


@asynccontextmanager
async def fleet(web: FaultyHttpServer, **fields: Any) -> AsyncIterator[ServerPool]:
    """A pool in which the neighbours of ``web`` answer calls for the length of the block."""
    made = 0

    async def keep_calling(name: str, arguments: dict[str, Any], answer: str) -> None:
        nonlocal made
        while True:
            assert await pool.call(name, arguments) == answer
            made += 1

    with faulty_server() as other, anyio.fail_after(20):
        other.faults["tools/call"] = late(0.01)
        rows: list[ServerRow] = [web.row(**fields), other.row("other"), plain_row("near")]
        settings = PoolSettings(crash_backoff_seconds=0.1)
        async with (
            ServerPool.open(rows, settings=settings) as pool,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(keep_calling, "other__write", {}, "called")
            tasks.start_soon(keep_calling, "near__sleep", {"seconds": 0.01}, "slept")
            assert await pool.wait_ready(10)
            yield pool
            before = made
            while made < before + 4:  # noqa: ASYNC110 - calls in flight after it, too
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()


async def failed(pool: ServerPool, name: str) -> PoolError:
    with pytest.raises(PoolError) as error:
        await pool.call(name, timeout_seconds=0.3)
    return error.value


def arrived(web: FaultyHttpServer) -> int:
    """How often a call reached the server."""
    return web.methods.count("tools/call")


FAULTS: dict[str, tuple[Fault, str, bool]] = {
    "403": (status(403), "HTTP 403; it denies access", False),
    "429": (
        status(429, b"slow down", Retry_After="7"),
        'HTTP 429; it is asked too often (retry after 7); it says: "slow down"',
        False,
    ),
    "500": (status(500), f"HTTP 500; internal server error; {UNKNOWN}", False),
    "502": (
        status(502, PAGE, "text/html"),
        f'HTTP 502; bad gateway; it says: "Gateway: no backend"; {UNKNOWN}',
        False,
    ),
    "endless refusal": (endless_refusal, "HTTP 503; service unavailable", False),
    "half-open": (never, TIMED_OUT, False),
    "hang-up": (hang_up, f"hung up without an answer; {UNKNOWN}", True),
    "truncated": (truncated, f"broke off its answer; {UNKNOWN}", True),
    "slow head": (slow_head, TIMED_OUT, False),
    "slow body": (slow_body, TIMED_OUT, False),
    "endless events": (endless_events, TIMED_OUT, False),
    "events without answer": (events_without_answer, f"broke off its answer; {UNKNOWN}", True),
    "priming": (priming, f"broke off its answer; {UNKNOWN}", True),
    "redirect": (
        status(307, Location="http://elsewhere.test/mcp"),
        "redirects to http://elsewhere.test/mcp; check the row's url",
        False,
    ),
    "redirect of a form": (
        status(302, Location="http://elsewhere.test/"),
        "redirects to http://elsewhere.test/",
        False,
    ),
    "another kind": (status(200, PAGE, "text/html"), "another kind than JSON-RPC", False),
    "no JSON": (status(200, PAGE, "application/json"), "it is not JSON-RPC", False),
    "nothing": (status(200, b"", "application/json"), "it is not JSON-RPC", False),
    "accepted": (status(202), "accepted the request and gives no answer", False),
}
"""Fault, words of the failed call, and whether a harmless call is made once more."""


@pytest.mark.parametrize("name", FAULTS)
async def test_a_call_that_meets_a_fault_fails_alone_and_is_not_made_again(
    web: FaultyHttpServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_containment, "REFUSAL_SECONDS", 0.1)
    fault, words, _ = FAULTS[name]
    async with fleet(web) as pool:
        web.faults["tools/call"] = fault
        error = await failed(pool, "web__write")
        assert error.code == ("timeout" if words == TIMED_OUT else "tool-error")
        assert words in str(error)
        assert arrived(web) == 1
        del web.faults["tools/call"]
        assert await pool.call("web__write") == "called"
        assert state_of(pool, "web").status == "ready"
        assert web.methods.count("initialize") == 1


@pytest.mark.parametrize("name", [name for name, (*_, again) in FAULTS.items() if again])
async def test_a_harmless_call_whose_answer_was_cut_off_is_made_once_more(
    web: FaultyHttpServer, name: str
) -> None:
    fault = FAULTS[name][0]

    def once(handler: Any, message: dict[str, Any]) -> None:
        del web.faults["tools/call"]
        fault(handler, message)

    async with fleet(web) as pool:
        web.faults["tools/call"] = once
        assert await pool.call("web__read") == "called"
        assert arrived(web) == 2
        web.faults["tools/call"] = fault
        await failed(pool, "web__read")
        assert arrived(web) == 4


@pytest.mark.parametrize("name", ["500", "502", "429", "half-open", "no JSON", "redirect"])
async def test_not_even_a_harmless_call_is_made_again_where_the_server_said_something(
    web: FaultyHttpServer, name: str
) -> None:
    async with fleet(web) as pool:
        web.faults["tools/call"] = FAULTS[name][0]
        await failed(pool, "web__read")
        assert arrived(web) == 1


async def test_a_lost_session_is_renewed_while_the_neighbours_go_on(
    web: FaultyHttpServer,
) -> None:
    async with fleet(web) as pool:
        watch = Watch(pool)
        for number in range(3):
            web.session = f"new {number}"
            assert await pool.call("web__write") == "called"
        assert web.calls == ["write"] * 3
        await watch.until(lambda: watch.kinds("web").count("close redial") == 3)


async def test_a_session_that_is_lost_at_once_again_fails_the_call_which_was_never_made(
    web: FaultyHttpServer,
) -> None:
    async with fleet(web) as pool:
        web.faults["tools/call"] = status(404, b"unknown session")
        error = await failed(pool, "web__write")
        assert "has forgotten our session; the call was not made" in str(error)
        assert arrived(web) == 2
        assert web.calls == []


async def test_a_use_whose_session_is_lost_at_once_again_is_tried_twice_and_then_fails(
    web: FaultyHttpServer,
) -> None:
    runs = 0

    async def run(client: Any) -> None:
        nonlocal runs
        runs += 1
        await client.call_tool("write", {})

    async with fleet(web) as pool:
        web.faults["tools/call"] = status(404, b"unknown session")
        with pytest.raises(MCPError):
            await pool.use("web", run)
        assert runs == 2


async def test_a_tool_that_is_gone_with_the_lost_session_is_refused(
    web: FaultyHttpServer,
) -> None:
    def without_write(handler: Any, message: dict[str, Any]) -> None:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [READ_TOOL]}}
        handler.whole(200, "application/json", json.dumps(answer).encode())

    async with fleet(web) as pool:
        web.faults["tools/list"] = without_write
        web.session = "two"
        error = await failed(pool, "web__write")
        assert error.code == "unknown-tool"
        assert web.calls == []
        assert await pool.call("web__read") == "called"


@pytest.mark.parametrize("fault", [endless_body, bomb], ids=["plain", "packed"])
async def test_an_answer_without_an_end_is_read_no_further_than_any(
    web: FaultyHttpServer, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_containment, "MAX_LINE_BYTES", 4 << 20)
    async with fleet(web) as pool:
        web.faults["tools/call"] = fault
        with pytest.raises(PoolError) as error:
            await pool.call("web__write", timeout_seconds=15)
        assert f"sent more than 64 MB for one answer; {UNKNOWN}" in str(error.value)
        assert arrived(web) == 1
        del web.faults["tools/call"]
        assert await pool.call("web__write") == "called"
    assert MAX_LINE_BYTES == 64 << 20


async def test_a_server_that_takes_no_word_of_a_call_given_up_is_asked_the_next_thing(
    web: FaultyHttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_containment, "NOTICE_SECONDS", 0.3)
    async with fleet(web) as pool:
        web.faults |= {"tools/call": never, "notifications/cancelled": never}
        await failed(pool, "web__write")
        del web.faults["tools/call"]
        assert await pool.call("web__write", timeout_seconds=3) == "called"


# The SDK leaves the reading of a stream of events unfinished once it has its answer.
@pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning")
async def test_a_call_goes_on_where_its_stream_broke_off(web: FaultyHttpServer) -> None:
    web.faults |= {"tools/call": answer_on_resumption, "GET": resumed}
    async with fleet(web) as pool:
        assert await pool.call("web__write") == "called"
        assert arrived(web) == 1
        assert [given for given in web.gets if given] == ["1"]


async def test_a_stream_that_only_primes_is_asked_for_seldom_and_never_after_the_call(
    web: FaultyHttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_containment, "RESUME_SECONDS", 0.2)
    async with fleet(web) as pool:
        web.faults |= {"tools/call": priming, "GET": primed}
        with pytest.raises(PoolError, match="did not answer within 1 s"):
            await pool.call("web__write", timeout_seconds=1)
        asked = len(web.gets)
        assert 5 <= asked <= 12
        await anyio.sleep(0.5)
        assert len(web.gets) <= asked + 1  # one was under way


GET_FAULTS: dict[str, Fault] = {
    "405": status(405),
    "500": status(500),
    "401": status(401),
    "hang-up": hang_up,
    "half-open": never,
    "closed at once": priming,
    "another kind": status(200, PAGE, "text/html"),
    "redirect": status(302, Location="http://elsewhere.test/"),
}


@pytest.mark.parametrize("name", GET_FAULTS)
async def test_a_stream_of_the_servers_own_words_that_does_not_open_costs_nothing_else(
    web: FaultyHttpServer, name: str
) -> None:
    web.faults["GET"] = GET_FAULTS[name]
    async with fleet(web) as pool:
        for _ in range(5):
            assert await pool.call("web__write") == "called"
        while not web.gets:  # noqa: ASYNC110 - another thread's doing
            await anyio.sleep(0.01)
        assert state_of(pool, "web").status == "ready"
        assert len(web.gets) < 10


DIAL_FAULTS: dict[str, tuple[Fault, str]] = {
    "403": (status(403, b"not from here"), "HTTP 403; it denies access; check the row's headers; "),
    "404": (status(404, PAGE, "text/html"), "HTTP 404; nothing is there; check the row's url"),
    "429": (status(429, Retry_After="60"), "it is asked too often (retry after 60)"),
    "502": (status(502, PAGE, "text/html"), 'bad gateway; it says: "Gateway: no backend"'),
    "half-open": (never, "did not answer within 0.5 s"),
    "hang-up": (hang_up, "could not be reached: what listens there hung up without an answer"),
    "truncated": (truncated, "broke off its answer"),
    "slow head": (slow_head, "did not answer within 0.5 s"),
    "slow body": (slow_body, "did not answer within 0.5 s"),
    "endless events": (endless_events, "did not answer within 0.5 s"),
    "another kind": (status(200, PAGE, "text/html"), "another kind than JSON-RPC (text/html)"),
    "redirect": (status(308, Location="http://elsewhere.test/"), "redirects to http://elsewhere"),
}


@pytest.mark.parametrize("name", DIAL_FAULTS)
async def test_a_dial_that_meets_a_fault_says_which_and_delays_nobody(
    web: FaultyHttpServer, name: str
) -> None:
    fault, words = DIAL_FAULTS[name]
    web.faults["initialize"] = fault
    async with fleet(web, connect_timeout_ms=500) as pool:
        state = state_of(pool, "web")
        assert state.status == "error"
        assert words in state.error
        del web.faults["initialize"]
        await pool.reconnect("web", [state.row for state in pool.state(secrets=True)])
        assert await pool.call("web__write") == "called"


async def test_a_call_that_is_not_authorised_is_refused_alone_and_not_made_again(
    web: FaultyHttpServer,
) -> None:
    async with fleet(web) as pool:
        web.faults["tools/call"] = status(401, b"who are you?")
        error = await failed(pool, "web__write")
        assert "HTTP 401; it wants authorisation" in str(error)
        assert arrived(web) == 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            status(500, b"out of memory"),
            'HTTP 500; internal server error; it says: "out of memory"',
        ),
        (status(404), "HTTP 404; nothing is there"),
        (hang_up, "hung up without an answer"),
    ],
)
async def test_over_the_older_transport_a_refused_message_ends_the_connection_and_the_call(
    web: FaultyHttpServer, fault: Fault, words: str
) -> None:
    web.speaks_streamable = False
    async with fleet(web, path="/sse", transport_fallback="sse") as pool:
        watch = Watch(pool)
        web.faults["tools/call"] = fault
        error = await failed(pool, "web__write")
        assert words in str(error)
        assert arrived(web) == 1
        await watch.until(lambda: "close crash" in watch.kinds("web"))
        del web.faults["tools/call"]
        assert await pool.call("web__write") == "called"


async def test_a_listing_that_is_cut_off_leaves_no_half_of_it(web: FaultyHttpServer) -> None:
    web.faults["tools/list"] = truncated
    async with fleet(web) as pool:
        state = state_of(pool, "web")
        assert (state.status, state.tools, state.error) == ("error", (), "broke off its answer")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors by /proc")
async def test_calls_that_time_out_leave_no_connection_behind(web: FaultyHttpServer) -> None:
    async with fleet(web) as pool:
        web.faults["tools/call"] = never
        await failed(pool, "web__write")
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(10):
            await failed(pool, "web__write")
        assert len(os.listdir("/proc/self/fd")) <= before + 10
