"""How well does a model find and use tools? ``python -m tests.bench.discovery --help``

Twenty questions (``discovery_questions``) on the bundled fleet, without hooks, at temperature 0,
in each way of discovery. Results are appended to a file, a line for each question; what is there
already is not asked again, so that a run can be stopped and gone on with.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from host.assembly import Host, open_host
from host.cli.demo import demo_rows
from host.config import AgentSettings, EndpointChoice, HostConfig
from host.errors import RunError
from host.pool import ServerRow
from host.records import DISCOVERY_MODES, AssistantMessage, Run, RunEvent
from tests.bench.discovery_questions import QUESTIONS, Question, fits

SECONDS_PER_QUESTION = 240


def fleet(folder: Path) -> tuple[ServerRow, ...]:
    """The bundled servers without their hooks: no question is to know of another."""
    return tuple(row.model_copy(update={"hooks": ()}) for row in demo_rows(folder))


class Calls:
    """A subscriber that remembers the tools called in a run, proxied ones by their own names."""

    def __init__(self) -> None:
        self.named: list[str] = []

    def __call__(self, event: object) -> None:
        """Hears one event."""
        if isinstance(event, RunEvent) and event.kind == "tool-call":
            self.named.append(event.name)


def calls_of(run: Run) -> list[tuple[str, Mapping[str, Any]]]:
    """The calls of a run that were answered well, with their arguments."""
    done = {outcome.id: outcome.name for outcome in run.tool_calls if outcome.ok}
    asked = [
        (call["id"], json.loads(call["function"]["arguments"]))
        for message in run.messages
        if message["role"] == "assistant"
        for call in _tool_calls(message)
    ]
    return [
        (done[call_id], args["arguments"] if set(args) == {"name", "arguments"} else args)
        for call_id, args in asked
        if call_id in done
    ]


def _tool_calls(message: AssistantMessage) -> Sequence[Any]:
    return message.get("tool_calls") or ()


def judged(question: Question, run: Run, called: Sequence[str]) -> dict[str, Any]:
    """What a run made of its question."""
    real = [name for name in called if "__" in name]
    return {
        "tool": bool(real) and real[0] == question.tool,
        "args": any(fits(question, name, args) for name, args in calls_of(run)),
        "abstained": not real,
        "called": real,
        "stop_reason": run.stop_reason,
        "answer": run.answer[:300],
        "requests": len(run.requests),
        "prompt_tokens": run.usage.prompt_tokens,
        "completion_tokens": run.usage.completion_tokens,
        "seconds": run.seconds,
    }


async def ask_all(endpoint: EndpointChoice, mode: str, results: Path) -> None:
    """Asks what is not in the file yet."""
    done = {
        line["question"]
        for line in read(results)
        if (line["model"], line["mode"]) == (endpoint.model, mode)
    }
    agent = AgentSettings.model_validate(
        {
            "max_tokens": 256,
            "temperature": 0.0,
            "max_tool_iterations": 6,
            "deadline_seconds": SECONDS_PER_QUESTION,
            "extra_body": {"parallel_tool_calls": False},
            "discovery": mode,
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        config = HostConfig(source="the bench", rows=fleet(Path(folder)), agent=agent)
        calls = Calls()
        async with open_host(config, calls, endpoint=endpoint) as host:
            await host.settle()
            for question in QUESTIONS:
                if question.text in done:
                    continue
                calls.named.clear()
                line = await _asked(host, question, calls)
                line |= {"model": endpoint.model, "mode": mode, "question": question.text}
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")


async def _asked(host: Host, question: Question, calls: Calls) -> dict[str, Any]:
    try:
        return judged(question, await host.ask(question.text), calls.named)
    except RunError as error:
        return {**judged(question, error.run, calls.named), "error": str(error)[:200]}


def read(results: Path) -> list[dict[str, Any]]:
    """What has been measured so far."""
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text("utf-8").splitlines()]


def table(lines: Iterable[Mapping[str, Any]]) -> str:
    """The results by model and way of discovery, as Markdown."""
    by_run: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for line in lines:
        by_run.setdefault((line["model"], line["mode"]), []).append(line)
    needs = {question.text: question.tool is not None for question in QUESTIONS}
    columns = (
        "model",
        "discovery",
        "right tool",
        "right arguments",
        "right abstention",
        "prompt tokens",
        "seconds",
    )
    rows = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for (model, mode), found in sorted(
        by_run.items(), key=lambda item: (item[0][0], DISCOVERY_MODES.index(item[0][1]))
    ):
        asked = [line for line in found if needs[line["question"]]]
        idle = [line for line in found if not needs[line["question"]]]
        prompt = sum(line["prompt_tokens"] for line in found) / len(found)
        seconds = sum(line["seconds"] for line in found) / len(found)
        rows.append(
            f"| {model} | {mode} | {_share(asked, 'tool')} | {_share(asked, 'args')} "
            f"| {_share(idle, 'abstained')} | {prompt:,.0f} | {seconds:.1f} |"
        )
    return "\n".join(rows) + "\n"


def _share(lines: Sequence[Mapping[str, Any]], what: str) -> str:
    return f"{sum(line[what] for line in lines)}/{len(lines)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Asks, or prints what was found."""
    parser = argparse.ArgumentParser(prog="discovery", description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="a file to go on with")
    parser.add_argument("--base-url", help="an OpenAI-compatible endpoint; none only prints")
    parser.add_argument("--model", default="model")
    parser.add_argument(
        "--modes", nargs="+", choices=DISCOVERY_MODES, default=list(DISCOVERY_MODES)
    )
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")
    options = parser.parse_args(arguments)
    if options.base_url:
        endpoint = EndpointChoice(
            base_url=options.base_url, api_key="", model=options.model, origin="--base-url"
        )
        for mode in options.modes:
            anyio.run(ask_all, endpoint, mode, options.results)
    found = read(options.results)
    sys.stdout.write(json.dumps({"results": found}) + "\n" if options.json else table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
