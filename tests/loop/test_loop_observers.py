"""Observers of the bounded loop: told in order, contained, never waited for longer than 3 s."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from host.loop import LoopHooks, compose_hooks, run_tool_loop, with_pursuit
from host.loop.decision_point import DecisionPoint, decision_point
from host.loop.loop_events import LoopEvent, LoopEvents
from host.loop.loop_observers import ObserverCircle, Observers
from host.records import ToolFailure, ToolSuccess
from tests.loop.streams import Executor, StreamScript, always, call, fine, text

EVENTS = LoopEvents(run_id="r", scenario_id=None, now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
EVENT = EVENTS.run("before", {})
POINT = decision_point("r", None, 0, messages=[], turn_text="", batch=[])


class Watcher:
    """An observer that remembers, and may fail."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.events: list[LoopEvent] = []
        self.points: list[DecisionPoint] = []
        self.errors: list[tuple[Exception, dict[str, Any]]] = []

    @property
    def hooks(self) -> LoopHooks:
        return LoopHooks(
            on_event=self._event,
            on_decision_point=self._point,
            on_hook_error=lambda error, about: self.errors.append((error, dict(about))),
        )

    @property
    def ids(self) -> list[str]:
        return [event.id for event in self.events]

    def _event(self, event: LoopEvent, context: object) -> None:
        assert context == {}
        self.events.append(event)
        if self.fault:
            raise self.fault

    def _point(self, point: DecisionPoint, context: object) -> None:
        assert context == {}
        self.points.append(point)
        if self.fault:
            raise self.fault


async def run(hooks: Observers, script: StreamScript, executor: Executor, **options: Any) -> str:
    with anyio.fail_after(3600):
        result = await run_tool_loop(
            stream_turn=script,
            system_prompt="S",
            user_message="U",
            execute_tool_call=executor,
            is_executable_tool=always,
            run_id="r",
            hooks=hooks,
            **options,
        )
    return result.stop_reason


async def test_the_order_of_events_for_one_tool_then_an_answer() -> None:
    watcher = Watcher()
    await run(watcher.hooks, StreamScript([call()], [text("Done.")]), fine())
    assert [(event.target, event.phase, event.step_index) for event in watcher.events] == [
        ("agent.run", "before", None),
        ("agent.turn", "before", 0),
        ("agent.tool_call", "before", 0),
        ("agent.tool_call", "after", 0),
        ("agent.turn", "after", 0),
        ("agent.turn", "before", 1),
        ("agent.turn", "after", 1),
        ("agent.run", "after", None),
    ]
    first, turn, *_, last_turn, last = watcher.events
    assert first.payload == {"maxToolTurns": 200, "messageCount": 2}
    assert turn.payload == {"messageCount": 2}
    assert watcher.events[5].payload == {"messageCount": 4}
    assert last_turn.payload == {"pendingToolCalls": 0, "finalTextChars": 5}
    assert last.payload == {"turns": 2, "toolResults": 1, "stopReason": "completed"}
    assert not watcher.points
    assert not watcher.errors


@pytest.mark.parametrize(
    ("script", "options", "tail"),
    [
        (
            [[call(n=1), call(n=2)]],
            {"max_tool_turns": 0},
            [("r:agent.run:0:after", {"pendingToolCalls": 2, "stopReason": "backstop"})],
        ),
        (
            [[call(), call(), call()]],
            {},
            [("r:agent.run:0:after", {"pendingToolCalls": 3, "stopReason": "stuck-loop"})],
        ),
        (
            [[call(n=1), call(n=2)]],
            {"max_cost_usd": 0, "cost_of": lambda request, outcome: 0},
            [("r:agent.run:0:after", {"pendingToolCalls": 2, "stopReason": "budget"})],
        ),
        ([[text("never")]], {"deadline": 0}, [("r:agent.run:before", None)]),
    ],
)
async def test_how_capped_runs_end_for_observers(
    script: list[Any], options: dict[str, Any], tail: list[tuple[str, Any]]
) -> None:
    watcher = Watcher()
    reason = await run(watcher.hooks, StreamScript(*script), fine(), **options)
    assert watcher.ids[-1] == "r:agent.run:after"
    assert watcher.events[-1].payload["stopReason"] == reason
    (last_id, payload) = tail[0]
    assert watcher.ids[-2] == last_id
    assert payload is None or watcher.events[-2].payload == payload


async def test_the_blocked_third_call_is_not_announced() -> None:
    watcher = Watcher()
    await run(watcher.hooks, StreamScript([call(), call(), call()]), fine())
    assert sum("tool-call" in name for name in watcher.ids) == 4


async def test_a_failed_batch_is_offered_once_between_the_two_requests() -> None:
    watcher = Watcher()
    script = StreamScript([call("f", n=1), call("g", n=2)], [text("Done.")])

    def on_point(point: DecisionPoint, context: object) -> None:
        watcher.points.append(point)
        assert len(script.asked) == 1
        assert watcher.ids[-1] == "r:agent.run:0:tool-call:1:after"

    hooks = LoopHooks(on_event=watcher.hooks.on_event, on_decision_point=on_point)
    await run(hooks, script, Executor(ToolFailure(code="x", message="gone away")))
    (point,) = watcher.points
    assert {entry.source for entry in point.evidence} == {"tool_call", "tool_result"}
    assert "gone away" in point.context
    assert point.metadata["failedToolCount"] == 2
    assert watcher.events[6].payload["failedToolCalls"] == 2


@pytest.mark.parametrize(
    ("script", "options"),
    [
        ([[call(), call(), call()]], {}),
        ([[call(n=1), call(n=2)]], {"max_cost_usd": 0, "cost_of": lambda request, outcome: 0}),
    ],
)
async def test_no_decision_is_offered_on_a_batch_cut_short(
    script: list[Any], options: dict[str, Any]
) -> None:
    watcher = Watcher()
    failing = Executor(ToolFailure(code="x", message="y"))
    await run(watcher.hooks, StreamScript(*script), failing, **options)
    assert watcher.points == []


async def test_hooks_that_raise_are_reported_and_change_nothing() -> None:
    watcher = Watcher(ValueError("mine"))
    script = StreamScript([call()], [text("Done.")])
    assert await run(watcher.hooks, script, Executor(ToolFailure(code="x", message="y"))) == (
        "completed"
    )
    assert len(watcher.events) == 8
    assert len(watcher.errors) == 9
    kinds = {about["hook"] for _, about in watcher.errors}
    assert kinds == {"onEvent", "onDecisionPoint"}
    assert watcher.errors[0][1] == {
        "hook": "onEvent",
        "eventId": "r:agent.run:before",
        "target": "agent.run",
        "phase": "before",
    }
    point = next(about for _, about in watcher.errors if about["hook"] == "onDecisionPoint")
    assert point == {
        "hook": "onDecisionPoint",
        "decisionId": "r:agent.turn:0:failure-recovery",
        "decisionKind": "retry",
    }


async def test_what_an_error_hook_raises_is_dropped() -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    async def fail_later(*_: object) -> None:
        await anyio.lowlevel.checkpoint()
        raise RuntimeError

    for broken in (fail, fail_later):
        hooks = LoopHooks(on_event=fail, on_hook_error=broken)
        assert await run(hooks, StreamScript([text("Done.")]), fine()) == "completed"


async def test_one_observer_that_raises_keeps_nothing_from_the_next() -> None:
    first, second = Watcher(ValueError("first")), Watcher()
    circle = ObserverCircle(compose_hooks(first.hooks, None, [second.hooks]), None)
    await circle.event(EVENT)
    await circle.decision_point(POINT)
    assert second.events == [EVENT]
    assert second.points == [POINT]
    assert len(first.errors) == len(second.errors) == 2


async def test_an_observer_need_not_watch_everything() -> None:
    watcher = Watcher(ValueError("mine"))
    hooks = [LoopHooks(), watcher.hooks]
    failing = Executor(ToolFailure(code="x", message="y"))
    await run(hooks, StreamScript([call()], [text("Done.")]), failing)
    assert (len(watcher.events), len(watcher.points), len(watcher.errors)) == (8, 1, 9)


def test_composing_nothing_is_nothing() -> None:
    assert compose_hooks(None, (), None) == ()
    assert not ObserverCircle(None, None)


async def test_without_a_group_asynchronous_observers_are_awaited_in_order() -> None:
    seen: list[str] = []

    def slow(name: str, seconds: float) -> LoopHooks:
        async def on_event(event: LoopEvent, context: object) -> None:
            await anyio.sleep(seconds)
            seen.append(name)

        return LoopHooks(on_event=on_event)

    await ObserverCircle([slow("a", 2.5), slow("b", 0)], None).event(EVENT)
    assert seen == ["a", "b"]


async def test_an_observer_is_not_waited_for_longer_than_three_seconds() -> None:
    watcher = Watcher()

    async def forever(event: LoopEvent, context: object) -> None:
        await anyio.sleep_forever()

    hooks = LoopHooks(on_event=forever, on_hook_error=watcher.hooks.on_hook_error)
    began = anyio.current_time()
    await ObserverCircle([hooks, watcher.hooks], None).event(EVENT)
    assert anyio.current_time() - began == pytest.approx(3, abs=0.5)
    assert isinstance(watcher.errors[0][0], TimeoutError)
    assert watcher.events == [EVENT]


async def test_with_a_group_the_loop_does_not_wait() -> None:
    done: list[str] = []
    watcher = Watcher()

    async def slow(event: LoopEvent, context: object) -> None:
        await anyio.sleep(100)
        done.append(event.id)
        raise ValueError("late")

    hooks = LoopHooks(on_event=slow, on_hook_error=watcher.hooks.on_hook_error)
    async with anyio.create_task_group() as group:
        began = anyio.current_time()
        await run(hooks, StreamScript([text("Done.")]), fine(), task_group=group)
        assert anyio.current_time() - began < 50
        assert done == []
    assert len(done) == len(watcher.errors) == 4


@pytest.mark.parametrize("awaited", [True, False])
async def test_with_a_group_nobody_waits_for_those_who_hear_of_errors(awaited: bool) -> None:
    heard: list[Exception] = []

    def fail(event: LoopEvent, context: object) -> None:
        raise ValueError(event.id)

    async def fail_later(event: LoopEvent, context: object) -> None:
        await anyio.lowlevel.checkpoint()
        fail(event, context)

    async def on_hook_error(error: Exception, about: object) -> None:
        await anyio.sleep(100)
        heard.append(error)

    hooks = LoopHooks(on_event=fail_later if awaited else fail, on_hook_error=on_hook_error)
    async with anyio.create_task_group() as group:
        began = anyio.current_time()
        await run(hooks, StreamScript([text("Done.")]), fine(), task_group=group)
        assert anyio.current_time() - began < 2
        assert heard == []
    assert len(heard) == 4


@pytest.mark.parametrize("awaited", [True, False])
async def test_a_group_that_is_closed_is_an_error_of_the_hook(awaited: bool) -> None:
    errors: list[Exception] = []

    async def slow(event: LoopEvent, context: object) -> None:
        await anyio.lowlevel.checkpoint()

    async def hear_later(error: Exception, about: object) -> None:
        await anyio.lowlevel.checkpoint()
        errors.append(error)

    def hear(error: Exception, about: object) -> None:
        errors.append(error)

    async with anyio.create_task_group() as group:
        pass
    hooks = LoopHooks(on_event=slow, on_hook_error=hear_later if awaited else hear)
    await ObserverCircle(hooks, group).event(EVENT)
    assert [type(error) for error in errors] == [RuntimeError]


async def test_cancelling_passes_through_an_observer() -> None:
    async def forever(event: LoopEvent, context: object) -> None:
        await anyio.sleep_forever()

    with anyio.move_on_after(1) as scope:
        await ObserverCircle(LoopHooks(on_event=forever), None).event(EVENT)
    assert scope.cancelled_caught


async def test_a_pursuit_is_stamped_on_everything() -> None:
    watcher = Watcher()
    circle = ObserverCircle(with_pursuit(watcher.hooks, "p1"), None)
    await circle.event(EVENT)
    await circle.decision_point(POINT)
    assert watcher.events[0].metadata == {"producer": "tool-loop", "pursuitId": "p1"}
    assert watcher.points[0].metadata["pursuitId"] == "p1"
    assert EVENT.metadata == {"producer": "tool-loop"}


async def test_another_pursuits_events_are_refused() -> None:
    watcher = Watcher()
    inner = with_pursuit(watcher.hooks, "p1")
    await ObserverCircle(with_pursuit(inner, "p2"), None).event(EVENT)
    assert watcher.events == []
    assert "pursuit" in str(watcher.errors[0][0])
    await ObserverCircle(with_pursuit(inner, "p1"), None).event(EVENT)
    assert len(watcher.events) == 1


def test_a_blank_pursuit_is_invalid() -> None:
    with pytest.raises(ValueError, match="blank"):
        with_pursuit(LoopHooks(), "  ")


async def test_a_result_that_json_cannot_hold_does_not_break_an_observed_loop() -> None:
    watcher = Watcher()
    script = StreamScript([call()], [text("Done.")])
    executor = Executor(ToolSuccess(result={1, 2}))
    assert await run(
        watcher.hooks, script, executor, render_result=lambda label, outcome: "set"
    ) == ("completed")
    assert watcher.events[3].payload["outcome"]["resultPreview"] == '"{1, 2}"'


async def test_escaping_errors_announce_no_end() -> None:
    watcher = Watcher()

    def fail(label: str, outcome: object) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run(watcher.hooks, StreamScript([call()]), fine(), render_result=fail)
    assert watcher.ids == ["r:agent.run:before", "r:agent.run:0", "r:agent.run:0:tool-call:0"]


async def test_run_ids_are_minted_when_none_is_given() -> None:
    watcher = Watcher()
    told: Callable[..., Awaitable[Any]] = run_tool_loop
    for _ in range(2):
        await told(
            stream_turn=StreamScript([text("x")]),
            system_prompt="",
            user_message="",
            execute_tool_call=fine(),
            is_executable_tool=always,
            scenario_id="sc",
            hooks=watcher.hooks,
        )
    run_ids = {event.run_id for event in watcher.events}
    assert len(run_ids) == 2
    for run_id in run_ids:
        start, _, chance = run_id.rpartition("-")
        assert start == "agent-run"
        assert 0 < len(chance) <= 8
        assert int(chance, 36) >= 0
    assert {event.scenario_id for event in watcher.events} == {"sc"}
