"""Odd servers and a plain one beside them, which must not notice.

In each block the neighbour has calls in flight from before the others are dialled until after the
body, and all of them succeed. The model is not offered its tools, so that a pool shows those of the
odd servers alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp.server import ServerRequestContext

from host.pool.rows import ServerRow
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from host.pool.transports import ServerTransport
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row, tool
from tests.fakes.mcp_servers.memory_transport import MemoryTransport
from tests.fakes.mcp_servers.processes import plain_row
from tests.fakes.mcp_servers.watching import state_of
from tests.pool.pools import virtual_now

NEAR = "near"
TOOLS = ("hold", "held", "release", "sleep")
NEAR_ROW = plain_row(NEAR, "--tools", ",".join(TOOLS), hidden_tools=TOOLS)
"""The neighbour's row, for a body that syncs."""
HELD = 3
LONG_SECONDS = 100_000.0

CreateTransport = Callable[[ServerRow], ServerTransport]


class Neighbour(EchoServer):
    """The same in memory: ``hold`` is answered when ``release`` is called."""

    def __init__(self) -> None:
        super().__init__(map(tool, TOOLS))
        self._held = 0
        self._released = anyio.Event()

    async def _call(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        text = "done"
        if params.name == "hold":
            self._held += 1
            await self._released.wait()
            text = "held"
        elif params.name == "held":
            text = str(self._held)
        else:
            self._released.set()
        return types.CallToolResult(content=[types.TextContent(text=text)])


@asynccontextmanager
async def beside(
    *rows: ServerRow,
    create_transport: CreateTransport | None = None,
    is_ready: bool = True,
    **settings: Any,
) -> AsyncIterator[ServerPool]:
    """A pool of these rows, dialled once the neighbour has calls in flight.

    Args:
        create_transport: for servers in memory, the neighbour too: settings are then without
            chance and on virtual time. None for real ones: the neighbour is a child that is
            called again and again besides.
        is_ready: whether the block begins when no server is being dialled any more.
    """
    if create_transport is not None:
        settings = {"jitter": lambda: 1.0, "now": virtual_now} | settings
        settings["create_transport"] = _with_neighbour(create_transport)
    with anyio.fail_after(10_000 if create_transport else 30):
        async with (
            ServerPool.open([NEAR_ROW], settings=PoolSettings(**settings)) as pool,
            _calls_in_flight(pool, is_called_again=create_transport is None),
        ):
            pool.start([*rows, NEAR_ROW])
            if is_ready:
                await pool.wait_ready()
            yield pool


def beside_memory(
    servers: Servers, *rows: ServerRow, **how: Any
) -> AbstractAsyncContextManager[ServerPool]:
    """The same over servers in memory; by default a row for each."""
    return beside(
        *(rows or map(memory_row, servers.servers)),
        create_transport=servers.create_transport,
        **how,
    )


def _with_neighbour(create_transport: CreateTransport) -> CreateTransport:
    neighbour = Neighbour()
    return lambda row: MemoryTransport(neighbour.serve) if row.id == NEAR else create_transport(row)


@asynccontextmanager
async def _calls_in_flight(pool: ServerPool, *, is_called_again: bool) -> AsyncIterator[None]:
    answers: list[str] = []
    is_over = False

    async def call(name: str, **arguments: Any) -> str:
        return await pool.call(
            f"{NEAR}__{name}", arguments, hidden=True, timeout_seconds=LONG_SECONDS
        )

    async def hold() -> None:
        answers.append(await call("hold"))

    async def keep_calling() -> None:
        while not is_over:
            assert await call("sleep", seconds=0.01) == "slept"

    async with anyio.create_task_group() as tasks:
        for _ in range(HELD):
            tasks.start_soon(hold)
        if is_called_again:
            tasks.start_soon(keep_calling)
        while await call("held") != str(HELD):
            pass
        yield
        is_over = True
        assert state_of(pool, NEAR).status == "ready"
        assert answers == []
        await call("release")
    assert answers == ["held"] * HELD
