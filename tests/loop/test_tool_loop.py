"""The awaited bounded loop: turns, limits, history, results."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import AsyncGenerator, Iterator
from datetime import datetime, timedelta
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from host.loop import (
    LoopEvent,
    LoopHooks,
    ToolLoopResult,
    TurnEvent,
    TurnOther,
    run_tool_loop,
)
from host.loop.wall_clock import utc_now
from host.records import Message, StopReason, ToolCallRequest, ToolFailure, ToolSuccess
from tests.loop.streams import Executor, Outcome, StreamScript, always, call, fine, text


async def run(
    script: StreamScript, executor: Executor | None = None, **options: Any
) -> ToolLoopResult:
    settings: dict[str, Any] = {
        "system_prompt": "Be brief.",
        "user_message": "Go.",
        "execute_tool_call": executor or fine(),
        "is_executable_tool": always,
    }
    with anyio.fail_after(3600):
        return await run_tool_loop(stream_turn=script, **{**settings, **options})


def distinct(turns: int, *last: TurnEvent) -> StreamScript:
    """So many turns with a call of their own each, then a last one."""
    return StreamScript(*([call(n=number)] for number in range(turns)), list(last))


async def test_a_turn_without_calls_is_the_answer() -> None:
    result = await run(StreamScript([text("Hel"), TurnOther(event="noise"), text("lo. ")]))
    assert result == ToolLoopResult(
        final_text="Hello. ", tool_results=(), turns=1, stop_reason="completed"
    )


async def test_one_call_takes_two_turns_and_their_texts_are_joined() -> None:
    executor = fine({"n": 1})
    result = await run(StreamScript([text("Routing. "), call(q="x")], [text("Done.")]), executor)
    assert (result.final_text, result.turns) == ("Routing. Done.", 2)
    (done,) = result.tool_results
    assert done.call == executor.calls[0] == ToolCallRequest(id="", name="f", args={"q": "x"})
    assert (done.label, done.outcome) == ("f", ToolSuccess(result={"n": 1}))


async def test_calls_that_may_not_be_executed_are_as_if_never_made() -> None:
    script = StreamScript([call("ui_only"), text("Shown.")])
    executor = fine()
    result = await run(script, executor, is_executable_tool=lambda name: name != "ui_only")
    assert (result.turns, result.stop_reason, executor.calls) == (1, "completed", [])


async def test_history_holds_only_executable_calls() -> None:
    script = StreamScript([call("hidden"), call("f", "c1"), call("hidden")], [text("Done.")])
    await run(script, is_executable_tool=lambda name: name == "f")
    assistant = script.asked[1][2]
    assert assistant["role"] == "assistant"
    assert [one["function"]["name"] for one in assistant["tool_calls"]] == ["f"]


@pytest.mark.parametrize("cap", [0, 1, 2, 3])
async def test_a_cap_lets_that_many_turns_run_tools_and_asks_once_more(cap: int) -> None:
    script, executor = distinct(20), fine()
    result = await run(script, executor, max_tool_turns=cap)
    assert (result.stop_reason, result.turns, len(script.asked)) == ("backstop", cap + 1, cap + 1)
    assert len(executor.calls) == len(result.tool_results) == cap


async def test_the_text_of_the_discarded_turn_counts() -> None:
    result = await run(
        StreamScript([text("a"), call(n=1)], [text("b"), call(n=2)]), max_tool_turns=1
    )
    assert (result.final_text, result.stop_reason) == ("ab", "backstop")


async def test_the_default_cap_is_above_long_work() -> None:
    result = await run(distinct(55, text("Done.")))
    assert (result.stop_reason, result.turns, len(result.tool_results)) == ("completed", 56, 55)


async def test_two_hundred_tool_turns_are_the_default_cap() -> None:
    script = distinct(300)
    result = await run(script)
    assert (result.stop_reason, len(result.tool_results), len(script.asked)) == (
        "backstop",
        200,
        201,
    )


A, B = call(n=1), call(n=2)


@pytest.mark.parametrize(
    ("turns", "reason", "executed"),
    [
        ([[A]], "stuck-loop", 2),
        ([[A, A, A]], "stuck-loop", 2),
        ([[A, A], [A]], "stuck-loop", 2),
        ([[A], [B], [A], [B], [A], [B], [A]], "backstop", 6),
        ([[A, B]], "backstop", 12),
        ([[A, A, B, A, A], []], "completed", 5),
        ([[A, call("hidden"), A, call("hidden"), A]], "stuck-loop", 2),
        (
            [[call("f", "id-1", n=1), call("f", "id-2", n=1), call("f", "id-3", n=1)]],
            "stuck-loop",
            2,
        ),
        ([[call(a=1, b=2), call(b=2, a=1), call(a=1.0, b=2)]], "stuck-loop", 2),
        (
            [[call(o={"a": 1, "b": 2}), call(o={"b": 2, "a": 1}), call(o={"a": 1, "b": 2})], []],
            "completed",
            3,
        ),
        ([[call("f", n=1), call("g", n=1), call("f", n=1)], []], "completed", 3),
    ],
)
async def test_the_third_identical_call_in_a_row_is_not_made(
    turns: list[list[TurnEvent]], reason: StopReason, executed: int
) -> None:
    executor = fine()
    result = await run(
        StreamScript(*turns),
        executor,
        max_tool_turns=6,
        is_executable_tool=lambda name: name != "hidden",
    )
    assert (result.stop_reason, len(result.tool_results)) == (reason, executed)
    assert len(executor.calls) == executed


async def test_a_streak_ignores_results() -> None:
    answers = itertools.count()
    executor = Executor(lambda request: ToolSuccess(result=next(answers)))
    result = await run(StreamScript([A]), executor)
    assert [done.outcome for done in result.tool_results] == [
        ToolSuccess(result=0),
        ToolSuccess(result=1),
    ]


@pytest.mark.parametrize("as_epoch", [True, False])
async def test_a_deadline_in_the_past_asks_nothing_and_still_counts_the_turn(
    as_epoch: bool,
) -> None:
    script = StreamScript([text("never")])
    past = utc_now() - timedelta(seconds=1)
    result = await run(script, deadline=past.timestamp() if as_epoch else past)
    assert (result.stop_reason, result.turns, script.asked) == ("deadline", 1, [])
    assert result.final_text == ""


async def test_a_deadline_is_looked_at_between_turns_and_interrupts_nothing() -> None:
    class Slow(Executor):
        async def __call__(self, request: ToolCallRequest) -> Outcome:
            await anyio.sleep(60)
            return await super().__call__(request)

    executor = Slow(ToolSuccess(result="late"))
    result = await run(
        StreamScript([call(n=1), call(n=2)], [text("never")]),
        executor,
        deadline=utc_now() + timedelta(seconds=30),
    )
    assert (result.stop_reason, result.turns, len(result.tool_results)) == ("deadline", 2, 2)


async def test_a_deadline_needs_a_zone() -> None:
    with pytest.raises(ValueError, match="time zone"):
        await run(StreamScript([]), deadline=datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(("ceiling", "executed"), [(0, 1), (1, 1), (2, 2), (2.5, 3), (math.inf, 4)])
async def test_the_call_that_reaches_the_budget_is_kept_and_the_rest_dropped(
    ceiling: float, executed: int
) -> None:
    executor = fine()
    result = await run(
        StreamScript([call(n=1), call(n=2)], [call(n=3), call(n=4)], [text("Done.")]),
        executor,
        max_cost_usd=ceiling,
        cost_of=lambda request, outcome: 1,
    )
    assert len(executor.calls) == len(result.tool_results) == executed
    assert result.stop_reason == ("budget" if ceiling < 4 else "completed")


async def test_failures_and_exceptions_are_charged() -> None:
    def break_down(request: ToolCallRequest) -> Outcome:
        if request.args["n"] == 1:
            raise RuntimeError("down")
        return ToolFailure(code="no", message="no")

    charged: list[Outcome] = []

    def cost(request: ToolCallRequest, outcome: Outcome) -> float:
        charged.append(outcome)
        return 1

    result = await run(distinct(9), Executor(break_down), max_cost_usd=3, cost_of=cost)
    assert result.stop_reason == "budget"
    assert [done.outcome for done in result.tool_results] == charged
    assert ToolFailure(code="executor_error", message="down") in charged


@pytest.mark.parametrize("half", [{"max_cost_usd": 0}, {"cost_of": lambda request, outcome: 1}])
async def test_half_a_budget_is_none(half: dict[str, Any]) -> None:
    assert (await run(distinct(3, text("Done.")), **half)).stop_reason == "completed"


async def test_the_history_a_model_reads() -> None:
    prior: list[Message] = [
        {"role": "user", "content": "Before."},
        {"role": "assistant", "content": "Yes."},
    ]
    script = StreamScript(
        [text("  Look. "), call("f", "c1", q="ä", n=4.0), call("g", "c2")], [text("Done.")]
    )
    await run(script, fine("r"), prior_messages=prior, render_result=lambda label, outcome: label)
    start: list[Message] = [
        {"role": "system", "content": "Be brief."},
        *prior,
        {"role": "user", "content": "Go."},
    ]
    assert script.asked[0] == start
    assert script.asked[1] == [
        *start,
        {
            "role": "assistant",
            "content": "Look.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "f", "arguments": '{"q":"ä","n":4}'},
                },
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "f"},
        {"role": "tool", "tool_call_id": "c2", "content": "g"},
    ]
    assert len(prior) == 2


async def test_a_turn_of_blanks_and_calls_has_null_content() -> None:
    script = StreamScript([text(" \n"), call()], [text("Done.")])
    await run(script)
    assert script.asked[1][2]["content"] is None


async def test_calls_without_ids_get_one_each_on_both_sides() -> None:
    script = StreamScript(
        [call("f", n=1), call("f", n=2)], [call("f", n=3), call("g", "call_f_3")], [text("Done.")]
    )
    await run(script)
    asked = [
        one["id"]
        for message in script.asked[-1]
        if message["role"] == "assistant"
        for one in message["tool_calls"]
    ]
    answered = [m["tool_call_id"] for m in script.asked[-1] if m["role"] == "tool"]
    assert asked == answered == ["call_f", "call_f_2", "call_f_4", "call_f_3"]


async def test_results_are_rendered_in_one_line_by_default() -> None:
    outcomes: Iterator[Outcome] = iter(
        [
            ToolSuccess(result="it's"),
            ToolSuccess(result={"a": [1]}),
            ToolFailure(code="X", message="no"),
        ]
    )
    script = StreamScript([call("f"), call("g"), call("h", n=1)], [text("Done.")])
    await run(script, Executor(lambda request: next(outcomes)), label_for=lambda c: c.name.upper())
    contents = [message["content"] for message in script.asked[1] if message["role"] == "tool"]
    assert contents == ['- F → ok: "it\'s"', '- G → ok: {"a":[1]}', "- H → failed (X): no"]


async def test_an_executor_that_raises_is_a_failed_result_and_the_loop_goes_on() -> None:
    def raise_now(request: ToolCallRequest) -> Any:
        raise RuntimeError("sync")

    class Raises(Executor):
        async def __call__(self, request: ToolCallRequest) -> Outcome:
            await anyio.lowlevel.checkpoint()
            raise KeyError

    script = StreamScript([call()], [text("Done.")])
    result = await run(script, execute_tool_call=raise_now)
    assert result.tool_results[0].outcome == ToolFailure(code="executor_error", message="sync")
    assert (result.final_text, result.stop_reason) == ("Done.", "completed")
    nameless = await run(StreamScript([call()], []), Raises(ToolSuccess(result="")))
    assert nameless.tool_results[0].outcome == ToolFailure(
        code="executor_error", message="KeyError"
    )


async def test_cancelling_passes_through_an_executor() -> None:
    class Mute(Executor):
        async def __call__(self, request: ToolCallRequest) -> Outcome:
            self.calls.append(request)
            await anyio.sleep_forever()
            raise AssertionError

    executor = Mute(ToolSuccess(result=""))
    with anyio.move_on_after(5) as scope:
        await run(StreamScript([call()]), executor)
    assert scope.cancelled_caught
    assert len(executor.calls) == 1


class Broken(Exception):
    pass


def _break(*_: object) -> Any:
    raise Broken


@pytest.mark.parametrize(
    "option", ["stream_turn", "is_executable_tool", "render_result", "label_for", "cost_of"]
)
async def test_what_the_other_callables_raise_escapes(option: str) -> None:
    options: dict[str, Any] = {
        "stream_turn": StreamScript([call()]),
        "system_prompt": "",
        "user_message": "",
        "execute_tool_call": fine(),
        "is_executable_tool": always,
        "max_cost_usd": 1,
        "cost_of": lambda request, outcome: 0,
    }
    with pytest.raises(Broken):
        await run_tool_loop(**{**options, option: _break})


async def test_a_stream_that_breaks_escapes_and_is_closed() -> None:
    async def stream(messages: list[Message]) -> AsyncGenerator[TurnEvent, None]:
        yield text("Half")
        raise Broken

    with pytest.raises(Broken):
        await run_tool_loop(
            stream_turn=stream,
            system_prompt="",
            user_message="",
            execute_tool_call=fine(),
            is_executable_tool=always,
        )


async def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="max_turns"):
        await run(StreamScript([]), max_turns=3)


async def test_arguments_in_history_parse_back() -> None:
    script = StreamScript([call(deep={"b": [1, {"a": None}]}, big=10**20)], [])
    await run(script)
    message = script.asked[1][2]
    assert message["role"] == "assistant"
    arguments = message["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"deep": {"b": [1, {"a": None}]}, "big": 10**20}


async def test_arguments_and_results_that_json_has_no_form_for_end_nothing() -> None:
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    ring: dict[str, Any] = {"n": math.inf}
    ring["self"] = ring
    odd: list[Any] = [math.nan, {1, 2}, object(), deep, ring]
    script = StreamScript([call(value=value) for value in odd], [text("Done.")])
    answers = iter([*odd, "fine"])
    told: list[LoopEvent] = []
    ended = await run(
        script,
        Executor(lambda request: ToolSuccess(result=next(answers))),
        hooks=LoopHooks(on_event=lambda event, context: told.append(event)),
    )
    assert (ended.stop_reason, len(ended.tool_results)) == ("completed", 5)
    asked, *results = script.asked[1][2:]
    assert asked["role"] == "assistant"
    for one in asked["tool_calls"]:
        assert isinstance(json.loads(one["function"]["arguments"]), dict)
    for result in results[:5]:
        lead, _, written = str(result["content"]).partition(" ok: ")
        assert lead == "- f →"
        json.loads(written)
    assert len([event for event in told if event.target == "agent.tool_call"]) == 10


async def test_the_same_call_with_what_is_no_number_is_the_same_call() -> None:
    ended = await run(StreamScript([call(value=math.nan)]))
    assert (ended.stop_reason, len(ended.tool_results)) == ("stuck-loop", 2)
