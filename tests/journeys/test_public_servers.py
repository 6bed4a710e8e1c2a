"""Servers that others wrote, from the registries, driven by the real command line."""

from __future__ import annotations

import json
import re
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
TRIES = 3
"""A listing does not wait for what is slow on a busy machine, and says so: it is asked again."""

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
    linux_processes()
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
    """Runs a command of ``agent-host`` on the fleet, and sees that nothing of it stays."""
    ended = run([sys.executable, "-m", "host", *args], folder, seconds=COMMAND_SECONDS)
    wait_until_none_is_at_home(folder)
    return ended


def wait_until_none_is_at_home(folder: Path) -> None:
    """Returns once no process has the folder as its home: whatever became of its group."""
    until(
        lambda: not at_home(folder),
        lambda: f"the end of {at_home(folder)}",
        seconds=GONE_SECONDS,
    )


def at_home(folder: Path) -> list[str]:
    """The processes that were started with the folder as their home, by id and command."""
    home = f"HOME={folder}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if home in (process / "environ").read_bytes().split(b"\0"):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found.append(f"{process.name} {command}")
        except OSError:
            continue  # ended meanwhile, or somebody else's
    return found


def test_every_server_comes_up_and_nothing_of_it_stays(fleet: Path) -> None:
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
    tries = 1
    while "still connecting" in ended.err and tries < TRIES:
        ended = agent_host(fleet, "tools", "list")
        tries += 1
    assert ended.status == 0, ended.err
    assert set(CALLS) <= set(ended.out.split()), ended.err


@pytest.mark.parametrize("name", CALLS)
def test_a_call_on_each_is_answered(name: str, fleet: Path) -> None:
    args, answer = CALLS[name]
    rooted = {"path": fleet / "files", "repo_path": fleet}
    placed = {key: str(rooted[key] / text) if key in rooted else text for key, text in args.items()}
    ended = agent_host(fleet, "call", name, json.dumps(placed))
    assert ended.status == 0, ended.err
    assert answer in ended.out


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_a_host_not_even_behind_npx(
    ending: signal.Signals, fleet: Path, tmp_path: Path
) -> None:
    shown = tmp_path / "shown"
    with shown.open("w") as stdout:
        host = subprocess.Popen(
            [sys.executable, "-m", "host", "servers", "--watch", "--json"],
            cwd=fleet,
            env=environment(fleet),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
        )
    try:
        until(
            lambda: len(ready_groups(shown)) == len(CALLS),
            lambda: f"five servers: {shown.read_text('utf-8')}",
            seconds=COMMAND_SECONDS,
        )
        groups = ready_groups(shown)
        sizes = {name: len(alive_in_group(group)) for name, group in groups.items()}
        assert all(sizes.values())
        assert sizes["everything"] > 1, "npx, and what it started"
        assert len(at_home(fleet)) > len(groups)
        host.send_signal(ending)
        until(
            lambda: not alive_in_group(*groups.values()),
            lambda: f"the end of {[alive_in_group(group) for group in groups.values()]}",
            seconds=GONE_SECONDS,
        )
        wait_until_none_is_at_home(fleet)
    finally:
        host.kill()
        host.wait()


def ready_groups(shown: Path) -> dict[str, int]:
    """The process groups of the ready servers, by id, as a watch showed them last."""
    *_, last = ["[]", *re.findall(r"^\[$.*?^\]$", shown.read_text("utf-8"), re.M | re.S)]
    return {state["id"]: state["pid"] for state in json.loads(last) if state["status"] == "ready"}
