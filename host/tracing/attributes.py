"""What spans say without content: models, tokens, servers, ways to end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from host.errors import PoolError
from host.records import Run, Turn, TurnUsage

if TYPE_CHECKING:
    from host.pool import ServerState

Attributes: TypeAlias = dict[str, str | int | float | list[str]]

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedModel:
    """What is known of the model a run asks; None for what is not.

    Attributes:
        base_url: the endpoint's address; only host and port are told.
        max_tokens: ceiling of a reply, as it is sent.
    """

    name: str | None = None
    base_url: str | None = field(default=None, repr=False)
    max_tokens: int | None = None
    temperature: float | None = None


def model_attributes(model: TracedModel) -> Attributes:
    """What a request is told to which model."""
    known: Mapping[str, str | int | float | None] = {
        "gen_ai.request.model": model.name,
        "gen_ai.request.max_tokens": model.max_tokens,
        "gen_ai.request.temperature": model.temperature,
    }
    return {**present(known), **_address(model.base_url or "")}


def usage_attributes(usage: TurnUsage) -> Attributes:
    """The tokens that were counted; none for an endpoint that does not count."""
    counted = bool(usage.prompt_tokens or usage.completion_tokens)
    return present(
        {
            "gen_ai.usage.input_tokens": usage.prompt_tokens if counted else None,
            "gen_ai.usage.output_tokens": usage.completion_tokens if counted else None,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
        }
    )


def turn_attributes(turn: Turn) -> Attributes:
    """What an answer took, and why it ended."""
    first = present({"gen_ai.response.time_to_first_chunk": turn.usage.first_token_seconds})
    return {**usage_attributes(turn.usage), **_finish(turn), **first}


def run_attributes(run: Run) -> Attributes:
    """What all answers of a run took, and why the last of them ended."""
    return {**usage_attributes(run.usage), **(_finish(run.turn) if run.turn else {})}


def server_attributes(state: ServerState) -> Attributes:
    """Which server it is, how it is reached, and the protocol version it speaks."""
    url = getattr(state.row, "url", None)
    way: Attributes = (
        {"network.transport": "pipe"}
        if url is None
        else {"network.transport": "tcp", "network.protocol.name": "http", **_address(url)}
    )
    era = present({"mcp.protocol.version": state.era})
    return {"agent_host.server.id": state.id, **way, **era}


def error_type(error: BaseException) -> str:
    """A pool error's code, or else the exception's class."""
    return failure_type(error.code) if isinstance(error, PoolError) else type(error).__qualname__


def failure_type(code: str) -> str:
    """A tool failure's code; for a tool's own error the word of the convention."""
    return "tool_error" if code == "tool-error" else code


def present(values: Mapping[str, str | int | float | None]) -> Attributes:
    """The values that are there."""
    return {name: value for name, value in values.items() if value is not None}


def _finish(turn: Turn) -> Attributes:
    return {"gen_ai.response.finish_reasons": [turn.finish_reason]} if turn.finish_reason else {}


def _address(url: str) -> Attributes:
    """Host and port of an address; {} for what is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return {}
    return {"server.address": host, "server.port": port} if host and port else {}
