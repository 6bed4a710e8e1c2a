"""``agent-host tools list|search|show``: what the fleet offers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

import anyio

from host.cli.opening import open_pool, saved_listings, settle, unknown_tool
from host.cli.run_view import shortened
from host.cli.screen import Screen, counted, json_text
from host.config import HostConfig
from host.pool import ServerPool
from host.records import CatalogueServer

MAX_NAME_CHARS = 200
MAX_ABOUT_CHARS = 300


def tools(config: HostConfig, arguments: argparse.Namespace) -> int:
    """Lists, searches or shows; 1 when there is no such tool."""
    return anyio.run(_tools, config, arguments)


async def _tools(config: HostConfig, arguments: argparse.Namespace) -> int:
    screen = Screen()
    async with open_pool(config, lambda _: None, **saved_listings(arguments)) as pool:
        await settle(pool, config, screen)
        match arguments.action:
            case "list":
                return _list(pool.catalogue(), screen, as_json=arguments.json)
            case "search":
                found = pool.search(" ".join(arguments.query), limit=arguments.limit)
                return _list(found, screen, as_json=arguments.json, described=True)
            case _:
                return _show(pool, arguments.name, screen, as_json=arguments.json)


def _list(
    servers: Sequence[CatalogueServer], screen: Screen, *, as_json: bool, described: bool = False
) -> int:
    if as_json:
        screen.write(json_text([_server_json(s) for s in servers], indent=1))
        return 0
    for server in servers:
        screen.write(f"{server.label} ({counted(len(server.tools), 'tool')})", style="bold")
        for tool in server.tools:
            first_line = tool.description.splitlines()[0] if tool.description else ""
            about = f": {shortened(first_line, MAX_ABOUT_CHARS)}" if described else ""
            screen.write(f"  {tool.name}{about}")
    if not servers:
        screen.notice("no tool fits" if described else "no server offers a tool")
    return 0


def _server_json(server: CatalogueServer) -> dict[str, Any]:
    return {
        "id": server.id,
        "label": server.label,
        "stale": server.stale,
        "tools": [
            {
                "name": tool.name,
                "title": tool.title,
                "description": tool.description,
                "annotations": dict(tool.annotations) if tool.annotations else None,
                "tokens": tool.tokens,
            }
            for tool in server.tools
        ],
    }


def _show(pool: ServerPool, name: str, screen: Screen, *, as_json: bool) -> int:
    tool = pool.describe(name)
    if tool is None:
        raise unknown_tool(pool, name)
    schema = json.dumps(tool.input_schema, ensure_ascii=False, indent=2)
    if as_json:
        shown = {
            "name": tool.qualified,
            "serverId": tool.server_id,
            "tool": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
            "annotations": dict(tool.annotations) if tool.annotations else None,
        }
        screen.write(json_text(shown, indent=1))
        return 0
    title = f" — {shortened(tool.title, MAX_NAME_CHARS)}" if tool.title else ""
    screen.write(f"{tool.qualified}{title}", style="bold")
    name = shortened(tool.name, MAX_NAME_CHARS)
    screen.write(f"server: {tool.server_id}, its own name: {name}")
    if tool.description:
        screen.write(f"\n{tool.description}\n")
    if tool.annotations:
        hints = (f"{name}={value}" for name, value in tool.annotations.items())
        screen.write("hints: " + ", ".join(shortened(hint, MAX_NAME_CHARS) for hint in hints))
    screen.write(f"arguments: {schema}")
    return 0
