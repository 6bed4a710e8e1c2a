"""Calls that become tasks are followed to their end, answered to, and called off when dropped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from host.pool.elicitation import ElicitationAnswer, ElicitationRequest, OnElicit
from host.pool.listing import NEEDS_TASK
from host.pool.rows import HttpServerRow
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from host.pool.task_states import TASKS_EXTENSION
from host.pool.tasks import MAX_MISSES
from tests.fakes.mcp_servers.task_server import (
    PLAIN_TOOL,
    TASK_TOOL,
    Refusal,
    TaskServer,
    state,
    text_result,
)
from tests.fakes.mcp_servers.watching import state_of
from tests.pool.pools import refused, virtual_now

UNKNOWN = "whether the tool ran is unknown"
BOTH_ERAS = pytest.mark.parametrize("is_modern", [True, False], ids=["extension", "sessions"])


@asynccontextmanager
async def task_pool(
    server: TaskServer, on_elicit: OnElicit | None = None, **fields: Any
) -> AsyncIterator[ServerPool]:
    """A pool with one server that makes tasks."""
    settings = PoolSettings(
        create_transport=server.create_transport,
        jitter=lambda: 1.0,
        now=virtual_now,
        on_elicit=on_elicit,
    )
    row = HttpServerRow(id="lab", url="http://memory.test/lab", **fields)
    with anyio.fail_after(10_000):
        async with ServerPool.open([row], settings=settings) as pool:
            await pool.wait_ready()
            yield pool


def offered(pool: ServerPool) -> list[str]:
    return [tool["function"]["name"] for tool in pool.tools()]


@BOTH_ERAS
async def test_a_tool_that_needs_a_task_is_called_as_one(is_modern: bool) -> None:
    server = TaskServer(is_modern=is_modern)
    server.states = [
        state("working"),
        state("completed", result=text_result("found")),
    ]
    async with task_pool(server) as pool:
        assert offered(pool) == ["lab__research", "lab__plain", "lab__look"]
        assert await pool.call("lab__research", {"topic": "x"}) == "found"
        (made,) = server.asked("tools/call")
        assert made["arguments"] == {"topic": "x"}
        assert ("task" in made) is not is_modern
        assert [asked["taskId"] for asked in server.asked("tasks/get")] == ["t1", "t1"]
        assert server.asked("tasks/cancel") == []


@BOTH_ERAS
async def test_without_tasks_on_the_servers_side_such_tools_are_hidden_with_a_reason(
    is_modern: bool,
) -> None:
    server = TaskServer(is_modern=is_modern, offers_tasks=False)
    async with task_pool(server) as pool:
        assert offered(pool) == ["lab__plain"]
        shown = {tool.name: tool.withheld for tool in state_of(pool, "lab").tools}
        assert shown == {"research": NEEDS_TASK, "plain": None, "look": NEEDS_TASK}
        assert (await refused(pool, "lab__research")).code == "unknown-tool"
        assert server.asked("tools/call") == []


@BOTH_ERAS
async def test_a_tool_that_needs_no_task_is_called_plainly(is_modern: bool) -> None:
    server = TaskServer(is_modern=is_modern)
    async with task_pool(server) as pool:
        assert await pool.call("lab__plain") == "at once"
        server.made = None
        assert await pool.call("lab__research") == "at once"
        assert server.asked("tasks/get") == []


async def test_a_server_of_the_newer_era_may_make_a_task_of_any_call() -> None:
    server = TaskServer(is_modern=True)
    server.tools = [PLAIN_TOOL | {"name": "sometimes"}]
    async with task_pool(server) as pool:
        assert await pool.call("lab__sometimes") == "found"
        meta = server.asked("tools/call")[0]["_meta"]
        declared = meta["io.modelcontextprotocol/clientCapabilities"]["extensions"]
        assert declared == {TASKS_EXTENSION: {}}


@BOTH_ERAS
async def test_the_servers_pause_between_questions_is_kept(is_modern: bool) -> None:
    server = TaskServer(is_modern=is_modern)
    pause = {"pollIntervalMs" if is_modern else "pollInterval": 7000}
    server.made = state("working", **pause)
    server.states = [
        state("working", **pause),
        state("completed", result=text_result("found"), **pause),
    ]
    async with task_pool(server) as pool:
        began = anyio.current_time()
        assert await pool.call("lab__research") == "found"
        assert 14 <= anyio.current_time() - began < 15


async def test_a_task_that_is_done_when_it_is_made_is_asked_for_its_result_at_once() -> None:
    server = TaskServer(is_modern=True)
    server.made = state("completed", result=text_result("not this one"), pollIntervalMs=30_000)
    async with task_pool(server) as pool:
        began = anyio.current_time()
        assert await pool.call("lab__research") == "found"
        assert anyio.current_time() - began < 1


@BOTH_ERAS
@pytest.mark.parametrize("how", ["timeout", "cancellation"])
async def test_a_task_nobody_waits_for_is_called_off(is_modern: bool, how: str) -> None:
    server = TaskServer(is_modern=is_modern)
    server.states = [state("working")]
    async with task_pool(server) as pool:
        if how == "timeout":
            error = await refused(pool, "lab__research", timeout_seconds=3)
            assert error.code == "timeout"
        else:
            with anyio.move_on_after(3) as scope:
                await pool.call("lab__research")
            assert scope.cancelled_caught
        await anyio.sleep(1)
        assert [asked["taskId"] for asked in server.asked("tasks/cancel")] == ["t1"]
        asked = len(server.asked("tasks/get"))
        await anyio.sleep(60)
        assert len(server.asked("tasks/get")) == asked


@BOTH_ERAS
async def test_steps_of_a_task_count_as_progress(is_modern: bool) -> None:
    server = TaskServer(is_modern=is_modern)
    server.states = [
        *(state("working", lastUpdatedAt=f"2026-08-01T10:00:{step}Z") for step in range(10, 20)),
        state("completed", result=text_result("found")),
    ]
    times: dict[str, Any] = {"call_timeout_ms": 3000, "progress_extends_timeout": True}
    async with task_pool(server, **times) as pool:
        assert await pool.call("lab__research") == "found"
    server.states = [state("working")]
    async with task_pool(server, **times) as pool:
        began = anyio.current_time()
        assert (await refused(pool, "lab__research")).code == "timeout"
        assert anyio.current_time() - began < 6


@BOTH_ERAS
async def test_a_task_that_fails_is_the_servers_error(is_modern: bool) -> None:
    server = TaskServer(is_modern=is_modern)
    server.states = [state("failed", error={"code": -32603, "message": "rate limit"})]
    server.outcome = Refusal(-32603, "rate limit")
    async with task_pool(server) as pool:
        error = await refused(pool, "lab__research")
        assert error.code == "tool-error"
        assert str(error).endswith('server "lab" answered with an error: rate limit (-32603)')


@BOTH_ERAS
async def test_an_error_of_the_tool_is_its_result(is_modern: bool) -> None:
    server = TaskServer(is_modern=is_modern)
    failed = text_result("no such topic", isError=True)
    server.states = [state("completed", result=failed)]
    server.outcome = failed
    async with task_pool(server) as pool:
        assert str(await refused(pool, "lab__research")) == "no such topic"
        assert (await pool.call_raw("lab__research")).is_error


@BOTH_ERAS
async def test_a_task_that_its_server_calls_off_is_told(is_modern: bool) -> None:
    server = TaskServer(is_modern=is_modern)
    server.states = [state("cancelled", statusMessage="out of budget")]
    async with task_pool(server) as pool:
        error = await refused(pool, "lab__research")
        assert "called off the task that it made of the call: out of budget" in str(error)
        assert server.asked("tasks/cancel") == []


@BOTH_ERAS
@pytest.mark.parametrize("tool", ["research", "look"])
async def test_a_task_that_is_forgotten_fails_and_the_call_is_never_made_again(
    is_modern: bool, tool: str
) -> None:
    server = TaskServer(is_modern=is_modern)
    server.states = [Refusal(-32602, "task not found")]
    async with task_pool(server) as pool:
        error = await refused(pool, f"lab__{tool}")
        assert "does not know the task any more" in str(error)
        assert UNKNOWN in str(error)
        assert len(server.asked("tools/call")) == 1
        assert len(server.asked("tasks/get")) == 1


@BOTH_ERAS
async def test_a_question_or_two_without_an_answer_are_survived(is_modern: bool) -> None:
    server = TaskServer(is_modern=is_modern)
    done = state("completed", result=text_result("found"))
    server.states = [Refusal(-32603, "busy"), {"status": "odd"}, state("working"), done]
    async with task_pool(server) as pool:
        assert await pool.call("lab__research") == "found"
        server.states = [Refusal(-32603, "busy")]
        error = await refused(pool, "lab__research")
        assert "does not say what became of the task it made of the call (busy)" in str(error)
        assert UNKNOWN in str(error)
        assert len(server.asked("tasks/get")) == 4 + MAX_MISSES


@BOTH_ERAS
async def test_a_question_that_is_never_answered_is_put_again(is_modern: bool) -> None:
    server = TaskServer(is_modern=is_modern)
    server.states = [anyio.Event(), state("completed", result=text_result("found"))]
    async with task_pool(server) as pool:
        assert await pool.call("lab__research") == "found"


@BOTH_ERAS
async def test_a_server_that_dies_over_a_task_fails_the_call_clearly(is_modern: bool) -> None:
    server = TaskServer(is_modern=is_modern)
    server.states = [anyio.Event()]
    async with task_pool(server) as pool:

        async def die() -> None:
            await anyio.sleep(3)
            server.opened[-1].crash()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(die)
            error = await refused(pool, "lab__research")
        assert "closed its output during the call; whether it ran is unknown" in str(error)
        assert len(server.asked("tools/call")) == 1
        server.states = [state("completed", result=text_result("found"))]
        assert await pool.call("lab__research") == "found"


@BOTH_ERAS
async def test_an_answer_that_names_no_task_fails_the_call(is_modern: bool) -> None:
    server = TaskServer(is_modern=is_modern)
    server.made = {"taskId": "", "status": "working"}
    async with task_pool(server) as pool:
        error = await refused(pool, "lab__research")
        assert f"without saying which, or how it stands; {UNKNOWN}" in str(error)


async def test_a_task_that_is_done_without_a_result_fails() -> None:
    server = TaskServer(is_modern=True)
    server.states = [state("completed")]
    async with task_pool(server) as pool:
        assert "hands over no result" in str(await refused(pool, "lab__research"))


async def test_what_a_task_wants_to_know_is_answered_once() -> None:
    server = TaskServer(is_modern=True)
    asks = {"inputRequests": {"where": {"method": "roots/list"}}}
    server.states = [
        state("input_required", **asks),
        state("input_required", **asks),
        state("working"),
        state("completed", result=text_result("found")),
    ]
    async with task_pool(server, roots=["file:///here"]) as pool:
        assert await pool.call("lab__research") == "found"
        assert server.answers == [{"where": {"roots": [{"uri": "file:///here"}]}}]


@BOTH_ERAS
async def test_a_task_may_ask_a_person(is_modern: bool) -> None:
    async def person(_server_id: str, request: ElicitationRequest) -> ElicitationAnswer:
        assert request.message == "Which one?"
        return ElicitationAnswer(action="accept", content={"topic": "the first"})

    form = {"type": "object", "properties": {"topic": {"type": "string"}}}
    question = {
        "method": "elicitation/create",
        "params": {"message": "Which one?", "requestedSchema": form},
    }
    server = TaskServer(is_modern=is_modern)
    server.asks = question
    server.states = [state("input_required")]
    if is_modern:
        done = state("completed", result=text_result("found"))
        server.states = [state("input_required", inputRequests={"q": question}), done]
    async with task_pool(server, person) as pool:
        assert await pool.call("lab__research") == "found"
    given = {"action": "accept", "content": {"topic": "the first"}}
    assert server.answers == [{"q": given} if is_modern else given]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}}, ""),
        ({"method": "teleport"}, "for what this host does not know"),
        ("teleport", "for what this host does not know"),
    ],
)
async def test_a_task_that_asks_for_what_it_cannot_have_is_called_off(
    asked: object, words: str
) -> None:
    server = TaskServer(is_modern=True)
    server.states = [state("input_required", inputRequests={"q": asked})]
    async with task_pool(server) as pool:
        error = await refused(pool, "lab__research", timeout_seconds=500)
        assert error.code == "tool-error"
        assert f"asks in its task {words}" in str(error)
        await anyio.sleep(1)
        assert len(server.asked("tasks/cancel")) == 1
        assert server.asked("tasks/update") == []


async def test_an_answer_that_is_not_taken_fails_the_call() -> None:
    class Deaf(TaskServer):
        async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            if method == "tasks/update":
                raise Refusal(-32603, "no such question")
            return await super().answer(method, params)

    server = Deaf(is_modern=True)
    asks = {"inputRequests": {"where": {"method": "roots/list"}}}
    server.states = [state("input_required", **asks)]
    async with task_pool(server) as pool:
        error = await refused(pool, "lab__research", timeout_seconds=500)
        assert "(no such question)" in str(error)


async def test_in_the_era_of_sessions_a_task_asks_while_its_result_is_waited_for() -> None:
    server = TaskServer(is_modern=False)
    server.states = [state("input_required")]
    server.asks = {"method": "roots/list"}
    async with task_pool(server, roots=["file:///here"]) as pool:
        assert await pool.call("lab__research") == "found"
        assert server.answers == [{"roots": [{"uri": "file:///here"}]}]


async def test_a_task_survives_the_closing_of_its_pool_no_longer_than_a_moment() -> None:
    server = TaskServer(is_modern=False)
    server.states = [state("working")]
    codes: list[str] = []

    async def call(pool: ServerPool) -> None:
        codes.append((await refused(pool, "lab__research")).code)

    async with anyio.create_task_group() as tasks:
        async with task_pool(server) as pool:
            tasks.start_soon(call, pool)
            await anyio.sleep(3)
            began = anyio.current_time()
        assert anyio.current_time() - began < 3
    assert codes == ["tool-error"]


async def test_an_odd_result_of_a_task_is_mended_as_any_other() -> None:
    server = TaskServer(is_modern=True)
    server.states = [state("completed", result={"content": "just text"})]
    async with task_pool(server) as pool:
        assert await pool.call("lab__research") == "just text"


@BOTH_ERAS
async def test_a_result_that_breaks_its_output_schema_is_handed_on(is_modern: bool) -> None:
    server = TaskServer(is_modern=is_modern)
    server.tools = [TASK_TOOL | {"outputSchema": {"type": "object", "required": ["n"]}}]
    odd = text_result("found", structuredContent={"m": 1})
    server.states, server.outcome = [state("completed", result=odd)], odd
    async with task_pool(server) as pool:
        assert await pool.call("lab__research") == "found"
