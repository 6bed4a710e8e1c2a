"""``agent-host import``: what other clients have is listed, printed, or put into a servers file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from host.cli.main import FAILURE, USAGE, main
from tests.cli.conftest import CommandLine
from tests.fakes.command_line import plain_server

SECRET = "ghp_never_shown"


@pytest.fixture
def agent_host(agent_host: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line in a project's folder below a home of its own."""
    for name in ("CLAUDE_CONFIG_DIR", "CLINE_DIR", "CLINE_DATA_DIR", "OPENCODE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("USERPROFILE", str(agent_host.folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(agent_host.folder / ".config"))
    project = agent_host.folder / "shop"
    project.mkdir()
    monkeypatch.chdir(project)
    return agent_host


def put(agent_host: CommandLine, path: str, written: Any) -> Path:
    file = agent_host.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(written if isinstance(written, str) else json.dumps(written))
    return file


def cursor(agent_host: CommandLine, **servers: Any) -> Path:
    return put(agent_host, ".cursor/mcp.json", {"mcpServers": servers})


def test_without_a_source_it_is_told_what_was_found_where(agent_host: CommandLine) -> None:
    cursor(agent_host, a={"command": "x"}, b={"url": "http://h"})
    put(agent_host, "shop/.vscode/mcp.json", {"servers": {"c": {"command": "x"}}})
    put(agent_host, ".gemini/settings.json", {"theme": "dark"})
    put(agent_host, ".codeium/windsurf/mcp_config.json", "{")
    other = {"/elsewhere": {"mcpServers": {"d": {"command": "x"}}}}
    put(agent_host, ".claude.json", {"projects": other})
    ended = agent_host("import")
    heading, first, second = ended.out.splitlines()

    assert ended.status == 0
    assert heading.split() == ["client", "for", "servers", "file"]
    assert first.split() == ["Cursor", "you", "2", str(agent_host.folder / ".cursor/mcp.json")]
    assert second.split()[:2] == ["VS", "Code"]
    assert second.split()[2:4] == [str(agent_host.folder / "shop"), "1"]
    assert "1 more of other projects" in ended.err
    assert "mcp_config.json: line 1" in ended.err


def test_the_list_as_json_names_the_servers(agent_host: CommandLine) -> None:
    path = cursor(agent_host, a={"command": "x", "env": {"K": SECRET}})
    ended = agent_host("import", "--list", "--json", "cursor")

    assert json.loads(ended.out) == {
        "found": [{"client": "cursor", "path": str(path), "scope": "user", "servers": ["a"]}],
        "notes": [],
        "problems": [],
    }
    assert (ended.status, ended.err) == (0, "")


def test_nothing_found_is_said_and_is_no_failure(agent_host: CommandLine) -> None:
    ended = agent_host("import")
    assert (ended.status, ended.out) == (0, "")
    assert ended.err.startswith("no servers of Claude Desktop, Claude Code")


def test_a_clients_servers_are_printed_without_their_secrets(agent_host: CommandLine) -> None:
    cursor(
        agent_host,
        gh={"command": "x", "args": ["--token", SECRET], "env": {"GH": SECRET}, "icon": "i"},
        web={"url": f"https://h/?k={SECRET}", "headers": {"X": "${env:X}"}},
    )
    ended = agent_host("import", "Cursor")

    assert json.loads(ended.out)["mcpServers"] == {
        "gh": {"command": "x", "args": ["--token", "${GH_TOKEN}"], "env": {"GH": "${GH}"}},
        "web": {
            "url": "https://h/?k=${WEB_K}",
            "headers": {"X": "${env:X}"},
            "transportFallback": "sse",
        },
    }
    assert ended.status == 0
    assert "Cursor gh: not carried over: icon" in ended.err
    assert "gh: env.GH is not shown; set GH to it" in ended.err
    assert "--into FILE carries such values over" in ended.err
    assert SECRET not in ended.out + ended.err


def test_into_a_file_they_come_as_they_are_and_it_works(agent_host: CommandLine) -> None:
    cursor(agent_host, plain=plain_server(env={"K": SECRET}))
    ended = agent_host("import", "cursor", "--into", "servers.json")
    written = json.loads(Path("servers.json").read_text())

    assert written["mcpServers"]["plain"]["env"] == {"K": SECRET}
    assert (ended.status, ended.out) == (0, "")
    assert ended.err == "servers.json: 1 server added, 0 left out\n"
    assert SECRET not in ended.err
    listed = agent_host("servers", "--json")
    assert [each["status"] for each in json.loads(listed.out)] == ["ready"]


def test_what_is_there_stays_and_the_same_again_adds_nothing(agent_host: CommandLine) -> None:
    cursor(agent_host, a={"command": "x"}, b={"command": "new"}, c={"command": "same"})
    kept = '    "b": {"command": "old"}, // mine'
    mine = f'{{\n  "mcpServers": {{\n{kept}\n    "z": {{"command": "same"}}\n  }}\n}}\n'
    put(agent_host, "shop/servers.json", mine)
    ended = agent_host("import", "cursor", "--into", "servers.json")
    after = Path("servers.json").read_text()

    assert kept in after
    assert 'Cursor b: comes in as "b-2", since "b" is another server' in ended.err
    assert 'Cursor c: is "z"; left out' in ended.err
    assert Path("servers.json.bak").read_text() == mine
    again = agent_host("import", "cursor", "--into", "servers.json", "--json")
    assert json.loads(again.out)["backup"] is None
    assert [each["status"] for each in json.loads(again.out)["report"]] == ["skipped"] * 3
    assert Path("servers.json").read_text() == after


def test_clients_that_have_the_same_server_give_it_once(agent_host: CommandLine) -> None:
    cursor(agent_host, docs={"url": "http://h/mcp"}, own={"command": "x"})
    put(agent_host, "shop/.mcp.json", {"mcpServers": {"documents": {"url": "http://h/mcp"}}})
    put(agent_host, ".lmstudio/mcp.json", {"mcpServers": {"own": {"command": "y"}}})
    ended = agent_host("import", "all", "--json")

    assert [*json.loads(ended.out)["mcpServers"]] == ["docs", "own", "own-2"]
    assert [each["status"] for each in json.loads(ended.out)["report"]] == [
        *("added", "added", "renamed", "skipped"),
    ]


def test_a_folder_gives_what_is_for_it_alone(agent_host: CommandLine) -> None:
    cursor(agent_host, mine={"command": "x"})
    folder = agent_host.folder / "other"
    put(agent_host, "other/.mcp.json", {"mcpServers": {"shared": {"command": "./serve"}}})
    projects = {str(folder): {"mcpServers": {"local": {"command": "y"}}}}
    put(agent_host, ".claude.json", {"mcpServers": {"all": {"command": "z"}}, "projects": projects})
    ended = agent_host("import", "../other")

    assert json.loads(ended.out)["mcpServers"] == {
        "local": {"command": "y", "cwd": str(folder)},
        "shared": {"command": str(folder / "serve"), "cwd": str(folder)},
    }


def test_a_file_of_nobodys_is_read_all_the_same(agent_host: CommandLine) -> None:
    put(agent_host, "shop/mine.json", {"command": "x", "timeout": 5})
    ended = agent_host("import", "mine.json")

    assert json.loads(ended.out) == {"mcpServers": {"mine": {"command": "x"}}}
    assert "another client mine: not carried over: timeout (ours: callTimeoutMs)" in ended.err


def test_a_server_that_cannot_come_along_is_status_1(agent_host: CommandLine) -> None:
    cursor(agent_host, a={"command": "x"}, b={"type": "ws", "url": "ws://h"})
    ended = agent_host("import", "cursor")

    assert ended.status == FAILURE
    assert [*json.loads(ended.out)["mcpServers"]] == ["a"]
    assert "Cursor b: not imported: the transport ws is not spoken" in ended.err


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["nosuch"], "nosuch: is neither a client nor a file"),
        (["claude"], "claude-desktop or claude-code"),
        (["zed"], "zed: Zed has no servers at"),
        (["."], "no client has servers for this folder at"),
        (["empty.json"], "empty.json: there are no servers in it"),
        (["--into", "x.json"], "name what to import"),
        (["broken.json"], "broken.json: line 1"),
        (["cursor", "--into", "broken.json"], "broken.json: line 1"),
    ],
)
def test_what_a_person_has_to_mend_is_status_2_and_nothing_is_written(
    args: list[str], told: str, agent_host: CommandLine
) -> None:
    cursor(agent_host, a={"command": "x"})
    put(agent_host, "shop/broken.json", "{")
    put(agent_host, "shop/empty.json", {"mcpServers": {}})
    put(agent_host, ".claude.json", {"mcpServers": {"elsewhere": {"command": "x"}}})
    ended = agent_host("import", *args)

    assert (ended.status, ended.out) == (USAGE, "")
    assert told in ended.err
    assert {path.name for path in Path().iterdir()} == {"broken.json", "empty.json"}


def test_of_all_clients_a_broken_file_stops_no_other(agent_host: CommandLine) -> None:
    cursor(agent_host, a={"command": "x"})
    broken = put(agent_host, ".lmstudio/mcp.json", "{")
    ended = agent_host("import", "all", "--into", "servers.json")

    assert ended.status == FAILURE
    assert f"{broken}: line 1" in ended.err
    assert "a" in json.loads(Path("servers.json").read_text())["mcpServers"]


def test_a_list_goes_into_no_file(agent_host: CommandLine) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["import", "--list", "--into", "x.json"])
    assert ended.value.code == USAGE


def test_what_would_steer_a_terminal_is_written_with_escapes(agent_host: CommandLine) -> None:
    cursor(agent_host, **{"a\u202e": {"command": "x\u009b31m", "autoApprove": []}})
    ended = agent_host("import", "cursor")

    assert json.loads(ended.out)["mcpServers"] == {"a\u202e": {"command": "x\u009b31m"}}
    assert "\u202e" not in ended.out + ended.err
    assert "\u009b" not in ended.out
