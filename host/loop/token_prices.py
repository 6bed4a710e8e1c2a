"""What tokens cost: a table of prices as the ``price`` of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from host.records import TurnUsage

PER = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrices:
    """Prices for a million tokens each, in any currency.

    Attributes:
        cached: of prompt tokens read from the endpoint's cache; None: as any other.

    Raises:
        ValueError: a price is negative or no finite number.
    """

    prompt: float
    completion: float
    cached: float | None = None

    def __post_init__(self) -> None:
        for price in (self.prompt, self.completion, self.cached or 0):
            if not math.isfinite(price) or price < 0:
                raise ValueError("a price is a finite number, 0 or more")

    def __call__(self, usage: TurnUsage) -> float:
        """What a turn of this usage costs; cached tokens beyond the prompt's own cost nothing."""
        cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
        cached_price = self.prompt if self.cached is None else self.cached
        fresh = (usage.prompt_tokens - cached) * self.prompt
        return (fresh + cached * cached_price + usage.completion_tokens * self.completion) / PER
