"""The stop button and the hour: work is cut off at once, finished work is kept."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

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
