"""A recorded run of a real model: its file format, and which recorded answer a request gets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from host.errors import ConfigError

FORMAT = "agent-host-recording"
VERSION = 1

_MAX_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenResult:
    """One tool message of a request: the tool that was called, and what it answered."""

    tool: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """One request: the tool results it carried, and the ``data:`` payloads that answered it."""

    results: tuple[SeenResult, ...]
    payloads: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A whole run.

    Attributes:
        model: as the requests named it.
        engine: the server that ran it, with its version.
        date: when, ``2026-03-01``.
        question: what was asked, without what hooks put before it.
        requests: in the order of the run.
    """

    model: str
    engine: str
    date: str
    question: str
    requests: tuple[RecordedRequest, ...]


class RecordingMismatch(ValueError):
    """A request that the recording has no answer for; the text says why in one line."""


def read_recording(text: str, source: str) -> Recording:
    """The recording a file holds.

    Raises:
        ConfigError: the text is not what ``recording_text`` writes; ``source`` names the file.
    """
    try:
        held = json.loads(text)
        if held["format"] != FORMAT or held["version"] != VERSION:
            raise ValueError("another format or version")
        return Recording(
            model=_text(held, "model"),
            engine=_text(held, "engine"),
            date=_text(held, "date"),
            question=_text(held, "question"),
            requests=tuple(_request(entry) for entry in held["requests"]),
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigError(source, [f"not a recording ({error}): record it anew"]) from error


def recording_text(recording: Recording) -> str:
    """The recording as JSON text; ``read_recording`` reads it back unchanged."""
    whole = {
        "format": FORMAT,
        "version": VERSION,
        "model": recording.model,
        "engine": recording.engine,
        "date": recording.date,
        "question": recording.question,
        "requests": [
            {
                "results": [{"tool": r.tool, "content": r.content} for r in request.results],
                "payloads": list(request.payloads),
            }
            for request in recording.requests
        ],
    }
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def answer_to(recording: Recording, messages: Sequence[Mapping[str, Any]]) -> RecordedRequest:
    """The recorded request that a request's messages stand at.

    Which one is read from the transcript (as many as the model has answered since the
    question), so a request that is sent again gets the same answer.

    Raises:
        RecordingMismatch: another question, a tool result that differs, or a request too many.
    """
    check_question(recording.question, messages)
    index = request_index(messages)
    if index >= len(recording.requests):
        raise RecordingMismatch(
            f"the recording ends after {len(recording.requests)} requests, "
            f"this is request {index + 1}"
        )
    recorded = recording.requests[index]
    if difference := results_difference(recorded.results, seen_results(messages)):
        raise RecordingMismatch(difference)
    return recorded


def check_question(question: str, messages: Sequence[Mapping[str, Any]]) -> None:
    """Returns when the last user message ends with the question.

    Raises:
        RecordingMismatch: it does not, or there is none.
    """
    asked = [content_text(m.get("content")) for m in messages if m.get("role") == "user"]
    if not asked or not asked[-1].rstrip().endswith(question.strip()):
        raise RecordingMismatch(f"the recording answers only the question {_quoted(question)}")


def request_index(messages: Sequence[Mapping[str, Any]]) -> int:
    """How many answers of the model follow the last user message."""
    roles = [message.get("role") for message in messages]
    question = max((at for at, role in enumerate(roles) if role == "user"), default=-1)
    return roles[question + 1 :].count("assistant")


def seen_results(messages: Sequence[Mapping[str, Any]]) -> tuple[SeenResult, ...]:
    """The tool messages, each with the tool its call named; ``?`` for a call not among them."""
    tools: dict[str, str] = {}
    results: list[SeenResult] = []
    for message in messages:
        tools.update(_called(message))
        if message.get("role") == "tool":
            tool = tools.get(str(message.get("tool_call_id")), "?")
            results.append(SeenResult(tool=tool, content=content_text(message.get("content"))))
    return tuple(results)


def results_difference(recorded: Sequence[SeenResult], seen: Sequence[SeenResult]) -> str | None:
    """One line that names the first tool result that differs; None when all are the same."""
    for then, now in zip(recorded, seen, strict=False):
        if then.tool != now.tool:
            return f"the recording called {then.tool} where this run called {now.tool}"
        if then.content != now.content:
            return (
                f"{now.tool} answered something else than in the recording: "
                f"{_difference(then.content, now.content)}"
            )
    if len(recorded) != len(seen):
        return f"the recording saw {len(recorded)} tool results here, this run has {len(seen)}"
    return None


def content_text(content: object) -> str:
    """A message's text: itself, or the text parts of a list joined; "" for anything else."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(text for text in parts if isinstance(text, str))


def _called(message: Mapping[str, Any]) -> dict[str, str]:
    """The tools an assistant message calls, by call id."""
    calls = message.get("tool_calls")
    called = {}
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            called[str(call.get("id"))] = str(function.get("name"))
    return called


def _difference(then: str, now: str) -> str:
    """Both texts from a little before where they part, so that the difference is seen."""
    same = next((at for at, (a, b) in enumerate(zip(then, now, strict=False)) if a != b), None)
    at = min(len(then), len(now)) if same is None else same
    start = max(0, at - _MAX_SHOWN_CHARS // 4)
    lead = "…" if start else ""
    return f"{_quoted(lead + now[start:])}, recorded {_quoted(lead + then[start:])}"


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line}"' if len(line) <= _MAX_SHOWN_CHARS else f'"{line[: _MAX_SHOWN_CHARS - 1]}…"'


def _request(entry: Any) -> RecordedRequest:
    return RecordedRequest(
        results=tuple(
            SeenResult(tool=_text(result, "tool"), content=_text(result, "content"))
            for result in entry["results"]
        ),
        payloads=tuple(_checked(payload) for payload in entry["payloads"]),
    )


def _text(entry: Any, key: str) -> str:
    return _checked(entry[key])


def _checked(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value
