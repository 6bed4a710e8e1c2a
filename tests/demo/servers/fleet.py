"""The bundled servers as a client meets them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.server.lowlevel import Server
from mcp.types import TextContent

NAMES = ("clock", "notes", "units")


async def answer(client: Client, tool: str, **arguments: Any) -> tuple[str, bool]:
    """The text of a call's result, and whether it is an error."""
    with anyio.fail_after(30):
        result = await client.call_tool(tool, arguments)
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text, result.is_error


async def answer_of(server: Server, tool: str, **arguments: Any) -> tuple[str, bool]:
    """One call on a server in memory."""
    async with Client(server) as client:
        return await answer(client, tool, **arguments)


def child(name: str, folder: Path) -> StdioServerParameters:
    """The server as a process of its own."""
    arguments = ["-m", "host.demo.servers", name]
    if name == "notes":
        arguments += ["--folder", str(folder)]
    return StdioServerParameters(command=sys.executable, args=arguments)
