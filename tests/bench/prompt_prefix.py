"""What of a prompt does the endpoint keep? ``python -m tests.bench.prompt_prefix --help``

A run on the bundled fleet that loads two tools, one after the other, and calls each. The requests
are real and so is what the endpoint counts; what the model says to them is not listened to: small
models do not load on demand, so the calls are written here, the same in both ways of discovery.
For each request the prompt, what of it came from the endpoint's cache, and the share of the
previous prompt that this is. What a load costs is the part of the previous prompt read again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from host.catalogue import CALL_TOOL, LOAD_TOOLS
from host.loop import AgentLoopOptions, run_agent_loop
from host.loop.cache_watch import cached_share
from host.loop.transcript import tool_call
from host.pool import ServerPool
from host.records import Message, Run, ToolDefinition, Turn
from host.toolbox import PoolToolbox
from host.wire import EndpointModel, Endpoints, EndpointSettings, ModelParams
from tests.bench.discovery import fleet

QUESTION = "Note the title oven: 180 celsius. How much is that in fahrenheit?"
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("notes__add_note", {"title": "oven", "text": "180 celsius"}),
    ("units__convert_unit", {"value": 180, "from_unit": "celsius", "to_unit": "fahrenheit"}),
)


class Steered:
    """The endpoint's model, with calls of ours in place of what it says."""

    def __init__(self, model: EndpointModel, calls: Sequence[tuple[str, dict[str, Any]]]) -> None:
        self._model = model
        self._calls = [
            tool_call(f"call_{number}", name, args) for number, (name, args) in enumerate(calls)
        ]

    async def turn(
        self, messages: list[Message], tools: list[ToolDefinition], **options: Any
    ) -> Turn:
        """The next call, and in the end an answer, with the usage of what was really said."""
        turn = await self._model.turn(messages, tools, **options)
        if not self._calls:
            return replace(turn, content="Done.", tool_calls=(), finish_reason="stop")
        call = self._calls.pop(0)
        return replace(turn, content="", tool_calls=(call,), finish_reason="tool_calls")

    async def ask_json(self, system: str, user: str, schema: dict[str, Any]) -> object | None:
        """Nothing: nobody asks beside this run."""
        return None


def script(mode: str) -> list[tuple[str, dict[str, Any]]]:
    """Load a tool, call it, load the other one, call that."""
    steps: list[tuple[str, dict[str, Any]]] = []
    for name, args in CALLS:
        called = (
            (CALL_TOOL, {"name": name, "arguments": args}) if mode == "proxied" else (name, args)
        )
        steps += [(LOAD_TOOLS, {"names": [name]}), called]
    return steps


async def played(base_url: str, model: str, mode: str) -> Run:
    """The run, in one way of discovery."""
    with tempfile.TemporaryDirectory() as folder:
        async with Endpoints() as endpoints, ServerPool.open(fleet(Path(folder))) as pool:
            await pool.wait_ready()
            asked = EndpointModel(
                endpoints,
                EndpointSettings(base_url=base_url),
                ModelParams(model=model, max_tokens=16, temperature=0.0),
            )
            question: Message = {"role": "user", "content": QUESTION}
            return await run_agent_loop(
                AgentLoopOptions(
                    Steered(asked, script(mode)),
                    PoolToolbox(pool),
                    [question],
                    discovery="proxied" if mode == "proxied" else "names",
                )
            )


def requests_of(run: Run) -> list[dict[str, Any]]:
    """The requests of a run, in order, and what the cache did for each."""
    told: list[dict[str, Any]] = []
    previous = 0
    for request in run.requests:
        usage = request.usage
        told.append(
            {
                "tools": len(request.tools),
                "prompt": usage.prompt_tokens,
                "cached": usage.cached_tokens,
                "share_of_previous": cached_share(previous, usage.cached_tokens),
                "loaded": request.loaded,
            }
        )
        previous = usage.prompt_tokens
    return told


def table(mode: str, requests: Sequence[dict[str, Any]]) -> str:
    """The requests for people; a line tells what its own answer loaded."""
    lines = [f"{mode:<10}{'tools':>6}{'prompt':>8}{'cached':>8}{'of previous':>13}  loads"]
    for number, one in enumerate(requests, 1):
        share = one["share_of_previous"]
        shown = "" if share is None else f"{share:.0%}"
        lines.append(
            f"{number:<10}{one['tools']:>6}{one['prompt']:>8}{one['cached'] or 0:>8}{shown:>13}"
            f"  {', '.join(one['loaded'] or ())}".rstrip()
        )
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Asks in both ways, and prints."""
    parser = argparse.ArgumentParser(prog="prompt_prefix", description=__doc__)
    parser.add_argument("--base-url", required=True, help="a llama.cpp server")
    parser.add_argument("--model", default="model")
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")
    options = parser.parse_args(arguments)
    found: dict[str, list[dict[str, Any]]] = {}
    for mode in ("names", "proxied"):
        found[mode] = requests_of(anyio.run(played, options.base_url, options.model, mode))
        if not options.json:
            sys.stdout.write(table(mode, found[mode]) + "\n")
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
