"""Awaiting what others wrote in a task of its own, so that its cancellations can be told from ours.

On asyncio a cancellation is an exception like any other: who awaits a task of their own that was
cancelled raises it, though nobody cancelled them. In the task that a cancellation may be meant for
the two look alike. In a task of the loop's own they do not, since those are only ever cancelled
through the scopes around them: without a cancelled scope it is a stray one.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio

Answer = TypeVar("Answer")


class StrayCancellation(Exception):
    """What was awaited was cancelled by itself, and not the one who waited for it."""

    def __init__(self) -> None:
        super().__init__("it was cancelled from within, and nobody had stopped it")


def contained(error: BaseException, *, awaited: bool = True) -> Exception:
    """The error as one to go on with; a stray cancellation is a ``StrayCancellation``.

    Args:
        awaited: it came up where something was awaited, in a task of the loop's own; False for a
            plain call, which nobody can cancel.

    Raises:
        BaseException: the error itself: it is a cancellation of this task, or ends the program.
    """
    if isinstance(error, Exception):
        return error
    is_cancellation = isinstance(error, anyio.get_cancelled_exc_class())
    if is_cancellation and not (awaited and anyio.current_effective_deadline() == -math.inf):
        stray = StrayCancellation()
        stray.__cause__ = error
        return stray
    raise error


class Attempt(Generic[Answer]):
    """Work awaited in a task of its own, and what came of it, whatever became of the wait."""

    def __init__(self) -> None:
        self._answers: list[Answer] = []
        self._failure: BaseException | None = None

    @property
    def is_over(self) -> bool:
        """Whether the work ended by itself, well or not; it may also never have begun."""
        return bool(self._answers) or self._failure is not None

    @property
    def has_failed(self) -> bool:
        """Whether it raised anything but what ends the program."""
        is_end = isinstance(self._failure, KeyboardInterrupt | SystemExit)
        return self._failure is not None and not is_end

    async def make(self, work: Callable[[], Awaitable[Answer]]) -> None:
        """Awaits ``work()``; what it raises is kept, and a cancellation of the wait passes."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._settle, work)

    def result(self) -> Answer:
        """What the work returned.

        Raises:
            StrayCancellation: it was cancelled by itself.
            BaseException: what it raised.
        """
        if self._failure is not None:
            raise self._failure
        return self._answers[0]

    async def _settle(self, work: Callable[[], Awaitable[Answer]]) -> None:
        try:
            self._answers.append(await work())
        except GeneratorExit:
            raise
        except anyio.get_cancelled_exc_class() as error:
            self._failure = contained(error)
        except BaseException as error:  # noqa: BLE001  # raised where it was waited for
            self._failure = error


async def in_own_task(work: Callable[[], Awaitable[Answer]]) -> Answer:
    """Awaits ``work()`` in a task of its own and returns what it does; a cancellation passes.

    Raises:
        StrayCancellation: it was cancelled by itself.
        BaseException: what it raised.
    """
    attempt: Attempt[Answer] = Attempt()
    await attempt.make(work)
    return attempt.result()
