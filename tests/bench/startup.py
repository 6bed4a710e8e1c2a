"""How soon is a big fleet at hand? ``python -m tests.bench.startup --servers 100 --json``

Configured stdio servers with saved listings, in fresh processes: from the servers file to the text
of the first request (system prompt with the catalogue, and tools), and whether a process was
started for it. The exit status is 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import anyio

from tests.bench.alternating import Spread
from tests.bench.saved_fleet import configure

ROUNDS = 9
GOAL_SECONDS = 0.3
"""The most that a start may take once everything is imported."""


def started_once(folder: Path) -> dict[str, Any]:
    """What one start took, in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.startup_run", str(folder)]
    finished = subprocess.run(
        [*command, str(time.monotonic())], check=True, capture_output=True, text=True, timeout=120
    )
    figures: dict[str, Any] = json.loads(finished.stdout)
    return figures


def measured(servers: int, rounds: int) -> dict[str, Any]:
    """The medians of some starts; the first one, which fills the disk's caches, is thrown away."""
    with tempfile.TemporaryDirectory(prefix="startup-") as name:
        written = anyio.run(configure, Path(name), servers)
        runs = [started_once(Path(name)) for _ in range(rounds + 1)][1:]
    beyond = Spread.of([run["seconds_beyond_import"] for run in runs])
    return {
        "servers": servers,
        "rounds": rounds,
        **written,
        "processes_started": max(run["processes_started"] for run in runs),
        "seconds_beyond_import": beyond.median,
        "seconds_beyond_import_quartiles": [beyond.lower, beyond.upper],
        "seconds_total": median(run["seconds_total"] for run in runs),
        "servers_at_rest": min(run["servers_at_rest"] for run in runs),
        "request_chars": runs[0]["request_chars"],
        "foreign_modules": runs[0]["foreign_modules"],
        "python": platform.python_version(),
    }


def is_within(figures: dict[str, Any]) -> bool:
    """Whether nothing was started or imported for nothing, in time."""
    is_idle = not figures["processes_started"] and figures["servers_at_rest"] == figures["servers"]
    is_lean = not figures["foreign_modules"]
    return is_idle and is_lean and figures["seconds_beyond_import"] <= GOAL_SECONDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints, and returns the exit status."""
    parser = argparse.ArgumentParser(prog="startup", description=__doc__)
    parser.add_argument("--servers", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="at least 2")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    figures = measured(options.servers, options.rounds)
    figures["is_within_goals"] = is_within(figures)
    if options.json:
        sys.stdout.write(json.dumps(figures) + "\n")
    else:
        sys.stdout.write("".join(f"{name}: {value}\n" for name, value in figures.items()))
    return 0 if figures["is_within_goals"] else 1


if __name__ == "__main__":
    sys.exit(main())
