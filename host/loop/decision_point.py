"""What the bounded loop asks its observers to look at after a turn with failed calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from host.loop.loop_events import ExecutedCall, cut, json_preview, outcome_preview
from host.records import Message, ToolFailure
from host.text.json_text import any_json

CONTEXT_CHARS = 12_000
CONTEXT_MESSAGES = 6
CANDIDATE_ACTIONS = ("retry", "verify", "continue", "stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One thing a decision can rest on: a failed call, or what it answered."""

    source: Literal["tool_call", "tool_result"]
    id: str
    detail: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPoint:
    """A turn whose calls did not all succeed, before the model is asked again.

    Attributes:
        context: the last messages, the turn's text and its results, head kept.
        evidence: two entries per failed call.
    """

    id: str
    run_id: str
    scenario_id: str | None
    step_index: int
    context: str
    evidence: tuple[Evidence, ...]
    metadata: Mapping[str, Any]
    kind: Literal["retry"] = "retry"
    candidate_actions: tuple[str, ...] = CANDIDATE_ACTIONS


def decision_point(
    run_id: str,
    scenario_id: str | None,
    step: int,
    *,
    messages: Sequence[Message],
    turn_text: str,
    batch: Sequence[tuple[ExecutedCall, str]],
) -> DecisionPoint:
    """The decision point of a turn (tool-loop spec §9).

    Args:
        messages: the conversation, the batch's results included; so the context says some
            things twice, as the original's does.
        batch: each executed call of the turn with its rendered result.
    """
    failed = [(done, text) for done, text in batch if isinstance(done.outcome, ToolFailure)]
    return DecisionPoint(
        id=f"{run_id}:agent.turn:{step}:failure-recovery",
        run_id=run_id,
        scenario_id=scenario_id,
        step_index=step,
        context=_context(messages, turn_text, [text for _, text in batch]),
        evidence=tuple(entry for done, text in failed for entry in _evidence(step, done, text)),
        metadata={
            "target": "failure-recovery",
            "source": "agent.turn",
            "failedToolCount": len(failed),
            "toolNames": [done.call.name for done, _ in failed],
        },
    )


def _context(messages: Sequence[Message], turn_text: str, rendered: Sequence[str]) -> str:
    parts = [
        f"[{message['role']}]\n{_content_text(message)}" for message in messages[-CONTEXT_MESSAGES:]
    ]
    if turn_text.strip():
        parts.append(f"[assistant]\n{turn_text}")
    parts.append("[tool results]\n" + "\n".join(rendered))
    return cut("\n\n".join(parts), CONTEXT_CHARS)


def _content_text(message: Message) -> str:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    return any_json(content)


def _evidence(step: int, done: ExecutedCall, rendered: str) -> tuple[Evidence, Evidence]:
    failure = outcome_preview(done.outcome)
    own = done.call.id or f"{step}:{done.label}"
    return (
        Evidence(
            source="tool_call",
            id=own,
            detail=f"{done.call.name} {json_preview(done.call.args)}",
            metadata={"toolName": done.call.name, "label": done.label},
        ),
        Evidence(
            source="tool_result",
            id=f"{own}:result",
            detail=rendered,
            metadata={key: value for key, value in failure.items() if key != "ok"},
        ),
    )
