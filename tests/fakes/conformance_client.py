"""The client that the official conformance suite judges: our pool, with the suite's server in it.

``python -m tests.fakes.conformance_client URL``: connects, lists the tools and calls each once.
Ends with 1 when the server does not come up or a call fails.
"""

from __future__ import annotations

import sys
from typing import Any

import anyio

from host.errors import PoolError
from host.pool import HttpServerRow, ServerPool

SERVER_ID = "suite"
PATIENCE_SECONDS = 25.0
"""Less than what the suite grants a scenario, so that it is we who say what went wrong."""

VALUES: dict[object, object] = {"number": 2, "integer": 2, "boolean": True, "string": "two"}
"""What an argument of each JSON type is given."""


def arguments_for(schema: dict[str, Any]) -> dict[str, Any]:
    """A value for every argument that a schema requires."""
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    return {name: VALUES[properties[name].get("type")] for name in schema.get("required", ())}


async def run(url: str) -> int:
    """Connects and calls; returns the exit status."""
    row = HttpServerRow(id=SERVER_ID, url=url)
    with anyio.fail_after(PATIENCE_SECONDS):
        async with ServerPool.open([row]) as pool:
            await pool.wait_ready()
            (state,) = pool.state()
            if state.status != "ready":
                sys.stderr.write(f"{state.error}\n")
                return 1
            for tool in pool.tools():
                name, schema = tool["function"]["name"], tool["function"].get("parameters", {})
                try:
                    sys.stdout.write(f"{await pool.call(name, arguments_for(schema))}\n")
                except PoolError as error:
                    sys.stderr.write(f"{error}\n")
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(anyio.run(run, sys.argv[1]))
