"""The state of every server, and an exit status that scripts can use."""

from __future__ import annotations

import json

from tests.cli.conftest import CommandLine
from tests.fakes.command_line import plain_server


def test_a_fleet_that_is_up_is_a_table_and_status_0(agent_host: CommandLine) -> None:
    off = {"command": "no-such-command", "disabled": True}
    agent_host.servers({"plain": plain_server(label="Plain one"), "off": off})
    ended = agent_host("servers")
    heading, plain, disabled = ended.out.splitlines()
    assert ended.status == 0
    assert heading.split() == ["server", "status", "era", "tools", "pid", "up"]
    assert plain.startswith("plain (Plain one)  ready")
    assert "2025-06-18  12 " in plain
    assert disabled.split()[:2] == ["off", "disabled"]
    assert ended.err.splitlines()[0] == "connecting to plain"
    assert ended.err.splitlines()[1].startswith("✓ plain: 12 tools, ")


def test_what_is_down_says_why_below_its_line(agent_host: CommandLine) -> None:
    talkative = plain_server("--shout", "300", "--exit-at-start", "no licence")
    agent_host.servers(
        {"plain": plain_server(), "dead": talkative, "unset": {"url": "${NO_SUCH_VARIABLE}"}}
    )
    ended = agent_host("servers")
    lines = ended.out.splitlines()
    assert ended.status == 1
    dead = next(number for number, line in enumerate(lines) if line.startswith("dead"))
    assert lines[dead + 1] == "    exited with code 3: no licence"
    assert lines[dead + 2] == "    " + "e" * 300
    assert lines[-1].startswith("    NO_SUCH_VARIABLE is not set; set it")


def test_as_json_nothing_but_the_states_is_written(agent_host: CommandLine) -> None:
    agent_host.servers(
        {
            "plain": plain_server("--task-tool", env={"SECRET": "hunter2"}),
            "dead": plain_server("--exit-at-start", "no licence"),
            "unset": {"url": "${NO_SUCH_VARIABLE}"},
        }
    )
    ended = agent_host("servers", "--json")
    plain, dead, unset = json.loads(ended.out)
    assert (ended.status, ended.err) == (1, "")
    assert (plain["status"], plain["era"], len(plain["tools"])) == ("ready", "2025-06-18", 12)
    assert plain["startedAt"].endswith("+00:00")
    assert isinstance(plain["pid"], int)
    needs_task = "it can only be called as a task, and its server does not offer tasks"
    assert plain["withheld"] == {"plain__task": needs_task}
    assert (dead["status"], dead["stderr"]) == ("error", "no licence")
    assert unset == {
        "id": "unset",
        "status": "unset",
        "unsetVariables": ["NO_SUCH_VARIABLE"],
    }
    assert "hunter2" not in ended.out


def test_an_empty_fleet_is_well(agent_host: CommandLine) -> None:
    agent_host.servers({})
    assert agent_host("servers").status == 0
