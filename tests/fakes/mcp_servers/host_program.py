"""A host as a process of its own: ten stdio servers, told on stdout, then waiting for its end.

``python -m tests.fakes.mcp_servers.host_program BACKEND``
"""

from __future__ import annotations

import json
import shlex
import sys

import anyio

from host.pool.rows import StdioServerRow
from host.pool.server_pool import ServerPool
from tests.fakes.mcp_servers.processes import SERVER_ARGS, plain_row

SERVERS = 10


def ten_rows() -> list[StdioServerRow]:
    """Ten servers: deaf to everything, behind a shell, with a grandchild, and plain ones."""
    behind_shell = f"{shlex.join([sys.executable, *SERVER_ARGS])}; true"
    special = [
        plain_row("deaf", "--deaf"),
        StdioServerRow(id="shell", command="sh", args=("-c", behind_shell)),
        plain_row("family", "--grandchild"),
    ]
    return special + [plain_row(f"plain{count}") for count in range(SERVERS - len(special))]


def ready_groups(pool: ServerPool) -> list[int]:
    """The process groups of the servers that are ready."""
    return [state.pid for state in pool.state() if state.status == "ready" and state.pid]


async def run() -> None:
    """Connect, tell the process groups, wait."""
    async with ServerPool.open(ten_rows()) as pool:
        await pool.wait_ready(60)
        sys.stdout.write(json.dumps(ready_groups(pool)) + "\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(run, backend=sys.argv[1])
