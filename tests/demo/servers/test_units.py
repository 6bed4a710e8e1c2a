from __future__ import annotations

from typing import Any

import pytest

from host.demo.servers.units import units_server
from tests.demo.servers.fleet import answer_of


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        (
            "convert_unit",
            {"value": 0.1, "from_unit": "kilometers", "to_unit": "m"},
            "0.1 kilometre = 100 metre",
        ),
        (
            "convert_unit",
            {"value": 1, "from_unit": "km", "to_unit": "mile"},
            "1 kilometre = about 0.621371192237334 mile",
        ),
        (
            "list_units",
            {},
            "Kinds of unit: length, mass, temperature, volume, speed, data, time",
        ),
        ("calculate", {"expression": "0.1 +  0.2"}, "0.1 + 0.2 = 0.3"),
        ("calculate", {"expression": "1/3"}, "1/3 = about 0.333333333333333 (exactly 1/3)"),
        ("percentage", {"percent": 15, "of": 80}, "15 % of 80 = 12"),
        ("percent_change", {"before": 80, "after": 92}, "from 80 to 92 is a change of 15 %"),
        ("percent_change", {"before": -4, "after": -5}, "from -4 to -5 is a change of -25 %"),
        (
            "convert_currency",
            {"amount": 19.99, "from_currency": "usd", "to_currency": "EUR", "rate": 0.92},
            "19.99 USD = 18.3908 EUR (at 0.92 EUR for 1 USD)",
        ),
        ("round_number", {"value": 2.5}, "2.5 rounded is 3"),
        ("round_number", {"value": 1.005, "digits": 2}, "1.005 rounded is 1.01"),
        (
            "compare_quantities",
            {"first_value": 5, "first_unit": "mile", "second_value": 8, "second_unit": "km"},
            "5 mile is more than 8 kilometre by about 0.0290304621013282 mile",
        ),
        (
            "compare_quantities",
            {"first_value": 90, "first_unit": "C", "second_value": 212, "second_unit": "F"},
            "90 celsius is less than 212 fahrenheit by 10 celsius",
        ),
        (
            "compare_quantities",
            {"first_value": 12, "first_unit": "in", "second_value": 1, "second_unit": "ft"},
            "12 inch is the same as 1 foot",
        ),
    ],
)
async def test_units_answers(tool: str, arguments: dict[str, Any], expected: str) -> None:
    assert await answer_of(units_server(), tool, **arguments) == (expected, False)


async def test_a_kind_lists_its_units_with_symbols() -> None:
    text, _ = await answer_of(units_server(), "list_units", kind="Mass")
    assert "pound (pounds, lb, lbs)" in text.splitlines()


@pytest.mark.parametrize(
    ("tool", "arguments", "hint"),
    [
        (
            "convert_unit",
            {"value": 1, "from_unit": "mille", "to_unit": "km"},
            "did you mean mile",
        ),
        ("convert_unit", {"value": "1", "from_unit": "m", "to_unit": "km"}, "(number)"),
        ("list_units", {"kind": "colour"}, "it must be length, mass"),
        ("calculate", {"expression": "1 / 0"}, "Division by zero"),
        ("percent_change", {"before": 0, "after": 1}, "not 0"),
        (
            "convert_currency",
            {"amount": 1, "from_currency": "dollar", "to_currency": "EUR", "rate": 1},
            "three letters",
        ),
        (
            "convert_currency",
            {"amount": 1, "from_currency": "USD", "to_currency": "EUR", "rate": 0},
            "above 0",
        ),
        ("round_number", {"value": 1, "digits": 21}, "from -20 to 20"),
        ("round_number", {"value": 2**5000}, "must stay below"),
        (
            "compare_quantities",
            {"first_value": 1, "first_unit": "mile", "second_value": 1, "second_unit": "kg"},
            "both must be of one kind",
        ),
    ],
)
async def test_units_refuses(tool: str, arguments: dict[str, Any], hint: str) -> None:
    text, is_error = await answer_of(units_server(), tool, **arguments)
    assert is_error
    assert hint in text
    assert "\n" not in text
