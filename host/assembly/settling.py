"""Waiting for a fleet without waiting for its slowest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from host.errors import HostError
from host.pool import ServerPool
from host.records import PoolEvent

STATUS_KINDS = frozenset({"connect", "connect-failed", "close"})
"""What changes a server's status; a server that only talks must not prolong the wait."""

MIN_GRACE_SECONDS = 1.0
"""How long a slow server is waited for at least, once another one is ready."""


async def wait_until_settled(pool: ServerPool) -> None:
    """Returns once every server is ready or has failed, or the slow ones have had their chance.

    From the moment that one is ready, the others get as long again as it took so far, at least a
    second after each change: a mute server never holds up a fleet.
    """
    changes = StatusChanges()
    unsubscribe = pool.subscribe(changes.note)
    started = anyio.current_time()
    try:
        while any(state.status == "connecting" for state in pool.state()):
            patience = float("inf")
            if any(state.status == "ready" for state in pool.state()):
                patience = max(anyio.current_time() - started, MIN_GRACE_SECONDS)
            with anyio.move_on_after(patience) as scope:
                await changes.wait()
            if scope.cancelled_caught:
                return
    finally:
        unsubscribe()


async def both(
    first: Callable[[], Awaitable[object]], second: Callable[[], Awaitable[None]]
) -> None:
    """Waits for two things side by side.

    Raises:
        HostError: the first failed; the second is not waited for any longer.
    """
    failure: HostError | None = None

    async def watched() -> None:
        nonlocal failure
        try:
            await first()
        except HostError as error:
            failure = error
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watched)
        await second()
    if failure is not None:
        raise failure


class StatusChanges:
    """Wakes whoever waits for the next change of a server's status; one waiter at a time."""

    def __init__(self) -> None:
        self._next = anyio.Event()

    def note(self, event: PoolEvent) -> None:
        """Hears the pool's events: a listener for ``ServerPool.subscribe``."""
        if event.kind in STATUS_KINDS:
            self._next.set()

    async def wait(self) -> None:
        """Returns at the next change, or at once for one since the last wait."""
        await self._next.wait()
        self._next = anyio.Event()
