"""What the bundled servers have in common: a table of tools served on the mcp SDK."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from host import __version__
from host.demo.refusal import Refused, nearest, unknown
from host.demo.tool_arguments import Parameter, checked_arguments, input_schema

Effect = Literal["reads", "adds", "deletes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledTool:
    """One tool: what a model is told of it, and the function that answers.

    Attributes:
        run: takes the parameters by name; returns text, or raises ``Refused``.
        effect: what a call does to the server's own store; none reaches beyond it.
    """

    name: str
    description: str
    run: Callable[..., str]
    parameters: tuple[Parameter, ...] = ()
    effect: Effect = "reads"

    def listed(self) -> Tool:
        """The tool as a listing shows it."""
        return Tool(
            name=self.name,
            description=self.description,
            input_schema=input_schema(self.parameters),
            annotations=ToolAnnotations(
                read_only_hint=self.effect == "reads",
                destructive_hint=self.effect == "deletes",
                idempotent_hint=self.effect == "reads",
                open_world_hint=False,
            ),
        )

    def answer(self, arguments: dict[str, Any]) -> CallToolResult:
        """The result of a call; a refusal is a result with ``isError``."""
        try:
            text = self.run(**checked_arguments(self.name, self.parameters, arguments))
        except Refused as refusal:
            return _result(str(refusal), is_error=True)
        return _result(text)


def bundled_server(name: str, instructions: str, tools: Sequence[BundledTool]) -> Server:
    """A server, not yet connected, that offers these tools."""
    by_name = {tool.name: tool for tool in tools}
    listing = ListToolsResult(tools=[tool.listed() for tool in tools])

    async def list_tools(_: object, __: PaginatedRequestParams | None) -> ListToolsResult:
        return listing

    async def call_tool(_: object, call: CallToolRequestParams) -> CallToolResult:
        tool = by_name.get(call.name)
        if tool is None:
            near = nearest(call.name, by_name)
            refusal = unknown("tool", call.name, near, f"there are {', '.join(by_name)}")
            return _result(str(refusal), is_error=True)
        return tool.answer(call.arguments or {})

    return Server(
        name,
        version=__version__,
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve_stdio(server: Server) -> None:
    """Serves over this process's stdin and stdout until stdin ends."""

    async def serve() -> None:
        async with stdio_server() as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())

    anyio.run(serve)


def _result(text: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)
