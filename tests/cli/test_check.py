"""One look at everything: the file, each server, the endpoint; what to mend is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import CommandLine
from tests.fakes.command_line import plain_server
from tests.fakes.http_endpoint import HttpEndpoint


def test_a_house_in_order_is_status_0(agent_host: CommandLine) -> None:
    agent_host.servers({"plain": plain_server()})
    with HttpEndpoint() as endpoint:
        agent_host.ask_from(endpoint)
        ended = agent_host("check")
        assert endpoint.requests == 0
    assert (ended.status, ended.err) == (0, "")
    marks = [line for line in ended.out.splitlines() if line.startswith(("✓", "✗"))]
    assert [mark[0] for mark in marks] == ["✓"] * 3
    assert marks[0] == "✓ servers.json: 1 server"
    assert marks[1].startswith("✓ plain: 12 tools")
    assert marks[2].startswith(f"✓ endpoint {endpoint.base_url} (the environment): fake-model")


def test_every_fault_is_named_with_what_to_mend(agent_host: CommandLine) -> None:
    agent_host.servers(
        {
            "plain": plain_server(),
            "dead": plain_server("--shout", "300", "--exit-at-start", "no licence"),
            "unset": {"url": "${NO_SUCH_VARIABLE}"},
        }
    )
    with HttpEndpoint(models=("other",)) as endpoint:
        ended = agent_host("check", "--base-url", endpoint.base_url, "--model", "mine")
    assert ended.status == 1
    for fragment in (
        "✓ servers.json: 3 servers",
        "✓ plain: 12 tools",
        "✗ dead: exited with code 3: no licence",
        "  dead: " + "e" * 300,
        "✗ unset: NO_SUCH_VARIABLE is not set",
        f"✗ endpoint: {endpoint.base_url} does not list mine; it has other",
    ):
        assert fragment in ended.out


def test_a_rule_for_calls_that_fits_no_tool_is_pointed_out(agent_host: CommandLine) -> None:
    rules = {"deny": ["plain__ech?", "plain__dellete*"], "ask": ["*"]}
    agent_host.servers({"plain": plain_server()}, approve=rules)
    with HttpEndpoint() as endpoint:
        agent_host.ask_from(endpoint)
        ended = agent_host("check")
    assert ended.status == 0
    warned = [line for line in ended.out.splitlines() if line.startswith("!")]
    assert warned == [
        '! agent.approve: "plain__dellete*" fits no tool; see `agent-host tools list`'
    ]


@pytest.mark.parametrize(
    ("manners", "told"),
    [
        ({"models": None}, "✗ endpoint: the endpoint refused the request (status 404)"),
        ({"key": "sk-right"}, "Incorrect API key"),
    ],
)
def test_an_endpoint_that_is_not_well_is_status_1(
    manners: dict[str, Any], told: str, agent_host: CommandLine
) -> None:
    agent_host.servers({})
    with HttpEndpoint(**manners) as endpoint:
        ended = agent_host("check", "--base-url", endpoint.base_url, "--model", "m")
    assert ended.status == 1
    assert told in ended.out


def test_an_endpoint_that_is_not_there_is_status_1(agent_host: CommandLine) -> None:
    agent_host.servers({})
    ended = agent_host("check", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    assert ended.status == 1
    assert "could not be reached" in ended.out


def test_credentials_in_the_address_are_used_and_not_shown(agent_host: CommandLine) -> None:
    agent_host.servers({})
    with HttpEndpoint(models=("m",)) as endpoint:
        address = endpoint.base_url.replace("://", "://me:s3cret@")
        ended = agent_host("check", "--base-url", address)
    assert ended.status == 0
    assert "s3cret" not in ended.out + ended.err


def test_as_json_the_findings_are_one_object(agent_host: CommandLine) -> None:
    agent_host.servers({"plain": plain_server(), "dead": {"command": "no-such-command"}})
    with HttpEndpoint(models=("a", "b")) as endpoint:
        ended = agent_host("check", "--json", "--base-url", endpoint.base_url, "--model", "a")
    found = json.loads(ended.out)
    assert (ended.status, ended.err) == (1, "")
    assert [server["status"] for server in found["servers"]] == ["ready", "error"]
    assert (found["models"], found["endpointProblem"]) == (["a", "b"], "")
