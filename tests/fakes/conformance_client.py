"""A client for the official conformance suite on top of our pool.

``python -m tests.fakes.conformance_client URL`` connects, lists, and calls every tool with plain
arguments; the suite judges what it saw.
"""

from __future__ import annotations

import sys
from typing import Any

import anyio

from host.pool import HttpServerRow, ServerPool

CALL_SECONDS = 20.0


def plain_arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """An argument for every property of a flat schema."""
    values = {"number": 2, "integer": 2, "boolean": True, "array": [], "object": {}}
    properties = schema.get("properties", {})
    return {name: values.get(kind.get("type"), "text") for name, kind in properties.items()}


async def connect_and_call(url: str) -> int:
    """Does what a host does with a server; 0 when it came up and every call was answered."""
    async with ServerPool.open([HttpServerRow(id="suite", url=url)]) as pool:
        await pool.wait_ready()
        (state,) = pool.state()
        if state.status != "ready":
            sys.stderr.write(f"{state.error}\n")
            return 1
        for tool in state.tools:
            described = pool.describe(tool.qualified)
            assert described is not None
            args = plain_arguments(described.input_schema)
            result = await pool.call_raw(tool.qualified, args, timeout_seconds=CALL_SECONDS)
            if result.is_error:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(anyio.run(connect_and_call, sys.argv[-1]))
