"""Calling what a caller gave: sinks that hear, functions that answer, plain or awaitable."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

import anyio

from host.loop.own_task import StrayCancellation, in_own_task

Subject = TypeVar("Subject")
Answer = TypeVar("Answer")
P = ParamSpec("P")


async def told(sink: Callable[[Subject, int], object] | None, subject: Subject, step: int) -> None:
    """Tells the sink, if there is one, and waits until it has heard.

    Raises:
        StrayCancellation: it was cancelled by itself.
        Exception: what it raised.
    """
    if sink is None:
        return
    try:
        answer = sink(subject, step)
    except anyio.get_cancelled_exc_class() as error:  # nobody can have cancelled a plain call
        raise StrayCancellation from error
    if inspect.isawaitable(answer):
        await in_own_task(lambda: answer)


async def resolved(
    callback: Callable[P, Answer | Awaitable[Answer]], *args: P.args, **kwargs: P.kwargs
) -> Answer:
    """What the callback answers, awaited where that is needed."""
    answer = callback(*args, **kwargs)
    return await answer if inspect.isawaitable(answer) else answer
