"""Requests of a run as an agent sends them, and recordings of such runs."""

from __future__ import annotations

import json
from typing import Any

from host.demo.recording import RecordedRequest, Recording, SeenResult

QUESTION = "How many kilometres is a marathon?"
CALL = "units__convert_unit"


def chunk(**delta: Any) -> str:
    """One ``data:`` payload of a streamed answer."""
    return json.dumps({"choices": [{"index": 0, "delta": delta}]}, ensure_ascii=False)


def messages(*steps: tuple[str, str], question: str = QUESTION) -> list[dict[str, Any]]:
    """A request's messages after steps of one call each: the tool, and what it answered."""
    held: list[dict[str, Any]] = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": f"Some context.\n\n{question}"},
    ]
    for number, (tool, result) in enumerate(steps):
        call = {"id": f"c{number}", "type": "function"}
        function = {"name": tool, "arguments": "{}"}
        held.append({"role": "assistant", "tool_calls": [{**call, "function": function}]})
        held.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    return held


def recording(*steps: tuple[str, str]) -> Recording:
    """The recording of a run of such steps, with an answer of its own for every request."""
    results = tuple(SeenResult(tool=tool, content=result) for tool, result in steps)
    return Recording(
        model="tiny",
        engine="scripted 1",
        date="2026-03-01",
        question=QUESTION,
        requests=tuple(
            RecordedRequest(
                results=results[:count],
                payloads=(chunk(content=f"answer {count}"), chunk(content="é\u2028"), "[DONE]"),
            )
            for count in range(len(steps) + 1)
        ),
    )
