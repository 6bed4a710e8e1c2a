"""One call from the shell: its result on stdout, or one line that says why there is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.cli.call import read_object
from host.errors import ConfigError
from tests.cli.conftest import CommandLine
from tests.fakes.command_line import plain_server

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('é"\\ {}', max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values)
def test_only_an_object_can_be_the_arguments(value: object) -> None:
    text = json.dumps(value)
    if isinstance(value, dict):
        assert read_object(text) == value
    else:
        with pytest.raises(ConfigError, match="must be an object"):
            read_object(text)


def test_the_result_is_all_that_stdout_holds(agent_host: CommandLine) -> None:
    agent_host.servers({"plain": plain_server(), "dead": {"command": "no-such-command"}})
    ended = agent_host("call", "plain__echo", '{"text": "hé [bold]"}')
    assert (ended.status, ended.out, ended.err) == (0, "hé [bold]\n", "")


def test_arguments_can_come_from_stdin(agent_host: CommandLine) -> None:
    agent_host.servers({"plain": plain_server()})
    assert agent_host("call", "plain__echo", "-", typed='{"text": "typed"}').out == "typed\n"


def test_as_json_the_result_is_the_protocol_s(agent_host: CommandLine) -> None:
    agent_host.servers({"plain": plain_server()})
    ended = agent_host("call", "plain__echo", '{"text": "x"}', "--json")
    assert json.loads(ended.out)["content"] == [{"type": "text", "text": "x"}]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("plain__ecko", "{}", ["did you mean: plain__echo"]),
        ("nobody__echo", "{}", ["tools list"]),
        ("dead__echo", "{}", ["dead", "exited with code 3", "no licence"]),
        ("plain__exit", '{"code": [1]}', ["plain__exit", "code"]),
        ("plain__refuse", "{}", ["not today"]),
        ("plain__crash", "{}", ["SIGKILL", "the tool crashed"]),
        ("plain__exit", '{"code": 7}', ["exited with code 7", "leaving on request"]),
    ],
)
def test_a_call_that_fails_says_why_and_ends_with_status_1(
    name: str, arguments: str, told: list[str], agent_host: CommandLine
) -> None:
    dead = plain_server("--exit-at-start", "no licence")
    agent_host.servers({"plain": plain_server(), "dead": dead})
    ended = agent_host("call", name, arguments)
    assert (ended.status, ended.out) == (1, "")
    lines = ended.err.splitlines()
    assert 1 <= len(lines) <= 2
    assert all(line.startswith("agent-host: ") for line in lines)
    for fragment in told:
        assert fragment in ended.err


def test_a_call_that_takes_too_long_is_given_up(agent_host: CommandLine) -> None:
    agent_host.servers({"plain": plain_server()})
    ended = agent_host("call", "plain__sleep", '{"seconds": 60}', "--timeout", "0.2")
    assert ended.status == 1
    assert ended.err == "agent-host: plain__sleep did not answer within 0.2 s\n"


@pytest.mark.parametrize("text", ["{", "", "nonsense", "[1]", "NaN", '{"a": Infinity}'])
def test_arguments_that_are_no_object_end_with_status_2(text: str, agent_host: CommandLine) -> None:
    agent_host.servers({"plain": plain_server()})
    ended = agent_host("call", "plain__echo", text)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("agent-host: JSON: ")
    assert len(ended.err.splitlines()) == 1
