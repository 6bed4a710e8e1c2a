"""The stop button and the hour: work is cut off at once, finished work is kept."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.run_control import Interrupted, Interruption, RunControl
from host.loop.stop_reasons import Deadline


async def test_work_that_ends_gives_its_answer() -> None:
    async def work() -> int:
        await anyio.sleep(5)
        return 7

    assert await Interruption().cut_short(work) == 7


async def test_a_stop_from_another_task_cuts_work_off_without_the_clock_moving() -> None:
    control = RunControl()
    began = anyio.current_time()

    async def stop_when_waited_for() -> None:
        await anyio.wait_all_tasks_blocked()
        control.stop("enough")

    async with anyio.create_task_group() as group:
        group.start_soon(stop_when_waited_for)
        with pytest.raises(Interrupted) as caught:
            await Interruption(control=control).cut_short(anyio.sleep_forever)
    assert caught.value.reason == "stopped"
    assert (control.stopped, control.reason) == (True, "enough")
    assert anyio.current_time() - began < 1


async def test_the_hour_cuts_work_off() -> None:
    began = anyio.current_time()
    interruption = Interruption(deadline=Deadline(at_seconds=began + 30))
    with pytest.raises(Interrupted) as caught:
        await interruption.cut_short(anyio.sleep_forever)
    assert caught.value.reason == "deadline"
    assert anyio.current_time() - began == pytest.approx(30, abs=1)


async def test_nothing_begins_after_a_stop() -> None:
    control = RunControl()
    control.stop("first")
    control.stop("second")
    begun: list[int] = []

    async def work() -> None:
        begun.append(1)

    with pytest.raises(Interrupted):
        await Interruption(control=control).cut_short(work)
    assert begun == []
    assert control.reason == "first"


async def test_work_that_stops_its_own_run_and_ends_keeps_its_answer() -> None:
    control = RunControl()

    async def work() -> str:
        control.stop()
        return "done"

    interruption = Interruption(control=control)
    assert await interruption.cut_short(work) == "done"
    assert interruption.due() == "stopped"


async def test_one_button_stops_every_run_that_holds_it() -> None:
    control = RunControl()
    cut: list[str] = []

    async def run() -> None:
        try:
            await Interruption(control=control).cut_short(anyio.sleep_forever)
        except Interrupted as stop:
            cut.append(stop.reason)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        group.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        control.stop()
    assert cut == ["stopped", "stopped"]


async def test_a_cancellation_from_outside_is_no_stop() -> None:
    with anyio.move_on_after(1) as scope:
        await Interruption().cut_short(anyio.sleep_forever)
    assert scope.cancelled_caught


async def test_what_work_raises_passes() -> None:
    async def work() -> None:
        await anyio.lowlevel.checkpoint()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Interruption().cut_short(work)


@pytest.mark.parametrize("hour", [True, False])
async def test_an_error_on_the_way_out_of_a_stop_is_not_the_works_failure(hour: bool) -> None:
    control = RunControl()
    limit = Deadline(at_seconds=anyio.current_time() + 5) if hour else Deadline()

    async def work() -> None:
        try:
            if not hour:
                control.stop()
            await anyio.sleep_forever()
        finally:
            raise ConnectionError("closed under me")

    with pytest.raises(Interrupted) as caught:
        await Interruption(control=control, deadline=limit).cut_short(work)
    assert caught.value.reason == ("deadline" if hour else "stopped")
    await anyio.sleep(1)  # nothing of the cancellation is left over


# Waiting for a person

WAITS = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 6)), max_size=3)
"""When waits for a person begin, and how long each lasts."""


def cut_at(limit: float, waits: list[tuple[int, int]]) -> float:
    """When so much time has passed in which nobody was waited for, half a second at a time."""
    at, left = 0.0, limit
    while left > 0:
        if not any(begin <= at < begin + length for begin, length in waits):
            left -= 0.5
        at += 0.5
    return at


@given(st.integers(0, 8), WAITS)
async def test_a_wait_for_a_person_does_not_count_and_waits_that_overlap_count_once(
    whole_seconds: int, waits: list[tuple[int, int]]
) -> None:
    limit = whole_seconds + 0.5
    began = anyio.current_time()
    interruption = Interruption(deadline=Deadline(at_seconds=began + limit))

    async def wait(begin: int, length: int) -> None:
        await anyio.sleep_until(began + begin)
        with interruption.paused():
            assert interruption.due() is None
            await anyio.sleep_until(began + begin + length)

    async def work() -> None:
        async with anyio.create_task_group() as group:
            for begin, length in waits:
                group.start_soon(wait, begin, length)
            await anyio.sleep_forever()

    with pytest.raises(Interrupted) as caught:
        await interruption.cut_short(work)
    assert caught.value.reason == interruption.due() == "deadline"
    assert anyio.current_time() - began == pytest.approx(cut_at(limit, waits), abs=0.4)


async def test_what_is_begun_during_a_wait_has_its_time_from_the_end_of_it_on() -> None:
    began = anyio.current_time()
    interruption = Interruption(deadline=Deadline(at_seconds=began + 5))

    async def wait() -> None:
        with interruption.paused():
            await anyio.sleep(100)

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Interrupted):
            await interruption.cut_short(anyio.sleep_forever)
    assert anyio.current_time() - began == pytest.approx(105, abs=1)


async def test_a_deadline_that_had_passed_before_a_wait_has_passed_after_it() -> None:
    interruption = Interruption(deadline=Deadline(at_seconds=anyio.current_time()))
    with interruption.paused():
        assert interruption.due() is None
        await anyio.sleep(10)
    assert interruption.due() == "deadline"


async def test_without_a_deadline_a_wait_makes_none() -> None:
    interruption = Interruption()
    with interruption.paused():
        await anyio.sleep(10)
    assert interruption.deadline == Deadline()


async def test_a_stop_cuts_a_wait_for_a_person_without_the_clock_moving() -> None:
    began = anyio.current_time()
    interruption = Interruption(deadline=Deadline(at_seconds=began + 5))

    async def work() -> None:
        with interruption.paused():
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(_stop_once_waiting, interruption.control)
        with pytest.raises(Interrupted) as caught:
            await interruption.cut_short(work)
    assert caught.value.reason == "stopped"
    assert anyio.current_time() - began < 1
    assert interruption.deadline.at_seconds == pytest.approx(began + 5, abs=1)


async def _stop_once_waiting(control: RunControl) -> None:
    await anyio.wait_all_tasks_blocked()
    control.stop()
