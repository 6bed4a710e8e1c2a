"""A run: one question from asking to answer, or to wherever it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from host.errors import IterationLimit, RunStopped
from host.records.hooks import HookNote
from host.records.messages import Message
from host.records.tools import ToolCallOutcome
from host.records.turns import Turn, TurnUsage

StopReason = Literal["completed", "stuck-loop", "backstop", "deadline", "budget", "stopped"]

DiscoveryMode = Literal["names", "eager", "proxied", "keywords", "preselect", "guided"]
"""How a run's model learns of tools."""

DISCOVERY_MODES: tuple[DiscoveryMode, ...] = get_args(DiscoveryMode)

RequestPurpose = Literal["turn", "select", "due", "pick", "summary"]
"""What a request of a run was for: its next step, or a question beside it about tools or text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """What an endpoint counted of a transcript's beginning.

    Attributes:
        through: index of the last transcript message that the request carried; -1 for none.
        prompt: its prompt tokens.
        epoch: entries of one epoch can be subtracted from each other.
    """

    through: int
    prompt: int
    epoch: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTrace:
    """One model request of a run and what it carried. Token figures are estimates (chars / 4).

    Attributes:
        tools: names of the declared tools, in order.
        catalogue_tokens: the name catalogue in its system prompt; 0 without one.
        schema_tokens: its declared tools.
        eager_schema_tokens: what declaring every tool of the catalogue would have taken; 0 for a
            request that an eager run would not have made.
        usage: as the endpoint counted it; of a side question that it did not count, an estimate.
        seconds: sent to answered, retries included.
        loaded: the tools newly loaded by a turn that did nothing but load; None for any other.
    """

    step: int
    tools: tuple[str, ...]
    catalogue_tokens: int
    schema_tokens: int
    eager_schema_tokens: int
    usage: TurnUsage
    seconds: float
    purpose: RequestPurpose = "turn"
    loaded: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run did.

    Attributes:
        turn: the last turn; None when none was answered.
        messages: the transcript without the system prompt and without hook context; it can be
            handed back as history.
        usage: the sum over all turns.
        tool_calls: every call begun, in transcript order, ``load_tools`` included.
        loaded: tools whose definitions were declared, in load order.
        used: tools of the catalogue that were dispatched, in order of first use.
        notes: what hooks did before the first request and after the last.
        stop_reason: ``completed`` unless a limit or a person stopped it.
        max_tool_iterations: the limit it ran under.
        context: the hooks' context blocks, byte for byte as they went on the question.
        seconds: from the first hook to the last answer.
        whole_results: by call id, the results that the model was shown only in part.
        ledger: what the endpoint counted of ``messages``, to be handed to the next run.
    """

    turn: Turn | None
    messages: tuple[Message, ...]
    usage: TurnUsage = field(default_factory=TurnUsage)
    tool_calls: tuple[ToolCallOutcome, ...] = ()
    loaded: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    notes: tuple[HookNote, ...] = ()
    stop_reason: StopReason = "completed"
    requests: tuple[RequestTrace, ...] = ()
    max_tool_iterations: int = 0
    context: str = ""
    seconds: float = 0.0
    whole_results: Mapping[str, str] = field(default_factory=dict)
    ledger: tuple[LedgerEntry, ...] = ()

    @property
    def answer(self) -> str:
        """The text of the last turn; "" when there was none."""
        return self.turn.content if self.turn else ""

    def raise_for_stop(self) -> Run:
        """This run, if it completed.

        Raises:
            IterationLimit: the run stopped at ``backstop``.
            RunStopped: it stopped for any other reason.
        """
        if self.stop_reason == "backstop":
            raise IterationLimit(self.max_tool_iterations, self)
        if self.stop_reason != "completed":
            raise RunStopped(self.stop_reason, self)
        return self
