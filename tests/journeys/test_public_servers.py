"""Servers that others wrote, from the registries, driven by the real command line."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.absence import linux_processes, node
from tests.fakes.command_line import Ended, environment
from tests.fakes.mcp_servers.processes import alive_in_group
from tests.journeys.host_process import GONE_SECONDS, until

pytestmark = pytest.mark.slow

NPM_PACKAGES = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
)
PIP_PACKAGES = ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19")
INSTALL_SECONDS, COMMAND_SECONDS = 240, 120

CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "everything__echo": ({"message": "good morning"}, "good morning"),
    "filesystem__read_text_file": ({"path": "note.txt"}, "hello from a file"),
    "memory__read_graph": ({}, "entities"),
    "time__convert_time": (
        {"source_timezone": "Asia/Tokyo", "time": "09:00", "target_timezone": "Asia/Kolkata"},
        "05:30",
    ),
    "git__git_status": ({"repo_path": "repo"}, "note.txt"),
}
"""One call on each server, and what its answer holds. Paths are put under the test's folder."""


def run(command: Sequence[str | Path], folder: Path, *, seconds: float) -> Ended:
    """Runs a command in a folder to its end."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    return Ended(status=done.returncode, out=done.stdout, err=done.stderr)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with five installed servers and a servers file that starts them."""
    npx, npm = node(), shutil.which("npm")
    assert npm is not None
    folder = tmp_path_factory.mktemp("fleet")
    installs: list[list[str | Path]] = [
        [npm, "install", "--no-audit", "--no-fund", "--prefix", folder / "npm", *NPM_PACKAGES],
        [sys.executable, "-m", "venv", folder / "py"],
        [folder / "py" / "bin" / "pip", "install", "-q", *PIP_PACKAGES],
        ["git", "init", "-q", folder / "repo"],
    ]
    for command in installs:
        done = run(command, folder, seconds=INSTALL_SECONDS)
        assert done.status == 0, done.err
    for place in ("files", "repo"):
        (folder / place).mkdir(exist_ok=True)
        (folder / place / "note.txt").write_text("hello from a file\n", "utf-8")
    installed, py = folder / "npm" / "node_modules" / ".bin", folder / "py" / "bin"
    behind_npx = ["--no-install", "--prefix", str(folder / "npm"), "mcp-server-everything"]
    rows = {
        "everything": {"command": npx, "args": behind_npx},
        "filesystem": {
            "command": str(installed / "mcp-server-filesystem"),
            "args": [str(folder / "files")],
        },
        "memory": {
            "command": str(installed / "mcp-server-memory"),
            "env": {"MEMORY_FILE_PATH": str(folder / "memory.json")},
        },
        "time": {"command": str(py / "mcp-server-time")},
        "git": {
            "command": str(py / "mcp-server-git"),
            "args": ["--repository", str(folder / "repo")],
        },
    }
    (folder / "servers.json").write_text(json.dumps({"mcpServers": rows}), "utf-8")
    return folder


def agent_host(folder: Path, *args: str) -> Ended:
    """Runs a command of ``agent-host`` on the fleet."""
    return run([sys.executable, "-m", "host", *args], folder, seconds=COMMAND_SECONDS)


def test_every_server_comes_up_and_nothing_of_it_stays(fleet: Path) -> None:
    linux_processes()
    ended = agent_host(fleet, "servers", "--json")
    assert ended.status == 0, ended.err
    states = json.loads(ended.out)
    assert {state["id"]: state["status"] for state in states} == dict.fromkeys(
        ("everything", "filesystem", "memory", "time", "git"), "ready"
    )
    assert all(len(state["tools"]) >= 2 for state in states)
    assert {state["era"] for state in states} == {"2025-11-25", "2026-07-28"}
    for state in states:
        assert alive_in_group(state["pid"]) == []


def test_the_tools_of_all_are_listed_under_their_names(fleet: Path) -> None:
    ended = agent_host(fleet, "tools", "list")
    assert ended.status == 0, ended.err
    assert set(CALLS) <= set(ended.out.split())


@pytest.mark.parametrize("name", CALLS)
def test_a_call_on_each_is_answered(name: str, fleet: Path) -> None:
    args, answer = CALLS[name]
    rooted = {"path": fleet / "files", "repo_path": fleet}
    placed = {key: str(rooted[key] / text) if key in rooted else text for key, text in args.items()}
    ended = agent_host(fleet, "call", name, json.dumps(placed))
    assert ended.status == 0, ended.err
    assert answer in ended.out


def test_nothing_outlives_a_killed_host_not_even_behind_npx(fleet: Path) -> None:
    linux_processes()
    with subprocess.Popen(
        [sys.executable, "-m", "host", "servers", "--watch", "--json"],
        cwd=fleet,
        env=environment(fleet),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as host:
        assert host.stdout is not None
        groups: list[int] = []
        seen = ""
        while len(groups) < 5:
            line = host.stdout.readline()
            assert line, "the host ended before its servers were up"
            seen += line
            if line.rstrip() == "]":
                states, seen = json.loads(seen), ""
                groups = [state["pid"] for state in states if state["status"] == "ready"]
        assert all(alive_in_group(group) for group in groups)
        host.send_signal(signal.SIGKILL)
    until(
        lambda: not any(alive_in_group(group) for group in groups),
        lambda: f"the end of {[alive_in_group(group) for group in groups]}",
        seconds=GONE_SECONDS,
    )
