"""What guided discovery reads from a transcript and from answers, and the turns it makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import Any

from host.catalogue.guided import Exchange, GuidedStep, repeats_a_step
from host.errors import ToolArgumentsError
from host.loop.big_results import READ_RESULT
from host.loop.hook_context import message_text
from host.loop.transcript import tool_call
from host.records import Message, ToolCall, ToolCallOutcome, Turn
from host.text.json_text import parse_json_loosely
from host.text.tool_arguments import parse_tool_arguments


def steps_in(messages: Sequence[Message]) -> dict[str, GuidedStep]:
    """The calls in the messages and the texts they were answered with, by id, in order.

    Calls without an answer are left out.
    """
    asked: dict[str, tuple[str, dict[str, Any]]] = {}
    steps: dict[str, GuidedStep] = {}
    for message in messages:
        if message["role"] == "assistant":
            for call in message.get("tool_calls") or ():
                function = call["function"]
                with suppress(ToolArgumentsError):
                    args = dict(parse_tool_arguments(function["arguments"]))
                    asked[call["id"]] = function["name"], args
        elif message["role"] == "tool" and message["tool_call_id"] in asked:
            call_id = message["tool_call_id"]
            name, args = asked.pop(call_id)
            steps[call_id] = GuidedStep(name=name, args=args, result=message_text(message))
    return steps


def new_reads(calls: Iterable[ToolCall], steps: Iterable[GuidedStep]) -> tuple[ToolCall, ...]:
    """Those of the calls that read on in a cut result, each place once and none read before.

    One whose arguments cannot be read is no such call.
    """
    known = list(steps)
    reads: list[ToolCall] = []
    for call in calls:
        with suppress(ToolArgumentsError):
            args = dict(parse_tool_arguments(call["function"]["arguments"]))
            if call["function"]["name"] == READ_RESULT and not repeats_a_step(
                READ_RESULT, args, known
            ):
                known.append(GuidedStep(name=READ_RESULT, args=args, result=""))
                reads.append(call)
    return tuple(reads)


def failures_in_a_row(outcomes: Sequence[ToolCallOutcome]) -> int:
    """How many of the last calls failed, up to the last one that did well."""
    return sum(1 for _ in takewhile(lambda outcome: not outcome.ok, reversed(outcomes)))


def exchange_before(messages: Sequence[Message], index: int) -> Exchange | None:
    """The last question before the message at ``index``, and what was said to it in the end.

    None where nothing was asked or answered; messages of tools and calls count for nothing.
    """
    said = [
        (message["role"], text)
        for message in messages[: max(index, 0)]
        if message["role"] in ("user", "assistant") and (text := message_text(message).strip())
    ]
    if not said or said[-1][0] != "assistant":
        return None
    asked = [text for role, text in said if role == "user"]
    return Exchange(question=asked[-1], answer=said[-1][1]) if asked else None


def reply_in(turn: Turn) -> object | None:
    """The JSON value of an answer; None where there is none to be read."""
    with suppress(ValueError):
        value: object = parse_json_loosely(turn.content)
        return value
    return None


def call_turn(turn: Turn, name: str, args: dict[str, Any], *, number: int) -> Turn:
    """The turn as one that makes this call in place of saying its arguments."""
    call = tool_call(f"call_guided_{number}", name, args)
    return replace(turn, content="", tool_calls=(call,), finish_reason="tool_calls")
