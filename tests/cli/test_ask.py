"""One question from the shell: the answer on stdout, how it came about on stderr."""

from __future__ import annotations

import os
import re
import signal
from typing import Any

import pytest

from tests.cli.conftest import CommandLine
from tests.fakes.command_line import calling, plain_server
from tests.fakes.endpoint import (
    Break,
    Mute,
    Reply,
    Then,
    answer,
    finish,
    refused,
    role,
    streamed,
    text,
)
from tests.fakes.http_endpoint import HttpEndpoint

SCRIPT = (
    calling("load_tools", names=["plain__echo"]),
    calling("plain__echo", text="hi"),
    answer("It said hi."),
)


@pytest.fixture
def fleet(agent_host: CommandLine) -> CommandLine:
    agent_host.servers({"plain": plain_server()})
    return agent_host


def test_the_answer_is_on_stdout_and_each_call_is_a_line_on_stderr(fleet: CommandLine) -> None:
    with HttpEndpoint(*SCRIPT) as endpoint:
        fleet.ask_from(endpoint)
        ended = fleet("ask", "Say hi")
    assert (ended.status, ended.out) == (0, "It said hi.\n")
    connecting, connected, load, call = ended.err.splitlines()
    assert connecting == "connecting to plain"
    assert connected.startswith("✓ plain: 12 tools, ")
    assert re.fullmatch(r'→ load_tools \{"names": ?\["plain__echo"\]\}  \d+ ms', load)
    assert re.fullmatch(r'→ plain__echo \{"text": ?"hi"\}  [\d.]+ m?s', call)
    assert endpoint.bodies[0]["model"] == "fake-model"
    assert endpoint.bodies[0]["messages"][-1]["content"] == "Say hi"


def test_quiet_writes_the_answer_and_nothing_else(fleet: CommandLine) -> None:
    with HttpEndpoint(*SCRIPT) as endpoint:
        fleet.ask_from(endpoint)
        ended = fleet("ask", "--quiet", "-", typed="Say hi\n")
    assert (ended.status, ended.out, ended.err) == (0, "It said hi.\n", "")
    assert endpoint.bodies[0]["messages"][-1]["content"] == "Say hi\n"


def test_as_json_every_line_is_an_event_and_the_last_is_done(fleet: CommandLine) -> None:
    with HttpEndpoint(*SCRIPT) as endpoint:
        fleet.ask_from(endpoint)
        ended = fleet("ask", "--json", "Say hi")
    events = ended.json_lines
    assert ended.status == 0
    assert events[0]["kind"] == "connect"
    assert [event["name"] for event in events if event["kind"] == "tool-result"] == [
        "load_tools",
        "plain__echo",
    ]
    last = events[-1]
    assert (last["kind"], last["ok"], last["text"]) == ("done", True, "It said hi.")
    run = [event for event in events if event["event"] == "run"]
    assert [event["seq"] for event in run] == list(range(1, len(run) + 1))


def test_a_run_starts_without_the_servers_that_are_missing_and_says_so(
    agent_host: CommandLine,
) -> None:
    agent_host.servers(
        {
            "plain": plain_server(),
            "dead": {"command": "no-such-command"},
            "mute": plain_server("--mute"),
            "unset": {"url": "${NO_SUCH_VARIABLE}"},
        }
    )
    with HttpEndpoint(*SCRIPT) as endpoint:
        agent_host.ask_from(endpoint)
        ended = agent_host("ask", "Say hi")
    assert (ended.status, ended.out) == (0, "It said hi.\n")
    assert "· mute: still connecting" in ended.err
    assert "✗ unset: NO_SUCH_VARIABLE is not set" in ended.err
    assert "going on with 1 server, without dead, mute, unset" in ended.err
    assert ended.err.count("no-such-command") == 1, "a failure is told once"


def test_the_one_model_of_an_endpoint_need_not_be_named(fleet: CommandLine) -> None:
    with HttpEndpoint(answer("Hello."), models=("only",)) as endpoint:
        ended = fleet("ask", "Hi", "--base-url", endpoint.base_url)
    assert (ended.status, ended.out) == (0, "Hello.\n")
    assert f"asking only, the one model of {endpoint.base_url}" in ended.err


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (refused(404, "The model `typo` does not exist"), "The model `typo` does not exist"),
        (refused(401, "Incorrect API key"), "status 401"),
        (refused(500, "out of memory"), "out of memory"),
        (streamed(role(), text("Half an ans"), Break()), "broke off"),
    ],
)
def test_a_failure_of_the_endpoint_is_one_line_in_its_own_words(
    reply: Reply, told: str, fleet: CommandLine
) -> None:
    with HttpEndpoint(reply) as endpoint:
        fleet.ask_from(endpoint)
        ended = fleet("ask", "--quiet", "Say hi")
    assert (ended.status, ended.out) == (1, "")
    (line,) = ended.err.splitlines()
    assert line.startswith("agent-host: the endpoint")
    assert told in line


def test_what_was_answered_before_a_failure_stays_a_line_of_its_own(fleet: CommandLine) -> None:
    with HttpEndpoint(streamed(role(), text("Half an ans"), Break())) as endpoint:
        fleet.ask_from(endpoint)
        assert fleet("ask", "Say hi").out == "Half an ans\n"


@pytest.mark.parametrize(
    ("agent", "script", "told"),
    [
        ({"maxToolIterations": 1}, SCRIPT, "maxToolIterations"),
        ({}, [calling("plain__echo", text="again")] * 9, "repeated the same call"),
        ({"deadlineSeconds": 0.5}, [streamed(role(), text("Er"), Mute())], "deadlineSeconds"),
    ],
)
@pytest.mark.parametrize("how", [[], ["--quiet"], ["--json"]])
def test_a_run_that_stops_early_is_status_1_and_says_why(
    agent: dict[str, Any],
    script: list[Reply],
    told: str,
    how: list[str],
    agent_host: CommandLine,
) -> None:
    agent_host.servers({"plain": plain_server()}, **agent)
    with HttpEndpoint(*script) as endpoint:
        agent_host.ask_from(endpoint)
        ended = agent_host("ask", "Say hi", *how)
    assert ended.status == 1
    assert ended.err.splitlines()[-1].startswith("the run stopped early: ")
    assert told in ended.err.splitlines()[-1]
    if how == ["--json"]:
        assert (ended.json_lines[-1]["kind"], ended.json_lines[-1]["ok"]) == ("done", False)


def test_an_interrupt_is_status_130(fleet: CommandLine) -> None:
    interrupt = Then(lambda: os.kill(os.getpid(), signal.SIGINT))
    with HttpEndpoint(streamed(role(), text("Half"), interrupt, Mute())) as endpoint:
        fleet.ask_from(endpoint)
        ended = fleet("ask", "Say hi")
    assert ended.status == 130
    assert ended.err.splitlines()[-1] == "agent-host: interrupted"
    assert ended.out in ("", "Half\n")


HOOKED = {
    "hiddenTools": ["echo"],
    "hooks": [
        {"id": "end", "on": "sessionEnd", "tool": "echo", "args": {"text": "{{ status }}"}},
        {"id": "start", "on": "sessionStart", "tool": "echo", "args": {"text": "x"}},
    ],
}


@pytest.mark.parametrize(
    ("reply", "status"), [(answer("Fine."), 0), (refused(404, "no such model"), 1)]
)
def test_a_question_is_a_session_with_a_beginning_and_an_end(
    reply: Reply, status: int, agent_host: CommandLine
) -> None:
    agent_host.servers({"plain": plain_server("--diary", "diary.txt", **HOOKED)})
    with HttpEndpoint(reply) as endpoint:
        agent_host.ask_from(endpoint)
        assert agent_host("ask", "Say hi").status == status
    calls = (agent_host.folder / "diary.txt").read_text().splitlines()
    assert calls == ["x", "ok" if status == 0 else "error"]


@pytest.mark.parametrize("question", ["", "  ", "-"])
def test_an_empty_question_is_status_2(question: str, fleet: CommandLine) -> None:
    ended = fleet("ask", question)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == "agent-host: QUESTION: is empty; say what to ask\n"


def test_without_any_endpoint_the_ways_to_name_one_are_told(fleet: CommandLine) -> None:
    ended = fleet("ask", "Say hi", "--base-url", "http://127.0.0.1:9/v1")
    assert (ended.status, ended.out) == (1, "")
    (line,) = ended.err.splitlines()
    assert line.startswith("agent-host: the endpoint could not be reached")
    assert "http://127.0.0.1:9/v1" in line


def test_a_variable_of_the_agent_without_a_value_is_status_2(agent_host: CommandLine) -> None:
    agent_host.servers({}, baseUrl="${NO_SUCH_VARIABLE}/v1")
    ended = agent_host("ask", "Say hi")
    assert ended.status == 2
    assert "NO_SUCH_VARIABLE is not set" in ended.err


def test_control_sequences_of_a_model_do_not_reach_the_terminal(fleet: CommandLine) -> None:
    with HttpEndpoint(
        streamed(role(), text("a\x1b]0;ti"), text("tle\x07b\x1b[31"), text("mc\ud800"), finish())
    ) as endpoint:
        fleet.ask_from(endpoint)
        ended = fleet("ask", "Say hi")
    assert ended.status == 0
    assert all(character.isprintable() or character == "\n" for character in ended.out)
