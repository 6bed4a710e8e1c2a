"""What a command does not need, it does not load (design §6)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fakes.command_line import plain_server, write_servers
from tests.journeys.host_process import run_python

HEAVY = {"anyio", "httpx2", "jsonschema", "mcp", "openai", "pydantic", "rich"}


def loaded(err: str) -> set[str]:
    """The packages in a report of -X importtime."""
    names = re.findall(r"^import time: .*\| +([\w.]+)$", err, re.M)
    assert "argparse" in names
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["ask", "--help"]])
def test_help_loads_nothing_heavy(args: list[str], tmp_path: Path) -> None:
    ended = run_python(tmp_path, "-X", "importtime", "-m", "host", *args)
    assert ended.status == 0
    assert "agent-host" in ended.out
    assert not HEAVY & loaded(ended.err)


def test_a_mistake_in_the_servers_file_is_told_without_loading_what_would_run_it(
    tmp_path: Path,
) -> None:
    write_servers(tmp_path, {"a": {"comand": "x"}})
    ended = run_python(tmp_path, "-X", "importtime", "-m", "host", "ask", "hi")
    assert ended.status == 2
    assert 'did you mean "command"' in ended.err
    assert HEAVY & loaded(ended.err) <= {"pydantic"}


def test_a_look_at_the_fleet_does_not_load_the_endpoint_s_client(tmp_path: Path) -> None:
    write_servers(tmp_path, {})
    ended = run_python(tmp_path, "-X", "importtime", "-m", "host", "servers")
    assert ended.status == 0
    assert "openai" not in loaded(ended.err)


def test_a_list_of_saved_tools_loads_nothing_that_would_ask_a_server(tmp_path: Path) -> None:
    write_servers(tmp_path, {"plain": plain_server()})
    first = run_python(tmp_path, "-m", "host", "tools", "list")
    again = run_python(tmp_path, "-X", "importtime", "-m", "host", "tools", "list")
    assert (again.status, again.out) == (first.status, first.out) == (0, first.out)
    assert "plain__echo" in again.out
    assert not {"mcp", "mcp_types", "httpx2", "openai", "jsonschema"} & loaded(again.err)
