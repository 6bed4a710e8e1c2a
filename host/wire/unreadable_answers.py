"""Other ways to ask when a server cannot read what its own model wrote (ours).

llama.cpp parses an answer by its template's format when tools are offered. A model that calls a
tool which is not offered, or writes a brace in prose, breaks that and gets HTTP 500 or an error in
mid-stream; on another draw it mostly breaks it again. With ``tool_choice: "none"`` nothing looks
for calls: the same tokens come as text (xllamacpp 2026.10, streamed and not; the tools stay in
the prompt and its cache), and calls written as text are recovered from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from host.wire.capabilities import ModelCapabilities
from host.wire.turn_joining import prefilled

RESAMPLING_TEMPERATURE = 0.8


def can_forbid_calls(body: Mapping[str, Any]) -> bool:
    """Whether the request lets the model call, so that forbidding it makes another request."""
    return bool(body.get("tools")) and body.get("tool_choice") != "none"


def without_calls(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same request with the same sampling, answered as text."""
    changed = {**body, "tool_choice": "none"}
    changed.pop("parallel_tool_calls", None)
    return changed


def going_on(body: Mapping[str, Any], answer: str) -> dict[str, Any]:
    """A request for the rest of an answer of which this much was read, as text."""
    return prefilled(without_calls(body), answer)


def sampled_otherwise(body: Mapping[str, Any], refused: ModelCapabilities | None) -> dict[str, Any]:
    """The same request on another draw: warmer where that is allowed, from another seed."""
    changed = dict(body)
    temperature = body.get("temperature")
    if refused is None or refused.chosen_temperature:
        is_cold = not isinstance(temperature, int | float) or temperature < RESAMPLING_TEMPERATURE
        changed["temperature"] = RESAMPLING_TEMPERATURE if is_cold else temperature
    if isinstance(seed := body.get("seed"), int):
        changed["seed"] = seed + 1
    return changed
