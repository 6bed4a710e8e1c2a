"""The messages a loop appends: well-formed whatever happens, so that a transcript replays.

Every call of an assistant message has exactly one tool message, under an id that nothing else in
the transcript carries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from host.records import AssistantMessage, Message, StopReason, ToolCall, ToolMessage
from host.text.json_text import any_json

STOPPED_TEXT = (
    "This call was begun and cut off before it finished: whether it took effect is unknown."
)
"""What the model reads in place of a result that never came."""

NO_RESULT_TEXT = (
    "No result of this call was kept, and it is not made again now: whether it took effect is "
    "unknown."
)
"""What the model reads of a call that stands unanswered in a transcript handed in."""

_WHY_NOT_RUN: dict[StopReason, str] = {
    "completed": "the run was over",
    "stuck-loop": "the same call had been made again and again",
    "backstop": "the run had used up its tool turns",
    "deadline": "the run's time was up",
    "budget": "the run's budget was spent",
    "stopped": "the run was stopped",
}


def not_run_text(reason: StopReason | None) -> str:
    """What the model reads for a call that was never begun; None when an error ended the run."""
    why = "the run broke off" if reason is None else _WHY_NOT_RUN[reason]
    return f"This call was never made: {why} before its turn came."


def tool_call(call_id: str, name: str, args: Mapping[str, Any] | None) -> ToolCall:
    """The call as an assistant message carries it.

    Arguments are compact JSON of what was read; ``{}`` for None, arguments that could not be, and
    for what cannot be written as an object at all.
    """
    written = any_json(args) if args else ""
    arguments = written if written.startswith("{") else "{}"
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant_message(content: str, calls: Sequence[ToolCall] = ()) -> AssistantMessage:
    """The turn as a message; empty content is None beside calls, and stays "" without any.

    Endpoints refuse a message that has neither text nor calls, so this overrules agent-core §18,
    where empty content is always null.
    """
    if not calls:
        return {"role": "assistant", "content": content}
    return {"role": "assistant", "content": content or None, "tool_calls": list(calls)}


def tool_message(call_id: str, content: str) -> ToolMessage:
    """The answer to the call of that id."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def ids_in(messages: Sequence[Message]) -> frozenset[str]:
    """Every call id that occurs in the messages, asked or answered."""
    ids: set[str] = set()
    for message in messages:
        if message["role"] == "assistant":
            ids.update(call["id"] for call in message.get("tool_calls") or ())
        elif message["role"] == "tool":
            ids.add(message["tool_call_id"])
    return frozenset(ids)


def answers_of(name: str, messages: Sequence[Message]) -> list[int]:
    """Where the tool messages stand that answer calls of this tool.

    A tool message belongs to the last call of its id before it.
    """
    asked: dict[str, str] = {}
    found: list[int] = []
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            for call in message.get("tool_calls") or ():
                asked[call["id"]], _ = called(call)
        elif message["role"] == "tool" and asked.get(message["tool_call_id"]) == name:
            found.append(index)
    return found


def called(call: ToolCall) -> tuple[str, str]:
    """The called tool and what it was given; of a call to a function or to a custom tool.

    Transcripts of others hold custom tools, whose input is any text; a call of any other kind is
    ("", "").
    """
    kinds: Mapping[str, Any] = call
    asked = kinds.get("function") or kinds.get("custom") or {}
    return str(asked.get("name", "")), str(asked.get("arguments", asked.get("input", "")))


def free_id(wanted: str, taken: Collection[str]) -> str:
    """``wanted``, or the first of ``wanted_2``, ``wanted_3``, … that is not taken."""
    return _Minted(taken).free(wanted)


@dataclass(slots=True)
class _Minted:
    """Makes ids that are not taken; each number is tried once, however many ids are made."""

    taken: Collection[str]
    _next: dict[str, int] = field(default_factory=dict)

    def free(self, wanted: str) -> str:
        if wanted not in self.taken:
            return wanted
        number = self._next.get(wanted, 2)
        while f"{wanted}_{number}" in self.taken:
            number += 1
        self._next[wanted] = number
        return f"{wanted}_{number}"


def unique_ids(wanted: Sequence[str], taken: Collection[str]) -> tuple[str, ...]:
    """One id per call, none of them taken and no two alike.

    An id asked for once keeps its name; a repeated one is numbered from its second occurrence
    on, past every other id that was asked for.
    """
    used, reserved = set(taken), {*taken, *wanted}
    minted = _Minted(reserved)
    ids: list[str] = []
    for name in wanted:
        chosen = minted.free(name) if name in used else name
        ids.append(chosen)
        used.add(chosen)
        reserved.add(chosen)
    return tuple(ids)


def kept_ids(given: Sequence[str], fallbacks: Sequence[str], taken: Collection[str]) -> list[str]:
    """Given ids as they are; where one is empty, a free one made from its fallback.

    For the bounded loop, whose callers correlate their own ids. The original gave two calls of
    one tool without ids the same id (tool-loop spec §3, a hole): these get two.
    """
    reserved = {*taken, *given}
    minted = _Minted(reserved)
    ids: list[str] = []
    for own, fallback in zip(given, fallbacks, strict=True):
        chosen = own or minted.free(fallback)
        reserved.add(chosen)
        ids.append(chosen)
    return ids


def unanswered_calls(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls of the last assistant message that no tool message after it answers.

    One tool message answers one call: of two calls under one id it is the first.
    """
    answered: Counter[str] = Counter()
    for message in reversed(messages):
        if message["role"] == "tool":
            answered[message["tool_call_id"]] += 1
        elif message["role"] == "assistant":
            return tuple(_left(message.get("tool_calls") or (), answered))
        else:
            return ()
    return ()


def with_answers(messages: Sequence[Message], text: str) -> list[Message]:
    """The messages, with ``text`` as the answer of every call that none of them answers.

    A call is answered by a tool message of its id before the next assistant message, since ids
    may come again later; two calls of one id by two. New answers stand behind those that its
    assistant message has at once.
    """
    whole: list[Message] = []
    owed: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] != "tool":
            whole.extend(tool_message(call_id, text) for call_id in owed)
            owed = _owed(messages, index) if message["role"] == "assistant" else []
        whole.append(message)
    whole.extend(tool_message(call_id, text) for call_id in owed)
    return whole


def _owed(messages: Sequence[Message], asked: int) -> list[str]:
    """The ids of the calls at ``asked`` that stay unanswered until the model's next word."""
    message = messages[asked]
    calls = message.get("tool_calls") if message["role"] == "assistant" else None
    if not calls:
        return []
    answered: Counter[str] = Counter()
    for index in range(asked + 1, len(messages)):
        later = messages[index]
        if later["role"] == "assistant":
            break
        if later["role"] == "tool":
            answered[later["tool_call_id"]] += 1
    return [call["id"] for call in _left(calls, answered)]


def _left(calls: Iterable[ToolCall], answered: Counter[str]) -> Iterator[ToolCall]:
    """The calls beyond those that have as many answers as there are, which are used up."""
    for call in calls:
        if answered[call["id"]] > 0:
            answered[call["id"]] -= 1
        else:
            yield call
