"""What a run cost, and what it would have cost with every tool's schema in every request."""

from __future__ import annotations

from dataclasses import dataclass

from host.catalogue import LOAD_TOOLS
from host.records import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A run's bill. Tokens marked estimate are characters / 4; the rest the endpoint counted.

    Attributes:
        requests: all of them; asides: those beside the run's own turns, to choose tools or to sum
            up. What they cost is in the tokens and the seconds.
        prompt_tokens, completion_tokens: counted by the endpoint; 0 where it never counts.
        cached_tokens: prompt tokens it read from its cache; None where it never says.
        aside_tokens: the part of both that asides took; of a choice of tools an estimate.
        catalogue_tokens: estimate; the name catalogue, over all requests.
        schema_tokens: estimate; the declared tools, over all requests.
        eager_tokens: estimate; every catalogued tool declared instead, in every turn that did
            more than load tools: the others would not have been needed.
        wasted_round_trips: turns that did nothing but load tools, none of which was used.
        tool_calls: calls of real tools; loads: calls of ``load_tools``; failed_calls: of both.
        tool_seconds, model_seconds: inside dispatches, inside requests.
        seconds: the whole run.
    """

    requests: int
    asides: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None
    aside_tokens: int
    catalogue_tokens: int
    schema_tokens: int
    eager_tokens: int
    wasted_round_trips: int
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
    asides = [request for request in run.requests if request.purpose != "turn"]
    only_loading = [request for request in run.requests if request.loaded is not None]
    needed = [request for request in run.requests if request.loaded is None]
    return Receipt(
        requests=len(run.requests),
        asides=len(asides),
        prompt_tokens=run.usage.prompt_tokens,
        completion_tokens=run.usage.completion_tokens,
        cached_tokens=run.usage.cached_tokens,
        aside_tokens=sum(
            request.usage.prompt_tokens + request.usage.completion_tokens for request in asides
        ),
        catalogue_tokens=sum(request.catalogue_tokens for request in run.requests),
        schema_tokens=sum(request.schema_tokens for request in run.requests),
        eager_tokens=sum(request.eager_schema_tokens for request in needed),
        wasted_round_trips=sum(
            not set(request.loaded or ()) & set(run.used) for request in only_loading
        ),
        tool_calls=len(run.tool_calls) - loads,
        loads=loads,
        failed_calls=sum(not call.ok for call in run.tool_calls),
        tool_seconds=sum(call.seconds for call in run.tool_calls),
        model_seconds=sum(request.seconds for request in run.requests),
        seconds=run.seconds,
    )
