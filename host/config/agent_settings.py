"""The ``agent`` object of a servers file: which endpoint, which model, under which policy."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from host.config.approval_settings import ApprovalSettings
from host.records import DiscoveryMode

_STRICT = ConfigDict(
    frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, strict=True
)


def _never_or_two(value: int) -> int:
    if value == 1:
        raise PydanticCustomError("repeat_limit", "must be 0 (never) or at least 2")
    return value


def _finite_throughout(value: dict[str, Any]) -> dict[str, Any]:
    """The value, unless there is a number in it, at any depth, that no request can carry."""
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting:
        place, part = waiting.pop()
        if isinstance(part, float) and not math.isfinite(part):
            raise PydanticCustomError(
                "number_inside", f"must hold finite numbers; mend the one at {place}"
            )
        if isinstance(part, dict):
            waiting += ((f"{place}.{key}".lstrip("."), inner) for key, inner in part.items())
        elif isinstance(part, list):
            waiting += ((f"{place}[{index}]", inner) for index, inner in enumerate(part))
    return value


MAX_COUNT = 1_000_000_000
"""The most that a count or a number of seconds may be: more is a slip, and overflows clocks."""

Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Seconds = Annotated[float, Field(le=MAX_COUNT, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
RepeatLimit = Annotated[Count, AfterValidator(_never_or_two)]


class PriceSettings(BaseModel):
    """What a million tokens cost, in any currency; ``cached`` None for as much as others."""

    model_config = _STRICT

    prompt: Amount
    completion: Amount
    cached: Amount | None = None


class AgentSettings(BaseModel):
    """How questions are answered. Every field may be left out.

    Attributes:
        base_url, api_key, model: the endpoint; None leaves it to flags and environment.
        gguf: a model's file to serve here, in place of ``base_url``; relative to the servers file.
        max_tokens: ceiling of one reply; 0 sends none.
        request_timeout_seconds: longest silence in an answer; 0 waits for ever.
        first_token_seconds: longest wait for the first token; None: five times the above.
        loading_timeout_seconds: patience with a model that is still being loaded.
        context_length: the model's window in tokens; 0 asks the endpoint. A model's file is
            served with it; 0 takes what the model was trained for and the memory holds.
        discovery: how the model learns of tools (``host.loop.AgentLoopOptions``).
        preselect_routing: whether tools chosen before the first request stand alone in it.
        max_tool_iterations: requests whose tools run.
        deadline_seconds: for one question; None for no limit.
        max_cost, prices: ends a run whose tokens cost so much; together or not at all.
        stuck_after, stuck_pairs_after, stuck_empty_after: repetitions that end a run; 0 for never.
        finish: ``summarise`` lets a stuck or capped run sum up what it found.
        max_continuations: how often a reply cut at its ceiling is gone on with.
        compact: fold a conversation that fills the model's window.
        max_result_chars: of a longer tool result the model is shown beginning and end, and reads
            the rest in pieces; 0 shows all.
        approve: which calls may be made without asking; None for all.
        server_instructions: put what servers say of their tools into the system prompt.
        resources: let the model list and read the servers' resources.
        capture_content: whether traces hold what was said, too.
    """

    model_config = _STRICT

    base_url: str | None = Field(None, pattern=r"^https?://\S+$", repr=False)
    api_key: str | None = Field(None, repr=False)
    model: str | None = Field(None, min_length=1)
    gguf: str | None = Field(None, min_length=1)
    max_tokens: Count = 0
    temperature: Amount | None = None
    reasoning_effort: str | None = None
    extra_body: Annotated[dict[str, Any], AfterValidator(_finite_throughout)] = Field(
        default_factory=dict
    )
    request_timeout_seconds: Seconds = Field(0, ge=0)
    first_token_seconds: Seconds | None = Field(None, ge=0)
    max_retries: Count = 2
    loading_timeout_seconds: Seconds = Field(120, ge=0)
    context_length: Count = 0
    system_prompt: str = ""
    discovery: DiscoveryMode = "names"
    preselect_routing: Literal["exclusive", "append"] = "exclusive"
    parallel: bool = True
    max_tool_iterations: int = Field(20, ge=1, le=MAX_COUNT)
    deadline_seconds: Seconds | None = Field(None, gt=0)
    max_cost: Amount | None = None
    prices: PriceSettings | None = None
    stuck_after: RepeatLimit = 3
    stuck_pairs_after: RepeatLimit = 3
    stuck_empty_after: RepeatLimit = 3
    finish: Literal["stop", "summarise"] = "stop"
    max_continuations: Count = 0
    compact: bool = False
    max_result_chars: Count = 20_000
    approve: ApprovalSettings | None = None
    server_instructions: bool = True
    resources: bool = False
    capture_content: bool = False
