"""Calling what a caller gave: sinks that hear, functions that answer, plain or awaitable."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

Subject = TypeVar("Subject")
Answer = TypeVar("Answer")
P = ParamSpec("P")


async def told(sink: Callable[[Subject, int], object] | None, subject: Subject, step: int) -> None:
    """Tells the sink, if there is one, and waits until it has heard."""
    if sink is not None:
        answer = sink(subject, step)
        if inspect.isawaitable(answer):
            await answer


async def resolved(
    callback: Callable[P, Answer | Awaitable[Answer]], *args: P.args, **kwargs: P.kwargs
) -> Answer:
    """What the callback answers, awaited where that is needed."""
    answer = callback(*args, **kwargs)
    return await answer if inspect.isawaitable(answer) else answer
