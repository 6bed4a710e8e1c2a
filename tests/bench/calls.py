"""What does a call cost? ``python -m tests.bench.calls --json``

The same calls through the pool and through the bare SDK (``sdk_peer``), by turns in one process:
one after another (p50, p95), fifty side by side (calls a second), over stdio against a plain and
an SDK server and over HTTP; calls of a neighbour while one result of 50 MB arrives, against the
same calls before it; and the memory of a process with twenty servers.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import anyio
from mcp import StdioServerParameters

from host.pool import HttpServerRow, PoolSettings, ServerPool, ServerRow, StdioServerRow
from tests.bench.alternating import Spread, percentile
from tests.bench.sdk_peer import sdk_servers

HERE = Path(__file__).parent
PLAIN = ["-I", "-S", str(HERE / "plain_server.py")]
SDK = [str(HERE / "sdk_server.py")]
BIG_BYTES = 50_000_000
MEMORY_SERVERS = 20

Call: TypeAlias = Callable[[str], Awaitable[object]]
"""Makes one call of ``echo`` with this text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured."""

    rounds: int = 9
    calls: int = 200
    side_by_side: int = 50
    together: int = 500


QUICK = Sizes(rounds=2, calls=20, side_by_side=5, together=20)


@asynccontextmanager
async def both(row: ServerRow) -> AsyncIterator[tuple[Call, Call]]:
    """The call through the pool and the one through the SDK, each on a server of its own."""
    source: StdioServerParameters | str
    if isinstance(row, StdioServerRow):
        source = StdioServerParameters(command=row.command, args=list(row.args or ()))
    else:
        source = row.url
    settings = PoolSettings(connect_timeout_seconds=30)
    async with ServerPool.open([row], settings=settings) as pool, sdk_servers([source]) as peers:
        await pool.wait_ready()
        await peers[0].ready.wait()

        async def host(text: str) -> object:
            return await pool.call("server__echo", {"text": text})

        async def sdk(text: str) -> object:
            return await peers[0].client.call_tool("echo", {"text": text})

        yield host, sdk


async def one_by_one(call: Call, count: int) -> list[float]:
    """Seconds of each call."""
    took: list[float] = []
    for number in range(count):
        began = time.perf_counter()
        await call(f"text {number}")
        took.append(time.perf_counter() - began)
    return took


async def side_by_side(call: Call, count: int, together: int) -> float:
    """Calls a second with so many under way at any time."""
    left = iter(range(count))

    async def work() -> None:
        for number in left:
            await call(f"text {number}")

    began = time.perf_counter()
    async with anyio.create_task_group() as group:
        for _ in range(together):
            group.start_soon(work)
    return count / (time.perf_counter() - began)


async def compared(row: ServerRow, sizes: Sizes) -> dict[str, Any]:
    """Ratios of the pool to the SDK over all rounds, and the quarters of the rounds' own."""
    p50: list[list[float]] = [[], []]
    p95: list[list[float]] = [[], []]
    rate: list[list[float]] = [[], []]
    async with both(row) as ways:
        for number in range(sizes.rounds + 1):
            for way in (0, 1) if number % 2 else (1, 0):
                took = await one_by_one(ways[way], sizes.calls)
                many = await side_by_side(ways[way], sizes.together, sizes.side_by_side)
                if number:  # the first round only warms up
                    p50[way].append(median(took))
                    p95[way].append(percentile(took, 95))
                    rate[way].append(many)
    ratios = Spread.of([a / b for a, b in zip(*p50, strict=True)])
    return {
        "p50_ms": [1000 * median(each) for each in p50],
        "p50_ratio": median(p50[0]) / median(p50[1]),
        "p50_ratio_quartiles": [ratios.lower, ratios.upper],
        "p95_ratio": median(p95[0]) / median(p95[1]),
        "throughput": [median(each) for each in rate],
        "throughput_ratio": median(rate[0]) / median(rate[1]),
    }


async def neighbour(sizes: Sizes) -> dict[str, Any]:
    """p95 of calls while a big result of another server arrives, over the p95 without one."""
    rows = [
        StdioServerRow(id=name, command=sys.executable, args=tuple(PLAIN), max_result_chars=1000)
        for name in ("big", "small")
    ]
    quiet: list[float] = []
    busy: list[float] = []
    async with ServerPool.open(rows) as pool:
        await pool.wait_ready()
        quiet += await one_by_one(lambda text: pool.call("small__echo", {"text": text}), 20)
        for _ in range(sizes.rounds):
            quiet += await one_by_one(
                lambda text: pool.call("small__echo", {"text": text}), sizes.calls
            )
            arriving = True

            async def fetch() -> None:
                nonlocal arriving
                await pool.call("big__big", {"bytes": BIG_BYTES}, timeout_seconds=120)
                arriving = False

            async with anyio.create_task_group() as group:
                group.start_soon(fetch)
                while arriving:
                    busy += await one_by_one(
                        lambda text: pool.call("small__echo", {"text": text}), 1
                    )
    return {
        "quiet_p95_ms": 1000 * percentile(quiet[20:], 95),
        "busy_p95_ms": 1000 * percentile(busy, 95),
        "busy_max_ms": 1000 * max(busy),
        "busy_calls": len(busy),
        "ratio": percentile(busy, 95) / percentile(quiet[20:], 95),
    }


def memory(kind: str, servers: int) -> float:
    """KiB of its own that a process with so many servers has over one without any, per server."""
    found = [
        int(
            subprocess.run(
                [sys.executable, "-m", "tests.bench.calls", "--hold", kind, str(count)],
                capture_output=True,
                text=True,
                check=True,
                timeout=120,
            ).stdout
        )
        for count in (0, servers)
    ]
    return (found[1] - found[0]) / servers


async def held(kind: str, servers: int) -> int:
    """KiB that belong to this process alone, with so many servers connected."""
    args = tuple(PLAIN)
    async with AsyncExitStack() as opened:
        if kind == "host":
            rows = [
                StdioServerRow(id=f"s{number}", command=sys.executable, args=args)
                for number in range(servers)
            ]
            pool = await opened.enter_async_context(ServerPool.open(rows))
            await pool.wait_ready()
        else:
            source = StdioServerParameters(command=sys.executable, args=PLAIN)
            for server in await opened.enter_async_context(sdk_servers([source] * servers)):
                await server.ready.wait()
        text = await anyio.Path("/proc/self/smaps_rollup").read_text()
        lines = [line.split() for line in text.splitlines()[1:]]
        return sum(int(line[1]) for line in lines if line[0].startswith("Private_"))


@contextmanager
def http_server() -> Iterator[str]:
    """The address of an SDK server over HTTP, in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, *SDK, "--port", str(port)])
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=0.1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.terminate()
        server.wait()


def measured(sizes: Sizes) -> dict[str, Any]:
    """Every figure; ratios are the pool's over the SDK's."""

    def stdio(args: Sequence[str]) -> dict[str, Any]:
        row = StdioServerRow(id="server", command=sys.executable, args=tuple(args))
        return anyio.run(compared, row, sizes)

    plain, sdk = stdio(PLAIN), stdio(SDK)
    with http_server() as url:
        http = anyio.run(compared, HttpServerRow(id="server", url=url), sizes)
    beside = anyio.run(neighbour, sizes)
    kib = {kind: memory(kind, MEMORY_SERVERS) for kind in ("host", "sdk")}
    return {
        "stdio_p50_ratio": plain["p50_ratio"],
        "stdio_p95_ratio": plain["p95_ratio"],
        "stdio_sdk_p50_ratio": sdk["p50_ratio"],
        "http_p50_ratio": http["p50_ratio"],
        "throughput_ratio": plain["throughput_ratio"],
        "big_result_neighbour_p95_ratio": beside["ratio"],
        "memory_per_server_ratio": kib["host"] / kib["sdk"],
        "stdio": plain,
        "stdio_sdk": sdk,
        "http": http,
        "neighbour": beside,
        "memory_per_server_kib": kib,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="calls", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="only see that it runs")
    parser.add_argument("--hold", nargs=2, metavar=("KIND", "SERVERS"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.hold:
        kind, servers = options.hold
        sys.stdout.write(f"{anyio.run(held, kind, int(servers))}\n")
        return 0
    figures = measured(QUICK if options.quick else Sizes())
    if options.json:
        sys.stdout.write(json.dumps(figures) + "\n")
    else:
        sys.stdout.write("".join(f"{name}: {value}\n" for name, value in figures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
