"""The demo on a model of the caller's own; its recorded run is tested with the recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from host.cli import demo
from host.cli.demo import MEMORY, QUESTION
from host.pool import ServerRow
from tests.cli.conftest import CommandLine
from tests.fakes.command_line import calling
from tests.fakes.endpoint import answer, refused
from tests.fakes.http_endpoint import HttpEndpoint


def test_the_demo_shows_the_fleet_the_hooks_the_calls_the_answer_and_the_bill(
    agent_host: CommandLine,
) -> None:
    script = (
        calling("load_tools", names=["units__convert_unit"]),
        calling("units__convert_unit", value="42.195", from_unit="km", to_unit="mi"),
        answer("26.22 miles.", prompt=1200, completion=34),
    )
    with HttpEndpoint(*script) as endpoint:
        ended = agent_host("demo", "--base-url", endpoint.base_url, "--model", "mine")
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.splitlines()
    story = [
        f"The model is mine at {endpoint.base_url}.",
        "✓ clock: ",
        "Catalogue (",
        f"Question: {QUESTION}",
        "· hook called notes__recall",
        "→ load_tools ",
        "→ units__convert_unit ",
        "26.22 miles.",
        "· hook called notes__remember",
        "Receipt",
        "requests",
    ]
    places = [next(n for n, line in enumerate(lines) if part in line) for part in story]
    assert places == sorted(places)
    assert "1,220 prompt + 44 completion" in ended.out
    assert MEMORY[1] in endpoint.bodies[0]["messages"][-1]["content"]


def test_a_run_that_an_error_ends_has_its_receipt_before_the_error(
    agent_host: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_fleet = demo.demo_rows

    def notes_alone(folder: Path) -> tuple[ServerRow, ...]:
        return tuple(row for row in whole_fleet(folder) if row.id == "notes")

    monkeypatch.setattr(demo, "demo_rows", notes_alone)
    script = (calling("load_tools", names=["notes__add_note"]), refused(401, "no such key"))
    with HttpEndpoint(*script) as endpoint:
        ended = agent_host("demo", "--base-url", endpoint.base_url, "--model", "mine")
    assert ended.status == 1
    assert "no such key" in ended.err
    _, _, bill = ended.out.partition("\nReceipt\n")
    assert "0, after 1 load" in bill


@pytest.mark.parametrize("flag", ["--model", "--api-key", "--question"])
def test_what_needs_an_endpoint_of_ones_own_says_so(flag: str, agent_host: CommandLine) -> None:
    ended = agent_host("demo", flag, "x")
    assert (ended.status, ended.out) == (2, "")
    assert (
        ended.err
        == f"agent-host: {flag}: needs --base-url or --gguf: without one a recording plays\n"
    )
