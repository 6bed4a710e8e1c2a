"""Rows for the plain stdio server, and a look at which processes are alive (Linux)."""

from __future__ import annotations

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


def alive_in_group(group: int) -> list[int]:
    """The processes of a group that are not zombies."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


async def group_gone(group: int, *, seconds: float = 5) -> bool:
    """Whether the group is empty within the time."""
    with anyio.move_on_after(seconds):
        while alive_in_group(group):  # noqa: ASYNC110 - other processes set no event
            await anyio.sleep(0.02)
    return not alive_in_group(group)
