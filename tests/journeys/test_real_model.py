"""A small real model behind a real server, asked through the command line on real MCP servers.

What is asserted is structure: turns that stream, calls that are dispatched, a receipt. Whether
the model is right, or wants to go on for ever, is its own affair.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.architecture import ROOT
from tests.fakes.command_line import Ended, environment
from tests.journeys.model_servers import model_server

pytestmark = pytest.mark.slow

ANSWER_SECONDS = 240
"""For one command: a slow machine reads some ten tokens a second, and a run is 2,000."""

AGENT = {"maxTokens": 64, "temperature": 0, "maxToolIterations": 4, "deadlineSeconds": 120}

CALLS = (
    "Call load_tools for units__convert_unit.",
    "Call units__calculate with expression 2+2.",
    "Call units__percentage with percent 18 and of 240. Then stop.",
)
"""Worded so plainly that the model calls.

With a template that fits it does so for the first at least: only declared tools can be called. As
text it calls for each, and for the last one it soon comes to an end.
"""


CALL_SHAPE: dict[str, Any] = {
    "name": "call",
    "schema": {
        "type": "object",
        "properties": {
            "name": {"const": "units__calculate"},
            "arguments": {
                "type": "object",
                "properties": {"expression": {"enum": ["2+2"]}},
                "required": ["expression"],
            },
        },
        "required": ["name", "arguments"],
    },
}
"""A call as a model writes it in text; an endpoint holds its answer to that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealModel:
    """A running model server.

    Attributes:
        calls_as_text: its template does not fit what the model writes, so that calls arrive as
            the text of an answer.
    """

    base_url: str
    model: str
    calls_as_text: bool

    @property
    def flags(self) -> tuple[str, ...]:
        """What a command needs to ask it."""
        return ("--base-url", self.base_url, "--model", self.model)

    @property
    def questions(self) -> tuple[str, ...]:
        """What it is asked for calls, the most promising first."""
        return CALLS[::-1] if self.calls_as_text else CALLS


@pytest.fixture(scope="session", params=["fitting-template", "stock-template"])
def real_model(request: pytest.FixtureRequest) -> Iterator[RealModel]:
    """One model server at a time, with a template that fits its model or with the model's own."""
    calls_as_text = request.param == "stock-template"
    flags = ("--ctx", "4096", *(["--stock-template"] if calls_as_text else []))
    with model_server("auto", *flags) as server:
        yield RealModel(base_url=server.base_url, model=server.model, calls_as_text=calls_as_text)


def _run(
    *command: str, seconds: float, folder: Path = ROOT, env: dict[str, str] | None = None
) -> Ended:
    """Runs a command to its end."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    return Ended(status=done.returncode, out=done.stdout, err=done.stderr)


def agent_host(folder: Path, *args: str) -> Ended:
    """Runs a command of ``agent-host`` in a folder, from a cold start."""
    program = (sys.executable, "-m", "host")
    return _run(*program, *args, seconds=ANSWER_SECONDS, folder=folder, env=environment(folder))


def ask(
    folder: Path, model: RealModel, question: str, **agent: Any
) -> tuple[Ended, list[dict[str, Any]]]:
    """Asks over one bundled server; returns how the command ended and the events it printed."""
    units = {"command": "agent-host-demo-server", "args": ["units"]}
    servers = {"mcpServers": {"units": units}, "agent": {**AGENT, **agent}}
    (folder / "servers.json").write_text(json.dumps(servers), "utf-8")
    ended = agent_host(folder, "ask", "--json", *model.flags, question)
    return ended, ended.json_lines


def of_kind(events: list[dict[str, Any]], kind: str, source: str = "run") -> list[dict[str, Any]]:
    """The events of a kind, of the run or of the pool."""
    return [event for event in events if (event["event"], event["kind"]) == (source, kind)]


def test_a_turn_of_a_real_model_streams_and_is_counted(
    real_model: RealModel, tmp_path: Path
) -> None:
    ended, events = ask(tmp_path, real_model, "Who wrote Hamlet?")
    pieces = [event["text"] for event in of_kind(events, "output")]
    first, *_ = of_kind(events, "usage")
    (done,) = of_kind(events, "done")
    assert ended.status in (0, 1), ended.err
    assert len(pieces) > 1, "it came in pieces"
    assert done["text"].strip() in "".join(pieces)
    assert [event for event in events if event["event"] == "run"][-1] == done
    assert first["usage"]["promptTokens"] > first["usage"]["completionTokens"] > 1
    assert first["usage"]["turn"]["finishReason"] in ("stop", "length", "tool_calls")


def test_a_call_of_a_real_model_reaches_a_real_server(
    real_model: RealModel, tmp_path: Path
) -> None:
    for question in real_model.questions:
        ended, events = ask(tmp_path, real_model, question)
        if dispatched(ended, events):
            notices = " ".join(event["text"] for event in of_kind(events, "notice"))
            assert "written as text" in notices or not real_model.calls_as_text
            return
    # Another build of the engine may answer otherwise; held to the shape of a call, any calls.
    shape = {"response_format": {"type": "json_schema", "json_schema": CALL_SHAPE}}
    ended, events = ask(tmp_path, real_model, CALLS[1], extraBody=shape)
    assert dispatched(ended, events), (ended, events)


def dispatched(ended: Ended, events: list[dict[str, Any]]) -> bool:
    """Whether a tool of the fleet answered; whatever happened, every call has its one result."""
    assert ended.status in (0, 1), ended.err
    assert len(of_kind(events, "done")) == 1
    asked = sorted(event["id"] for event in of_kind(events, "tool-call"))
    assert asked == sorted(event["id"] for event in of_kind(events, "tool-result"))
    calls = of_kind(events, "call", "pool")
    return any(call["ok"] and call["toolName"].startswith("units__") for call in calls)


def test_the_demo_runs_on_a_real_model_and_ends_with_a_receipt(
    real_model: RealModel, tmp_path: Path
) -> None:
    question = real_model.questions[0]
    ended = agent_host(tmp_path, "demo", *real_model.flags, "--question", question)
    assert ended.status in (0, 1), ended.err
    assert f"The model is {real_model.model} at {real_model.base_url}." in ended.out
    bill = numbers_of_receipt(ended.out)
    assert bill["requests"] >= 1
    assert bill["prompt"] > bill["completion"] > 1


def numbers_of_receipt(out: str) -> dict[str, int]:
    """What the receipt at the end of an output says."""
    _, _, receipt = out.partition("\nReceipt\n")
    lines = (
        r"requests +(?P<requests>\d+)",
        r"tokens +(?P<prompt>[\d,]+) prompt \+ (?P<completion>[\d,]+) completion",
        r"tool calls +(?P<calls>\d+), after (?P<loads>\d+) load",
    )
    found = [re.search(rf"^  {line}", receipt, re.M) for line in lines]
    assert all(found), out
    told = {name: text for line in found if line for name, text in line.groupdict().items()}
    return {name: int(text.replace(",", "")) for name, text in told.items()}
