"""What guided discovery reads from a transcript and from answers, and the turns it makes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from host.catalogue.guided import GuidedStep
from host.errors import ToolArgumentsError
from host.loop.hook_context import message_text
from host.loop.transcript import tool_call
from host.records import Message, Turn
from host.text.json_text import parse_json_loosely
from host.text.tool_arguments import parse_tool_arguments


def steps_in(messages: Sequence[Message]) -> list[GuidedStep]:
    """The calls in the messages and the texts they were answered with, in order.

    Calls without an answer are left out.
    """
    asked: dict[str, tuple[str, dict[str, Any]]] = {}
    steps: list[GuidedStep] = []
    for message in messages:
        if message["role"] == "assistant":
            for call in message.get("tool_calls") or ():
                function = call["function"]
                with suppress(ToolArgumentsError):
                    args = dict(parse_tool_arguments(function["arguments"]))
                    asked[call["id"]] = function["name"], args
        elif message["role"] == "tool" and message["tool_call_id"] in asked:
            name, args = asked.pop(message["tool_call_id"])
            steps.append(GuidedStep(name=name, args=args, result=message_text(message)))
    return steps


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
