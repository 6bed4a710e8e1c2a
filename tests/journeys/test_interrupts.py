"""Ctrl-C at any moment: status 130, one line, no process left."""

from __future__ import annotations

import shlex
import signal
from contextlib import ExitStack
from typing import Any

import pytest

from tests.fakes.command_line import calling, plain_server
from tests.fakes.endpoint import Break, Mute, Reply, answer, role, streamed, text
from tests.fakes.http_endpoint import HttpEndpoint
from tests.journeys.conftest import StartHost
from tests.journeys.host_process import until, wait_until_gone

HALF_AN_ANSWER = streamed(role(), text("Half an ans"), Mute())


@pytest.mark.parametrize(
    ("moment", "row", "reply"),
    [
        ("connecting to ", plain_server("--mute"), HALF_AN_ANSWER),
        ("asked", plain_server(), streamed(Mute())),
        ("Half an ans", plain_server(), HALF_AN_ANSWER),
        ("called", plain_server("--diary", "diary.txt"), calling("plain__sleep", seconds=60)),
    ],
    ids=["while servers connect", "before the answer", "in the answer", "in a call"],
)
def test_an_interrupted_question_is_status_130_and_leaves_no_process(
    moment: str, row: dict[str, Any], reply: Reply, start: StartHost
) -> None:
    with (
        HttpEndpoint(reply) as endpoint,
        start("ask", "Hi", rows={"plain": row}, endpoint=endpoint) as process,
    ):
        groups = process.wait_for_children(2)
        match moment:
            case "asked":
                endpoint.wait_for_requests(1)
            case "called":
                process.wait_for_file("diary.txt")
            case _:
                process.wait_for(moment)
        process.interrupt()
        ended = process.end()
    assert ended.status == 130
    assert ended.err.splitlines()[-1] == "agent-host: interrupted"
    assert "Traceback" not in ended.err
    assert ended.out in ("", "Half an ans\n")
    wait_until_gone(groups)


def test_who_does_not_want_to_wait_for_a_deaf_server_presses_twice(start: StartHost) -> None:
    rows = {"plain": plain_server(), "deaf": plain_server("--deaf")}
    with (
        HttpEndpoint(HALF_AN_ANSWER) as endpoint,
        start("ask", "Hi", rows=rows, endpoint=endpoint) as process,
    ):
        groups = process.wait_for_children(3)
        process.wait_for("Half an ans")
        process.interrupt()
        until(lambda: len(process.wait_for_children(0)) < 3, lambda: "the first server is closed")
        process.interrupt()
        ended = process.end()
    assert ended.status == 130
    assert "Traceback" not in ended.err
    wait_until_gone(groups)


@pytest.mark.parametrize(
    ("args", "seen"),
    [
        (["servers"], "connecting to "),
        (["servers", "--watch"], "connecting"),
        (["tools", "list"], ""),
        (["call", "plain__echo", "{}"], ""),
        (["check"], "connecting to "),
        (["chat"], "connecting to "),
    ],
)
def test_every_command_can_be_interrupted(args: list[str], seen: str, start: StartHost) -> None:
    with (
        HttpEndpoint(answer("x")) as endpoint,
        start(*args, rows={"plain": plain_server("--mute")}, endpoint=endpoint) as process,
    ):
        groups = process.wait_for_children(2)
        process.wait_for(seen)
        process.interrupt()
        ended = process.end()
    assert ended.status == 130
    assert ended.err.splitlines()[-1] == "agent-host: interrupted"
    assert "Traceback" not in ended.err
    wait_until_gone(groups)


def big_fleet() -> dict[str, Any]:
    """Ten servers: deaf to everything, with a grandchild, behind a shell, and plain ones."""
    plain = plain_server()
    behind_shell = f"{shlex.join([plain['command'], *plain['args']])}; true"
    special = {
        "deaf": plain_server("--deaf"),
        "family": plain_server("--grandchild"),
        "shell": {"command": "sh", "args": ["-c", behind_shell]},
    }
    return special | {f"plain{number}": plain for number in range(7)}


@pytest.mark.slow
def test_nothing_of_a_big_fleet_outlives_a_question_however_it_ends(start: StartHost) -> None:
    endings = {
        "killed": (HALF_AN_ANSWER, -signal.SIGKILL),
        "terminated": (HALF_AN_ANSWER, -signal.SIGTERM),
        "interrupted": (HALF_AN_ANSWER, 130),
        "an error": (streamed(role(), text("Half"), Break()), 1),
        "the answer": (answer("Done."), 0),
    }
    with ExitStack() as stack:
        started = {}
        for name, (reply, _) in endings.items():
            endpoint = stack.enter_context(HttpEndpoint(reply))
            process = start("ask", "Hi", rows=big_fleet(), endpoint=endpoint)
            started[name] = stack.enter_context(process)
        groups = {name: process.wait_for_children(11) for name, process in started.items()}
        for name in ("killed", "terminated", "interrupted"):
            started[name].wait_for("Half an ans")
        started["killed"].send(signal.SIGKILL)
        started["terminated"].send(signal.SIGTERM)
        started["interrupted"].interrupt()
        for name, process in started.items():
            ended = process.end()
            wait_until_gone(groups[name])
            assert ended.status == endings[name][1], name
            assert "Traceback" not in ended.err
