"""A server in memory that makes tasks of calls, message by message, in the way of either era."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from host.pool.rows import ServerRow
from host.pool.task_states import TASKS_EXTENSION
from tests.fakes.mcp_servers.memory_transport import MemoryTransport

if TYPE_CHECKING:
    pass

MODERN = "2026-07-28"
TASK_TOOL = {
    "name": "research",
    "inputSchema": {"type": "object"},
    "execution": {"taskSupport": "required"},
}
PLAIN_TOOL = {"name": "plain", "inputSchema": {"type": "object"}}
READ_TOOL = TASK_TOOL | {"name": "look", "annotations": {"readOnlyHint": True}}


class Refusal(Exception):
    """What is answered with an error of the protocol."""

    def __init__(self, code: int, message: str) -> None:
        self.data = ErrorData(code=code, message=message)
        super().__init__(message)


def state(status: str, **fields: Any) -> dict[str, Any]:
    """A task's state as both eras write it."""
    return {
        "taskId": "t1",
        "status": status,
        "createdAt": "2026-08-01T10:00:00Z",
        "lastUpdatedAt": "2026-08-01T10:00:00Z",
        **fields,
    }


def text_result(text: str, **fields: Any) -> dict[str, Any]:
    """A tool's answer."""
    return {"content": [{"type": "text", "text": text}], **fields}


class TaskServer:
    """The server and what it is to say.

    Attributes:
        offers_tasks: what it declares.
        states: what ``tasks/get`` tells, one after the other; the last stays. A ``Refusal`` is an
            error, and an event that is not set keeps the answer back.
        made: the task as ``tools/call`` tells it; None answers at once.
        outcome: what ``tasks/result`` is answered with.
        answers_come: set when a question of the server has been answered.
        methods: methods asked for and notifications sent, in order.
        params: what came with them.
        asks: sent to the client before ``tasks/result`` is answered, in the era of sessions.
    """

    def __init__(self, *, is_modern: bool, offers_tasks: bool = True) -> None:
        self.is_modern = is_modern
        self.offers_tasks = offers_tasks
        self.tools: list[dict[str, Any]] = [TASK_TOOL, PLAIN_TOOL, READ_TOOL]
        self.states: list[Any] = [state("completed", result=text_result("found"))]
        self.made: dict[str, Any] | None = state("working")
        self.outcome: Any = text_result("found")
        self.asks: dict[str, Any] | None = None
        self.answers_come = anyio.Event()
        self.answers: list[Any] = []
        self.methods: list[str] = []
        self.params: list[dict[str, Any]] = []
        self.opened: list[MemoryTransport] = []

    def create_transport(self, _row: ServerRow) -> MemoryTransport:
        """A transport to it, for ``PoolSettings``."""
        self.opened.append(MemoryTransport(self.serve))
        return self.opened[-1]

    def asked(self, method: str) -> list[dict[str, Any]]:
        """The parameters of each request and notification of a method."""
        return [
            params for name, params in zip(self.methods, self.params, strict=True) if name == method
        ]

    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request.

        Raises:
            Refusal: an error is the answer.
        """
        match method:
            case "server/discover" if self.is_modern:
                return self._discovered()
            case "initialize" if not self.is_modern:
                return self._greeting()
            case "tools/list":
                return {"tools": self.tools}
            case "tools/call":
                return self._called(params)
            case "tasks/get":
                return await self._told()
            case "tasks/update":
                self.answers.append(params["inputResponses"])
                return {}
            case "tasks/result" if not self.is_modern:
                if self.asks is not None:
                    await self.answers_come.wait()
                return _given(self.outcome)
            case "tasks/cancel":
                return {} if self.is_modern else state("cancelled")
        raise Refusal(-32601, "Method not found")

    def _discovered(self) -> dict[str, Any]:
        extensions: dict[str, Any] = {TASKS_EXTENSION: {}} if self.offers_tasks else {}
        return {
            "supportedVersions": [MODERN],
            "capabilities": {"tools": {}, "extensions": extensions},
            "ttlMs": 0,
            "cacheScope": "private",
        }

    def _greeting(self) -> dict[str, Any]:
        capabilities: dict[str, Any] = {"tools": {}}
        if self.offers_tasks:
            capabilities["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "serverInfo": {"name": "tasks", "version": "1"},
        }

    def _called(self, params: dict[str, Any]) -> dict[str, Any]:
        wants_task = self.is_modern or "task" in params
        if self.made is None or params["name"] == "plain" or not wants_task:
            return text_result("at once")
        return {"resultType": "task", **self.made} if self.is_modern else {"task": self.made}

    async def _told(self) -> dict[str, Any]:
        told = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if isinstance(told, anyio.Event):
            await told.wait()
        return _given(told)

    async def serve(self, read: Any, write: Any) -> None:
        """Answer until the other side has gone, each request in a task of its own."""
        async with anyio.create_task_group() as tasks:
            await self._read(read, write, tasks)

    async def _read(self, read: Any, write: Any, tasks: anyio.abc.TaskGroup) -> None:
        async for item in read:
            message = item.message
            if isinstance(message, JSONRPCRequest | JSONRPCNotification):
                self.methods.append(message.method)
                self.params.append(dict(message.params or {}))
            if isinstance(message, JSONRPCRequest):
                tasks.start_soon(self._respond, message, write)
            elif isinstance(message, JSONRPCResponse):
                self.answers.append(message.result)
                self.answers_come.set()
            elif isinstance(message, JSONRPCError):
                self.answers.append(message.error.message)
                self.answers_come.set()

    async def _respond(self, request: JSONRPCRequest, write: Any) -> None:
        asks = self.asks
        if request.method == "tasks/result" and asks is not None:
            question = JSONRPCRequest(jsonrpc="2.0", id="q", **asks)
            await write.send(SessionMessage(question))
        try:
            result = await self.answer(request.method, dict(request.params or {}))
        except Refusal as refusal:
            error = JSONRPCError(jsonrpc="2.0", id=request.id, error=refusal.data)
            await write.send(SessionMessage(error))
            return
        answer = JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)
        await write.send(SessionMessage(answer))


def _given(told: Any) -> dict[str, Any]:
    if isinstance(told, Exception):
        raise told
    given: dict[str, Any] = told
    return given
