"""What an agent run tells a tracer: where the run, a request and a call begin and end.

The blocks are entered and left in one task, so that a tracer may make its span the current one;
none is held across a ``yield`` to a caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol

from host.records import (
    Message,
    Run,
    ToolCallRequest,
    ToolDefinition,
    ToolFailure,
    ToolSuccess,
    Turn,
)


class RunSpan(Protocol):
    """A run under way."""

    def ended(self, run: Run) -> None:
        """Takes the finished run; a run that failed is told by the exception it leaves with."""
        ...


class RequestSpan(Protocol):
    """A request under way."""

    def answered(self, turn: Turn) -> None:
        """Takes the model's answer."""
        ...


class CallSpan(Protocol):
    """A call under way."""

    def returned(self, outcome: ToolSuccess | ToolFailure) -> None:
        """Takes what became of the call."""
        ...


class RunTracer(Protocol):
    """Follows one run. An exception that leaves a block, a cancellation too, is its end."""

    def run(self, messages: Sequence[Message] = ()) -> AbstractContextManager[RunSpan]:
        """Around the whole run of this conversation; the other two happen inside."""
        ...

    def request(
        self,
        step: int,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition] = (),
        *,
        purpose: str = "turn",
        as_json: bool = False,
        own_model: bool = True,
    ) -> AbstractContextManager[RequestSpan]:
        """Around one request to a model, its retries included.

        Args:
            messages, tools: as they are sent.
            purpose: ``turn``, or what a request beside the run is for.
            as_json: the answer is held to a schema.
            own_model: False for a model that is not the run's.
        """
        ...

    def call(self, step: int, request: ToolCallRequest) -> AbstractContextManager[CallSpan]:
        """Around one dispatch, in the task that makes it; not around the wait for approval."""
        ...


class _Untraced:
    """Follows nothing, and is every span of it."""

    def run(self, messages: Sequence[Message] = ()) -> _Untraced:
        return self

    def request(
        self,
        step: int,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition] = (),
        *,
        purpose: str = "turn",
        as_json: bool = False,
        own_model: bool = True,
    ) -> _Untraced:
        return self

    def call(self, step: int, request: ToolCallRequest) -> _Untraced:
        return self

    def ended(self, run: Run) -> None:
        pass

    def answered(self, turn: Turn) -> None:
        pass

    def returned(self, outcome: ToolSuccess | ToolFailure) -> None:
        pass

    def __enter__(self) -> _Untraced:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


NO_TRACING: RunTracer = _Untraced()
"""Follows nothing and makes no object; the default."""
