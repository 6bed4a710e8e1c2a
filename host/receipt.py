"""What a run cost, and what it would have cost with every tool's schema in every request."""

from __future__ import annotations

from dataclasses import dataclass

from host.catalogue import LOAD_TOOLS
from host.records import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A run's bill. Tokens marked estimate are characters / 4; the rest the endpoint counted.

    Attributes:
        prompt_tokens, completion_tokens: counted by the endpoint; 0 where it never counts.
        cached_tokens: prompt tokens it read from its cache; None where it never says.
        catalogue_tokens: estimate; the name catalogue, over all requests.
        schema_tokens: estimate; the declared tools, over all requests.
        eager_tokens: estimate; every catalogued tool declared in every request instead.
        tool_calls: calls of real tools; loads: calls of ``load_tools``; failed_calls: of both.
        tool_seconds, model_seconds: inside dispatches, inside requests.
        seconds: the whole run.
    """

    requests: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None
    catalogue_tokens: int
    schema_tokens: int
    eager_tokens: int
    tool_calls: int
    loads: int
    failed_calls: int
    tool_seconds: float
    model_seconds: float
    seconds: float

    @property
    def discovery_tokens(self) -> int:
        """Estimate of what telling the model about tools took: catalogue plus schemas."""
        return self.catalogue_tokens + self.schema_tokens

    @property
    def saved_share(self) -> float:
        """Share of the eager estimate not spent; negative when more was, 0 without tools."""
        return 1 - self.discovery_tokens / self.eager_tokens if self.eager_tokens else 0.0


def receipt(run: Run) -> Receipt:
    """The bill of a run, from its own trace."""
    loads = sum(call.name == LOAD_TOOLS for call in run.tool_calls)
    return Receipt(
        requests=len(run.requests),
        prompt_tokens=run.usage.prompt_tokens,
        completion_tokens=run.usage.completion_tokens,
        cached_tokens=run.usage.cached_tokens,
        catalogue_tokens=sum(request.catalogue_tokens for request in run.requests),
        schema_tokens=sum(request.schema_tokens for request in run.requests),
        eager_tokens=sum(request.eager_schema_tokens for request in run.requests),
        tool_calls=len(run.tool_calls) - loads,
        loads=loads,
        failed_calls=sum(not call.ok for call in run.tool_calls),
        tool_seconds=sum(call.seconds for call in run.tool_calls),
        model_seconds=sum(request.seconds for request in run.requests),
        seconds=run.seconds,
    )
