"""A model's file on the command line: served for the length of a command, or refused in a line."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine
from tests.fakes.command_line import plain_server
from tests.fakes.engine import FATE, engine_environment
from tests.fakes.gguf import SMALL_MODEL, gguf_bytes, write_model


@pytest.fixture
def engine(agent_host: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line with a scripted engine and a model's file, ``tiny.gguf``."""
    for name, value in engine_environment().items():
        monkeypatch.setenv(name, value)
    write_model(agent_host.folder)
    agent_host.servers({"plain": plain_server()})
    return agent_host


def test_a_question_is_answered_by_the_file_that_loads_while_servers_connect(
    engine: CommandLine,
) -> None:
    ended = engine("ask", "Where are you?", "--gguf", "tiny.gguf")
    assert (ended.status, ended.out) == (0, "I am served here.\n")
    loading, connecting, *loaded = ended.err.splitlines()
    assert loading == "loading tiny.gguf, 0 MB, 8,192 tokens of context"
    assert connecting == "connecting to plain"
    assert sorted(line.split()[1] for line in loaded) == ["plain:", "tiny.gguf:"]


def test_quiet_and_json_say_nothing_of_it_on_stdout(engine: CommandLine) -> None:
    quiet = engine("ask", "Hi", "--quiet", "--gguf", "tiny.gguf")
    assert (quiet.status, quiet.out, quiet.err) == (0, "I am served here.\n", "")
    assert engine("ask", "Hi", "--json", "--gguf", "tiny.gguf").json_lines[-1]["ok"]


def test_a_chat_is_served_by_the_file_that_the_servers_file_names(engine: CommandLine) -> None:
    engine.servers({}, gguf="./tiny.gguf")
    ended = engine("chat", typed="One?\nTwo?\n")
    assert ended.status == 0
    assert ended.out.count("I am served here.") == 2


def test_a_check_loads_the_file_and_says_that_it_answers(engine: CommandLine) -> None:
    ended = engine("check", "--gguf", "tiny.gguf", "--model", "mine")
    assert (ended.status, ended.err) == (0, "")
    assert re.search(r"✓ endpoint http://127\.0\.0\.1:\d+/v1 \(--gguf\): mine$", ended.out, re.M)


def test_a_check_tells_of_the_servers_also_when_the_file_is_none(engine: CommandLine) -> None:
    ended = engine("check", "--gguf", "servers.json")
    assert ended.status == 2
    assert "✓ plain: 12 tools" in ended.out
    assert "✗ endpoint: --gguf: servers.json is not a GGUF file" in ended.out


def test_the_demo_takes_a_file_in_place_of_its_recording(
    engine: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FATE, "missing")
    ended = engine("demo", "--gguf", "tiny.gguf", "--question", "Where are you?")
    assert (ended.status, ended.out) == (2, "The model is tiny in tiny.gguf.\n")
    assert "tiny.gguf cannot be served without the package xllamacpp" in ended.err


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--gguf", "none.gguf"], "--gguf: none.gguf does not exist"),
        (["--gguf", "servers.json"], "--gguf: servers.json is not a GGUF file"),
        (["--gguf", "tiny.gguf", "--api-key", "k"], "--api-key: goes with --base-url"),
        (["--gguf", ""], "--gguf: is empty; name a model's file"),
        (["--gguf", "pipe.gguf"], "--gguf: pipe.gguf cannot be read: it is no regular file"),
        (["--gguf", "\udcff.gguf"], "--gguf: \ufffd.gguf has a name that is not UTF-8"),
        (["--gguf", "new.gguf"], "--gguf: new.gguf cannot be loaded: it is GGUF of version 9"),
        (["--gguf", "half.gguf"], "--gguf: half.gguf is cut off or damaged: it has 60 bytes"),
    ],
)
def test_a_wrong_file_is_status_2_and_one_line(
    args: list[str], told: str, engine: CommandLine
) -> None:
    os.mkfifo(engine.folder / "pipe.gguf")
    (engine.folder / "new.gguf").write_bytes(gguf_bytes(SMALL_MODEL, version=9))
    (engine.folder / "half.gguf").write_bytes(gguf_bytes(SMALL_MODEL)[:60])
    ended = engine("ask", "Hi", *args)
    assert (ended.status, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith(f"agent-host: {told}")
    assert engine("check", *args).status == 2


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("a\0b.gguf", "'a\\x00b.gguf' is no path: embedded null"),
        ("~nosuchuser/b.gguf", "~nosuchuser/b.gguf does not exist"),
    ],
)
def test_a_wrong_file_in_the_servers_file_is_status_2_and_one_line(
    written: str, told: str, engine: CommandLine
) -> None:
    engine.servers({}, gguf=written)
    ended = engine("ask", "Hi")
    assert (ended.status, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith(f"agent-host: servers.json: agent.gguf: {told}")


def test_a_file_and_an_address_exclude_each_other(
    engine: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        engine("ask", "Hi", "--gguf", "tiny.gguf", "--base-url", "http://h/v1")
    assert ended.value.code == 2
    assert "not allowed with argument --gguf" in capsys.readouterr().err
    engine.servers({}, gguf="tiny.gguf", baseUrl="http://h/v1")
    told = engine("ask", "Hi")
    assert told.status == 2
    assert "agent.gguf and agent.baseUrl exclude each other; keep one" in told.err


@pytest.mark.parametrize(
    ("fate", "status", "told"),
    [
        ("missing", 2, "run: pip install 'mcp-agent-host[local]'"),
        ("small", 2, "is too large"),
        ("refuses", 2, "cannot be loaded: tensor 'a'"),
        ("overflows", 2, "cannot be loaded: value too large to convert to int"),
        ("illegal", 1, "build it from source"),
        ("dies", 1, "was killed (SIGKILL)"),
    ],
)
def test_an_engine_that_fails_ends_the_command_with_one_last_line(
    fate: str, status: int, told: str, engine: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FATE, fate)
    ended = engine("ask", "Hi", "--quiet", "--gguf", "tiny.gguf")
    assert (ended.status, ended.out) == (status, "")
    (line,) = ended.err.splitlines()
    assert line.startswith("agent-host: ")
    assert told in line


def test_a_path_with_odd_characters_is_served_as_any_other(engine: CommandLine) -> None:
    folder = engine.folder / "mödels of mine; rm"
    folder.mkdir()
    name = Path(write_model(folder, "-tiny 'q'.gguf")).name
    ended = engine("ask", "Hi", "--quiet", "--gguf", f"{folder.name}/{name}")
    assert (ended.status, ended.out) == (0, "I am served here.\n")
