"""The events that the bounded loop tells its observers.

Ids, parents and payloads are those of tool-loop spec §9; payload keys are as observers of the
original know them. ``failedToolCalls`` and ``pendingToolCalls`` are counts (design §8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from host.loop.collaborators import Now
from host.records import StopReason, ToolCallRequest, ToolFailure, ToolSuccess
from host.text.json_text import any_json

PREVIEW_CHARS = 2_000

LoopTarget = Literal["agent.run", "agent.turn", "agent.tool_call"]
LoopPhase = Literal["before", "after"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedCall:
    """One executed call: as the model made it, what it is called in renderings, what came of it."""

    call: ToolCallRequest
    label: str
    outcome: ToolSuccess | ToolFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEvent:
    """One step of the loop.

    Attributes:
        parent_id: the event it belongs to; None for those of the run itself.
        timestamp: aware time.
        step_index: the turn, from 0; None for events of the run.
    """

    id: str
    run_id: str
    scenario_id: str | None
    target: LoopTarget
    phase: LoopPhase
    timestamp: datetime
    step_index: int | None
    parent_id: str | None
    payload: Mapping[str, Any]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEvents:
    """Builds the events of one run; ``now`` is the wall clock."""

    run_id: str
    scenario_id: str | None
    now: Now

    def run(self, phase: LoopPhase, payload: Mapping[str, Any]) -> LoopEvent:
        """The run's own event."""
        return self._event("agent.run", phase, f"{self._root}:{phase}", None, None, payload)

    def turn(self, step: int, phase: LoopPhase, payload: Mapping[str, Any]) -> LoopEvent:
        """A turn's event; the one after it has the one before it as its parent."""
        own = f"{self._root}:{step}"
        if phase == "before":
            return self._event("agent.turn", phase, own, self._root, step, payload)
        return self._event("agent.turn", phase, f"{own}:after", own, step, payload)

    def tool_call(
        self,
        step: int,
        position: int,
        call: ToolCallRequest,
        outcome: ToolSuccess | ToolFailure | None = None,
    ) -> LoopEvent:
        """A call's event: before it when there is no outcome yet, else after it."""
        turn = f"{self._root}:{step}"
        own = f"{turn}:tool-call:{position}"
        payload = {**_named(call), "argsPreview": json_preview(call.args)}
        if outcome is None:
            return self._event("agent.tool_call", "before", own, turn, step, payload)
        payload["outcome"] = outcome_preview(outcome)
        return self._event("agent.tool_call", "after", f"{own}:after", own, step, payload)

    @property
    def _root(self) -> str:
        return f"{self.run_id}:agent.run"

    def _event(
        self,
        target: LoopTarget,
        phase: LoopPhase,
        event_id: str,
        parent_id: str | None,
        step: int | None,
        payload: Mapping[str, Any],
    ) -> LoopEvent:
        return LoopEvent(
            id=event_id,
            run_id=self.run_id,
            scenario_id=self.scenario_id,
            target=target,
            phase=phase,
            timestamp=self.now(),
            step_index=step,
            parent_id=parent_id,
            payload=payload,
            metadata={"producer": "tool-loop"},
        )


def turn_results(batch: Sequence[ExecutedCall]) -> dict[str, Any]:
    """The payload of a turn whose whole batch was made."""
    return {
        "pendingToolCalls": len(batch),
        "toolResults": [
            {**_named(done.call), "ok": isinstance(done.outcome, ToolSuccess)} for done in batch
        ],
        "failedToolCalls": sum(isinstance(done.outcome, ToolFailure) for done in batch),
    }


def capped_turn(pending: int, reason: StopReason) -> dict[str, Any]:
    """The payload of a turn that a limit ended; ``pending`` is the size of its batch."""
    return {"pendingToolCalls": pending, "stopReason": reason}


def json_preview(value: object) -> str:
    """The value as compact JSON, cut; what JSON does not know in it as Python writes it."""
    return cut(any_json(value))


def cut(text: str, max_chars: int = PREVIEW_CHARS) -> str:
    """The text, or its first ``max_chars`` characters and an ellipsis."""
    return text if len(text) <= max_chars else f"{text[:max_chars]}…"


def _named(call: ToolCallRequest) -> dict[str, Any]:
    named = {"toolName": call.name}
    return {**named, "toolCallId": call.id} if call.id else named


def outcome_preview(outcome: ToolSuccess | ToolFailure) -> dict[str, Any]:
    """What observers are told of an outcome; an absent status stays absent."""
    if isinstance(outcome, ToolSuccess):
        return {"ok": True, "resultPreview": json_preview(outcome.result)}
    failed: dict[str, Any] = {"ok": False, "code": outcome.code, "message": cut(outcome.message)}
    return failed if outcome.status is None else {**failed, "status": outcome.status}
