from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.demo.exact_numbers import read_number, rounded_half_up, show_number
from host.demo.refusal import Refused

FRACTIONS = st.fractions() | st.decimals(allow_nan=False, allow_infinity=False, places=8).map(
    Fraction
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(-7), "-7"),
        (Fraction(1, 10), "0.1"),
        (Fraction(-5, 4), "-1.25"),
        (Fraction(1, 3), "about 0.333333333333333 (exactly 1/3)"),
        (Fraction(-2, 3), "about -0.666666666666667 (exactly -2/3)"),
        (Fraction(10**20 + 1, 3), "about 3.33333333333333e+19"),
        (Fraction(1, 3 * 10**9), "about 3.33333333333333e-10"),
        (Fraction(1, 2**60), "about 8.67361737988404e-19"),
        (Fraction(1, 1001), "about 0.000999000999000999"),
        (Fraction(10**30, 7**30), "about 44366.8708623631"),
    ],
)
def test_numbers_are_shown_exactly_or_said_to_be_about(value: Fraction, text: str) -> None:
    assert show_number(value) == text


@given(FRACTIONS)
def test_a_shown_number_reads_back_as_itself_or_within_its_digits(value: Fraction) -> None:
    text = show_number(value, "mile")
    assert " mile" in text
    text = text.replace(" mile", "")
    assert text == show_number(value)
    if exact := re.search(r"exactly (\S+)\)", text):
        assert Fraction(exact[1]) == value
    if text.startswith("about "):
        about = Fraction(text.split()[1])
        assert abs(about - value) <= abs(value) * Fraction(1, 10**14)
    else:
        assert Fraction(text) == value


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**4000), 2**4000))
def test_a_number_is_read_as_it_is_written(value: float) -> None:
    assert read_number(value) == Fraction(Decimal(repr(value)))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 2**4097])
def test_a_number_without_bounds_is_refused(value: float) -> None:
    with pytest.raises(Refused):
        read_number(value)


@pytest.mark.parametrize(
    ("value", "digits", "rounded"),
    [("2.5", 0, "3"), ("-2.5", 0, "-3"), ("1.005", 2, "1.01"), ("1250", -2, "1300"), ("3", 5, "3")],
)
def test_halves_are_rounded_away_from_zero(value: str, digits: int, rounded: str) -> None:
    assert rounded_half_up(Fraction(value), digits) == Fraction(rounded)


@given(st.fractions(), st.integers(-20, 20))
def test_a_rounded_number_is_the_nearest_multiple(value: Fraction, digits: int) -> None:
    step = Fraction(10) ** -digits
    rounded = rounded_half_up(value, digits)
    assert (rounded / step).denominator == 1
    assert abs(rounded - value) <= step / 2
    assert rounded_half_up(-value, digits) == -rounded
