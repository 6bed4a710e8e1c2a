"""An SDK server in memory whose tools answer with the arguments they were given (pool spec §21)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ToolsListChanged

import host.pool.connection  # noqa: F401 - a clock that jumps waits for no import in a thread
from host.pool.rows import HttpServerRow, ServerRow
from tests.fakes.mcp_servers.memory_transport import MemoryTransport

if TYPE_CHECKING:
    pass

OPEN_SCHEMA: dict[str, Any] = {"type": "object"}
ADD_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
}


def tool(name: str, **fields: Any) -> types.Tool:
    """A tool of the echo server."""
    return types.Tool(name=name, **{"input_schema": OPEN_SCHEMA, **fields})


def echo_tools() -> list[types.Tool]:
    """What an echo server offers at first."""
    return [
        tool("ping", description="Answers."),
        tool("echo", description="Says what it was told."),
        tool("add", description="Adds two numbers.", input_schema=ADD_SCHEMA),
        tool(
            "read",
            title="Read a thing",
            description="Reads.",
            annotations=types.ToolAnnotations(read_only_hint=True),
            output_schema={"type": "object"},
        ),
    ]


class EchoServer:
    """An echo server and a record of what it was asked.

    Arguments steer the answer: ``sleepMs``, ``fail`` (true or a message), ``empty``, ``image``,
    ``repeat`` (characters), ``structured``, ``error`` (a JSON-RPC error), ``progress`` (times).

    Attributes:
        calls: names of the tools called, in order.
        started, cancelled: calls that began to sleep, and that were cancelled while asleep.
        lists: how often the tools were listed.
        levels: log levels clients of the session era asked for; ``emergency`` is refused.
        clients: name and version of each client of the session era, as it came.
        hold_lists: set it to an unset event to keep listings waiting.
        fail_lists: True fails listings.
    """

    def __init__(self, tools: Iterable[types.Tool] | None = None, *, page_size: int = 100) -> None:
        self.tools = list(echo_tools() if tools is None else tools)
        self.page_size = page_size
        self.calls: list[str] = []
        self.started = anyio.Event()
        self.cancelled = anyio.Event()
        self.lists = 0
        self.hold_lists: anyio.Event | None = None
        self.fail_lists = False
        self.clients: list[str] = []
        self.levels: list[str] = []
        self._bus = InMemorySubscriptionBus()
        self._listening = ListenHandler(self._bus)
        self._sessions: list[Any] = []

    def build(self) -> Server[Any]:
        """A fresh SDK server for one connection."""
        server: Server[Any] = Server(
            "echo",
            version="1",
            instructions="Echoes.",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=self._listening,
        )
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        return server

    async def serve(self, read: Any, write: Any) -> None:
        """One connection of it, for ``MemoryTransport``."""
        server = self.build()
        await server.run(read, write, server.create_initialization_options())

    async def change(self, *tools: types.Tool, times: int = 1) -> None:
        """Offer other tools and say so, to clients of either era."""
        self.tools = list(tools)
        for _ in range(times):
            await self._bus.publish(ToolsListChanged())
            for session in self._sessions[-1:]:
                await session.send_tool_list_changed()

    def drop_listeners(self) -> None:
        """End every stream of changes that clients of the newer era hold open."""
        self._listening.close()

    async def _set_level(
        self, _context: ServerRequestContext[Any], params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        if params.level == "emergency":
            raise types_error("no such level here")
        self.levels.append(params.level)
        return types.EmptyResult()

    async def say(self, level: types.LoggingLevel, text: str) -> None:
        """Send a log line to the client of the session era."""
        params = types.LoggingMessageNotificationParams(level=level, data=text)
        await self._sessions[-1].send_notification(types.LoggingMessageNotification(params=params))

    async def _list(
        self, context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        self.lists += 1
        if context.session not in self._sessions:
            self._sessions.append(context.session)
            who = context.session.client_params and context.session.client_params.client_info
            self.clients += [f"{who.name} {who.version}"] if who else []
        if self.hold_lists is not None:
            await self.hold_lists.wait()
        if self.fail_lists:
            raise ValueError("no listing today")
        start = int(params.cursor) if params and params.cursor else 0
        end = start + self.page_size
        return types.ListToolsResult(
            tools=self.tools[start:end],
            next_cursor=str(end) if end < len(self.tools) else None,
        )

    async def _call(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        self.calls.append(params.name)
        args = params.arguments or {}
        if "sleepMs" in args:
            await self._sleep(args["sleepMs"] / 1000)
        if "error" in args:
            raise types_error(str(args["error"]))
        if "progress" in args:
            await _report(context, args["progress"])
        return _answer(params.name, args)

    async def _sleep(self, seconds: float) -> None:
        self.started.set()
        try:
            await anyio.sleep(seconds)
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise


def types_error(message: str) -> Exception:
    """A JSON-RPC error as a handler raises it."""
    from mcp import MCPError

    return MCPError(-32000, message)


async def _report(context: ServerRequestContext[Any], times: int) -> None:
    for step in range(times):
        await anyio.sleep(1)
        await context.session.report_progress(float(step + 1), float(times))


def _answer(name: str, args: dict[str, Any]) -> types.CallToolResult:
    text = f"{name}({json.dumps(args, separators=(',', ':'))})"
    blocks: list[types.ContentBlock] = [types.TextContent(text=text)]
    if "repeat" in args:
        blocks = [types.TextContent(text="x" * args["repeat"])]
    if args.get("image"):
        blocks.append(types.ImageContent(data="AAAA", mime_type="image/png"))
    if args.get("empty"):
        blocks = []
    if fail := args.get("fail"):
        words = fail if isinstance(fail, str) else text
        return types.CallToolResult(content=[types.TextContent(text=words)], is_error=True)
    structured = args.get("structured", {} if name == "read" else None)
    return types.CallToolResult(content=blocks, structured_content=structured)


class Servers:
    """Servers in memory by name, and the transports that were opened to each.

    Give ``create_transport`` to ``PoolSettings`` and rows made by ``memory_row``.
    """

    def __init__(self, **servers: EchoServer) -> None:
        self.servers = servers
        self.opened: dict[str, list[MemoryTransport]] = {}
        self.refused: dict[str, Exception] = {}

    def create_transport(self, row: ServerRow) -> MemoryTransport:
        """A transport to the server the row names; raises what ``refused`` holds for it."""
        assert isinstance(row, HttpServerRow)
        name = row.url.rpartition("/")[2]
        transport = MemoryTransport(self.servers[name].serve)
        self.opened.setdefault(name, []).append(transport)
        if name in self.refused:
            raise self.refused[name]
        return transport

    def dials(self, name: str) -> int:
        """How often a connection to the server was begun."""
        return len(self.opened.get(name, []))


def memory_row(identifier: str, server: str | None = None, **fields: Any) -> HttpServerRow:
    """A row for the server in memory of this name, or else of the row's id."""
    return HttpServerRow(id=identifier, url=f"http://memory.test/{server or identifier}", **fields)
