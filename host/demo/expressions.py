"""Arithmetic in one line, computed exactly and within bounds.

    sum      = product (("+" | "-") product)*
    product  = signed (("*" | "/") signed)*
    signed   = ("+" | "-") signed | power
    power    = atom (("**" | "^") signed)?
    atom     = number | "(" sum ")"

So ``-2 ** 2`` is -4 and ``2 ** 3 ** 2`` is 512, as in Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from host.demo.refusal import Refused, shown

MAX_EXPRESSION_CHARS = 500
MAX_DEPTH = 40
MAX_BITS = 4096

_TOKEN = re.compile(
    r"(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4}(?!\d))?)|(?P<sign>\*\*|[-+*/^()])",
    re.ASCII,
)
_SPACE = re.compile(r"\s*")


def evaluate(expression: str) -> Fraction:
    """The exact value of an arithmetic expression.

    Raises:
        Refused: it is not one, divides by zero, has a power that is not whole, or is too long,
            too deep or too large to be computed in a moment.
    """
    if len(expression) > MAX_EXPRESSION_CHARS:
        raise Refused(f"The expression must be at most {MAX_EXPRESSION_CHARS} characters long.")
    parser = _Parser(_tokens(expression))
    value = parser.sum()
    if parser.token is not None:
        raise Refused(f"An operator is missing before {parser.where()}.")
    return value


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    position: int
    is_number: bool


def _tokens(expression: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = _end_of_space(expression, 0)
    while at < len(expression):
        match = _TOKEN.match(expression, at)
        if match is None:
            raise Refused(
                f"{shown(expression[at])} at position {at + 1} is not understood: "
                "use only numbers such as 1234.5, + - * / ** and parentheses."
            )
        tokens.append(_Token(match.group(), at + 1, match.lastgroup == "number"))
        at = _end_of_space(expression, match.end())
    return tokens


def _end_of_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


class _Parser:
    """Reads tokens from left to right and computes on the way."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    @property
    def token(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def where(self) -> str:
        token = self.token
        return f"{shown(token.text)} at position {token.position}" if token else "the end"

    def sum(self) -> Fraction:
        value = self._product()
        while sign := self._take("+", "-"):
            term = self._product()
            value = _bounded(value + term if sign == "+" else value - term)
        return value

    def _product(self) -> Fraction:
        value = self._signed()
        while sign := self._take("*", "/"):
            factor = self._signed()
            if sign == "/" and factor == 0:
                raise Refused("Division by zero has no result.")
            value = _bounded(value * factor if sign == "*" else value / factor)
        return value

    def _signed(self) -> Fraction:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Refused(f"The expression must be nested at most {MAX_DEPTH} deep.")
        sign = self._take("+", "-")
        value = self._signed() if sign else self._power()
        self._depth -= 1
        return -value if sign == "-" else value

    def _power(self) -> Fraction:
        value = self._atom()
        return power(value, self._signed()) if self._take("**", "^") else value

    def _atom(self) -> Fraction:
        token = self.token
        if token is not None and token.is_number:
            self._next += 1
            return _bounded(Fraction(token.text))
        if not self._take("("):
            raise Refused(f"A number is missing before {self.where()}.")
        value = self.sum()
        if not self._take(")"):
            raise Refused(f"A closing parenthesis is missing before {self.where()}.")
        return value

    def _take(self, *texts: str) -> str | None:
        token = self.token
        if token is None or token.text not in texts:
            return None
        self._next += 1
        return token.text


def power(base: Fraction, exponent: Fraction) -> Fraction:
    """The base to a whole power.

    Raises:
        Refused: the exponent is not whole, 0 is to be divided by, or the result is too large.
    """
    if exponent.denominator != 1:
        raise Refused("An exponent must be a whole number.")
    if base == 0 and exponent < 0:
        raise Refused("Zero to a negative power has no result.")
    bits = max(abs(base.numerator), base.denominator).bit_length()
    if bits > 1 and (bits - 1) * abs(exponent) > MAX_BITS:
        raise _too_large()
    whole = exponent.numerator if bits > 1 else exponent.numerator % 2 + 2 * (exponent != 0)
    return _bounded(base**whole)


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise _too_large()
    return value


def _too_large() -> Refused:
    return Refused(f"The numbers get too large: stay below 2 ** {MAX_BITS}.")
