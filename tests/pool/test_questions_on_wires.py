"""Servers that ask over real pipes and sockets, in both eras, beside servers that do not."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from host.pool.elicitation import ElicitationAnswer, ElicitationRequest
from host.pool.rows import ServerRow
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from tests.fakes.mcp_servers.asking import form, page, program_row
from tests.fakes.mcp_servers.asking_http import asking_http_server
from tests.fakes.mcp_servers.processes import plain_row
from tests.fakes.mcp_servers.watching import Watch, state_of

CANARY = "my-private-answer-4711"
NAME = {"type": "string"}
# The SDK leaves the generators of a stream that has told its answer to the collector (mcp 2.3.0).
SSE = pytest.mark.filterwarnings(
    "ignore:Exception ignored in.*async_generator:pytest.PytestUnraisableExceptionWarning"
)
WIRES = pytest.mark.parametrize(
    "wire", ["stdio", "stdio-modern", pytest.param("http", marks=SSE), "http-modern"]
)


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


@contextmanager
def asking(wire: str, **fields: Any) -> Iterator[ServerRow]:
    """A row for the server that asks on this wire."""
    modern = wire.endswith("modern")
    if wire.startswith("stdio"):
        yield program_row("fs", *(["--modern"] if modern else []), **fields)
        return
    with asking_http_server(modern=modern) as server:
        yield server.row("fs", **fields)


async def accepting(server_id: str, request: ElicitationRequest) -> ElicitationAnswer:
    content: dict[str, Any] | None = {"name": CANARY} if request.mode == "form" else None
    return ElicitationAnswer(action="accept", content=content)


async def raising(server_id: str, request: ElicitationRequest) -> ElicitationAnswer:
    raise RuntimeError(CANARY)


@WIRES
async def test_what_a_person_answers_reaches_the_server_and_nobody_else(
    wire: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    settings = PoolSettings(on_elicit=accepting, elicitation_modes=("form", "url"))
    with asking(wire) as row, anyio.fail_after(30):
        async with ServerPool.open([row], settings=settings) as pool:
            watch = Watch(pool)
            await pool.wait_ready()
            assert state_of(pool, "fs").status == "ready"
            told = json.loads(await pool.call("fs__ask", form(name=NAME)))
            assert (told["action"], told["content"]) == ("accept", {"name": CANARY})
            told = json.loads(await pool.call("fs__ask", page("https://example.org/x")))
            assert told["action"] == "accept"
            assert "content" not in told
    assert [event.mode for event in watch.of("elicitation")] == ["form", "url"]
    assert CANARY not in repr(watch.events)
    logged = [record.getMessage() for record in caplog.records]
    # What the tool itself says back is a result like any other.
    assert [line for line in logged if CANARY in line and "SSE message:" not in line] == []


@WIRES
async def test_a_callback_that_raises_costs_its_question_alone(wire: str) -> None:
    settings = PoolSettings(on_elicit=raising)
    with asking(wire) as row, anyio.fail_after(30):
        async with ServerPool.open([row, plain_row("web")], settings=settings) as pool:
            watch = Watch(pool)
            await pool.wait_ready()
            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(pool.call, "web__sleep", {"seconds": 0.2})
                told = json.loads(await pool.call("fs__ask", form(name=NAME)))
            assert told["action"] == "cancel"
            assert await pool.call("fs__ping") in ("ping", "pong")
            calls = watch.of("call", "web")
            assert [event.ok for event in calls] == [True] * 5
    assert CANARY not in repr(watch.events)


@WIRES
async def test_a_question_nobody_answers_ends_with_its_call_and_a_neighbour_is_not_slowed(
    wire: str,
) -> None:
    began, gone = anyio.Event(), anyio.Event()

    async def thinking(server_id: str, request: ElicitationRequest) -> ElicitationAnswer:
        began.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            gone.set()
            raise
        raise AssertionError

    settings = PoolSettings(on_elicit=thinking)
    with asking(wire) as row, anyio.fail_after(30):
        async with ServerPool.open([row, plain_row("web")], settings=settings) as pool:
            await pool.wait_ready()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pool.call, "fs__ask", form(name=NAME))
                await began.wait()
                for _ in range(20):
                    assert await pool.call("web__echo", {"text": "hi"}) == "hi"
                tasks.cancel_scope.cancel()
            assert await pool.call("web__echo", {"text": "hi"}) == "hi"
        await gone.wait()  # at the latest, the end of the session ends it


async def test_a_server_that_is_killed_while_it_waits_takes_its_question_with_it() -> None:
    began, gone = anyio.Event(), anyio.Event()

    async def thinking(server_id: str, request: ElicitationRequest) -> ElicitationAnswer:
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            gone.set()
        raise AssertionError

    settings = PoolSettings(on_elicit=thinking)
    with anyio.fail_after(30):
        async with ServerPool.open([program_row("fs")], settings=settings) as pool:
            watch = Watch(pool)
            await pool.wait_ready()

            async def die() -> None:
                await began.wait()
                await pool.stop("fs")

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(die)
                with pytest.raises(Exception, match="closed the connection during the call"):
                    await pool.call("fs__ask", form(name=NAME))
            await gone.wait()
            assert await pool.call("fs__ping") == "ping"
            assert watch.of("elicitation") == []
