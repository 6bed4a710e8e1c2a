"""A run while it is being made: what has happened so far, ready to be handed out at any time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from host.loop.ledger import rebase_ledger
from host.loop.transcript import (
    STOPPED_TEXT,
    ids_in,
    not_run_text,
    tool_message,
    unanswered_calls,
)
from host.records import (
    HookNote,
    LedgerEntry,
    Message,
    RequestTrace,
    Run,
    StopReason,
    ToolCallOutcome,
    ToolMessage,
    Turn,
    TurnUsage,
)

_RATES = {
    "prompt_tokens_per_second": "prompt_seconds",
    "tokens_per_second": "predicted_seconds",
}
"""Each rate, and the time it was measured over."""


@dataclass(slots=True, kw_only=True)
class RunRecord:
    """What a run has done so far; fields are those of ``Run``.

    Attributes:
        used: the tools dispatched, as keys in order of first use; those of ``tools`` only.
        tools: the names in the run's catalogue.
        denied: the ids of the calls that nobody allowed.
        dispatched: by call id, the name of each call that the toolbox was asked for.
        settled: by call id, what each begun call was answered, until its message is written.
    """

    messages: list[Message]
    max_tool_iterations: int = 0
    turn: Turn | None = None
    usage: TurnUsage = field(default_factory=TurnUsage)
    tool_calls: list[ToolCallOutcome] = field(default_factory=list)
    used: dict[str, None] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)
    notes: list[HookNote] = field(default_factory=list)
    requests: list[RequestTrace] = field(default_factory=list)
    loaded: tuple[str, ...] = ()
    context: str = ""
    seconds: float = 0.0
    whole_results: Mapping[str, str] = field(default_factory=dict)
    ledger: tuple[LedgerEntry, ...] = ()
    tools: Collection[str] = ()
    dispatched: dict[str, str] = field(default_factory=dict)
    settled: dict[str, tuple[str, ToolCallOutcome]] = field(default_factory=dict)
    _past_ids: frozenset[str] = field(default=frozenset(), init=False)

    @property
    def taken_ids(self) -> frozenset[str]:
        """The call ids of the transcript and of all that it has replaced in this run."""
        return self._past_ids | ids_in(self.messages)

    def rewrite(self, messages: list[Message]) -> None:
        """Takes other messages for the transcript; what was measured of the old ones moves."""
        self._past_ids = self.taken_ids
        self.ledger = rebase_ledger(self.ledger, self.messages, messages)
        self.messages = messages

    def note_call(self, outcome: ToolCallOutcome) -> None:
        """Notes what became of a begun call, now that its tool message is written."""
        self.settled.pop(outcome.id, None)
        self.tool_calls.append(outcome)
        if outcome.id in self.dispatched and outcome.name in self.tools:
            self.used[outcome.name] = None

    def unanswered(self, reason: StopReason | None) -> list[ToolMessage]:
        """The tool messages that the last calls still lack: that they were never made.

        Args:
            reason: what ended the run; None for an error.
        """
        text = not_run_text(reason)
        return [tool_message(call["id"], text) for call in unanswered_calls(self.messages)]

    def break_off(self, reason: StopReason | None) -> None:
        """Closes the transcript of a run that ended in the middle of anything.

        A call that had been answered keeps its answer; of one that was dispatched nobody knows
        what it did; the others were never made.

        Args:
            reason: what ended the run; None for an error.
        """
        for missing in self.unanswered(reason):
            call_id = missing["tool_call_id"]
            outcome = None
            if call_id in self.settled:
                missing["content"], outcome = self.settled[call_id]
            elif call_id in self.dispatched:
                missing["content"] = STOPPED_TEXT
                outcome = ToolCallOutcome(name=self.dispatched[call_id], ok=False, id=call_id)
            self.messages.append(missing)
            if outcome is not None:
                self.note_call(outcome)

    def run(self, stop_reason: StopReason) -> Run:
        """The run as it stands now."""
        return Run(
            turn=self.turn,
            messages=tuple(self.messages),
            usage=self.usage,
            tool_calls=tuple(self.tool_calls),
            loaded=self.loaded,
            used=tuple(self.used),
            notes=tuple(self.notes),
            stop_reason=stop_reason,
            requests=tuple(self.requests),
            max_tool_iterations=self.max_tool_iterations,
            context=self.context,
            seconds=self.seconds,
            whole_results=dict(self.whole_results),
            ledger=self.ledger,
        )


def usage_sum(a: TurnUsage, b: TurnUsage) -> TurnUsage:
    """The usage of both together.

    Counts and times add up; what only one of them reported is its own; a rate is the mean over
    the time it was measured in.
    """
    total: dict[str, Any] = {}
    for name in (item.name for item in fields(TurnUsage)):
        ours, theirs = getattr(a, name), getattr(b, name)
        if ours is None or theirs is None:
            total[name] = theirs if ours is None else ours
        elif name in _RATES:
            total[name] = _mean_rate(
                (ours, getattr(a, _RATES[name])), (theirs, getattr(b, _RATES[name]))
            )
        else:
            total[name] = ours + theirs
    return TurnUsage(**total)


def _mean_rate(a: tuple[float, float | None], b: tuple[float, float | None]) -> float:
    (rate_a, seconds_a), (rate_b, seconds_b) = a, b
    if not seconds_a or not seconds_b:
        return rate_a if seconds_a else rate_b
    return (rate_a * seconds_a + rate_b * seconds_b) / (seconds_a + seconds_b)
