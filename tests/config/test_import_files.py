"""Clients' files are read as they are found; ours is added to in one step and kept as it was."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from host.config.import_clients import CLAUDE_CODE, CURSOR
from host.config.import_files import ServersFile, imported_servers, read_places, surroundings
from host.config.import_places import usual_places
from host.config.servers_file import load_config
from host.errors import ConfigError

SERVERS = {"new": {"command": "n"}}
posix = pytest.mark.skipif(sys.platform == "win32", reason="not present: POSIX modes")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


def test_only_files_that_are_there_are_read_and_a_bad_one_hides_no_other(home: Path) -> None:
    project = home / "shop"
    (home / ".cursor").mkdir()
    (project / ".cursor").mkdir(parents=True)
    (home / ".cursor" / "mcp.json").write_text("{")
    (project / ".cursor" / "mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}}}')
    around = surroundings(project, {})
    found = read_places(usual_places(CURSOR, around), around)

    assert [server.id for file in found.files for server in file.servers] == ["a"]
    assert [problem.source for problem in found.problems] == [str(home / ".cursor" / "mcp.json")]


def test_what_one_file_of_a_client_refuses_is_off_in_the_other(home: Path) -> None:
    project = home / "shop"
    project.mkdir()
    (project / ".mcp.json").write_text('{"mcpServers": {"shared": {"command": "x"}}}')
    projects = {str(project): {"disabledMcpjsonServers": ["shared"]}}
    (home / ".claude.json").write_text(json.dumps({"projects": projects}))
    around = surroundings(project, {})
    found = read_places(usual_places(CLAUDE_CODE, around), around)
    (server,), refused = imported_servers(found.files, around)

    assert (server.body["disabled"], refused) == (True, [])


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_what_is_no_text_is_a_problem_with_its_path(home: Path, content: bytes | None) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    around = surroundings(home, {})
    (problem,) = read_places(usual_places(CURSOR, around), around).problems

    assert problem.source == str(path)


@posix
def test_a_pipe_is_not_waited_for(home: Path) -> None:
    (home / ".cursor").mkdir()
    os.mkfifo(home / ".cursor" / "mcp.json")
    around = surroundings(home, {})
    (problem,) = read_places(usual_places(CURSOR, around), around).problems

    assert "no file that can be read" in str(problem)


def test_the_variables_of_an_env_file_come_along(home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".env").write_text("A=from file\nB=from file\n")
    body = {"command": "x", "envFile": "${userHome}/.env", "env": {"B": "own"}}
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"a": body}}))
    around = surroundings(home, {})
    found = read_places(usual_places(CURSOR, around), around)
    (server,), _ = imported_servers(found.files, around)

    assert server.body["env"] == {"A": "from file", "B": "own"}


def test_a_new_file_can_be_loaded_and_only_read_by_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "servers.json"
    assert ServersFile(path).add(SERVERS) is None
    assert [row.id for row in load_config(path, env={}).rows] == ["new"]
    assert [each.name for each in path.parent.iterdir()] == ["servers.json"]
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_every_file_as_it_was_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    first = b'{ "mcpServers": {} } // mine\r\n'
    path.write_bytes(first)
    path.chmod(0o640)
    kept = ServersFile(path).add(SERVERS)
    second = path.read_bytes()
    again = ServersFile(path).add({"newer": {"command": "m"}})

    assert kept == tmp_path / "servers.json.bak"
    assert again == tmp_path / "servers.json.bak2"
    assert (kept.read_bytes(), again.read_bytes()) == (first, second)
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o640}


def test_nothing_to_add_touches_nothing(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    assert ServersFile(path).add({}) is None
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    path.write_text("{}")
    file = ServersFile(path)
    path.write_text('{"agent": {}}')
    with pytest.raises(ConfigError, match="changed meanwhile"):
        file.add(SERVERS)
    assert path.read_text() == '{"agent": {}}'
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "servers.json"
    real.write_text("{}")
    link.symlink_to(real)
    ServersFile(link).add(SERVERS)
    assert link.is_symlink()
    assert "new" in real.read_text()


def test_a_folder_that_cannot_be_written_to_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "servers.json"
    path.write_text("{}")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match="cannot be written: No space left"):
        ServersFile(path).add(SERVERS)
    assert path.read_text() == "{}"
    assert {each.name for each in tmp_path.iterdir()} == {"servers.json", "servers.json.bak"}
