"""A start over saved listings starts nothing and imports nothing of what a server needs."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from tests.bench.saved_fleet import configure
from tests.bench.startup import is_within, main, started_once


def test_a_hundred_servers_are_offered_by_a_process_that_never_heard_of_the_sdk(
    tmp_path: Path,
) -> None:
    written = anyio.run(configure, tmp_path, 100)
    figures = started_once(tmp_path)
    assert written["tools"] > 1000
    assert (figures["processes_started"], figures["servers_at_rest"]) == (0, 100)
    assert figures["foreign_modules"] == []
    assert figures["late_modules"] == []
    assert figures["request_chars"] > 10 * written["tools"]
    assert 0 < figures["seconds_beyond_import"] < figures["seconds_total"]


def test_a_server_that_nothing_is_saved_of_is_not_at_rest(tmp_path: Path) -> None:
    anyio.run(configure, tmp_path, 2)
    next((tmp_path / "listings").iterdir()).unlink()
    assert started_once(tmp_path)["servers_at_rest"] == 1


@pytest.mark.slow
def test_the_benchmark_prints_what_it_promises(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--servers", "2", "--rounds", "2", "--json"])
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["servers"] == 2
    assert figures["processes_started"] == 0
    assert figures["seconds_beyond_import"] < figures["seconds_total"]
    assert main(["--servers", "2", "--rounds", "2"]) in (0, 1)
    assert "processes_started: 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "within"),
    [
        ({}, True),
        ({"processes_started": 1}, False),
        ({"servers_at_rest": 1}, False),
        ({"foreign_modules": ["mcp"]}, False),
        ({"seconds_beyond_import": 0.31}, False),
    ],
)
def test_a_goal_missed_is_told(changed: dict[str, object], within: bool) -> None:
    figures = {
        "servers": 2,
        "processes_started": 0,
        "servers_at_rest": 2,
        "foreign_modules": [],
        "seconds_beyond_import": 0.3,
    }
    assert is_within(figures | changed) is within
