"""How agent runs end before they are done: limits, a person, the hour; always replayable."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.catalogue import CALL_TOOL, LOAD_TOOLS
from host.errors import RunError, RunStopped
from host.loop import AgentLoopOptions, RunControl, run_agent_loop
from host.loop.wall_clock import utc_now
from host.records import Message, Run, Turn, TurnUsage
from tests.fakes.loop_peers import (
    MemoryTool,
    MemoryToolbox,
    Request,
    ScriptedModel,
    call,
    calling,
    mute,
    saying,
)
from tests.loop.runs import QUESTION, Events, replays, results, roles, run


def distinct_calls() -> ScriptedModel:
    """A model that makes a new call at every request."""
    numbers = iter(range(10_000))
    return ScriptedModel(lambda request: calling(call("a__b", {"n": next(numbers)})))


async def never(args: dict[str, Any]) -> str:
    await anyio.sleep_forever()
    return ""


# Iterations


@pytest.mark.parametrize("limit", [0, 1, 3])
async def test_so_many_requests_have_their_tools_run_and_then_the_run_ends(limit: int) -> None:
    model, toolbox = distinct_calls(), MemoryToolbox("a__b")
    done = await run(model, toolbox, max_tool_iterations=limit)
    assert (done.stop_reason, len(model.requests), len(toolbox.calls)) == ("backstop", limit, limit)
    assert len(results(done.messages)) == limit
    assert (done.turn is None) is (limit == 0)
    assert replays(done.messages)


@pytest.mark.parametrize("limit", [0, 2])
async def test_a_summary_is_one_more_request_without_tools(limit: int) -> None:
    numbers = iter(range(10_000))

    def answer(request: Request) -> Turn:
        if request.tools:
            return calling(call("a__b", {"n": next(numbers)}))
        return saying("In short.", tool_calls=(call("a__b", {}, "stray"),))

    model, toolbox, turns = ScriptedModel(answer), MemoryToolbox("a__b"), list[Turn]()
    done = await run(
        model,
        toolbox,
        discovery="names",
        loaded=["a__b"],
        system="Own.",
        max_tool_iterations=limit,
        finish="summarise",
        on_turn=lambda turn, step: turns.append(turn),
    )
    assert (done.stop_reason, done.answer) == ("backstop", "In short.")
    assert len(model.requests) == len(done.requests) == len(turns) == limit + 1
    last = model.requests[-1]
    assert (last.tools, last.system) == ((), "Own.")
    assert last.messages[-1]["role"] == "user"
    assert len(toolbox.calls) == limit
    assert done.messages[-1] == {"role": "assistant", "content": "In short."}
    assert roles(done.messages).count("user") == 1
    assert replays(done.messages)
    assert done.turn is not None
    assert done.turn.tool_calls == ()


BLANK = [
    saying(" \n"),
    calling(call("a__b", {"n": 9})),
    saying('<tool_call>{"name":"a__b","arguments":{"n":9}}</tool_call>'),
]


@pytest.mark.parametrize("discovery", ["names", "eager", "proxied"])
@pytest.mark.parametrize("last", BLANK)
async def test_a_summary_that_says_nothing_or_only_calls_is_no_answer(
    last: Turn, discovery: str
) -> None:
    events, turns = Events(), list[Turn]()
    asked = calling(call("a__b") if discovery != "proxied" else call(CALL_TOOL, {"name": "a__b"}))
    done = await run(
        ScriptedModel(asked, last),
        MemoryToolbox("a__b"),
        discovery=discovery,
        max_tool_iterations=1,
        finish="summarise",
        on_event=events,
        on_turn=lambda turn, step: turns.append(turn),
    )
    assert (done.stop_reason, done.answer) == ("backstop", "")
    assert roles(done.messages) == ["user", "assistant", "tool"]
    assert len(turns) == len(done.requests) == 2
    assert turns[-1].tool_calls == ()
    assert events.of("notice")[-1]["text"] == "no summary: the reply says nothing"


async def test_a_summary_with_a_call_written_in_it_is_what_it_says_beside() -> None:
    written = 'In short.\n<tool_call>{"name":"a__b","arguments":{}}</tool_call>'
    done = await run(
        ScriptedModel(calling(call("a__b")), saying(written)),
        MemoryToolbox("a__b"),
        max_tool_iterations=1,
        finish="summarise",
    )
    assert done.answer == done.messages[-1]["content"] == "In short."


@pytest.mark.parametrize("is_stop", [True, False])
async def test_a_summary_that_is_cut_off_leaves_the_run_the_end_that_it_had(is_stop: bool) -> None:
    control, events = RunControl(), Events()

    async def cut(request: Request) -> Turn:
        if is_stop:
            control.stop("by hand")
        return await mute(request)

    done = await run(
        ScriptedModel(calling(call("a__b")), cut),
        MemoryToolbox("a__b"),
        max_tool_iterations=1,
        finish="summarise",
        control=control,
        deadline=utc_now() + timedelta(seconds=30),
        on_event=events,
    )
    assert done.stop_reason == "backstop"
    assert roles(done.messages) == ["user", "assistant", "tool"]
    why = "stopped: by hand" if is_stop else "time is up"
    assert events.of("notice")[-1]["text"] == f"no summary: {why}"


async def test_an_answer_in_time_needs_no_summary() -> None:
    model = ScriptedModel(saying("Here."))
    done = await run(model, MemoryToolbox("a__b"), finish="summarise")
    assert (done.stop_reason, len(model.requests)) == ("completed", 1)


# Repetition


@pytest.mark.parametrize("finish", ["stop", "summarise"])
async def test_the_third_identical_call_is_not_made(finish: str) -> None:
    def answer(request: Request) -> Turn:
        return calling(call("a__b", {"x": 1})) if request.tools else saying("Stuck.")

    toolbox, model = MemoryToolbox("a__b"), ScriptedModel(answer)
    told: list[Message] = []
    done = await run(
        model, toolbox, finish=finish, on_message=lambda message, step: told.append(message)
    )
    assert (done.stop_reason, len(toolbox.calls), len(done.tool_calls)) == ("stuck-loop", 2, 2)
    assert "again and again" in results(done.messages)[-1]
    assert tuple(told) == done.messages[1:]
    assert replays(done.messages)
    assert done.answer == ("" if finish == "stop" else "Stuck.")


async def test_identical_calls_of_one_step_count_once() -> None:
    toolbox = MemoryToolbox("a__b")
    same = [call("a__b", call_id=f"i{n}") for n in range(4)]
    model = ScriptedModel(calling(*same), calling(*same), saying("Done."))
    done = await run(model, toolbox)
    assert (done.stop_reason, len(toolbox.calls)) == ("completed", 8)


@pytest.mark.parametrize(
    ("options", "reason", "made"),
    [
        ({"stuck_after": 2}, "stuck-loop", 1),
        ({"stuck_after": 5}, "stuck-loop", 4),
        ({"stuck_after": 0, "max_tool_iterations": 9}, "backstop", 9),
        ({"stuck_exempts_read_only": True, "max_tool_iterations": 9}, "backstop", 9),
    ],
)
async def test_what_counts_as_stuck_is_an_option(
    options: dict[str, Any], reason: str, made: int
) -> None:
    toolbox = MemoryToolbox(MemoryTool(name="a__poll", annotations={"readOnlyHint": True}))
    done = await run(ScriptedModel(calling(call("a__poll"))), toolbox, **options)
    assert (done.stop_reason, len(toolbox.calls)) == (reason, made)


async def test_loading_or_writing_nonsense_again_and_again_is_stuck_too() -> None:
    for stubborn in (call(LOAD_TOOLS, {"names": ["x"]}), call("a__b", "{bad")):
        done = await run(ScriptedModel(calling(stubborn)), MemoryToolbox("a__b"), discovery="names")
        assert (done.stop_reason, len(done.tool_calls)) == ("stuck-loop", 2)


# Budget


def price(usage: TurnUsage) -> float:
    return usage.prompt_tokens / 10


@pytest.mark.parametrize(("max_cost", "requests"), [(0, 1), (1, 1), (2.5, 3), (3, 3)])
async def test_the_turn_that_reaches_the_budget_runs_no_tools(
    max_cost: float, requests: int
) -> None:
    model, toolbox = distinct_calls(), MemoryToolbox("a__b")
    done = await run(model, toolbox, max_cost=max_cost, price=price, finish="summarise")
    assert (done.stop_reason, len(model.requests)) == ("budget", requests)
    assert len(toolbox.calls) == requests - 1
    assert "budget" in results(done.messages)[-1]
    assert replays(done.messages)


async def test_an_answer_that_costs_the_last_of_it_is_an_answer() -> None:
    done = await run(ScriptedModel(saying("Here.")), max_cost=1, price=price)
    assert done.stop_reason == "completed"


# The hour


@pytest.mark.parametrize("as_epoch", [True, False])
async def test_a_past_deadline_asks_nothing(as_epoch: bool) -> None:
    model = ScriptedModel(saying("never"))
    past: datetime = utc_now() - timedelta(seconds=1)
    done = await run(model, deadline=past.timestamp() if as_epoch else past)
    assert (done.stop_reason, model.requests, done.turn) == ("deadline", [], None)
    with pytest.raises(RunStopped) as caught:
        done.raise_for_stop()
    assert caught.value.stop_reason == "deadline"


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("silent", ["model", "tool"])
async def test_a_deadline_cuts_off_whoever_is_silent(silent: str, parallel: bool) -> None:
    toolbox = MemoryToolbox("a__ok", MemoryTool(name="a__mute", body=never))
    turn = calling(call("a__ok"), call("a__mute"), call("a__ok", {"n": 2}))
    model = ScriptedModel(mute) if silent == "model" else ScriptedModel(turn)
    began = anyio.current_time()
    done = await run(model, toolbox, deadline=utc_now() + timedelta(seconds=60), parallel=parallel)
    assert done.stop_reason == "deadline"
    assert anyio.current_time() - began == pytest.approx(60, abs=2)
    assert done.seconds == pytest.approx(60, abs=2)
    assert replays(done.messages)
    if silent == "tool":
        assert results(done.messages)[0] == "{}"
        assert [c.ok for c in done.tool_calls] == (
            [True, False, True] if parallel else [True, False]
        )


async def test_a_deadline_needs_a_zone() -> None:
    with pytest.raises(ValueError, match="time zone"):
        await run(ScriptedModel(saying("x")), deadline=datetime(2026, 1, 1))  # noqa: DTZ001


# A person


async def stopped_while_waiting(start: Callable[[RunControl], Any]) -> Run:
    """The run, stopped as soon as everybody waits; fails if that takes time."""
    control = RunControl()
    runs: list[Run] = []

    async def collect() -> None:
        runs.append(await start(control))

    began = anyio.current_time()
    async with anyio.create_task_group() as group:
        group.start_soon(collect)
        await anyio.wait_all_tasks_blocked()
        control.stop("by hand")
    assert anyio.current_time() - began < 1
    (done,) = runs
    assert done.stop_reason == "stopped"
    assert replays(done.messages)
    return done


async def test_a_stop_under_a_mute_model_returns_at_once() -> None:
    events = Events()
    model = ScriptedModel(mute)
    done = await stopped_while_waiting(
        lambda control: run(model, control=control, on_event=events, finish="summarise")
    )
    assert done.messages == (QUESTION,)
    assert done.turn is None
    assert "by hand" in events.of("notice")[0]["text"]


@pytest.mark.parametrize("parallel", [True, False])
async def test_a_stop_under_a_mute_tool_answers_every_call(parallel: bool) -> None:
    toolbox = MemoryToolbox("a__ok", MemoryTool(name="a__mute", body=never))
    turn = calling(call("a__ok"), call("a__mute"), call("a__ok", {"n": 2}))
    events = Events()
    told: list[Message] = []
    done = await stopped_while_waiting(
        lambda control: run(
            ScriptedModel(turn),
            toolbox,
            control=control,
            parallel=parallel,
            on_event=events,
            on_message=lambda message, step: told.append(message),
        )
    )
    first, second, third = results(done.messages)
    assert first == "{}"
    assert "cut off" in second
    assert third == '{"n":2}' if parallel else "never made" in third
    assert tuple(told) == done.messages[1:]
    assert [c.ok for c in done.tool_calls] == ([True, False, True] if parallel else [True, False])
    assert len(events.of("tool-call")) == len(events.of("tool-result")) == len(done.tool_calls)
    assert done.used == ("a__ok", "a__mute")


@pytest.mark.parametrize("waiting", ["before_step", "approve"])
async def test_a_stop_under_a_mute_callback_returns_at_once(waiting: str) -> None:
    async def forever(*_: Any) -> Any:
        await anyio.sleep_forever()

    model = ScriptedModel(calling(call("a__b")))
    options: dict[str, Any] = {waiting: forever}
    done = await stopped_while_waiting(
        lambda control: run(model, MemoryToolbox("a__b"), control=control, **options)
    )
    assert done.used == ()


async def test_a_stop_inside_the_first_call_keeps_the_second_from_being_made() -> None:
    control = RunControl()
    toolbox = MemoryToolbox(MemoryTool(name="a__stop", body=lambda args: control.stop()), "a__b")
    model = ScriptedModel(calling(call("a__stop"), call("a__b")))
    done = await run(model, toolbox, control=control, parallel=False)
    assert (done.stop_reason, toolbox.called, len(model.requests)) == ("stopped", ["a__stop"], 1)
    assert results(done.messages)[0] == "null"


async def test_a_run_whose_control_is_stopped_already_asks_nothing() -> None:
    control = RunControl()
    control.stop()
    model = ScriptedModel(saying("never"))
    done = await run(model, control=control)
    assert (done.stop_reason, model.requests) == ("stopped", [])


async def test_a_stopped_run_goes_on_from_its_transcript() -> None:
    toolbox = MemoryToolbox(MemoryTool(name="a__mute", body=never))
    done = await stopped_while_waiting(
        lambda control: run(ScriptedModel(calling(call("a__mute"))), toolbox, control=control)
    )
    again: list[Message] = [*done.messages, {"role": "user", "content": "Go on."}]
    assert (await run(ScriptedModel(saying("On.")), messages=again)).answer == "On."


@pytest.mark.parametrize("silent", ["model", "tool"])
async def test_cancelling_the_task_passes_through(silent: str) -> None:
    toolbox = MemoryToolbox(MemoryTool(name="a__mute", body=never))
    model = ScriptedModel(mute if silent == "model" else calling(call("a__mute")))
    finished = False
    with anyio.move_on_after(5) as scope:
        await run(model, toolbox)
        finished = True
    assert scope.cancelled_caught
    assert not finished


# Whatever happens

NAMES = ["a__ok", "a__bad", "a__mute", "a__stop", "b__typed", "nope", LOAD_TOOLS, ""]
ARGUMENTS = [
    "{}",
    '{"n":1}',
    '{"n":"one"}',
    "{'k': True,}",
    "{bad",
    '{"names":["b__typed"]}',
    "[1]",
]
CALLS = st.builds(
    call, st.sampled_from(NAMES), st.sampled_from(ARGUMENTS), st.sampled_from(["", "c1", "x"])
)
TURNS = st.one_of(
    st.lists(CALLS, min_size=1, max_size=4).map(lambda calls: calling(*calls)),
    st.just(saying('<tool_call>{"name":"a__ok","arguments":{}}</tool_call>')),
)


def _stop_tools(control: RunControl) -> MemoryToolbox:
    def bad(args: dict[str, Any]) -> str:
        raise RuntimeError("bad")

    async def stop(args: dict[str, Any]) -> str:
        control.stop()
        await anyio.sleep_forever()
        return ""

    typed = {"type": "object", "properties": {"n": {"type": "integer"}}}
    return MemoryToolbox(
        MemoryTool(name="a__ok", annotations={"readOnlyHint": True}),
        MemoryTool(name="a__bad", body=bad),
        MemoryTool(name="a__mute", body=never),
        MemoryTool(name="a__stop", body=stop),
        MemoryTool(name="b__typed", parameters=typed),
    )


@settings(max_examples=60)
@given(
    st.lists(TURNS, max_size=4),
    st.sampled_from([saying("Done."), OSError("gone"), mute]),
    st.fixed_dictionaries(
        {
            "discovery": st.sampled_from(["names", "eager"]),
            "parallel": st.booleans(),
            "max_tool_iterations": st.integers(0, 5),
            "stuck_after": st.sampled_from([0, 2, 3]),
            "finish": st.sampled_from(["stop", "summarise"]),
        }
    ),
    st.sampled_from(["asyncio", "trio"]),
)
def test_every_call_has_exactly_one_tool_message_whatever_happens(
    turns: list[Turn], last: Any, options: dict[str, Any], backend: str
) -> None:
    control = RunControl()
    toolbox = _stop_tools(control)
    told: list[Message] = []

    async def main() -> tuple[Run, bool]:
        given_options = AgentLoopOptions(
            ScriptedModel(*turns, last),
            toolbox,
            [QUESTION],
            control=control,
            deadline=utc_now() + timedelta(seconds=0.05),
            on_message=lambda message, step: told.append(message),
            **options,
        )
        with anyio.fail_after(5):
            try:
                return await run_agent_loop(given_options), True
            except RunError as error:
                return error.run, False

    done, returned = anyio.run(main, backend=backend)
    assert replays(done.messages)
    asked = [
        one["id"]
        for message in done.messages
        if message["role"] == "assistant"
        for one in message.get("tool_calls") or ()
    ]
    begun = [outcome.id for outcome in done.tool_calls]
    assert begun == [call_id for call_id in asked if call_id in begun]
    assert {request.id for request in toolbox.calls} <= set(begun)
    assert set(done.used) == set(toolbox.called) - {"nope"}  # there is none of that name
    if returned:
        assert tuple(told) == done.messages[1:]
    if done.stop_reason == "completed":
        assert done.messages[-1]["role"] == "assistant"
