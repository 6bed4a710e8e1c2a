"""Prices of tokens."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop import TokenPrices
from host.records import TurnUsage

COUNTS = st.integers(0, 10**6)
PRICES = st.floats(0, 1000)


def usage(prompt: int, completion: int, cached: int | None = None) -> TurnUsage:
    return TurnUsage(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached)


@pytest.mark.parametrize(
    ("spent", "cost"),
    [
        (usage(1_000_000, 0), 2.0),
        (usage(0, 500_000), 4.0),
        (usage(1_000_000, 0, cached=500_000), 1.25),
        (usage(100, 0, cached=10_000), 0.00005),
    ],
)
def test_a_turn_costs_what_its_tokens_cost(spent: TurnUsage, cost: float) -> None:
    assert TokenPrices(prompt=2, completion=8, cached=0.5)(spent) == pytest.approx(cost)


@given(COUNTS, COUNTS, st.none() | COUNTS, PRICES, PRICES)
def test_without_a_price_of_their_own_cached_tokens_cost_what_others_do(
    prompt: int, completion: int, cached: int | None, in_price: float, out_price: float
) -> None:
    prices = TokenPrices(prompt=in_price, completion=out_price)
    plain = prices(usage(prompt, completion))
    assert math.isclose(prices(usage(prompt, completion, cached)), plain, abs_tol=1e-9)


@given(COUNTS, COUNTS, COUNTS)
def test_more_tokens_never_cost_less(prompt: int, completion: int, cached: int) -> None:
    prices = TokenPrices(prompt=3, completion=5, cached=1)
    assert prices(usage(prompt + 1, completion, cached)) >= prices(
        usage(prompt, completion, cached)
    )
    assert 0 <= prices(usage(prompt, completion, cached)) < prices(usage(prompt, completion + 1))


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_a_price_that_is_none_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="price"):
        TokenPrices(prompt=1, completion=wrong)
