"""A caller waits for work no longer than it wants to, and never for its unwinding."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator

import anyio
import anyio.abc
import pytest

from host.pool.bounded import Patience, WorkAbandoned, bounded, checked_seconds


@pytest.fixture
async def group() -> AsyncIterator[anyio.abc.TaskGroup]:
    async with anyio.create_task_group() as tasks:
        yield tasks
        tasks.cancel_scope.cancel()


async def test_the_result_of_the_work_comes_back(group: anyio.abc.TaskGroup) -> None:
    async def work() -> str:
        await anyio.sleep(1)
        return "done"

    assert await bounded(group, work, Patience(2)) == "done"


async def test_an_error_of_the_work_comes_back(group: anyio.abc.TaskGroup) -> None:
    async def work() -> None:
        raise KeyError("k")

    with pytest.raises(KeyError):
        await bounded(group, work, Patience(None))


async def test_a_time_out_does_not_wait_for_the_work_to_unwind(group: anyio.abc.TaskGroup) -> None:
    unwound = anyio.Event()

    async def stubborn() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(50)
            unwound.set()

    began = anyio.current_time()
    with pytest.raises(TimeoutError):
        await bounded(group, stubborn, Patience(1))
    assert anyio.current_time() - began < 3
    assert not unwound.is_set()
    with anyio.fail_after(100):
        await unwound.wait()


async def test_cancelling_the_caller_cancels_the_work(group: anyio.abc.TaskGroup) -> None:
    cancelled = anyio.Event()

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            raise

    with anyio.move_on_after(1) as scope:
        await bounded(group, work, Patience(None))
    assert scope.cancelled_caught
    with anyio.fail_after(5):
        await cancelled.wait()


async def test_progress_renews_the_patience_up_to_its_limit(group: anyio.abc.TaskGroup) -> None:
    patience = Patience(2, max_seconds=5)

    async def work() -> None:
        for _ in range(20):
            await anyio.sleep(1)
            patience.renew()

    began = anyio.current_time()
    with pytest.raises(TimeoutError):
        await bounded(group, work, patience)
    assert 4.9 < anyio.current_time() - began < 5.9


async def test_no_time_at_all_is_a_time_out(group: anyio.abc.TaskGroup) -> None:
    with pytest.raises(TimeoutError):
        await bounded(group, anyio.sleep_forever, Patience(0))


async def test_work_ended_by_its_group_is_abandoned_and_no_time_out() -> None:
    async with anyio.create_task_group() as outer:

        async def wait(inner: anyio.abc.TaskGroup) -> None:
            with pytest.raises(WorkAbandoned):
                await bounded(inner, anyio.sleep_forever, Patience(100))

        async with anyio.create_task_group() as inner:
            outer.start_soon(wait, inner)
            await anyio.sleep(1)
            inner.cancel_scope.cancel()


@pytest.mark.parametrize("seconds", [None, 0, -1, 5, math.inf])
def test_a_number_of_seconds_is_taken_as_it_is(seconds: float | None) -> None:
    assert checked_seconds("x", seconds) is seconds


def test_seconds_that_are_no_number_are_refused_by_the_arguments_name() -> None:
    with pytest.raises(ValueError, match="timeout_seconds must be a number of seconds or None"):
        checked_seconds("timeout_seconds", math.nan)
