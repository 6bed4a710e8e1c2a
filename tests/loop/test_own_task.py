"""A cancellation that nobody asked for is a failure; one that somebody asked for passes at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import anyio
import anyio.lowlevel
import pytest

from host.errors import RunFailed
from host.loop import (
    AgentLoopOptions,
    LoopHooks,
    RunControl,
    RunHooks,
    ToolLoopResult,
    TurnCall,
    run_agent_loop,
    run_tool_loop,
)
from host.loop.hooks import notify
from host.loop.own_task import Attempt, StrayCancellation, in_own_task
from host.loop.run_control import Interruption
from host.records import HookContext, HookEvent, HookOutcome, Run, ToolCallRequest, ToolFailure
from tests.fakes.loop_peers import (
    MemoryTool,
    MemoryToolbox,
    ScriptedModel,
    call,
    calling,
    saying,
)
from tests.fakes.stray import lost_cancellation, stray
from tests.loop.runs import QUESTION, Events, replays, results, run
from tests.loop.streams import StreamScript, always, text

TWO = MemoryToolbox(MemoryTool(name="a__x", body=stray), "a__y")
WORDS = str(StrayCancellation())


async def bounded(tool: Callable[..., Awaitable[Any]], **options: Any) -> ToolLoopResult:
    """A bounded run that calls the tool once and then says that it is done."""
    asked = TurnCall(call=ToolCallRequest(id="1", name="a"))
    with anyio.fail_after(3600):
        return await run_tool_loop(
            stream_turn=StreamScript([asked], [text("Done.")]),
            system_prompt="S",
            user_message="U",
            execute_tool_call=tool,
            is_executable_tool=always,
            **options,
        )


# The task itself


async def test_what_work_returns_and_raises_comes_out_of_its_task() -> None:
    async def fail() -> None:
        await anyio.lowlevel.checkpoint()
        raise ZeroDivisionError

    async def answer() -> int:
        await anyio.lowlevel.checkpoint()
        return 7

    assert await in_own_task(answer) == 7
    with pytest.raises(ZeroDivisionError):
        await in_own_task(fail)
    with pytest.raises(StrayCancellation) as caught:
        await in_own_task(stray)
    assert isinstance(caught.value.__cause__, anyio.get_cancelled_exc_class())


async def test_a_real_cancellation_passes_though_the_work_raises_a_lost_one_on_its_way_out() -> (
    None
):
    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            await stray()

    attempt: Attempt[None] = Attempt()
    with anyio.move_on_after(1) as scope:
        await attempt.make(work)
    assert scope.cancelled_caught
    assert not attempt.is_over


async def test_an_answer_that_was_ready_when_the_cancellation_came_is_kept() -> None:
    async def work() -> int:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(5)
        return 7

    attempt: Attempt[int] = Attempt()
    with anyio.move_on_after(1) as scope:
        await attempt.make(work)
        await anyio.lowlevel.checkpoint()  # trio tells of it again and again
    assert scope.cancelled_caught
    assert attempt.result() == 7


async def test_what_ends_the_program_comes_out_as_it_is() -> None:
    async def leave() -> None:
        await anyio.lowlevel.checkpoint()
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        await in_own_task(leave)

    async def leave_when_stopped() -> None:
        try:
            control.stop()
            await anyio.sleep_forever()
        finally:
            raise SystemExit(3)

    control = RunControl()
    with pytest.raises(SystemExit):
        await Interruption(control=control).cut_short(leave_when_stopped)


# The agent loop


@pytest.mark.parametrize("parallel", [True, False])
async def test_a_tool_that_cancels_itself_has_failed_and_the_run_goes_on(parallel: bool) -> None:
    model = ScriptedModel(calling(call("a__x"), call("a__y")), saying("Here."))
    ended = await run(model, TWO, parallel=parallel)
    assert (ended.stop_reason, ended.answer) == ("completed", "Here.")
    assert results(ended.messages) == [WORDS, "{}"]
    assert [one.ok for one in ended.tool_calls] == [False, True]


async def test_an_approver_that_cancels_itself_has_not_approved() -> None:
    model = ScriptedModel(calling(call("a__y")), saying("Here."))
    ended = await run(model, TWO, approve=stray)
    assert results(ended.messages) == [f"This call could not be approved: {WORDS}"]


async def test_watchers_that_raise_a_cancellation_end_nothing() -> None:
    lost = await lost_cancellation()

    def watch(*_: Any, **__: Any) -> None:
        raise lost

    model = ScriptedModel(calling(call("a__y")), saying("Here."))
    ended = await run(model, TWO, on_event=watch, on_tool_call=watch, on_tool_result=watch)
    assert ended.stop_reason == "completed"
    assert replays(ended.messages)


async def test_hooks_that_cancel_themselves_are_a_note() -> None:
    async def hooks(event: HookEvent, context: HookContext) -> list[HookOutcome]:
        await stray()

    (note,) = await notify(hooks, "afterTurn", {})
    assert note.error == WORDS
    ended = await run(ScriptedModel(saying("Here.")), hooks=RunHooks(run=hooks))
    assert [note.error for note in ended.notes] == [WORDS, WORDS]


@pytest.mark.parametrize("part", ["model", "before_step", "on_message", "on_turn"])
async def test_a_run_whose_parts_cancel_themselves_has_failed_and_is_handed_out(part: str) -> None:
    given: dict[str, Any] = {} if part == "model" else {part: stray}
    script = stray if part == "model" else saying("Here.")
    with pytest.raises(RunFailed) as caught:
        await run(ScriptedModel(script), TWO, **given)
    assert str(caught.value) == WORDS
    assert caught.value.run.messages[0] == QUESTION


@pytest.mark.parametrize("parallel", [True, False])
async def test_a_stop_while_another_call_cancels_itself_is_a_stop(parallel: bool) -> None:
    control = RunControl()

    async def leave(args: dict[str, Any]) -> None:
        control.stop("enough")
        await stray()

    toolbox = MemoryToolbox(
        MemoryTool(name="a__x", body=leave),
        MemoryTool(name="a__y", body=lambda args: anyio.sleep_forever()),
    )
    model = ScriptedModel(
        calling(call("a__y"), call("a__x")) if parallel else calling(call("a__x"))
    )
    ended = await run(model, toolbox, parallel=parallel, control=control)
    assert ended.stop_reason == "stopped"
    assert replays(ended.messages)


async def test_a_task_of_the_callers_that_is_cancelled_cancels_the_run_at_once(
    anyio_backend_name: str,
) -> None:
    """As wait_for, a TaskGroup and the end of a program do, beside all scopes of ours."""
    if anyio_backend_name == "trio":
        return  # it has no other cancellations than those of scopes
    began = anyio.current_time()
    toolbox = MemoryToolbox(
        MemoryTool(name="a__x", body=lambda args: anyio.sleep_forever()), "a__y"
    )

    async def agent(parallel: bool) -> Run:
        asked = calling(call("a__x"), call("a__x", {"n": 1})) if parallel else calling(call("a__x"))
        options = AgentLoopOptions(
            ScriptedModel(asked), toolbox, [QUESTION], discovery="eager", parallel=parallel
        )
        return await run_agent_loop(options)

    async def mute(*_: object) -> None:
        await anyio.sleep_forever()

    watched = LoopHooks(on_event=mute)
    for begun in (agent(True), agent(False), bounded(mute), bounded(mute, hooks=watched)):
        task: asyncio.Task[object] = asyncio.create_task(begun)
        await anyio.wait_all_tasks_blocked()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
    assert anyio.current_time() - began < 1


# The bounded loop


async def test_a_tool_of_the_bounded_loop_that_cancels_itself_is_an_executor_error() -> None:
    ended = await bounded(stray)
    assert [one.outcome for one in ended.tool_results] == [
        ToolFailure(code="executor_error", message=WORDS)
    ]
    assert (ended.stop_reason, ended.final_text) == ("completed", "Done.")


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("awaited", [True, False])
async def test_observers_that_cancel_themselves_are_told_of_and_end_nothing(
    grouped: bool, awaited: bool
) -> None:
    lost = await lost_cancellation()
    errors: list[Exception] = []

    def raising(*_: object) -> NoReturn:
        raise lost

    def told(error: Exception, about: object) -> object:
        errors.append(error)
        return stray() if awaited else raising()

    hooks = LoopHooks(on_event=stray if awaited else raising, on_hook_error=told)
    async with anyio.create_task_group() as group:
        given = {"task_group": group} if grouped else {}
        ended = await bounded(stray, hooks=hooks, **given)
    assert ended.stop_reason == "completed"
    assert len(errors) == 8
    assert {type(error) for error in errors} == {StrayCancellation}


async def test_a_bounded_run_is_cancelled_at_once_whatever_its_tools_and_observers_wait_for() -> (
    None
):
    began = anyio.current_time()

    async def wait(*_: object) -> None:
        await anyio.sleep_forever()

    for options in ({}, {"hooks": LoopHooks(on_event=wait)}):
        with anyio.move_on_after(1) as scope:
            await bounded(wait, **options)
        assert scope.cancelled_caught
    assert anyio.current_time() - began == pytest.approx(2, abs=0.5)


async def test_the_events_of_a_call_that_cancelled_itself_say_that_it_failed() -> None:
    events = Events()
    await run(ScriptedModel(calling(call("a__x")), saying("Here.")), TWO, on_event=events)
    assert [event["ok"] for event in events.of("tool-result")] == [False]
