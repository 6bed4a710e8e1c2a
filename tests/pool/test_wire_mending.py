"""Answers are mended by what they answer, whatever the id looks like; the end is told once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from host.pool.wire_mending import MendedTransport


class Pipes:
    """A transport whose other end the test holds."""

    pid: int | None = 42

    def __init__(self) -> None:
        self.to_client, self._reads = anyio.create_memory_object_stream[SessionMessage | Exception](
            9
        )
        self._writes, self.from_client = anyio.create_memory_object_stream[SessionMessage](9)
        self.words = "starting"

    def stderr_tail(self) -> str:
        return self.words

    def end_note(self) -> str:
        return "exited with code 1"

    async def __aenter__(self) -> Any:
        return self._reads, self._writes

    async def __aexit__(self, *_exc: object) -> None:
        for stream in (self.to_client, self._reads, self._writes, self.from_client):
            stream.close()


class Link:
    """A mended transport between a client and a test."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.ends = 0
        self.pipes = Pipes()
        self.mended = MendedTransport(
            self.pipes,
            on_notice=self.notices.append,
            on_end=self._note_end,
            elicitation_modes=("form",),
        )

    def _note_end(self) -> None:
        self.ends += 1

    async def asked(self, identifier: Any, method: str, **params: Any) -> None:
        request = JSONRPCRequest(jsonrpc="2.0", id=identifier, method=method, params=params)
        await self.write.send(SessionMessage(request))

    async def answered(self, identifier: Any, result: dict[str, Any]) -> dict[str, Any]:
        message = JSONRPCResponse(jsonrpc="2.0", id=identifier, result=result)
        await self.pipes.to_client.send(SessionMessage(message))
        item = await self.read.receive()
        assert isinstance(item, SessionMessage)
        assert isinstance(item.message, JSONRPCResponse)
        return item.message.result

    read: Any
    write: Any


@asynccontextmanager
async def link() -> AsyncIterator[Link]:
    made = Link()
    with anyio.fail_after(100):
        async with made.mended as (made.read, made.write):
            yield made


async def test_an_answer_is_mended_by_the_request_it_answers() -> None:
    async with link() as made:
        await made.asked(1, "tools/list")
        await made.asked(2, "tools/call", name="t")
        called = await made.answered(2, {"content": None})
        listed = await made.answered(1, {"tools": [{"name": 5}]})
        assert called["content"] == []
        assert listed["tools"] == []
        assert made.notices == ["tool 1: it has no name and was left out"]


async def test_an_answer_to_nothing_we_asked_passes_untouched() -> None:
    async with link() as made:
        assert await made.answered(7, {"content": None}) == {"content": None}


async def test_an_id_that_comes_back_as_text_is_known() -> None:
    async with link() as made:
        await made.asked(3, "tools/call", name="t")
        assert await made.answered("3", {"content": None}) == {"content": []}


async def test_a_request_of_the_newer_era_gets_its_answer_completed() -> None:
    async with link() as made:
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        await made.asked("x", "completion/complete", _meta=meta)
        assert await made.answered("x", {}) == {"resultType": "complete"}


async def test_cancelled_and_failed_requests_are_forgotten() -> None:
    async with link() as made:
        await made.asked(1, "tools/call", name="t")
        await made.asked(2, "tools/call", name="t")
        cancel = JSONRPCNotification(
            jsonrpc="2.0", method="notifications/cancelled", params={"requestId": 1}
        )
        await made.write.send(SessionMessage(cancel))
        error = JSONRPCError(jsonrpc="2.0", id=2, error={"code": 1, "message": "no"})
        await made.pipes.to_client.send(SessionMessage(error))
        await made.read.receive()
        assert await made.answered(1, {"content": None}) == {"content": None}
        assert await made.answered(2, {"content": None}) == {"content": None}


async def test_faults_of_the_transport_pass_through() -> None:
    async with link() as made:
        fault = ValueError("bad line")
        await made.pipes.to_client.send(fault)
        assert await made.read.receive() is fault


async def test_the_end_is_told_once_with_what_was_known_then() -> None:
    async with link() as made:
        assert (made.mended.end_note(), made.mended.last_words()) == ("", "starting")
        made.pipes.words = "out of memory"
        made.pipes.to_client.close()
        assert [item async for item in made.read] == []
        assert [item async for item in made.read] == []
        assert made.ends == 1
        made.pipes.words = "stopped by you"
        assert made.mended.end_note() == "exited with code 1"
        assert made.mended.last_words() == "out of memory"


async def test_an_end_of_our_own_making_is_no_end_of_the_server() -> None:
    async with link() as made:
        pass
    assert made.ends == 0
    assert (made.mended.end_note(), made.mended.last_words()) == ("", "starting")
    assert made.mended.pid == 42


async def test_a_request_names_only_the_kinds_of_question_that_are_put_to_a_person() -> None:
    async with link() as wire:
        capabilities: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "roots": {}}
        await wire.asked(1, "initialize", capabilities=capabilities)
        sent = await wire.pipes.from_client.receive()
        assert isinstance(sent.message, JSONRPCRequest)
        assert sent.message.params == {"capabilities": {"elicitation": {"form": {}}, "roots": {}}}
