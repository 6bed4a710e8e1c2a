"""What the benchmark works on: tools, a transcript and events, as a long run has them."""

from __future__ import annotations

from datetime import UTC, datetime

from host.records import Message, RunEvent, ToolCall, ToolDefinition

_SERVERS = ("archive", "calendar", "mail", "tickets")
_SENTENCE = "Looks through the records of this server and gives back those that fit. "
_AT = datetime(2026, 1, 1, tzinfo=UTC)
_OUTPUT_EVERY = 2000


def catalogue_tools(count: int) -> list[ToolDefinition]:
    """So many tools with what third-party schemas hold: patterns, formats, nullable unions."""
    return [_tool(number) for number in range(count)]


def _tool(number: int) -> ToolDefinition:
    properties = {
        "key": {"type": "string", "pattern": r"^[A-Z]{2}-\d+$", "description": "The record's key."},
        "state": {"type": ["string", "null"], "enum": ["open", "closed", None]},
        "since": {"type": "string", "format": "date-time"},
        "source": {
            "type": "object",
            "properties": {
                "address": {"type": "string", "format": "uri"},
                "label": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
        },
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}},
    }
    return {
        "type": "function",
        "function": {
            "name": f"{_SERVERS[number % len(_SERVERS)]}__find_{number}",
            "description": _SENTENCE * 6,
            "parameters": {"type": "object", "properties": properties, "required": ["key"]},
        },
    }


def transcript(turns: int) -> list[Message]:
    """A system message of 1 kB, then ``turns`` times a question, a call and its result."""
    messages: list[Message] = [{"role": "system", "content": "Answer from the records. " * 41}]
    for turn in range(turns):
        call_id = f"call_{turn}"
        call: ToolCall = {
            "id": call_id,
            "type": "function",
            "function": {"name": "mail__find_2", "arguments": f'{{"key":"AB-{turn}"}}'},
        }
        messages += [
            {"role": "user", "content": f"Question {turn}: " + "what came of it? " * 60},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call_id, "content": "One record more. " * 82},
        ]
    return messages


def deltas(count: int) -> list[RunEvent]:
    """So many deltas of one run: thinking, now and then an output, two steps."""
    return [
        RunEvent(
            run_id="run",
            seq=number + 1,
            at=_AT,
            kind="output" if number % _OUTPUT_EVERY == _OUTPUT_EVERY - 1 else "thinking",
            text=f"piece {number} ",
            step="1" if number < count // 2 else "2",
        )
        for number in range(count)
    ]
