"""A connection to a server in this process: two memory streams, and what serves the far ends."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
from mcp.shared.memory import create_client_server_memory_streams

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


class MemoryTransport:
    """One connection; ``serve`` is given the server's ends and answers until it is cancelled.

    Attributes:
        closed: set when the client's side has closed it.
    """

    pid: int | None = None

    def __init__(
        self, serve: Callable[[Any, Any], Coroutine[Any, Any, None]], stderr: str = ""
    ) -> None:
        self.closed = anyio.Event()
        self._serve = serve
        self._stderr = stderr
        self._end = anyio.Event()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._memory = create_client_server_memory_streams()

    def stderr_tail(self) -> str:
        """What the test gave."""
        return self._stderr

    def end_note(self) -> str:
        """Always the same."""
        return "closed its output"

    def crash(self) -> None:
        """End the server as if its process had died."""
        self._end.set()

    async def __aenter__(self) -> TransportStreams:
        """Start the server."""
        client, (read, write) = await self._memory.__aenter__()
        self._tasks = await anyio.create_task_group().__aenter__()
        self._tasks.start_soon(self._live, read, write)
        return client

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the server."""
        assert self._tasks is not None
        self._tasks.cancel_scope.cancel()
        self._tasks.cancel_scope.shield = True
        await self._tasks.__aexit__(None, None, None)
        await self._memory.__aexit__(None, None, None)
        self.closed.set()

    async def _live(self, read: Any, write: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._serve, read, write)
            await self._end.wait()
            tasks.cancel_scope.cancel()
        await write.aclose()
