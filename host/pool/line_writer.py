"""The write half of the stdio transport: each message one line, written whole or not at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage


class LineWriter:
    """The write stream that the SDK's protocol sends on.

    It writes in the sender's own task, which saves a turn of the event loop for each message. A
    line begun is written to its end whatever cancels the sender; a child that does not read holds
    up only those who write to it, until its input is closed.

    Args:
        on_broken: awaited once when the child can no longer be written to.
    """

    def __init__(
        self, stdin: anyio.abc.ByteSendStream, on_broken: Callable[[], Awaitable[None]]
    ) -> None:
        self._stdin = stdin
        self._on_broken = on_broken
        self._turn = anyio.Lock(fast_acquire=True)
        self._is_closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message.

        Raises:
            anyio.ClosedResourceError: the stream was closed, or broke earlier.
        """
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
        async with self._turn:
            if self._is_closed:
                raise anyio.ClosedResourceError
            try:
                with anyio.CancelScope(shield=True):
                    await self._stdin.send(line.encode())
            except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self._is_closed = True
            else:
                return
        await self._on_broken()

    async def finish(self, seconds: float) -> None:
        """Let a line under way be written, so long at most, and take no other."""
        with anyio.move_on_after(seconds, shield=True):
            async with self._turn:
                pass
        self._is_closed = True

    async def aclose(self) -> None:
        """Take no further message."""
        self._is_closed = True

    async def __aenter__(self) -> LineWriter:
        return self

    async def __aexit__(self, *_exc: Any) -> None:
        await self.aclose()
