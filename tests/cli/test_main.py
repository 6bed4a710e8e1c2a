"""Whatever ends a command becomes an exit status and a line or two."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stderr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.cli.main import FAILURE, INTERRUPTED, USAGE, main, report
from host.errors import ConfigError, HostError, PoolError, StreamBroken
from tests.cli.conftest import CommandLine

OURS: dict[str, Callable[[], HostError]] = {
    "config": lambda: ConfigError("servers.json", ["a is wrong", "b is wrong"]),
    "pool": lambda: PoolError("timeout", "too \x1b[31mslow"),
    "wire": lambda: StreamBroken("reset"),
}
LEAVES: dict[str, Callable[[], BaseException]] = {
    **OURS,
    "interrupt": KeyboardInterrupt,
    "foreign": lambda: LookupError("ours to mend"),
}


def built(tree: object) -> BaseException:
    if isinstance(tree, str):
        return LEAVES[tree]()
    assert isinstance(tree, list)
    return BaseExceptionGroup("several", [built(branch) for branch in tree])


def names(tree: object) -> list[str]:
    if isinstance(tree, str):
        return [tree]
    assert isinstance(tree, list)
    return [name for branch in tree for name in names(branch)]


trees = st.recursive(
    st.sampled_from(sorted(LEAVES)), lambda inner: st.lists(inner, min_size=1, max_size=3)
)


@given(trees)
def test_an_error_and_any_group_of_errors_is_told_by_what_is_in_it(tree: object) -> None:
    error, said, inside = built(tree), io.StringIO(), names(tree)
    with redirect_stderr(said):
        if "foreign" in inside and "interrupt" not in inside:
            with pytest.raises(type(error)) as caught:
                report(error)
            assert caught.value is error
            return
        status = report(error)
    lines = said.getvalue().splitlines()
    assert all(line.startswith("agent-host: ") and line.isprintable() for line in lines)
    if "interrupt" in inside:
        assert (status, lines) == (INTERRUPTED, ["agent-host: interrupted"])
        return
    assert status == (USAGE if "config" in inside else FAILURE)
    told = {"config": 2, "pool": 1, "wire": 1}
    assert len(lines) == sum(told[name] for name in set(inside))


@pytest.mark.parametrize(
    ("detail", "lines"),
    [
        (None, 1),
        (" \n", 1),
        ("as it said: no licence", 2),
        ("much\nmore\nno licence", 2),
        ("died", 1),
    ],
)
def test_the_last_words_of_a_server_are_told_where_the_error_does_not_hold_them(
    detail: str | None, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report(PoolError("tool-error", "the server died", detail=detail))
    said = capsys.readouterr().err.splitlines()
    assert len(said) == lines
    if lines == 2:
        assert said[1].endswith("no licence")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, ["there is none here", "--config"]),
        ('{"mcpServers": {\n  "a": {"command" "x"}}}', ["line 2, column 19"]),
        ('{"mcpServers": {"a": {"comand": "x"}}}', ['server "a"', 'did you mean "command"']),
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', ['"a" stands twice']),
        ('{"mcpServers": {"a": {"command": "x", "callTimeoutMs": "soon"}}}', ["callTimeoutMs"]),
        ('{"agent": {"maxTokens": -1}}', ["agent.maxTokens"]),
    ],
)
@pytest.mark.parametrize("command", [["ask", "hi"], ["servers"], ["check"]])
def test_a_mistake_in_the_servers_file_ends_a_command_with_status_2(
    command: list[str], text: str | None, told: list[str], agent_host: CommandLine
) -> None:
    if text is not None:
        (agent_host.folder / "servers.json").write_text(text)
    ended = agent_host(*command)
    assert ended.status == USAGE
    assert ended.out == ""
    assert all(line.startswith("agent-host: servers.json") for line in ended.err.splitlines())
    for fragment in told:
        assert fragment in ended.err


def test_all_mistakes_are_told_at_once(agent_host: CommandLine) -> None:
    agent_host.servers({"a": {"comand": "x"}, "b": {"url": "ftp://x"}}, maxToken=3)
    ended = agent_host("servers")
    assert ended.status == USAGE
    for place in ('"a"', '"b"', "agent.maxToken"):
        assert place in ended.err


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["sing"],
        ["ask"],
        ["ask", "hi", "--json", "--quiet"],
        ["tools"],
        ["tools", "search", "x", "--limit", "0"],
        ["call", "a__b", "{}", "--timeout", "-1"],
        ["ask", "hi", "--base-url", "localhost:8080"],
        ["servers", "--wat"],
    ],
)
def test_wrong_usage_ends_with_status_2(args: list[str], agent_host: CommandLine) -> None:
    with pytest.raises(SystemExit) as ended:
        main(args)
    assert ended.value.code == USAGE


def test_every_error_of_ours_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(HostError("odd")) == FAILURE
    assert capsys.readouterr().err == "agent-host: odd\n"
