"""A conversation: turns with history, failures that end a turn and not the program."""

from __future__ import annotations

import os
import signal

import pytest

from tests.cli.conftest import CommandLine
from tests.fakes.command_line import plain_server
from tests.fakes.endpoint import Break, Mute, Reply, Then, answer, refused, role, streamed, text
from tests.fakes.http_endpoint import HttpEndpoint

HOOKED = {
    "hiddenTools": ["echo"],
    "hooks": [{"id": "end", "on": "sessionEnd", "tool": "echo", "args": {"text": "{{ reply }}"}}],
}


@pytest.fixture
def fleet(agent_host: CommandLine) -> CommandLine:
    agent_host.servers({"plain": plain_server("--diary", "diary.txt", **HOOKED)})
    return agent_host


def test_each_turn_knows_the_ones_before_it_and_the_end_is_told_to_hooks(
    fleet: CommandLine,
) -> None:
    with HttpEndpoint(answer("One."), answer("Two.")) as endpoint:
        fleet.ask_from(endpoint)
        ended = fleet("chat", typed="first\n\n  \nsecond\n")
    assert (ended.status, ended.out) == (0, "One.\nTwo.\n\n")
    said = [(m["role"], m["content"]) for m in endpoint.bodies[1]["messages"][1:]]
    assert said == [("user", "first"), ("assistant", "One."), ("user", "second")]
    assert (fleet.folder / "diary.txt").read_text() == "Two.\n"


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (refused(404, "no such model"), "no such model"),
        (streamed(role(), text("Half"), Break()), "broke off"),
    ],
)
def test_a_turn_that_fails_says_why_and_the_conversation_goes_on(
    broken: Reply, told: str, fleet: CommandLine
) -> None:
    with HttpEndpoint(broken, answer("Better.")) as endpoint:
        fleet.ask_from(endpoint)
        ended = fleet("chat", typed="first\nsecond\n")
    assert ended.status == 0
    assert told in ended.err
    assert "Better.\n" in ended.out
    questions = [m["content"] for m in endpoint.bodies[1]["messages"] if m["role"] == "user"]
    assert questions == ["first", "second"]


def test_an_interrupt_ends_the_turn_and_not_the_conversation(fleet: CommandLine) -> None:
    interrupt = Then(lambda: os.kill(os.getpid(), signal.SIGINT))
    script = (streamed(role(), text("Half"), interrupt, Mute()), answer("Two."))
    with HttpEndpoint(*script) as endpoint:
        fleet.ask_from(endpoint)
        ended = fleet("chat", typed="first\nsecond\n")
    assert ended.status == 0
    assert "· stopped: Ctrl-C" in ended.err
    assert "Two.\n" in ended.out
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_conversation_in_which_nothing_was_said_has_no_end_to_tell(fleet: CommandLine) -> None:
    with HttpEndpoint() as endpoint:
        fleet.ask_from(endpoint)
        assert fleet("chat", typed="").status == 0
    assert not (fleet.folder / "diary.txt").exists()


def test_a_turn_that_stops_at_a_limit_says_why(agent_host: CommandLine) -> None:
    agent_host.servers({"plain": plain_server()}, deadlineSeconds=0.3)
    with HttpEndpoint(streamed(role(), text("Er"), Mute())) as endpoint:
        agent_host.ask_from(endpoint)
        ended = agent_host("chat", typed="first\n")
    assert ended.status == 0
    assert "the run stopped early: its time was up" in ended.err


def test_without_an_endpoint_there_is_nothing_to_talk_to(fleet: CommandLine) -> None:
    ended = fleet("chat", "--base-url", "http://127.0.0.1:9/v1", typed="first\n")
    assert ended.status == 1
    assert len(ended.err.splitlines()) == 1
