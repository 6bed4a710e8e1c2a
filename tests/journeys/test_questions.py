"""Questions asked of real processes, from a cold start and with everything that can be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command_line import Ended, calling, plain_server, write_servers
from tests.fakes.endpoint import Break, Mute, Reply, answer, refused, role, streamed, text
from tests.fakes.http_endpoint import HttpEndpoint
from tests.fakes.mcp_servers.http_server import http_server
from tests.journeys.conftest import StartHost
from tests.journeys.host_process import run_python, wait_until_gone


def is_tidy(ended: Ended) -> bool:
    """Whether nothing of Python's own shows."""
    return not any(word in ended.err for word in ("Traceback", "Exception", "Warning"))


@pytest.mark.slow
def test_a_question_is_answered_from_a_cold_start(tmp_path: Path) -> None:
    write_servers(tmp_path, {"plain": plain_server()})
    with HttpEndpoint(calling("plain__echo", text="hi"), answer("It said hi.")) as endpoint:
        flags = ("--base-url", endpoint.base_url, "--model", "m")
        ended = run_python(tmp_path, "-X", "dev", "-m", "host", "ask", "Say hi", *flags)
    assert (ended.status, ended.out) == (0, "It said hi.\n")
    assert ended.err.splitlines()[-1].startswith('→ plain__echo {"text"')
    assert is_tidy(ended)


def test_a_fleet_with_every_fault_leaves_the_others_serving(start: StartHost) -> None:
    script = (
        calling("crashing__crash"),
        calling("silent__sleep", seconds=60),
        calling("good__echo", text="still here"),
        answer("One of them works."),
    )
    with http_server() as locked, HttpEndpoint(*script) as endpoint:
        locked.status = {"*": 401}
        rows: dict[str, Any] = {
            "good": plain_server(),
            "crashing": plain_server(),
            "silent": plain_server(callTimeoutMs=300),
            "babbling": plain_server("--garbage"),
            "absent": {"command": "no-such-command"},
            "dying": plain_server("--exit-at-start", "no licence"),
            "mute": plain_server("--mute"),
            "refused": {"url": "http://127.0.0.1:9/mcp"},
            "locked": {"url": locked.url()},
            "unset": {"url": "${NO_SUCH_VARIABLE}"},
        }
        with start("ask", "Who is there?", rows=rows, endpoint=endpoint) as process:
            groups = process.wait_for_children(5)
            ended = process.end()
    assert (ended.status, ended.out) == (0, "One of them works.\n")
    for line in (
        "· babbling: prints on its output what is no message",
        '✗ absent: the command "no-such-command" was not found',
        "✗ dying: exited with code 3: no licence",
        "· mute: still connecting",
        "✗ refused: could not be reached",
        "✗ locked: answered HTTP 401",
        "✗ unset: NO_SUCH_VARIABLE is not set",
        "✗ crashing died: was ended by SIGKILL: the tool crashed",
        "✗ crashing__crash {}",
        '✗ silent__sleep {"seconds"',
        '→ good__echo {"text"',
        "going on with 4 servers, without absent, dying, refused, locked, mute, unset",
    ):
        assert ended.err.count(f"\n{line}") == 1, f"{line} in {ended.err}"
    assert is_tidy(ended)
    results = [m["content"] for m in endpoint.bodies[-1]["messages"] if m["role"] == "tool"]
    assert "SIGKILL" in results[0]
    assert "did not answer within 0.3 s" in results[1]
    assert results[2] == "still here"
    wait_until_gone(groups)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (refused(404, "The model `typo` does not exist"), "The model `typo` does not exist"),
        (refused(401, "Incorrect API key"), "(status 401): Incorrect API key"),
        (streamed(role(), text("Half"), Break()), "the endpoint's answer broke off"),
    ],
)
def test_a_fault_of_the_endpoint_is_one_line_and_ends_the_servers(
    reply: Reply, told: str, start: StartHost
) -> None:
    with (
        HttpEndpoint(reply) as endpoint,
        start("ask", "Hi", rows={"plain": plain_server()}, endpoint=endpoint) as process,
    ):
        groups = process.wait_for_children(2)
        ended = process.end()
    assert ended.status == 1
    assert told in ended.err.splitlines()[-1]
    assert is_tidy(ended)
    wait_until_gone(groups)


def test_an_endpoint_that_is_not_there_is_told_with_its_address(start: StartHost) -> None:
    flags = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    with start("ask", "Hi", *flags, rows={"plain": plain_server()}) as process:
        ended = process.end()
    assert ended.status == 1
    assert "could not be reached: http://127.0.0.1:9/v1" in ended.err.splitlines()[-1]
    assert is_tidy(ended)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (None, "there is none here"),
        ('{"mcpServers": {\n "a": {"command" "x"}}}', "line 2, column 18"),
        ('{"mcpServers": {"a": {"comand": "x"}}}', 'did you mean "command"'),
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', '"a" stands twice'),
    ],
)
def test_a_mistake_in_the_servers_file_is_one_line_and_starts_nothing(
    written: str | None, told: str, start: StartHost, tmp_path: Path
) -> None:
    if written is not None:
        (tmp_path / "servers.json").write_text(written)
    with start("ask", "Hi") as process:
        ended = process.end()
    assert (ended.status, ended.out) == (2, "")
    assert told in ended.err
    assert is_tidy(ended)


@pytest.mark.parametrize(
    "command", [["tools", "list"], ["servers"], ["ask", "Hi"], ["ask", "Hi", "--json"]]
)
def test_a_reader_that_has_gone_ends_a_command_quietly(
    command: list[str], start: StartHost
) -> None:
    long_answer = streamed(role(), text("Nobody hears this."), Mute())
    with (
        HttpEndpoint(long_answer) as endpoint,
        start(
            *command, rows={"plain": plain_server()}, endpoint=endpoint, is_read=False
        ) as process,
    ):
        ended = process.end()
    assert ended.status == 1
    assert is_tidy(ended)
