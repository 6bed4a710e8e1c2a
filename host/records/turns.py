"""One model turn and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from host.records.messages import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnUsage:
    """Tokens and times of one turn, or their sum over several.

    None means that it was not reported; a reported zero stays a zero.

    Attributes:
        cached_tokens: prompt tokens read from the endpoint's cache.
        uncached_tokens: prompt minus cached, where a cache count was reported.
        first_token_seconds: request sent to first chunk that carried something.
        wall_seconds: the whole turn with its retries.
        retries: attempts beyond the first; timeouts: those that ended in silence.
        continuations: further requests that went on with a cut answer.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int | None = None
    uncached_tokens: int | None = None
    reasoning_tokens: int | None = None
    prompt_seconds: float | None = None
    prompt_tokens_per_second: float | None = None
    predicted_seconds: float | None = None
    tokens_per_second: float | None = None
    draft_total: int | None = None
    draft_accepted: int | None = None
    first_token_seconds: float | None = None
    wall_seconds: float | None = None
    retries: int | None = None
    timeouts: int | None = None
    continuations: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of the model.

    Attributes:
        content: the visible text; never holds reasoning.
        tool_calls: in asked order; ids are unique within the turn.
        finish_reason: as the endpoint gave it; "" when it never did.
        reasoning: what the model thought aloud, if the endpoint showed it.
    """

    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TurnUsage = field(default_factory=TurnUsage)
    finish_reason: str = ""
    reasoning: str = ""
