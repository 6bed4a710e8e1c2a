"""All pages of a server's lists."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from host.errors import PoolError

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Tool

METHOD_NOT_FOUND = -32601


class Page(Protocol):
    """One page of a list, and where the next one begins."""

    @property
    def next_cursor(self) -> str | None:
        """None or "" for the last page."""


P = TypeVar("P", bound=Page)


async def list_all_tools(client: Client) -> list[Tool]:
    """Every tool the server lists, in its order, duplicates included.

    Raises:
        PoolError: ``connect-failed`` when a cursor is repeated; a partial list is never returned.
        mcp.MCPError: the server answered with another error, or has gone.
    """
    pages = await all_pages(lambda cursor: client.list_tools(cursor=cursor), "tool list")
    return [tool for page in pages for tool in page.tools]


async def all_pages(ask: Callable[[str | None], Awaitable[P]], what: str) -> list[P]:
    """Every page of a list; [] from a server without the method.

    The walk has no limit of its own in time; a cursor that comes back ends it, so that it is
    never endless (pool spec §12).

    Args:
        ask: asks for the page that a cursor names, None for the first.
        what: the list, for the error.

    Raises:
        PoolError: ``connect-failed`` when a cursor is repeated.
        Exception: what ``ask`` raised.
    """
    from mcp import MCPError

    pages: list[P] = []
    seen: set[str] = set()
    cursor: str | None = None
    while True:
        try:
            page = await ask(cursor)
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND and cursor is None:
                return []
            raise
        pages.append(page)
        cursor = page.next_cursor
        if not cursor:
            return pages
        if cursor in seen:
            raise PoolError("connect-failed", f"repeats a page of its {what} without end")
        seen.add(cursor)
