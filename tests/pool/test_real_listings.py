"""Listings of real public servers, kept beside this repository, pass through without loss."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from host.pool.arguments import argument_problems, coerce_arguments, declared_types
from host.pool.fingerprint import tools_fingerprint
from host.pool.listing import ListedTool, read_listing
from host.pool.mending import mend_tools
from host.pool.naming import could_own, qualified_name
from host.pool.rows import StdioServerRow
from host.pool.tool_index import ListedServer, ToolIndex

LISTINGS = Path(__file__).parents[2].parent / "shared" / "fleet" / "listings.json.gz"
EVERY_NTH_JUDGED = 8
EXAMPLES: dict[str, Any] = {
    "string": "x",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "null": None,
    "array": [],
    "object": {},
}


def plain_arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """Something for each required property of a plain type."""
    arguments = {}
    for name in schema.get("required", ()):
        wanted = schema.get("properties", {}).get(name)
        types = declared_types(wanted) if isinstance(wanted, dict) else None
        if types:
            arguments[name] = wanted.get("enum", [EXAMPLES[types[0]]])[0]
    return arguments


def spelled(arguments: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The arguments as a clumsy model writes them: a string wherever none is asked for."""
    types = {name: declared_types(schema["properties"][name]) or () for name in arguments}
    return {
        name: value if "string" in types[name] else json.dumps(value)
        for name, value in arguments.items()
    }


def assert_arguments_survive(tool: ListedTool) -> None:
    schema = tool.input_schema
    arguments = plain_arguments(schema)
    fitted, problems = coerce_arguments(schema, arguments)
    clumsy, clumsy_problems = coerce_arguments(schema, spelled(arguments, schema))

    assert fitted == clumsy == arguments, tool.qualified
    assert clumsy_problems == problems, tool.qualified


@pytest.mark.skipif(
    not LISTINGS.exists(), reason="the listings of real servers are not beside this repository"
)
def test_every_real_listing_passes_through_without_loss() -> None:
    servers: dict[str, Any] = json.loads(gzip.decompress(LISTINGS.read_bytes()))["servers"]
    listed: list[ListedServer] = []
    for slug, server in servers.items():
        sent = server["tools"]
        page = mend_tools({"tools": sent}, "2026-07-28" if server["modern"] else None)
        listing = read_listing(page.result["tools"], slug=slug, label=slug.title())

        assert page.notices == listing.notices == ()
        assert [tool.name for tool in listing.tools] == [tool["name"] for tool in sent]
        assert [tool.input_schema for tool in listing.tools] == [t["inputSchema"] for t in sent]
        assert [tool.sent for tool in listing.tools] == sent
        assert [tool.description.split() for tool in listing.tools] == [
            tool["description"].replace("\u200b", "").split() for tool in sent
        ]
        assert tools_fingerprint(listing.tools) == tools_fingerprint(sent[::-1])
        for tool in listing.tools:
            assert tool.qualified == qualified_name(slug, tool.name)
            assert could_own(slug, tool.qualified)
            assert_arguments_survive(tool)
        listed.append(ListedServer(row=StdioServerRow(id=slug, command="x"), tools=listing.tools))

    index = ToolIndex.of(listed)
    tools = [tool for server in listed for tool in server.tools]
    offered = [tool for server in index.catalogue() for tool in server.tools]
    assert index.clashes == frozenset()
    assert len(index.entries) == len(tools) > 1000
    assert len(offered) == len(tools) - sum(tool.withheld is not None for tool in tools)
    assert len({tool.name for tool in offered}) == len(offered)
    for tool in tools[::EVERY_NTH_JUDGED]:
        problems = argument_problems(tool.input_schema, plain_arguments(tool.input_schema))
        assert all(problem.startswith("`") for problem in problems)
        assert argument_problems(tool.input_schema, {}) == [] or tool.input_schema["required"]
