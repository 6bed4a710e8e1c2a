"""The fleet at the command line: the example file, and a watch that sees servers come and go."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
from pathlib import Path

from tests.architecture import ROOT
from tests.fakes.command_line import plain_server
from tests.journeys.conftest import StartHost
from tests.journeys.host_process import wait_until_gone


def test_the_example_file_shows_a_fleet_that_is_ready(start: StartHost, tmp_path: Path) -> None:
    shutil.copy(ROOT / "servers.example.json", tmp_path)
    with start("--config", "servers.example.json", "servers", "--json") as process:
        ended = process.end()
    assert (ended.status, ended.err) == (0, "")
    tools = {state["id"]: state["tools"] for state in json.loads(ended.out)}
    states = {state["id"]: state["status"] for state in json.loads(ended.out)}
    assert states == {
        "clock": "ready",
        "notes": "ready",
        "units": "ready",
        "remote": "disabled",
        "personal": "disabled",
    }
    assert sum(map(len, tools.values())) >= 15
    assert "memo__search_notes" in tools["notes"]
    assert "memo__recall" not in tools["notes"], "hidden from the model, and kept for hooks"


def test_a_watch_shows_a_server_come_up_die_and_come_back(start: StartHost, tmp_path: Path) -> None:
    plain = plain_server()
    program = shlex.join([plain["command"], *plain["args"]])
    late = f"if test -e ready; then exec {program}; else echo not yet >&2; exit 4; fi"
    row = {"command": "sh", "args": ["-c", late]}
    with start("servers", "--watch", "--json", rows={"late": row}) as process:
        process.wait_for("exited with code 4: not yet")
        (tmp_path / "ready").touch()
        process.wait_for('"status": "ready"')
        (first,) = _pids(process.out)
        os.kill(first, signal.SIGKILL)
        process.wait_for("was ended by SIGKILL")
        process.wait_for('"status": "ready"', times=process.out.count('"status": "ready"') + 1)
        process.interrupt()
        ended = process.end()
    pids = _pids(ended.out)
    assert ended.status == 130
    assert len(pids) == 2
    wait_until_gone(pids)


def _pids(out: str) -> list[int]:
    """The process ids that were shown, each once."""
    lines = [line.strip().rstrip(",") for line in out.splitlines()]
    told = [line.removeprefix('"pid": ') for line in lines if line.startswith('"pid": ')]
    return [int(pid) for pid in dict.fromkeys(told) if pid != "null"]
