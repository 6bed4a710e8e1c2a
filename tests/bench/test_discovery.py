"""The benchmark of discovery: how an answer is judged, and that results are gone on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from host.loop.transcript import assistant_message, tool_call, tool_message
from host.records import Run, ToolCallOutcome
from tests.bench.discovery import judged, main, table
from tests.bench.discovery_questions import QUESTIONS, fits

BY_TOOL = {question.tool: question for question in QUESTIONS}
CONVERT = QUESTIONS[0]


def test_a_third_of_the_questions_needs_no_tool() -> None:
    assert (len(QUESTIONS), sum(question.tool is None for question in QUESTIONS)) == (20, 7)
    assert len({question.text for question in QUESTIONS}) == 20


@pytest.mark.parametrize(
    ("tool", "args", "right"),
    [
        ("units__convert_unit", {"value": 410, "from_unit": "F", "to_unit": "Celsius"}, True),
        ("units__convert_unit", {"value": 41, "from_unit": "F", "to_unit": "Celsius"}, False),
        ("units__calculate", {"expression": "(348 - 59) * 17 / 4"}, True),
        ("units__calculate", {"expression": "348 - 59 * 17 / 4"}, False),
        ("clock__current_time", {"zone": "America/Argentina/Buenos_Aires"}, True),
        ("clock__current_time", {"zone": "Europe/Buenos Aires"}, False),
        ("notes__add_note", {"title": "Plumber", "text": "comes Friday at ten"}, True),
        ("notes__add_note", {"title": "Plumber"}, False),
    ],
)
def test_arguments_are_judged_by_what_they_mean(
    tool: str, args: dict[str, Any], right: bool
) -> None:
    assert fits(BY_TOOL[tool], tool, args) is right
    assert not fits(BY_TOOL[tool], "other__tool", args)


@pytest.mark.parametrize("proxied", [False, True])
def test_a_run_is_judged_by_the_calls_that_were_answered(proxied: bool) -> None:
    args: dict[str, Any] = {"value": 74, "from_unit": "kg", "to_unit": "lb"}
    written = {"name": CONVERT.tool, "arguments": args} if proxied else args
    name = "call_tool" if proxied else str(CONVERT.tool)
    messages = (
        assistant_message("", [tool_call("1", name, written)]),
        tool_message("1", "163"),
    )
    run = Run(
        turn=None,
        messages=messages,
        tool_calls=(ToolCallOutcome(name=str(CONVERT.tool), ok=True, id="1"),),
    )
    found = judged(CONVERT, run, ["load_tools", str(CONVERT.tool)])
    assert (found["tool"], found["args"], found["abstained"]) == (True, True, False)
    assert judged(CONVERT, Run(turn=None, messages=()), ["load_tools"])["abstained"]


def test_what_was_measured_is_printed_by_model_and_mode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = {
        **judged(CONVERT, Run(turn=None, messages=()), []),
        "model": "tiny",
        "mode": "guided",
        "question": CONVERT.text,
    }
    results = tmp_path / "results.jsonl"
    results.write_text(json.dumps(line) + "\n", "utf-8")
    assert main(["--results", str(results)]) == 0
    assert capsys.readouterr().out == table([line])
    assert "| tiny | guided | 0/1 | 0/1 | 0/0 | 0 | 0.0 |" in table([line])
