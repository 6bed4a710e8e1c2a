"""What the fleet offers, listed, searched and shown."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import CommandLine
from tests.fakes.command_line import plain_server


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
