"""Scripted model streams and executors for the bounded loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, TypeAlias

import anyio.lowlevel

from host.loop import TurnCall, TurnEvent, TurnText
from host.records import Message, ToolCallRequest, ToolFailure, ToolSuccess

Outcome: TypeAlias = ToolSuccess | ToolFailure


def text(words: str) -> TurnText:
    return TurnText(text=words)


def call(name: str = "f", call_id: str = "", **args: Any) -> TurnCall:
    return TurnCall(call=ToolCallRequest(id=call_id, name=name, args=args))


class StreamScript:
    """A ``stream_turn``: one list of events per turn, the last one ever after."""

    def __init__(self, *turns: Sequence[TurnEvent]) -> None:
        self._turns = list(turns)
        self.asked: list[list[Message]] = []
        self.closed = 0

    def __call__(self, messages: list[Message]) -> AsyncGenerator[TurnEvent, None]:
        self.asked.append(list(messages))
        messages.append({"role": "user", "content": "the callee's own scribble"})
        turn = self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]
        return self._stream(turn)

    async def _stream(self, events: Sequence[TurnEvent]) -> AsyncGenerator[TurnEvent, None]:
        try:
            for event in events:
                await anyio.lowlevel.checkpoint()
                yield event
        finally:
            self.closed += 1


class Executor:
    """An ``execute_tool_call`` that answers every call alike and remembers them."""

    def __init__(self, answer: Outcome | Callable[[ToolCallRequest], Outcome]) -> None:
        self._answer = answer
        self.calls: list[ToolCallRequest] = []

    async def __call__(self, request: ToolCallRequest) -> Outcome:
        self.calls.append(request)
        await anyio.lowlevel.checkpoint()
        return self._answer(request) if callable(self._answer) else self._answer


def fine(result: Any = "ok") -> Executor:
    """An executor whose calls all succeed."""
    return Executor(ToolSuccess(result=result))


def always(name: str) -> bool:
    """Every tool may be called."""
    return True
