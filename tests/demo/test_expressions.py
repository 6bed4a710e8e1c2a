from __future__ import annotations

import contextlib
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.demo.expressions import MAX_BITS, MAX_EXPRESSION_CHARS, evaluate, power
from host.demo.refusal import Refused


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", Fraction(7)),
        ("(1 + 2) * 3", Fraction(9)),
        ("-2 ** 2", Fraction(-4)),
        ("(-2) ** 2", Fraction(4)),
        ("2 ** 3 ** 2", Fraction(512)),
        ("2 ^ 10", Fraction(1024)),
        ("2 ** -1", Fraction(1, 2)),
        ("--3", Fraction(3)),
        ("8 / 2 / 2", Fraction(2)),
        ("0.1 + 0.2", Fraction(3, 10)),
        ("1 / 3 * 3", Fraction(1)),
        (".5 + 5. + 1e3 + 2E-2", Fraction("1005.52")),
        ("0 ** 0", Fraction(1)),
        ("1 ** 999999999", Fraction(1)),
        ("(-1) ** 999999999", Fraction(-1)),
        ("(-1) ** -2", Fraction(1)),
        ("0 ** 999999999", Fraction(0)),
        (" \t7\n", Fraction(7)),
    ],
)
def test_expressions_have_their_exact_value(expression: str, value: Fraction) -> None:
    assert evaluate(expression) == value


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "A number is missing before the end."),
        ("1 +", "A number is missing before the end."),
        ("1 2", 'An operator is missing before "2" at position 3.'),
        ("(1", "A closing parenthesis is missing before the end."),
        ("1)", 'An operator is missing before ")" at position 2.'),
        ("1,000", '"," at position 2 is not understood'),
        ("2 x 3", '"x" at position 3 is not understood'),
        ("sqrt(2)", '"s" at position 1 is not understood'),
        ("٣", "is not understood"),
        ("1 / 0", "Division by zero has no result."),
        ("1 / (2 - 2)", "Division by zero has no result."),
        ("0 ** -1", "Zero to a negative power has no result."),
        ("2 ** 0.5", "An exponent must be a whole number."),
        ("9 ** 9 ** 9", "The numbers get too large"),
        ("2 ** 4097", "The numbers get too large"),
        ("1e4000", "The numbers get too large"),
        ("1e99999", "not understood|operator is missing"),
        ("(1/3) ** 4000", "The numbers get too large"),
        ("(" * 41 + "1" + ")" * 41, "nested at most 40 deep"),
        ("-" * 50 + "1", "nested at most 40 deep"),
        ("2 ** " * 50 + "1", "nested at most 40 deep"),
        ("1" * (MAX_EXPRESSION_CHARS + 1), "at most 500 characters"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_one_sentence(expression: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason.replace("(", r"\(").replace(")", r"\)")) as refusal:
        evaluate(expression)
    assert "\n" not in str(refusal.value)


NUMBERS = st.integers(0, 30).map(str) | st.decimals(0, 30, places=2).map(str)
OPERATORS = st.sampled_from(["+", "-", "*", "/"])
EXPONENTS = st.integers(-3, 3).map(str) | st.sampled_from(["2**2", "-2**2", "1/2", "2**-1"])
SPACES = st.sampled_from(["", " ", "  "])


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    """Text with the structure of an expression: numbers, signs, operators and parentheses."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(NUMBERS)
    left, space = draw(expressions(depth - 1)), draw(SPACES)
    match draw(st.sampled_from(["binary", "parentheses", "sign", "power"])):
        case "binary":
            return f"{left}{space}{draw(OPERATORS)}{space}{draw(expressions(depth - 1))}"
        case "parentheses":
            return f"({space}{left}{space})"
        case "sign":
            return f"{draw(st.sampled_from('+-'))}{space}{left}"
        case _:
            base = draw(NUMBERS) if draw(st.booleans()) else f"({left})"
            return f"{base}{space}**{space}{draw(EXPONENTS)}"


def python_value(expression: str) -> Fraction | None:
    """Oracle: Python's own grammar over Fractions; None where Python divides by zero."""
    exact = re.sub(r"\d+(\.\d+)?", r"Fraction('\g<0>')", expression)
    try:
        value = eval(exact, {"Fraction": Fraction})
    except ZeroDivisionError:
        return None
    # A Fraction to a power that is not whole becomes a float or a complex number.
    return value if isinstance(value, Fraction) else None


@given(expressions())
def test_the_value_is_what_python_gives_over_fractions(expression: str) -> None:
    expected = python_value(expression)
    try:
        value = evaluate(expression)
    except Refused:
        assert expected is None or _is_large(expected)
    else:
        assert value == expected


def _is_large(value: Fraction) -> bool:
    return max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS


@given(st.text(alphabet="0123456789.+-*/^() e", max_size=40))
def test_any_text_ends_in_a_value_or_a_refusal(text: str) -> None:
    with contextlib.suppress(Refused):
        assert isinstance(evaluate(text), Fraction)


@given(st.fractions(max_denominator=50), st.integers(-20, 20))
def test_a_power_is_the_repeated_product(base: Fraction, exponent: int) -> None:
    if base == 0 and exponent < 0:
        with pytest.raises(Refused):
            power(base, Fraction(exponent))
        return
    product = Fraction(1)
    for _ in range(abs(exponent)):
        product *= base
    if _is_large(product):
        return
    assert power(base, Fraction(exponent)) == (product if exponent >= 0 else 1 / product)
