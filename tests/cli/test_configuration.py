"""The servers file is read for every command alike; what was dropped in it is said."""

from __future__ import annotations

import pytest

from host.cli.configuration import read_config
from host.cli.parser import build_parser
from tests.cli.conftest import CommandLine

ROWS = {"a": {"command": "x", "autoApprove": ["\x1b[31my"], "icon": "z"}}


@pytest.mark.parametrize(("args", "notices"), [(["ask", "hi"], 2), (["ask", "hi", "--quiet"], 0)])
def test_notices_are_told_unless_only_the_answer_is_wanted(
    args: list[str], notices: int, agent_host: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    agent_host.servers(ROWS)
    config = read_config(build_parser().parse_args(args))
    assert [row.id for row in config.rows] == ["a"]
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == notices


def test_the_named_file_is_the_one_that_is_read(agent_host: CommandLine) -> None:
    agent_host.servers(ROWS)
    (agent_host.folder / "other.json").write_text('{"mcpServers": {"b": {"command": "y"}}}')
    config = read_config(build_parser().parse_args(["servers", "--config", "other.json"]))
    assert [row.id for row in config.rows] == ["b"]
