"""Messages go out as whole lines, whoever is cancelled meanwhile."""

from __future__ import annotations

import json

import anyio
import anyio.abc
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from host.pool.line_writer import LineWriter

pytestmark = pytest.mark.anyio


def message(number: int) -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method="ping"))


class Pipe(anyio.abc.ByteSendStream):
    """Takes a line in pieces, each only when it is let through."""

    def __init__(self, *, breaks: bool = False) -> None:
        self.taken = b""
        self.reached = anyio.Event()
        self.let_through = anyio.Event()
        self._breaks = breaks

    async def send(self, item: bytes) -> None:
        if self._breaks:
            raise anyio.BrokenResourceError
        self.taken += item[:4]
        self.reached.set()
        await self.let_through.wait()
        self.taken += item[4:]

    async def aclose(self) -> None:
        self._breaks = True


async def nobody_hears() -> None:
    raise AssertionError("the pipe is whole")


async def test_a_sender_that_is_cancelled_in_the_middle_leaves_no_half_line() -> None:
    pipe = Pipe()
    writer = LineWriter(pipe, nobody_hears)
    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as first:
            async with anyio.create_task_group() as inner:
                inner.start_soon(writer.send, message(1))
                await pipe.reached.wait()
                group.start_soon(writer.send, message(2))
                first.cancel()
                pipe.let_through.set()
    lines = [json.loads(line) for line in pipe.taken.splitlines()]
    assert [line["id"] for line in lines] == [1, 2]


async def test_a_pipe_that_breaks_is_told_once_and_takes_nothing_more() -> None:
    told: list[str] = []

    async def broken() -> None:
        told.append("broken")

    writer = LineWriter(Pipe(breaks=True), broken)
    await writer.send(message(1))
    for number in (2, 3):
        with pytest.raises(anyio.ClosedResourceError):
            await writer.send(message(number))
    assert told == ["broken"]


async def test_finishing_waits_for_the_line_under_way_and_no_longer_than_allowed() -> None:
    pipe = Pipe()
    writer = LineWriter(pipe, nobody_hears)
    async with anyio.create_task_group() as group:
        group.start_soon(writer.send, message(1))
        await pipe.reached.wait()
        await writer.finish(0.01)
        assert not pipe.taken.endswith(b"\n")
        pipe.let_through.set()
        with pytest.raises(anyio.ClosedResourceError):
            await writer.send(message(2))
    assert [json.loads(line)["id"] for line in pipe.taken.splitlines()] == [1]
