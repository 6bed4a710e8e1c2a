"""One start of a host over saved listings, in a process of its own; prints what it took.

``python -m tests.bench.startup_run FOLDER BEGAN``, where BEGAN is ``time.monotonic()`` of whoever
started it. Everything a first request is made of is imported first, and then only used.
"""

# ruff: noqa: E402 - what comes before the imports listens to them
import sys
import time

STARTED: list[str] = []


def _hear(event: str, _: object) -> None:
    if event in ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec"):
        STARTED.append(event)


sys.addaudithook(_hear)

import json
import os
from pathlib import Path
from typing import Any

import anyio

# anyio imports its backend when a loop starts.
import anyio._backends._asyncio

from host.config import load_config
from host.loop import AgentLoopOptions, run_agent_loop
from host.pool.listing_files import ListingFiles
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from host.records import Message, ToolDefinition, Turn, TurnUsage
from host.text.json_text import compact_json
from host.toolbox import PoolToolbox
from host.wire.capabilities import Capabilities
from host.wire.request_body import build_body
from host.wire.settings import ModelParams

FOREIGN = ("mcp", "mcp_types", "httpx2", "openai", "jsonschema")
"""What a start over saved listings has no use for."""


class Writer:
    """A model that writes down the request it would send."""

    def __init__(self) -> None:
        self.text = ""
        self.ready = 0.0

    async def turn(self, messages: list[Message], tools: list[ToolDefinition], **_: Any) -> Turn:
        """The body of the first request as text."""
        body = build_body(ModelParams(model="any"), Capabilities(), None, messages, tools)
        self.text = compact_json(body)
        self.ready = time.monotonic()
        return Turn(content="Done.", usage=TurnUsage(), finish_reason="stop")

    async def ask_json(self, system: str, user: str, schema: dict[str, Any]) -> object | None:
        """Nothing is asked aside."""
        return None


async def first_request(folder: Path) -> tuple[Writer, list[str]]:
    """From a file of servers to the text of the first request; with the servers' states."""
    config = load_config(folder / "servers.json", env=os.environ)
    settings = PoolSettings(tools_cache=ListingFiles(folder / "listings"))
    model = Writer()
    question: Message = {"role": "user", "content": "Which of my notes are about ovens?"}
    async with ServerPool.open(config.rows, settings=settings) as pool:
        await run_agent_loop(
            AgentLoopOptions(model, PoolToolbox(pool), [question], system="Be brief.")
        )
        return model, [state.status for state in pool.state()]


def main() -> None:
    """Start once and print the figures as JSON."""
    folder, began = Path(sys.argv[1]), float(sys.argv[2])
    imported = time.monotonic()
    known = set(sys.modules)
    model, states = anyio.run(first_request, folder)
    figures = {
        "seconds_total": model.ready - began,
        "seconds_beyond_import": model.ready - imported,
        "processes_started": len(STARTED),
        "servers_at_rest": states.count("idle"),
        "request_chars": len(model.text),
        "foreign_modules": sorted({name.partition(".")[0] for name in sys.modules} & {*FOREIGN}),
        "late_modules": sorted(set(sys.modules) - known),
    }
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
