"""When the MCP SDK is imported: with the first dial, since a pool at rest does without it."""

from __future__ import annotations

import sys

import anyio.to_thread


def has_sdk() -> bool:
    """Whether what a dial needs is imported, so that one can begin at once."""
    return hasattr(sys.modules.get("host.pool.connection"), "Connection")  # or it is under way


async def load_sdk() -> None:
    """Import what a dial needs: 0.7 s in a thread, so that whatever else runs here goes on."""
    if not has_sdk():
        await anyio.to_thread.run_sync(_import)


def _import() -> None:
    import host.pool.connection
    import host.pool.http_transport
    import host.pool.stdio  # noqa: F401
