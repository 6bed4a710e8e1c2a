"""The calls of one turn: made one by one or side by side, answered in the order asked.

A failing tool is a result, never an exception; a stop leaves no call without an answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

import anyio

from host.loop.own_task import contained
from host.loop.run_control import Interrupted, Interruption
from host.loop.transcript import not_run_text
from host.records import StopReason, ToolCallRequest, ToolFailure, ToolSuccess

EXECUTOR_ERROR = "executor_error"
"""The code of a failure that was an exception."""

Call = TypeVar("Call")
CallIn = TypeVar("CallIn", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswer:
    """What the model reads for one call.

    Attributes:
        seconds: how long the dispatch took; 0 for a call answered without one.
        begun: False for a call that was never begun because the run stopped.
    """

    text: str
    ok: bool
    seconds: float = 0.0
    begun: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """A call that has to be awaited.

    Attributes:
        run: makes the call; never raises.
        key: equal calls of one batch share one dispatch; None for a call that never shares.
    """

    run: Callable[[], Awaitable[CallAnswer]]
    key: str | None = None


class CallDesk(Protocol[CallIn]):
    """Begins calls and takes in their answers."""

    def begin(self, call: CallIn, /) -> CallAnswer | Dispatch:
        """Announces the call; returns its answer, or what has to be awaited for it."""
        ...

    def cut_off(self, call: CallIn, reason: StopReason, /) -> CallAnswer:
        """The answer of a begun call that the run's end cut off."""
        ...

    def answered(self, call: CallIn, answer: CallAnswer, /) -> None:
        """Hears of the answer of a begun call as soon as there is one."""
        ...

    async def deliver(self, answers: Sequence[tuple[CallIn, CallAnswer]], /) -> None:
        """Writes answers to the transcript; over a batch, each call once and in asked order."""
        ...


async def contained_call(
    execute: Callable[[ToolCallRequest], Awaitable[ToolSuccess | ToolFailure]],
    call: ToolCallRequest,
) -> ToolSuccess | ToolFailure:
    """Makes the call; an exception becomes a failure with the exception's message.

    A cancellation passes, unless nobody asked for it: a tool that awaits its own cancelled task
    has failed. To be awaited in a task of the loop's own (see ``own_task``).
    """
    try:
        return await execute(call)
    except BaseException as error:  # noqa: BLE001  # what a tool raises is for the model to read
        return ToolFailure(code=EXECUTOR_ERROR, message=error_message(contained(error)))


def error_message(error: BaseException) -> str:
    """The exception's own words, or its type's name where it has none."""
    return str(error) or type(error).__name__


async def run_batch(
    calls: Sequence[Call],
    desk: CallDesk[Call],
    *,
    parallel: bool,
    interruption: Interruption,
) -> StopReason | None:
    """Makes the calls and delivers every answer; returns why it was cut short, or None.

    Side by side, all calls are begun in asked order, and delivered once all have ended. Cut
    short, what has ended keeps its answer, what was begun reads that it was cut off, and the
    rest that it was never made. What ``desk.deliver`` raises ends the batch.
    """
    if parallel and len(calls) > 1:
        return await _side_by_side(calls, desk, interruption)
    return await _one_by_one(calls, desk, interruption)


async def _one_by_one(
    calls: Sequence[Call], desk: CallDesk[Call], interruption: Interruption
) -> StopReason | None:
    done: dict[str, CallAnswer] = {}
    reason: StopReason | None = None
    for call in calls:
        reason = reason or interruption.due()
        if reason:
            await desk.deliver([(call, never_made(reason))])
            continue
        begun = desk.begin(call)
        try:
            answer = await _settled(begun, done, interruption)
        except Interrupted as stop:
            reason, answer = stop.reason, desk.cut_off(call, stop.reason)
        desk.answered(call, answer)
        await desk.deliver([(call, answer)])
    return reason


async def _settled(
    begun: CallAnswer | Dispatch, done: dict[str, CallAnswer], interruption: Interruption
) -> CallAnswer:
    if isinstance(begun, CallAnswer):
        return begun
    if begun.key is not None and begun.key in done:
        return done[begun.key]
    answer = await interruption.cut_short(begun.run)
    if begun.key is not None and answer.ok:  # a failed call may be made again
        done[begun.key] = replace(answer, seconds=0.0)
    return answer


async def _side_by_side(
    calls: Sequence[Call], desk: CallDesk[Call], interruption: Interruption
) -> StopReason | None:
    reason = interruption.due()
    if reason:
        await desk.deliver([(call, never_made(reason)) for call in calls])
        return reason
    answers: dict[int, CallAnswer] = {}

    def settle(positions: Sequence[int], answer: CallAnswer) -> None:
        for position in positions:
            answers[position] = answer
            desk.answered(calls[position], answer)
            answer = replace(answer, seconds=0.0)  # the others of its kind shared the dispatch

    waiting: dict[str | int, tuple[Dispatch, list[int]]] = {}
    for position, call in enumerate(calls):
        begun = desk.begin(call)
        if isinstance(begun, CallAnswer):
            settle([position], begun)
        else:
            key = position if begun.key is None else begun.key
            waiting.setdefault(key, (begun, []))[1].append(position)

    async def dispatch_all() -> None:
        async with anyio.create_task_group() as group:
            for dispatch, positions in waiting.values():
                group.start_soon(_dispatch, dispatch, partial(settle, positions))

    try:
        await interruption.cut_short(dispatch_all)
    except Interrupted as stop:
        reason = stop.reason
        for position in sorted(set(range(len(calls))) - set(answers)):
            settle([position], desk.cut_off(calls[position], reason))
    await desk.deliver([(call, answers[position]) for position, call in enumerate(calls)])
    return reason


async def _dispatch(dispatch: Dispatch, settle: Callable[[CallAnswer], None]) -> None:
    settle(await dispatch.run())


def never_made(reason: StopReason) -> CallAnswer:
    """The answer of a call that the run's end left unmade."""
    return CallAnswer(text=not_run_text(reason), ok=False, begun=False)
