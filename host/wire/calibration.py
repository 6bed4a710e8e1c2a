"""How many characters a token of each model really holds, from what its endpoint has counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from host.text.tokens import CHARS_PER_TOKEN, request_tokens

MAX_READINGS = 4
MIN_CHARS_PER_TOKEN = 1.0
MAX_CHARS_PER_TOKEN = 8.0

_TEXT_PARTS = ("text", "refusal")


def chars_per_prompt_token(body: Mapping[str, Any], prompt_tokens: int) -> float | None:
    """The ratio one answered request shows, or None when it shows nothing usable.

    Unusable are a prompt that was not counted, a message with a part that is not text (its
    characters say nothing about its tokens) and a ratio outside 1 to 8. Source: agent-core §21.
    """
    if prompt_tokens <= 0 or not _is_text_only(body.get("messages", ())):
        return None
    ratio = request_tokens(body, chars_per_token=1) / prompt_tokens
    return ratio if MIN_CHARS_PER_TOKEN <= ratio <= MAX_CHARS_PER_TOKEN else None


class Calibration:
    """The last four readings of each model of one endpoint.

    In force is the largest, which gives the lowest count: a false overflow is worse than a
    request that is refused.
    """

    def __init__(self) -> None:
        self._readings: dict[str, deque[float]] = {}

    def observe(self, model: str, body: Mapping[str, Any], prompt_tokens: int) -> float:
        """Takes a reading from an answered request; returns the ratio now in force."""
        ratio = chars_per_prompt_token(body, prompt_tokens)
        if ratio is not None:
            self._readings.setdefault(model, deque(maxlen=MAX_READINGS)).append(ratio)
        return self.chars_per_token(model)

    def chars_per_token(self, model: str) -> float:
        """Characters per token of a model; 4 as long as nothing was measured."""
        return max(self._readings.get(model, ()), default=float(CHARS_PER_TOKEN))

    def reset(self) -> None:
        """Forgets every reading."""
        self._readings.clear()


def _is_text_only(messages: Iterable[Mapping[str, Any]]) -> bool:
    return all(
        isinstance(part, Mapping) and part.get("type") in _TEXT_PARTS
        for message in messages
        if isinstance(content := message.get("content"), list)
        for part in content
    )
