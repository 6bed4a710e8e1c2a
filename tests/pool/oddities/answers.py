"""Servers whose answers are written down as they go over the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from host.pool.rows import ServerRow
from host.pool.server_pool import ServerPool
from tests.fakes.mcp_servers.answering import greeting
from tests.fakes.mcp_servers.in_memory import AnsweringFleet, AnsweringServer
from tests.pool.neighbours import beside

TOOL: dict[str, Any] = {"name": "t", "inputSchema": {"type": "object"}}


def wire_server(*tools: dict[str, Any], **table: Any) -> AnsweringServer:
    """A server of the session era with these tools, by default one.

    Args:
        table: answers by method, with ``_`` for ``/``.
    """
    written = {name.replace("_", "/"): answer for name, answer in table.items()}
    opening = {"tools/list": {"tools": list(tools or [TOOL])}, **greeting({"tools": {}})}
    return AnsweringServer(opening | written)


def said(text: str, **fields: Any) -> dict[str, Any]:
    """A result with one block of text."""
    return {"content": [{"type": "text", "text": text}], **fields}


def refusal(code: int, message: str) -> dict[str, Any]:
    """An error of the protocol."""
    return {"error": {"code": code, "message": message}}


@asynccontextmanager
async def pool_of(
    server: AnsweringServer, *rows: ServerRow, **how: Any
) -> AsyncIterator[ServerPool]:
    """A pool of the server, with a neighbour that has calls in flight; its id is ``a``."""
    fleet = AnsweringFleet(a=server)
    async with beside(
        *(rows or fleet.rows()), create_transport=fleet.create_transport, **how
    ) as pool:
        yield pool
