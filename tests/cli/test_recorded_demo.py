"""The demo on the recording that comes with the package: live servers, compared with the record."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from host.cli import demo
from host.demo.replay import bundled_recording
from host.pool import ServerRow, StdioServerRow
from tests.cli.conftest import CommandLine

CHANGED_UNITS = """
import host.demo.servers.units as units
from host.demo.servers import main
shown = units.show_number
units.show_number = lambda number, name: shown(number + 1, name)
main(["units"])
"""
"""The bundled server with one fault: every quantity it shows is one too many."""


def test_the_recording_is_of_the_question_that_the_demo_asks() -> None:
    assert bundled_recording("demo").question == demo.QUESTION


def test_the_recorded_run_plays_on_live_servers_to_its_answer_and_receipt(
    agent_host: CommandLine,
) -> None:
    ended = agent_host("demo")
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0].startswith("The model is a recording of ")
    story = [
        "Catalogue (19 tools",
        "Question: ",
        "· hook called notes__recall",
        "→ load_tools ",
        "→ notes__add_note ",
        "→ units__convert_unit ",
        "356",
        "· hook called notes__remember",
        '<context source="Notes">',
        demo.MEMORY[1],
        "Receipt",
        "requests",
        "all schemas, always",
    ]
    places = [next(n for n, line in enumerate(lines) if part in line) for part in story]
    assert places == sorted(places)


@pytest.mark.slow
def test_a_server_that_answers_otherwise_ends_the_demo_with_a_line_that_names_the_tool(
    agent_host: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_fleet = demo.demo_rows

    def changed_fleet(folder: Path) -> tuple[ServerRow, ...]:
        changed = StdioServerRow(
            id="units", label="Units", command=sys.executable, args=("-c", CHANGED_UNITS)
        )
        return (*(row for row in whole_fleet(folder) if row.id != "units"), changed)

    monkeypatch.setattr(demo, "demo_rows", changed_fleet)
    ended = agent_host("demo")
    assert ended.status == 1
    last = ended.out.strip().splitlines()[-1]
    assert last.startswith("The demo left its recording: ")
    assert "units__convert_unit" in last
    assert "357" in last
    assert "Traceback" not in ended.out + ended.err
