"""Numbers in and out without rounding, as far as a number can be written down."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

from host.demo.refusal import Refused

_MAX_DECIMALS = 50
_MAX_SHOWN_DENOMINATOR = 1000
_SIGNIFICANT_DIGITS = 15
_MAX_BITS = 4096


def read_number(value: float) -> Fraction:
    """The number as it was written: ``0.1`` is one tenth, not the binary fraction next to it.

    Raises:
        Refused: the number is infinite, not a number, or a whole number beyond 2 ** 4096.
    """
    if isinstance(value, int):
        if value.bit_length() > _MAX_BITS:
            raise Refused(f"A number must stay below 2 ** {_MAX_BITS}.")
        return Fraction(value)
    if not math.isfinite(value):
        raise Refused("A number must be finite.")
    return Fraction(Decimal(repr(value)))


def show_number(value: Fraction, unit: str = "") -> str:
    """The number in decimal digits, followed by its unit; exact where 50 decimals are enough.

    Otherwise ``about`` and 15 significant digits, with the exact fraction if that is a plain one.
    """
    after = f" {unit}" if unit else ""
    decimals = _decimals(value.denominator)
    if decimals is not None and decimals <= _MAX_DECIMALS:
        return _plain(value, decimals) + after
    rounding = Context(prec=_SIGNIFICANT_DIGITS, rounding=ROUND_HALF_UP)
    quotient = rounding.divide(Decimal(value.numerator), Decimal(value.denominator))
    rounded = rounding.normalize(quotient)
    small = Decimal("1e-6") <= abs(rounded) < Decimal("1e15")
    about = f"about {rounded:f}" if small else f"about {rounded:e}"
    is_plain = value.denominator <= _MAX_SHOWN_DENOMINATOR and small
    exact = f" (exactly {value.numerator}/{value.denominator})" if is_plain else ""
    return about + after + exact


def rounded_half_up(value: Fraction, digits: int) -> Fraction:
    """The value rounded to that many decimals (negative: to tens, hundreds), halves away from 0."""
    scale = Fraction(10) ** digits
    whole = math.floor(abs(value) * scale + Fraction(1, 2))
    return Fraction(whole if value >= 0 else -whole) / scale


def _plain(value: Fraction, decimals: int) -> str:
    digits = str(abs(value.numerator) * 10**decimals // value.denominator).zfill(decimals + 1)
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}" if decimals else sign + digits


def _decimals(denominator: int) -> int | None:
    """How many decimals a fraction in lowest terms needs; None when they never end."""
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None
