"""How long until a fleet is up? ``python -m tests.bench.fleet --servers 30 --json``

Plain stdio servers that start in a moment, dialled and listed by the pool, by the pool with one
server more that never answers, and by the bare SDK in parallel tasks (``sdk_peer``); by turns.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp import StdioServerParameters

from host.pool import ServerPool, StdioServerRow
from tests.bench.alternating import Spread, by_turns
from tests.bench.sdk_peer import sdk_servers

SERVER = str(Path(__file__).with_name("plain_server.py"))
ROUNDS = 15
DEADLINE_SECONDS = 60.0


def row(number: int, *flags: str) -> StdioServerRow:
    """A plain server's row."""
    return StdioServerRow(
        id=f"plain{number}",
        command=sys.executable,
        args=("-I", "-S", SERVER, *flags),
        connect_timeout_ms=int(DEADLINE_SECONDS * 1000),
    )


async def host_seconds(servers: int, *, silent: bool = False) -> float:
    """Until every server of the pool that answers is ready."""
    rows = [row(number) for number in range(servers)]
    if silent:
        rows.insert(servers // 2, row(servers, "--mute"))
    began = time.perf_counter()
    async with ServerPool.open(rows) as pool:
        with anyio.fail_after(DEADLINE_SECONDS):
            ready = anyio.Event()
            left = {each.id for each in rows if "--mute" not in (each.args or ())}

            def hear(event: Any) -> None:
                if event.kind == "connect":
                    left.discard(event.server_id)
                    if not left:
                        ready.set()

            pool.subscribe(hear)
            await ready.wait()
        return time.perf_counter() - began


async def sdk_seconds(servers: int) -> float:
    """Until every server of the bare SDK is ready."""
    source = StdioServerParameters(command=sys.executable, args=["-I", "-S", SERVER])
    began = time.perf_counter()
    async with sdk_servers([source] * servers) as found:
        with anyio.fail_after(DEADLINE_SECONDS):
            for server in found:
                await server.ready.wait()
        return time.perf_counter() - began


def measured(servers: int, rounds: int) -> dict[str, Any]:
    """Seconds and ratios; medians, and the quarters of each round's own ratio."""
    found = by_turns(
        rounds,
        {
            "host": lambda: anyio.run(host_seconds, servers),
            "sdk": lambda: anyio.run(sdk_seconds, servers),
            "silent": lambda: anyio.run(lambda: host_seconds(servers, silent=True)),
        },
    )
    ratios = Spread.of([a / b for a, b in zip(found["host"], found["sdk"], strict=True)])
    silent = Spread.of([a / b for a, b in zip(found["silent"], found["host"], strict=True)])
    host, sdk = Spread.of(found["host"]), Spread.of(found["sdk"])
    return {
        "servers": servers,
        "rounds": rounds,
        "host_ready_seconds": host.median,
        "host_quartiles": [host.lower, host.upper],
        "sdk_ready_seconds": sdk.median,
        "sdk_quartiles": [sdk.lower, sdk.upper],
        "ratio": host.median / sdk.median,
        "ratio_quartiles": [ratios.lower, ratios.upper],
        "ratio_with_silent_server": Spread.of(found["silent"]).median / host.median,
        "ratio_with_silent_server_quartiles": [silent.lower, silent.upper],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="fleet", description=__doc__)
    parser.add_argument("--servers", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="at least 2")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    figures = measured(options.servers, options.rounds)
    if options.json:
        sys.stdout.write(json.dumps(figures) + "\n")
    else:
        sys.stdout.write("".join(f"{name}: {value}\n" for name, value in figures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
