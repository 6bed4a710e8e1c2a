"""Units: conversion and arithmetic without rounding errors."""

from __future__ import annotations

from mcp.server.lowlevel import Server

from host.demo.exact_numbers import read_number, rounded_half_up, show_number
from host.demo.expressions import evaluate
from host.demo.refusal import Refused, shown
from host.demo.servers.bundled import BundledTool, bundled_server
from host.demo.tool_arguments import Parameter
from host.demo.units_table import KINDS, convert, difference, find_unit, units_of

MAX_DIGITS = 20


def units_server() -> Server:
    """The units server."""
    return bundled_server(
        "units",
        "Unit conversion and arithmetic, computed exactly. Use calculate for sums of numbers and "
        "convert_unit for units; currencies need a rate that you give.",
        _TOOLS,
    )


def convert_unit(value: float, from_unit: str, to_unit: str) -> str:
    """The sentence that says how much a quantity is in another unit."""
    source, target = find_unit(from_unit), find_unit(to_unit)
    amount = read_number(value)
    result = convert(amount, source, target)
    return f"{show_number(amount, source.name)} = {show_number(result, target.name)}"


def list_units(kind: str) -> str:
    """The units of a kind with their symbols; the kinds themselves for an empty text."""
    if not kind.strip():
        return f"Kinds of unit: {', '.join(KINDS)}"
    return "\n".join(f"{unit.name} ({', '.join(unit.spellings)})" for unit in units_of(kind))


def calculate(expression: str) -> str:
    """The value of an expression."""
    return f"{' '.join(expression.split())} = {show_number(evaluate(expression))}"


def percentage(percent: float, of: float) -> str:
    """So many per cent of a number."""
    share, whole = read_number(percent), read_number(of)
    return f"{show_number(share, '%')} of {show_number(whole)} = {show_number(share * whole / 100)}"


def percent_change(before: float, after: float) -> str:
    """By how many per cent one number differs from an earlier one."""
    first, second = read_number(before), read_number(after)
    if first == 0:
        raise Refused("percent_change needs a before that is not 0.")
    change = show_number((second - first) / abs(first) * 100, "%")
    return f"from {show_number(first)} to {show_number(second)} is a change of {change}"


def convert_currency(amount: float, from_currency: str, to_currency: str, rate: float) -> str:
    """An amount of money in another currency, at the rate given."""
    source, target = _currency(from_currency), _currency(to_currency)
    price = read_number(rate)
    if price <= 0:
        raise Refused("The rate must be above 0: how much one unit of from_currency is worth.")
    money = read_number(amount)
    return (
        f"{show_number(money, source)} = {show_number(money * price, target)} "
        f"(at {show_number(price, target)} for 1 {source})"
    )


def round_number(value: float, digits: int) -> str:
    """A number rounded to some decimals, halves away from zero."""
    if abs(digits) > MAX_DIGITS:
        raise Refused(f"digits must be from -{MAX_DIGITS} to {MAX_DIGITS}.")
    number = read_number(value)
    return f"{show_number(number)} rounded is {show_number(rounded_half_up(number, digits))}"


def compare_quantities(
    first_value: float, first_unit: str, second_value: float, second_unit: str
) -> str:
    """The sentence that says which of two quantities is more, and by how much."""
    unit, other = find_unit(first_unit), find_unit(second_unit)
    first, second = read_number(first_value), read_number(second_value)
    more = difference(first, unit, second, other)
    left, right = show_number(first, unit.name), show_number(second, other.name)
    if more == 0:
        return f"{left} is the same as {right}"
    direction = "more" if more > 0 else "less"
    return f"{left} is {direction} than {right} by {show_number(abs(more), unit.name)}"


def _currency(text: str) -> str:
    code = text.strip().upper()
    if len(code) != 3 or not (code.isascii() and code.isalpha()):
        raise Refused(f"{shown(text)} is not a currency: give its three letters, such as EUR.")
    return code


def _number(name: str, what: str) -> Parameter:
    return Parameter(name=name, type="number", description=what)


def _text(name: str, what: str) -> Parameter:
    return Parameter(name=name, type="string", description=what)


_TOOLS = (
    BundledTool(
        name="convert_unit",
        description="Converts a quantity to another unit, for example miles to kilometres.",
        parameters=(
            _number("value", "how much"),
            _text("from_unit", "the unit it is in, for example mile, kg or celsius"),
            _text("to_unit", "the unit to convert to"),
        ),
        run=convert_unit,
    ),
    BundledTool(
        name="list_units",
        description=f"Lists the units of one kind ({', '.join(KINDS)}) with their symbols.",
        parameters=(
            Parameter(
                name="kind", type="string", description="the kind; empty for all kinds", default=""
            ),
        ),
        run=list_units,
    ),
    BundledTool(
        name="calculate",
        description="Computes an arithmetic expression exactly: + - * / ** and parentheses.",
        parameters=(_text("expression", "for example (12.5 + 3) * 4"),),
        run=calculate,
    ),
    BundledTool(
        name="percentage",
        description="Computes a percentage of a number, for example 15 % of 80.",
        parameters=(_number("percent", "how many per cent"), _number("of", "of which number")),
        run=percentage,
    ),
    BundledTool(
        name="percent_change",
        description="By how many per cent a number changed.",
        parameters=(_number("before", "the old number"), _number("after", "the new number")),
        run=percent_change,
    ),
    BundledTool(
        name="convert_currency",
        description="Converts an amount of money at an exchange rate that you give.",
        parameters=(
            _number("amount", "how much money"),
            _text("from_currency", "its currency, for example USD"),
            _text("to_currency", "the currency to convert to, for example EUR"),
            _number("rate", "how much 1 of from_currency is worth in to_currency"),
        ),
        run=convert_currency,
    ),
    BundledTool(
        name="round_number",
        description="Rounds a number to some decimals; halves are rounded away from zero.",
        parameters=(
            _number("value", "the number"),
            Parameter(
                name="digits",
                type="integer",
                description="how many decimals; -2 rounds to hundreds",
                default=0,
            ),
        ),
        run=round_number,
    ),
    BundledTool(
        name="compare_quantities",
        description="Says which of two quantities is more, whatever their units.",
        parameters=(
            _number("first_value", "how much the first is"),
            _text("first_unit", "the unit of the first"),
            _number("second_value", "how much the second is"),
            _text("second_unit", "the unit of the second"),
        ),
        run=compare_quantities,
    ),
)
