"""Virtual time for asyncio: a loop whose clock jumps when nothing has happened for a moment.

trio has its own (``MockClock(autojump_threshold=…)``). The threshold is real time: a thread or a
socket of this process still gets its turn before the clock jumps; zero would be wrong, since the
openai client's first request runs a thread.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import Any

JUMP_THRESHOLD_SECONDS = 0.05


class _JumpingSelector(selectors.DefaultSelector):
    """Waits at most the threshold; a longer wait without an event advances the loop's clock."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped_seconds = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, Any]]:
        if timeout is None or timeout <= JUMP_THRESHOLD_SECONDS:
            return super().select(timeout)
        ready = super().select(JUMP_THRESHOLD_SECONDS)
        if not ready:
            self.skipped_seconds += timeout - JUMP_THRESHOLD_SECONDS
        return ready


class _JumpingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return super().time() + self._jumping.skipped_seconds


def jumping_loop() -> asyncio.AbstractEventLoop:
    """A new event loop on virtual time."""
    return _JumpingLoop()
