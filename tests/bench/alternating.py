"""Measuring two things by turns, so that a slow moment of the machine falls on both."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


def by_turns(
    rounds: int, samples: Mapping[str, Callable[[], Any]], *, warm_up: int = 1
) -> dict[str, list[Any]]:
    """What each sample gave in each round; the order turns round from one to the next.

    Args:
        warm_up: rounds whose figures are thrown away.
    """
    found: dict[str, list[Any]] = {name: [] for name in samples}
    for number in range(rounds + warm_up):
        names = list(samples)[:: 1 if number % 2 else -1]
        for name in names:
            figure = samples[name]()
            if number >= warm_up:
                found[name].append(figure)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The middle of some figures, and the quarters around it."""

    median: float
    lower: float
    upper: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> Spread:
        """Of at least two figures."""
        lower, median, upper = statistics.quantiles(figures, n=4, method="inclusive")
        return cls(median=median, lower=lower, upper=upper)

    def shown(self, digits: int = 3) -> str:
        """For people."""
        return f"{self.median:.{digits}f} ({self.lower:.{digits}f}-{self.upper:.{digits}f})"


def percentile(figures: Sequence[float], percent: int) -> float:
    """The figure below which so many percent of all lie."""
    return statistics.quantiles(figures, n=100, method="inclusive")[percent - 1]
