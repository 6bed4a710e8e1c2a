"""All pages or an error, never a part and never without end."""

from __future__ import annotations

import anyio
import pytest
from mcp import Client
from mcp.server import Server, ServerRequestContext
from mcp_types import ListToolsResult, PaginatedRequestParams

from host.errors import PoolError
from host.pool.tool_walk import list_all_tools
from tests.fakes.mcp_servers.echo import EchoServer, tool


async def listed(server: Server[object]) -> list[str] | PoolError:
    with anyio.fail_after(100):
        async with Client(server, cache=None) as client:
            try:
                return [found.name for found in await list_all_tools(client)]
            except PoolError as error:
                return error


@pytest.mark.parametrize("page_size", [1, 2, 3, 100])
async def test_every_page_is_read(page_size: int) -> None:
    tools = [tool(name) for name in ("c", "a", "b", "a")]
    assert await listed(EchoServer(tools, page_size=page_size).build()) == ["c", "a", "b", "a"]


async def test_a_cursor_that_comes_back_is_an_error() -> None:
    async def circle(
        _context: ServerRequestContext[object], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        before = params.cursor if params else None
        return ListToolsResult(tools=[tool("a")], next_cursor="2" if before == "1" else "1")

    error = await listed(Server("circle", on_list_tools=circle))
    assert str(error) == "repeats a page of its tool list without end"


async def test_an_empty_cursor_ends_the_list() -> None:
    async def once(
        _context: ServerRequestContext[object], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[tool("a")], next_cursor="")

    assert await listed(Server("once", on_list_tools=once)) == ["a"]


async def test_a_server_without_tools_has_none() -> None:
    assert await listed(Server("empty")) == []
