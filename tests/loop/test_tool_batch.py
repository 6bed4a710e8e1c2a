"""A batch of calls: order, sharing, containment, and an answer for every call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.run_control import Interruption, RunControl
from host.loop.stop_reasons import Deadline
from host.loop.tool_batch import (
    CallAnswer,
    Dispatch,
    contained_call,
    error_message,
    run_batch,
)
from host.loop.transcript import STOPPED_TEXT
from host.records import StopReason, ToolCallRequest, ToolFailure, ToolSuccess


class Desk:
    """A desk for calls that are numbers: takes each to the body given."""

    def __init__(
        self,
        body: Callable[[int], Awaitable[bool]],
        key: Callable[[int], str | None] = lambda call: None,
        at_once: frozenset[int] = frozenset(),
    ) -> None:
        self._body = body
        self._key = key
        self._at_once = at_once
        self.begun: list[int] = []
        self.dispatched: list[int] = []
        self.heard: list[int] = []
        self.delivered: list[tuple[int, CallAnswer]] = []
        self.deliveries = 0

    def begin(self, call: int) -> CallAnswer | Dispatch:
        self.begun.append(call)
        if call in self._at_once:
            return CallAnswer(text=f"at once {call}", ok=True)
        return Dispatch(run=partial(self._dispatch, call), key=self._key(call))

    def cut_off(self, call: int, reason: StopReason) -> CallAnswer:
        return CallAnswer(text=STOPPED_TEXT, ok=False)

    def answered(self, call: int, answer: CallAnswer) -> None:
        self.heard.append(call)

    async def deliver(self, answers: Sequence[tuple[int, CallAnswer]]) -> None:
        await anyio.lowlevel.checkpoint()
        self.delivered.extend(answers)
        self.deliveries += 1

    async def _dispatch(self, call: int) -> CallAnswer:
        self.dispatched.append(call)
        ok = await self._body(call)
        return CallAnswer(text=f"{'did' if ok else 'failed'} {call}", ok=ok, seconds=1.0)

    @property
    def texts(self) -> list[str]:
        return [answer.text for _, answer in self.delivered]


async def quick(call: int) -> bool:
    await anyio.lowlevel.checkpoint()
    return True


@pytest.mark.parametrize("parallel", [True, False])
async def test_answers_are_delivered_in_asked_order(parallel: bool) -> None:
    async def slower_first(call: int) -> bool:
        await anyio.sleep(10 - call)
        return True

    desk = Desk(slower_first, at_once=frozenset({1}))
    assert await run_batch([0, 1, 2], desk, parallel=parallel, interruption=Interruption()) is None
    assert desk.begun == [0, 1, 2]
    assert desk.texts == ["did 0", "at once 1", "did 2"]
    assert desk.heard == ([1, 2, 0] if parallel else [0, 1, 2])
    assert desk.deliveries == (1 if parallel else 3)


async def test_side_by_side_takes_as_long_as_the_longest() -> None:
    async def slow(call: int) -> bool:
        await anyio.sleep(100)
        return True

    for parallel, seconds in ((True, 100), (False, 300)):
        began = anyio.current_time()
        await run_batch([0, 1, 2], Desk(slow), parallel=parallel, interruption=Interruption())
        assert anyio.current_time() - began == pytest.approx(seconds, rel=0.1)


@pytest.mark.parametrize("parallel", [True, False])
async def test_calls_of_one_key_share_a_dispatch_and_only_the_first_took_time(
    parallel: bool,
) -> None:
    desk = Desk(quick, key=lambda call: "same" if call < 3 else None)
    await run_batch([0, 1, 2, 3, 4], desk, parallel=parallel, interruption=Interruption())
    assert sorted(desk.dispatched) == [0, 3, 4]
    assert desk.texts == ["did 0", "did 0", "did 0", "did 3", "did 4"]
    assert [answer.seconds for _, answer in desk.delivered] == [1, 0, 0, 1, 1]
    assert sorted(desk.heard) == desk.begun == [0, 1, 2, 3, 4]


async def test_one_by_one_a_failed_call_is_made_again() -> None:
    async def fail(call: int) -> bool:
        await anyio.lowlevel.checkpoint()
        return False

    desk = Desk(fail, key=lambda call: "same")
    await run_batch([0, 1], desk, parallel=False, interruption=Interruption())
    assert desk.dispatched == [0, 1]


async def test_a_stop_one_by_one_marks_the_call_under_way_and_the_rest() -> None:
    control = RunControl()

    async def stop_at_one(call: int) -> bool:
        if call == 1:
            control.stop()
            await anyio.sleep_forever()
        return True

    desk = Desk(stop_at_one)
    with anyio.fail_after(5):
        reason = await run_batch(
            [0, 1, 2, 3], desk, parallel=False, interruption=Interruption(control=control)
        )
    assert reason == "stopped"
    assert desk.begun == desk.heard == [0, 1]
    assert desk.texts[:2] == ["did 0", STOPPED_TEXT]
    assert [answer.begun for _, answer in desk.delivered] == [True, True, False, False]


async def test_a_stop_side_by_side_keeps_what_had_ended() -> None:
    control = RunControl()

    async def only_even_calls_end(call: int) -> bool:
        if call % 2:
            await anyio.wait_all_tasks_blocked()
            control.stop()
            await anyio.sleep_forever()
        return True

    desk = Desk(only_even_calls_end)
    with anyio.fail_after(5):
        reason = await run_batch(
            [0, 1, 2, 3], desk, parallel=True, interruption=Interruption(control=control)
        )
    assert reason == "stopped"
    assert desk.texts == ["did 0", STOPPED_TEXT, "did 2", STOPPED_TEXT]
    assert all(answer.begun for _, answer in desk.delivered)


@pytest.mark.parametrize("parallel", [True, False])
async def test_nothing_is_begun_when_time_is_already_up(parallel: bool) -> None:
    desk = Desk(quick)
    late = Interruption(deadline=Deadline(at_seconds=anyio.current_time()))
    assert await run_batch([0, 1], desk, parallel=parallel, interruption=late) == "deadline"
    assert desk.begun == []
    assert [call for call, _ in desk.delivered] == [0, 1]


async def test_a_stop_that_comes_as_a_call_ends_keeps_its_result() -> None:
    control = RunControl()

    async def stop_and_end(call: int) -> bool:
        control.stop()
        return True

    desk = Desk(stop_and_end)
    reason = await run_batch(
        [0, 1], desk, parallel=False, interruption=Interruption(control=control)
    )
    assert (reason, desk.texts[0], desk.begun) == ("stopped", "did 0", [0])


@pytest.mark.parametrize("parallel", [True, False])
async def test_cancelling_from_outside_passes_through(parallel: bool) -> None:
    async def forever(call: int) -> bool:
        await anyio.sleep_forever()
        return True

    with anyio.move_on_after(1) as scope:
        await run_batch([0, 1], Desk(forever), parallel=parallel, interruption=Interruption())
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    ("error", "message"), [(ValueError("bad"), "bad"), (KeyError(), "KeyError")]
)
async def test_an_exception_is_a_failure_in_its_own_words(error: Exception, message: str) -> None:
    async def fail(call: ToolCallRequest) -> ToolSuccess | ToolFailure:
        await anyio.lowlevel.checkpoint()
        raise error

    assert await contained_call(fail, ToolCallRequest(id="i", name="f")) == ToolFailure(
        code="executor_error", message=message
    )
    assert error_message(error) == message


@given(
    st.lists(st.sampled_from(["now", "quick", "fail", "mute", "stop"]), max_size=6),
    st.booleans(),
    st.sampled_from(["asyncio", "trio"]),
)
def test_every_call_is_delivered_once_and_in_order_whatever_happens(
    bodies: list[str], parallel: bool, backend: str
) -> None:
    control = RunControl()

    async def body(call: int) -> bool:
        await anyio.lowlevel.checkpoint()
        if bodies[call] == "stop":
            control.stop()
        if bodies[call] in ("mute", "stop"):
            await anyio.sleep_forever()
        return bodies[call] == "quick"

    calls = list(range(len(bodies)))
    desk = Desk(body, at_once=frozenset(i for i in calls if bodies[i] == "now"))

    async def main() -> str | None:
        if "stop" not in bodies or "mute" in bodies[: bodies.index("stop")]:
            deadline = Deadline(at_seconds=anyio.current_time() + 0.01)
        else:
            deadline = Deadline()
        with anyio.fail_after(5):
            return await run_batch(
                calls,
                desk,
                parallel=parallel,
                interruption=Interruption(control=control, deadline=deadline),
            )

    reason = anyio.run(main, backend=backend)
    assert [call for call, _ in desk.delivered] == calls
    assert desk.begun == [call for call, answer in desk.delivered if answer.begun]
    assert sorted(desk.heard) == desk.begun
    if reason is None:
        assert not {"mute", "stop"} & set(bodies)
        assert all(answer.begun for _, answer in desk.delivered)
