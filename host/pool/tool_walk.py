"""All pages of a server's tool list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from host.errors import PoolError

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Tool

METHOD_NOT_FOUND = -32601


async def list_all_tools(client: Client) -> list[Tool]:
    """Every tool the server lists, in its order, duplicates included.

    A server without the method has no tools. The walk has no limit of its own in time; a cursor
    that comes back ends it, so that it is never endless (pool spec §12).

    Raises:
        PoolError: ``connect-failed`` when a cursor is repeated; a partial list is never returned.
        mcp.MCPError: the server answered with another error, or has gone.
    """
    from mcp import MCPError

    tools: list[Tool] = []
    seen: set[str] = set()
    cursor: str | None = None
    while True:
        try:
            page = await client.list_tools(cursor=cursor)
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND and cursor is None:
                return []
            raise
        tools.extend(page.tools)
        cursor = page.next_cursor
        if not cursor:
            return tools
        if cursor in seen:
            raise PoolError("connect-failed", "repeats a page of its tool list without end")
        seen.add(cursor)
