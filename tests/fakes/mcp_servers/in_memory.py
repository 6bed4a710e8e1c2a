"""The same in this process: a transport whose other end answers from a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import JSONRPCNotification, JSONRPCRequest, RequestId, jsonrpc_message_adapter

import host.pool.connection  # noqa: F401 - a clock that jumps waits for no import in a thread
from host.pool.rows import HttpServerRow, ServerRow
from tests.fakes.mcp_servers.answering import answer
from tests.fakes.mcp_servers.memory_transport import MemoryTransport

if TYPE_CHECKING:
    pass


class AnsweringServer:
    """A table, and a record of what was asked.

    A method whose answer is ``mute`` is never answered.

    Attributes:
        asked: method and parameters of each request.
        last_id: the id of the last request.
        stderr: what the transport gives as last words.
        delays: seconds before the answer, by method.
        honours: the changes it agrees to tell of where it is asked for a stream of them.
    """

    mute = "mute"

    def __init__(self, table: dict[str, Any], *, stderr: str = "") -> None:
        self.table = table
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.last_id: RequestId = 0
        self.delays: dict[str, float] = {}
        self.stderr = stderr
        self.honours = frozenset({"resourcesListChanged", "promptsListChanged"})
        self._write: Any = None
        self._stream: RequestId | None = None

    def times(self, method: str) -> int:
        """How often a method was asked for."""
        return [asked for asked, _ in self.asked].count(method)

    async def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification, on the stream of changes where one is open."""
        whole = dict(params or {})
        if self._stream is not None and method.endswith("list_changed"):
            whole["_meta"] = {SUBSCRIPTION_ID_META_KEY: self._stream}
        await self._send({"method": method, "params": whole})

    async def reply(self, request: RequestId, result: dict[str, Any]) -> None:
        """Answer a request that was left waiting."""
        await self._send({"id": request, "result": result})

    async def end_stream(self) -> None:
        """End the stream of changes."""
        said = {"resultType": "complete", "_meta": {SUBSCRIPTION_ID_META_KEY: self._stream}}
        await self._send({"id": self._stream, "result": said})

    async def serve(self, read: Any, write: Any) -> None:
        """Answer until the other side has gone."""
        self._write, self._stream = write, None
        async for item in read:
            message = item.message
            if isinstance(message, JSONRPCRequest | JSONRPCNotification):
                self.asked.append((message.method, dict(message.params or {})))
            if isinstance(message, JSONRPCRequest):
                self.last_id = message.id
                await self._answer(message)

    async def _answer(self, request: JSONRPCRequest) -> None:
        params = dict(request.params or {})
        await anyio.sleep(self.delays.get(request.method, 0))
        if self.table.get(request.method) is self.mute:
            return
        if request.method == "subscriptions/listen":
            self._stream = request.id
            agreed = dict.fromkeys(self.honours & params["notifications"].keys(), True)
            meta = {SUBSCRIPTION_ID_META_KEY: request.id}
            await self._send(
                {
                    "method": "notifications/subscriptions/acknowledged",
                    "params": {"notifications": agreed, "_meta": meta},
                }
            )
            return
        await self._send({"id": request.id, **answer(self.table, request.method, params)})

    async def _send(self, message: dict[str, Any]) -> None:
        whole = jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **message})
        await self._write.send(SessionMessage(whole))


class AnsweringFleet:
    """Answering servers by the name of their row; ``create_transport`` is for ``PoolSettings``."""

    def __init__(self, **servers: AnsweringServer) -> None:
        self.servers = servers

    def create_transport(self, row: ServerRow) -> MemoryTransport:
        """A transport to the server that the row names."""
        server = self.servers[row.id]
        return MemoryTransport(server.serve, server.stderr)

    def rows(self, **fields: Any) -> list[HttpServerRow]:
        """A row for each."""
        return [
            HttpServerRow(id=name, url=f"http://memory.test/{name}", **fields)
            for name in self.servers
        ]
