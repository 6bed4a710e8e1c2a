"""Does a fleet stay up, and leak nothing? ``python -m tests.bench.pool_soak --minutes 10``

Twenty servers (sixteen children, four over HTTP) are called without a pause while others of them
are killed, change their tools, forget their sessions, are stopped, reconnected and renamed. Once a
minute everything is brought to rest and counted: descriptors, tasks, memory, children, zombies.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio

from host.errors import HostError
from host.pool import HttpServerRow, ServerPool, ServerRow, StdioServerRow
from tests.fakes.mcp_servers.http_server import http_server
from tests.fakes.mcp_servers.processes import SCRIPT

CHILDREN, WEB = 16, 4
CHURN_SECONDS = 0.25
CALL_SECONDS = 10.0
QUIET_SECONDS = 20.0
SETTLE_SECONDS = 6.0
"""A lost session may finish its answers for five seconds."""


class Web:
    """A server over HTTP in a process of its own, which forgets its session on a line of input."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.pool_soak", "--web"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def forget(self) -> None:
        """Have it forget its session."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def web_main() -> None:
    """What the process of ``Web`` runs."""
    with http_server() as server:
        sys.stdout.write(server.url() + "\n")
        sys.stdout.flush()
        for number, _ in enumerate(sys.stdin):
            server.session = f"session {number}"


def rows_of(webs: Sequence[Web], number: int) -> list[ServerRow]:
    """The rows; the number shows in their labels, so that another one is an edit."""
    children: list[ServerRow] = [
        StdioServerRow(
            id=f"child{n}",
            label=f"Child {n} ({number % 7})",
            command=sys.executable,
            args=("-I", "-S", SCRIPT, *(["--modern"] if n % 2 else [])),
        )
        for n in range(CHILDREN)
    ]
    return [*children, *(HttpServerRow(id=f"web{n}", url=web.url) for n, web in enumerate(webs))]


class Soak:
    """One soak under way.

    Attributes:
        done: what became of calls, and how often each kind of trouble was made.
    """

    def __init__(self, pool: ServerPool, webs: Sequence[Web], chance: random.Random) -> None:
        self.done: Counter[str] = Counter()
        self._pool = pool
        self._webs = webs
        self._chance = chance
        self._may_go_on = anyio.Event()
        self._may_go_on.set()
        self._busy = 0
        self._left = anyio.Event()
        self._edits = 0

    async def call_for_ever(self, server_id: str) -> None:
        """Calls one server again and again."""
        name, args = ("read", {}) if server_id.startswith("web") else ("echo", {"text": "x" * 200})
        while True:
            await self._may_go_on.wait()
            self._busy += 1
            try:
                await self._pool.call(f"{server_id}__{name}", args, timeout_seconds=CALL_SECONDS)
                self.done["answered"] += 1
            except HostError as error:
                self.done[f"call {getattr(error, 'code', type(error).__name__)}"] += 1
                await anyio.sleep(0.05)
            finally:
                self._leave()

    async def trouble_for_ever(self) -> None:
        """Makes trouble of one kind or another, several times a second."""
        kinds = [self._kill, self._change, self._forget, self._stop, self._reconnect, self._edit]
        while True:
            await anyio.sleep(CHURN_SECONDS)
            await self._may_go_on.wait()
            kind = self._chance.choice(kinds)
            self.done[f"trouble {kind.__name__.strip('_')}"] += 1
            self._busy += 1
            try:
                with anyio.fail_after(QUIET_SECONDS), suppress(HostError):
                    await kind()
            finally:
                self._leave()

    async def rest(self) -> None:
        """Everything still, every server up."""
        self._may_go_on = anyio.Event()
        with anyio.fail_after(QUIET_SECONDS):
            while self._busy:
                self._left = anyio.Event()
                await self._left.wait()
        with anyio.fail_after(QUIET_SECONDS):
            while down := [s.id for s in self._pool.state() if s.status != "ready"]:
                await self._pool.reconnect(down[0])
        await anyio.sleep(SETTLE_SECONDS)
        gc.collect()

    def go_on(self) -> None:
        """After a rest."""
        self._may_go_on.set()

    def _leave(self) -> None:
        self._busy -= 1
        self._left.set()

    async def _kill(self) -> None:
        pids = [state.pid for state in self._pool.state() if state.pid is not None]
        if pids:
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(pids), signal.SIGKILL)

    async def _change(self) -> None:
        await self._pool.call(f"{self._child()}__change", timeout_seconds=CALL_SECONDS)

    async def _forget(self) -> None:
        self._chance.choice(self._webs).forget()

    async def _stop(self) -> None:
        await self._pool.stop(self._child())

    async def _reconnect(self) -> None:
        await self._pool.reconnect(self._child())

    async def _edit(self) -> None:
        self._edits += 1
        await self._pool.sync(rows_of(self._webs, self._edits))

    def _child(self) -> str:
        return f"child{self._chance.randrange(CHILDREN)}"


def counted() -> dict[str, int]:
    """What this process holds."""
    text = Path("/proc/self/smaps_rollup").read_text("utf-8")
    lines = [line.split() for line in text.splitlines()[1:]]
    states = [_state_of(pid) for pid in _children()]
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "tasks": len(anyio.get_running_tasks()),
        "private_kib": sum(int(line[1]) for line in lines if line[0].startswith("Private_")),
        "children": len(states),
        "zombies": states.count("Z"),
    }


def _children() -> list[int]:
    tasks = Path("/proc/self/task")
    return [
        int(pid)
        for task in tasks.iterdir()
        for pid in (task / "children").read_text("utf-8").split()
    ]


def _state_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    return "gone"


async def soaked(minutes: float, every_seconds: float, seed: int) -> dict[str, Any]:
    """The counts of each rest and of the end."""
    webs = [Web() for _ in range(WEB)]
    told: list[dict[str, Any]] = []
    load_number = 0

    def load() -> list[ServerRow]:
        return rows_of(webs, load_number)

    try:
        async with ServerPool.open(load=load) as pool:
            await pool.wait_ready()
            soak = Soak(pool, webs, random.Random(seed))
            async with anyio.create_task_group() as group:
                for state in pool.state():
                    group.start_soon(soak.call_for_ever, state.id)
                group.start_soon(soak.trouble_for_ever)
                ends = anyio.current_time() + 60 * minutes
                while anyio.current_time() < ends:
                    await anyio.sleep(every_seconds)
                    await soak.rest()
                    told.append({**counted(), "answered": soak.done["answered"]})
                    sys.stderr.write(json.dumps(told[-1]) + "\n")
                    soak.go_on()
                group.cancel_scope.cancel()
            done = dict(sorted(soak.done.items()))
    finally:
        for web in webs:
            web.close()
    return {"rests": told, "done": done, "after": counted()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Soaks and prints."""
    parser = argparse.ArgumentParser(prog="pool_soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--every", type=float, default=60, help="seconds between counts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print JSON in one line")
    parser.add_argument("--web", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.web:
        web_main()
        return 0
    report = anyio.run(soaked, options.minutes, options.every, options.seed)
    sys.stdout.write(json.dumps(report, indent=None if options.json else 1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
