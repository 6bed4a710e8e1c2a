"""A task group for work beside the block that opened it."""

from __future__ import annotations

from types import TracebackType

import anyio
from anyio.abc import TaskGroup

HOOK_GRACE_SECONDS = 3.0
"""How long hooks that nobody waits for may take at the end (design §6)."""


class Background:
    """A task group whose tasks get a moment to end when its block is left, and are then cancelled.

    The block's own error goes on as it is, not wrapped in a group.

    Args:
        grace_seconds: that moment; none is given when the block ends in an error.
    """

    def __init__(self, *, grace_seconds: float = 0) -> None:
        self._grace_seconds = grace_seconds
        self._group = anyio.create_task_group()

    async def __aenter__(self) -> TaskGroup:
        return await self._group.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        grace = self._grace_seconds if error is None else 0
        self._group.cancel_scope.deadline = anyio.current_time() + grace
        if error is None or isinstance(error, anyio.get_cancelled_exc_class()):
            return await self._group.__aexit__(kind, error, trace)
        await self._group.__aexit__(None, None, None)
        return None
