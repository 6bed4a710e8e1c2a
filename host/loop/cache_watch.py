"""What a run tells of its requests: what they were made of, and what the endpoint's cache did.

The source is agent-core §18 (later changes) and §4 for the parts of a request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from host.loop.ledger import SentRequest, break_reason
from host.records import Message, ToolDefinition, TurnUsage
from host.text.tokens import CHARS_PER_TOKEN, message_tokens, tools_tokens

UNBROKEN_SHARE = 0.9
"""The share of the previous prompt from which on the cache counts as used."""


class CacheWatch:
    """Hears of each answered request of a run, in order, and says what is to be told of it."""

    def __init__(self) -> None:
        self._previous: SentRequest | None = None
        self._expected = 0

    def answered(
        self, messages: Sequence[Message], tools: Sequence[ToolDefinition], usage: TurnUsage
    ) -> dict[str, Any]:
        """What a usage event says of the request under ``turn``, beside its usage.

        - ``toolsDeclared``, ``toolSchemaTokens`` (estimate), ``context`` (``context_parts``);
        - ``cacheExpected``, tokens: the previous prompt and its answer, which a cache would hold;
        - ``cacheBroken``: whether it served less than 0.9 of the previous prompt;
        - ``cacheBreakReason``, of a broken one: see ``break_reason``.

        What the endpoint's counts do not say is absent: the second without a count of the
        previous request, the third also without a cache count. A turn that was continued has no
        count of its own prompt (``SentRequest.of``).

        Args:
            messages: as sent, the system prompt included.
            tools: the declared definitions; the same list object is measured only once.
        """
        request = SentRequest.of(messages, tools, usage)
        told: dict[str, Any] = {
            "toolsDeclared": len(tools),
            "toolSchemaTokens": tools_tokens(tools),
            "context": context_parts(messages, tools, prompt_tokens=request.prompt),
            **self._compared(request, usage),
        }
        self._previous = request
        self._expected = request.prompt + usage.completion_tokens
        return told

    def _compared(self, request: SentRequest, usage: TurnUsage) -> dict[str, Any]:
        previous = self._previous
        if previous is None or previous.prompt <= 0:
            return {}
        told: dict[str, Any] = {"cacheExpected": self._expected}
        # a continued turn's count is of several reads of the cache
        share = None if usage.continuations else cached_share(previous.prompt, usage.cached_tokens)
        if share is not None:
            told["cacheBroken"] = share < UNBROKEN_SHARE
            if told["cacheBroken"]:
                told["cacheBreakReason"] = break_reason(previous, request)
        return told


def cached_share(previous_prompt: int, cached: int | None) -> float | None:
    """The share of the previous prompt that was served from cache, 0 to 1.

    None if the previous prompt was not counted (0) or no cache count was reported. A cache that
    also held the previous answer serves more than that prompt; this is 1.
    """
    if previous_prompt <= 0 or cached is None:
        return None
    return min(1.0, cached / previous_prompt)


def context_parts(
    messages: Sequence[Message], tools: Sequence[ToolDefinition], *, prompt_tokens: int = 0
) -> dict[str, int]:
    """What a request is made of, in tokens: four parts, and the ``total`` that they add up to.

    ``system`` is every system and developer message, ``toolResults`` every tool message,
    ``history`` all others, ``tools`` the declared ones. A counted prompt is divided by
    characters; without one (0) the parts are estimates. The largest part takes the rounding.
    """
    chars = {"system": 0, "tools": 0, "history": 0, "toolResults": 0}
    for message in messages:
        chars[_part(message)] += message_tokens(message, chars_per_token=1)
    if prompt_tokens > 0:
        chars["tools"] = tools_tokens(tools, chars_per_token=1)
        shared = _divided(prompt_tokens, chars)
    else:
        shared = _divided(-(-sum(chars.values()) // CHARS_PER_TOKEN), chars)
        shared["tools"] = tools_tokens(tools)
    return {**shared, "total": sum(shared.values())}


def _part(message: Message) -> str:
    match message["role"]:
        case "system" | "developer":
            return "system"
        case "tool":
            return "toolResults"
        case _:
            return "history"


def _divided(tokens: int, chars: dict[str, int]) -> dict[str, int]:
    """The tokens, shared by characters into whole numbers."""
    whole = sum(chars.values()) or 1
    shares = {part: round(tokens * own / whole) for part, own in chars.items()}
    largest = max(chars, key=lambda part: chars[part])
    shares[largest] += tokens - sum(shares.values())
    return shares
