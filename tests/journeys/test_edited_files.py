"""A servers file edited while ``agent-host`` runs: what is good counts, what is not is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.command_line import calling, plain_server, write_servers
from tests.fakes.endpoint import answer
from tests.fakes.http_endpoint import HttpEndpoint
from tests.journeys.conftest import StartHost

pytestmark = pytest.mark.slow


def test_a_conversation_goes_on_with_the_servers_of_the_edited_file(
    start: StartHost, tmp_path: Path
) -> None:
    with (
        HttpEndpoint(calling("late__echo", text="hi"), answer("It said hi.")) as endpoint,
        start("chat", rows={"plain": plain_server()}, endpoint=endpoint, typed=None) as process,
    ):
        process.wait_for("you> ")
        write_servers(tmp_path, {"plain": {"comand": "x"}})
        process.wait_for("servers.json is not taken over: server")
        late = plain_server("--mark", "late")
        write_servers(tmp_path, {"plain": plain_server(), "late": late}, model="other")
        process.wait_for("✓ late: 12 tools")
        process.wait_for("servers.json was read again; new: late")
        process.wait_for("agent.model will count after a restart")
        process.type_line("Say hi")
        process.wait_for("It said hi.\n")
        process.type_end()
        ended = process.end()
    assert ended.status == 0
    assert "✗ plain" not in ended.err
    assert ended.err.count("is not taken over") == 1


def test_a_watch_shows_the_servers_of_the_edited_file(start: StartHost, tmp_path: Path) -> None:
    with start("servers", "--watch", rows={"plain": plain_server()}) as process:
        process.wait_for("plain   ready")
        (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": []}))
        process.wait_for("servers.json is not taken over: ")
        write_servers(tmp_path, {"other": plain_server()})
        process.wait_for("other   ready")
        process.interrupt()
        assert process.end().status == 130
