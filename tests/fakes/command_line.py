"""What tests of the command line share: servers files to start from, and what a command leaves."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.architecture import ROOT
from tests.fakes.endpoint import DONE, Reply, finish, streamed, tool_call, usage
from tests.fakes.mcp_servers.processes import SERVER_ARGS


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A command that has ended: its exit status (negative for a signal) and all it wrote."""

    status: int
    out: str
    err: str

    @property
    def json_lines(self) -> list[dict[str, Any]]:
        """Its output, one JSON value a line."""
        return [json.loads(line) for line in self.out.splitlines()]


def plain_server(*flags: str, **fields: Any) -> dict[str, Any]:
    """The body of a servers file's row that starts the plain server with these flags."""
    return {"command": sys.executable, "args": [*SERVER_ARGS, *flags], **fields}


def write_servers(folder: Path, rows: dict[str, Any], **agent: Any) -> None:
    """Writes the folder's servers file; ``agent`` is its agent object.

    In one step: a command started a moment ago may be reading the one before.
    """
    whole = {"mcpServers": rows, "agent": {"contextLength": 100_000, "maxRetries": 0, **agent}}
    written = folder / "servers.json.new"
    written.write_text(json.dumps(whole), "utf-8")
    written.replace(folder / "servers.json")


def environment(folder: Path) -> dict[str, str]:
    """This process's environment without anything that names an endpoint or a servers file."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    own = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "PYTHONPATH": str(ROOT)}
    own["XDG_CACHE_HOME"] = str(folder / "cache")
    return {**kept, **own, "PYTHONUTF8": "1"}


def calling(name: str, **arguments: Any) -> Reply:
    """An endpoint's reply that calls one tool."""
    call = tool_call(name, json.dumps(arguments), call_id=f"call_{name}")
    return streamed(call, finish("tool_calls"), usage(10, 5), DONE)
