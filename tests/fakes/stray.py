"""A cancellation that nobody asked for, on either backend."""

from __future__ import annotations

from typing import NoReturn

import anyio
import anyio.lowlevel


async def stray(*_: object) -> NoReturn:
    """Raises the cancellation of a block of its own, long after that block was left."""
    raise await lost_cancellation()


async def lost_cancellation() -> BaseException:
    """An exception that cancelled something once, and is over."""
    lost: BaseException = AssertionError("never cancelled")
    with anyio.CancelScope() as scope:
        scope.cancel()
        try:
            await anyio.lowlevel.checkpoint()
        except anyio.get_cancelled_exc_class() as error:
            lost = error
    return lost
