"""Does the pool bring up servers that others published? ``python -m tests.bench.real_fleet --help``

Takes a folder with ``servers.json``, ``listings.json.gz`` and ``calls.json`` (public servers, what
each lists, calls that are safe offline), starts the servers in batches through the pool, compares
the names listed with those on record, and makes the calls. Nothing is judged by time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from host.errors import PoolError
from host.pool import PoolSettings, ServerPool, ServerRow, ServerState, from_mcp_servers_json

CALL_SECONDS = 30.0
START_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What the folder holds.

    Attributes:
        listings: by server, the names that it listed when the record was made.
        calls: by server, tools and their arguments.
    """

    rows: Sequence[ServerRow]
    listings: Mapping[str, Sequence[str]]
    calls: Mapping[str, Sequence[tuple[str, dict[str, Any]]]]

    @classmethod
    def read(cls, folder: Path, home: str, file: str = "servers.json") -> Fleet:
        """The fleet of a folder, installed under ``home``."""

        def text(name: str) -> str:
            return (folder / name).read_text("utf-8").replace("${FLEET_HOME}", home)

        recorded = json.loads(gzip.decompress((folder / "listings.json.gz").read_bytes()))
        return cls(
            rows=from_mcp_servers_json(text(file), env=os.environ),
            listings={
                name: [tool["name"] for tool in server["tools"]]
                for name, server in recorded["servers"].items()
            },
            calls=json.loads(text("calls.json")),
        )


@dataclass(slots=True, kw_only=True)
class Found:
    """What became of one server."""

    state: ServerState
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)


async def started(fleet: Fleet, rows: Sequence[ServerRow]) -> list[Found]:
    """A batch: every server up, listed, called, and ended."""
    settings = PoolSettings(connect_timeout_seconds=START_SECONDS, max_concurrent_dials=2)
    found: list[Found] = []
    async with ServerPool.open(rows, settings=settings) as pool:
        await pool.wait_ready()
        for state in pool.state():
            one = Found(state=state)
            listed = [tool.name for tool in state.tools]
            known = fleet.listings.get(state.id, ())
            one.missing = [name for name in known if name not in listed]
            one.extra = [name for name in listed if name not in known]
            if state.status == "ready":
                await _call_all(pool, fleet, one)
            found.append(one)
    return found


async def _call_all(pool: ServerPool, fleet: Fleet, one: Found) -> None:
    names = {tool.name: tool.qualified for tool in one.state.tools}
    for name, args in fleet.calls.get(one.state.id, ()):
        qualified = names.get(name, name)
        try:
            text = await pool.call(qualified, args, timeout_seconds=CALL_SECONDS)
            one.calls["answered"] += 1
        except PoolError as error:
            one.calls[error.code] += 1
            text = f"{error.code}: {error}"
        one.told.append(f"{name}: {' '.join(text.split())[:120]}")


def batches(rows: Sequence[ServerRow], size: int) -> Iterator[Sequence[ServerRow]]:
    """The rows, so many at a time."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def line(one: Found) -> str:
    """One server for people."""
    state = one.state
    calls = ", ".join(f"{count} {code}" for code, count in sorted(one.calls.items())) or "-"
    odd = "".join(
        f" {sign}{len(names)}" for sign, names in (("-", one.missing), ("+", one.extra)) if names
    )
    listed = f"{len(state.tools)} tools{odd}" if state.status == "ready" else state.error[:160]
    return f"| {state.id} | {state.status} | {state.era or '-'} | {listed} | {calls} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Starts them, and prints a table."""
    parser = argparse.ArgumentParser(prog="real_fleet", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="servers, listings and calls")
    parser.add_argument("--home", required=True, help="where the servers are installed")
    parser.add_argument("--file", default="servers.json", help="another file of servers in it")
    parser.add_argument("--batch", type=int, default=6)
    parser.add_argument("--only", nargs="*", help="ids of some servers")
    parser.add_argument("--verbose", action="store_true", help="tell each call's answer")
    options = parser.parse_args(arguments)
    fleet = Fleet.read(options.folder, options.home, options.file)
    rows = [row for row in fleet.rows if not options.only or row.id in options.only]
    began = time.perf_counter()
    found: list[Found] = []
    sys.stdout.write("| server | status | era | listing | calls |\n|---|---|---|---|---|\n")
    for batch in batches(rows, options.batch):
        for one in anyio.run(started, fleet, batch):
            found.append(one)
            sys.stdout.write(line(one) + "\n")
            if options.verbose:
                sys.stdout.write("".join(f"    {told}\n" for told in one.told))
            sys.stdout.flush()
    ready = sum(one.state.status == "ready" for one in found)
    whole = sum(one.state.status == "ready" and not one.missing for one in found)
    calls = sum((one.calls for one in found), Counter())
    sys.stdout.write(
        f"\n{ready} of {len(found)} ready, {whole} listed whole, "
        f"{sum(calls.values())} calls: {dict(calls)}; {time.perf_counter() - began:.0f} s\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
