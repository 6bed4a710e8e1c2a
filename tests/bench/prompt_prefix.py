"""What of a prompt does the endpoint keep? ``python -m tests.bench.prompt_prefix --help``

One question that loads two tools, one after the other, on the bundled fleet; for each request the
prompt, what of it came from the endpoint's cache, and the share of the previous prompt that this
is. A load shows as a smaller share: what stands behind the tools is read again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from host.assembly import open_host
from host.config import AgentSettings, EndpointChoice, HostConfig
from host.loop.cache_watch import cached_share
from host.records import Run
from tests.bench.discovery import fleet

QUESTION = (
    "Load the tool {add}. Save a note titled oven with the text: 180 celsius. When that is done, "
    "load the tool {convert} and convert 180 celsius to fahrenheit. Answer with the fahrenheit."
)


async def played(endpoint: EndpointChoice, mode: str) -> Run:
    """The run, in one way of discovery."""
    agent = AgentSettings.model_validate(
        {"max_tokens": 128, "temperature": 0.0, "max_tool_iterations": 8, "discovery": mode}
    )
    with tempfile.TemporaryDirectory() as folder:
        config = HostConfig(source="the bench", rows=fleet(Path(folder)), agent=agent)
        async with open_host(config, endpoint=endpoint) as host:
            await host.settle()
            question = QUESTION.format(add="notes__add_note", convert="units__convert_unit")
            return await host.ask(question)


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
    """The requests for people."""
    lines = [f"{mode:<10}{'tools':>6}{'prompt':>8}{'cached':>8}{'of previous':>13}  loaded"]
    for number, one in enumerate(requests, 1):
        share = one["share_of_previous"]
        shown = "" if share is None else f"{share:.0%}"
        loaded = "" if one["loaded"] is None else ", ".join(one["loaded"]) or "nothing"
        lines.append(
            f"{number:<10}{one['tools']:>6}{one['prompt']:>8}{one['cached'] or 0:>8}{shown:>13}"
            f"  {loaded}"
        )
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Asks in both ways, and prints."""
    parser = argparse.ArgumentParser(prog="prompt_prefix", description=__doc__)
    parser.add_argument("--base-url", required=True, help="a llama.cpp server")
    parser.add_argument("--model", default="model")
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")
    options = parser.parse_args(arguments)
    endpoint = EndpointChoice(
        base_url=options.base_url, api_key="", model=options.model, origin="--base-url"
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for mode in ("names", "proxied"):
        found[mode] = requests_of(anyio.run(played, endpoint, mode))
        if not options.json:
            sys.stdout.write(table(mode, found[mode]) + "\n")
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
