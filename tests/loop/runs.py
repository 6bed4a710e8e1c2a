"""Running an agent loop in tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio

from host.loop import AgentLoopOptions, run_agent_loop
from host.records import Message, Run
from tests.fakes.loop_peers import MemoryToolbox, ScriptedModel

QUESTION: Message = {"role": "user", "content": "Where is it?"}


async def run(
    model: ScriptedModel,
    toolbox: MemoryToolbox | None = None,
    messages: Sequence[Message] = (QUESTION,),
    **options: Any,
) -> Run:
    """Runs to the end; eagerly unless told otherwise."""
    given: dict[str, Any] = {"discovery": "eager", **options}
    with anyio.fail_after(3600):
        return await run_agent_loop(
            AgentLoopOptions(model, toolbox or MemoryToolbox(), messages, **given)
        )


class Events:
    """An event sink that remembers."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def __call__(self, **fields: Any) -> None:
        self.told.append(fields)

    @property
    def kinds(self) -> list[str]:
        return [event["kind"] for event in self.told]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.told if event["kind"] == kind]


def roles(messages: Sequence[Message]) -> list[str]:
    return [message["role"] for message in messages]


def results(messages: Sequence[Message]) -> list[str]:
    """The texts of the tool messages."""
    return [str(message["content"]) for message in messages if message["role"] == "tool"]


def replays(messages: Sequence[Message]) -> bool:
    """Whether every call has exactly one tool message, right behind its assistant message."""
    due: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if not due or message["tool_call_id"] != due.pop(0):
                return False
            continue
        if due:
            return False
        if message["role"] == "assistant":
            due = [call["id"] for call in message.get("tool_calls") or ()]
            if seen & set(due) or len(set(due)) != len(due):
                return False
            seen |= set(due)
    return not due
