"""What the fleet offers, listed, searched and shown."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine
from tests.fakes.command_line import plain_server
from tests.fakes.mcp_servers.processes import SERVER_ARGS


@pytest.fixture
def fleet(agent_host: CommandLine) -> CommandLine:
    hiding = plain_server(label="Plain", hiddenTools=["crash", "exit"])
    agent_host.servers({"plain": hiding, "dead": {"command": "no-such-command"}})
    return agent_host


def test_the_list_names_every_tool_that_is_not_hidden_by_server(fleet: CommandLine) -> None:
    ended = fleet("tools", "list")
    lines = ended.out.splitlines()
    assert ended.status == 0
    assert lines[0] == "Plain (10 tools)"
    assert "  plain__echo" in lines
    assert "  plain__crash" not in lines
    assert "no-such-command" in ended.err
    assert ended.err.splitlines()[-1] == "going on with 1 server, without dead"


def test_as_json_the_list_says_what_each_tool_weighs(fleet: CommandLine) -> None:
    (server,) = json.loads(fleet("tools", "list", "--json").out)
    assert (server["id"], server["label"], server["stale"]) == ("plain", "Plain", False)
    assert all(tool["tokens"] > 0 for tool in server["tools"])


def test_a_search_finds_by_words_and_no_more_than_wanted(fleet: CommandLine) -> None:
    ended = fleet("tools", "search", "echo", "environment", "--limit", "1")
    assert ended.status == 0
    assert ended.out.splitlines()[0] == "Plain (1 tool)"
    assert fleet("tools", "search", "zebra").out == ""


def test_one_tool_is_shown_with_its_schema(fleet: CommandLine) -> None:
    ended = fleet("tools", "show", "plain__echo")
    assert ended.status == 0
    assert '"text": {' in ended.out
    shown = json.loads(fleet("tools", "show", "plain__echo", "--json").out)
    assert (shown["name"], shown["serverId"], shown["tool"]) == ("plain__echo", "plain", "echo")
    assert shown["inputSchema"]["properties"] == {"text": {"type": "string"}}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("plain__ecko", "did you mean: plain__echo"),
        ("plain__crash", "there is no tool"),
        ("dead__x", 'Server "dead" is not up'),
    ],
)
def test_an_unknown_name_is_told_with_what_may_have_been_meant(
    name: str, told: str, fleet: CommandLine
) -> None:
    ended = fleet("tools", "show", name)
    assert (ended.status, ended.out) == (1, "")
    assert told in ended.err.splitlines()[-1]


def test_a_fleet_without_tools_says_so(agent_host: CommandLine) -> None:
    agent_host.servers({})
    ended = agent_host("tools", "list")
    assert (ended.status, ended.out) == (0, "")
    assert "no server offers a tool" in ended.err


@pytest.fixture
def dressed_up(agent_host: CommandLine) -> Path:
    """The program of the fleet's one server, a script that can be changed in between."""
    program = agent_host.folder / "serve"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {' '.join(SERVER_ARGS)}\n")
    program.chmod(0o755)
    agent_host.servers({"plain": {"command": str(program)}})
    return program


def test_tools_that_were_listed_once_are_listed_again_without_starting_anything(
    agent_host: CommandLine, dressed_up: Path
) -> None:
    first = agent_host("tools", "list")
    dressed_up.write_text("#!/bin/sh\ntouch started\nexit 3\n")
    again = agent_host("tools", "list")
    assert (again.status, again.out, again.err) == (0, first.out, "")
    assert json.loads(agent_host("tools", "list", "--json").out)[0]["stale"] is True
    assert not (agent_host.folder / "started").exists()
    unknown = agent_host("tools", "show", "plain__new").err
    assert 'Server "plain" was not asked; --fresh asks it.' in unknown
    fresh = agent_host("tools", "list", "--fresh")
    assert "exited with code 3" in fresh.err
    assert fresh.out == first.out  # the last that is known
    assert (agent_host.folder / "started").exists()


def test_a_server_that_is_down_now_is_told_at_the_call_and_not_before(
    agent_host: CommandLine, dressed_up: Path
) -> None:
    assert agent_host("call", "plain__echo", '{"text": "hi"}').out == "hi\n"
    dressed_up.write_text("#!/bin/sh\nexit 3\n")
    assert agent_host("tools", "search", "echo").status == 0
    ended = agent_host("call", "plain__echo", '{"text": "hi"}')
    assert (ended.status, ended.out) == (1, "")
    assert "exited with code 3" in ended.err


def test_a_look_at_the_servers_starts_them_all(agent_host: CommandLine, dressed_up: Path) -> None:
    assert agent_host("tools", "list").status == 0
    assert "ready" in agent_host("servers").out
    dressed_up.write_text("#!/bin/sh\nexit 3\n")
    assert agent_host("servers").status == 1
