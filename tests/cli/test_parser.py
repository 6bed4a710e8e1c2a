"""The command line as it is written in the README and the issue."""

from __future__ import annotations

import pytest

import host
from host.cli.parser import build_parser

COMMANDS = ["demo", "ask", "chat", "servers", "tools", "call", "check", "import", "login", "logout"]


@pytest.mark.parametrize(
    "args", [["--version"], ["--help"], *([name, "--help"] for name in COMMANDS)]
)
def test_help_and_version_end_well(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args(args)
    assert not ended.value.code
    out = capsys.readouterr().out
    assert host.__version__ in out if args == ["--version"] else "usage: agent-host" in out


def test_the_help_names_every_command_and_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["--help"])
    out = capsys.readouterr().out
    for word in (*COMMANDS, "130"):
        assert word in out


@pytest.mark.parametrize(
    "args",
    [
        ["--config", "x.json", "ask", "hi"],
        ["ask", "--config", "x.json", "hi"],
        ["ask", "hi", "--config", "x.json"],
        ["tools", "list", "--config", "x.json"],
        ["--config", "y.json", "servers", "--config", "x.json"],
    ],
)
def test_the_servers_file_may_be_named_before_or_after_the_command(args: list[str]) -> None:
    assert build_parser().parse_args(args).config == "x.json"


@pytest.mark.parametrize("args", [["ask", "hi"], ["servers"], ["tools", "list"], ["call", "a__b"]])
def test_without_a_name_the_usual_files_are_looked_for(args: list[str]) -> None:
    assert build_parser().parse_args(args).config is None


def test_a_call_without_arguments_sends_none() -> None:
    parsed = build_parser().parse_args(["call", "a__b"])
    assert (parsed.arguments, parsed.timeout, parsed.json) == ("{}", None, False)


def test_flags_are_not_guessed_from_their_beginnings(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["ask", "hi", "--mod", "m"])
    assert "--mod" in capsys.readouterr().err
