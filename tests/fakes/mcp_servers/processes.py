"""Rows for the plain stdio server, and a look at which processes are alive (Linux)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio

from host.pool.rows import StdioServerRow

SCRIPT = str(Path(__file__).with_name("stdio_server.py"))
SERVER_ARGS = ("-I", "-S", SCRIPT)


def plain_row(identifier: str, *flags: str, **fields: Any) -> StdioServerRow:
    """A row that starts the plain server with these flags."""
    return StdioServerRow(
        id=identifier, command=sys.executable, args=(*SERVER_ARGS, *flags), **fields
    )


def alive_in_group(*groups: int) -> list[int]:
    """The processes of the groups that are not zombies."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            status = Path(f"/proc/{name}/stat").read_text()
        except OSError:
            continue
        state, _, group, *_ = status.rpartition(")")[2].split(maxsplit=3)
        if int(group) in groups and state != "Z":
            found.append(int(name))
    return found


async def group_gone(*groups: int, seconds: float = 5) -> bool:
    """Whether the groups are empty within the time."""
    with anyio.move_on_after(seconds):
        while alive_in_group(*groups):  # noqa: ASYNC110 - other processes set no event
            await anyio.sleep(0.05)
    return not alive_in_group(*groups)
