from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.demo.refusal import Refused
from host.demo.units_table import KINDS, UNITS, Unit, convert, difference, find_unit, units_of

VALUES = st.fractions(min_value=0) | st.decimals(0, 10**6, places=4).map(Fraction)


@st.composite
def unit_pairs(draw: st.DrawFn) -> tuple[Unit, Unit]:
    same_kind = units_of(draw(st.sampled_from(KINDS)))
    return draw(st.sampled_from(same_kind)), draw(st.sampled_from(same_kind))


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        ("1", "mile", "km", "1.609344"),
        ("26.2", "miles", "kilometers", "42.1648128"),
        ("1", "nautical mile", "m", "1852"),
        ("12", "inches", "foot", "1"),
        ("1", "lb", "g", "453.59237"),
        ("1", "stone", "pound", "14"),
        ("100", "celsius", "fahrenheit", "212"),
        ("-40", "°C", "°F", "-40"),
        ("0", "kelvin", "celsius", "-273.15"),
        ("1", "US gallon", "l", "3.785411784"),
        ("16", "cups", "gallon", "1"),
        ("3", "teaspoons", "tablespoon", "1"),
        ("8", "imperial pints", "imperial gallon", "1"),
        ("36", "km/h", "m/s", "10"),
        ("1", "knot", "km/h", "1.852"),
        ("1", "GiB", "MiB", "1024"),
        ("1", "GB", "MB", "1000"),
        ("8", "Mb", "MB", "1"),
        ("2", "weeks", "hours", "336"),
    ],
)
def test_known_conversions_are_exact(value: str, source: str, target: str, result: str) -> None:
    assert convert(Fraction(value), find_unit(source), find_unit(target)) == Fraction(result)


@given(VALUES, unit_pairs())
def test_converting_there_and_back_changes_nothing(
    value: Fraction, pair: tuple[Unit, Unit]
) -> None:
    source, target = pair
    assert convert(convert(value, source, target), target, source) == value


@given(VALUES, unit_pairs(), st.data())
def test_going_by_a_third_unit_is_the_same(
    value: Fraction, pair: tuple[Unit, Unit], data: st.DataObject
) -> None:
    source, target = pair
    between = data.draw(st.sampled_from(units_of(source.kind)))
    assert convert(convert(value, source, between), between, target) == convert(
        value, source, target
    )


@given(VALUES, VALUES, unit_pairs())
def test_a_difference_is_what_both_differ_by_in_the_first_unit(
    first: Fraction, second: Fraction, pair: tuple[Unit, Unit]
) -> None:
    unit, other = pair
    more = difference(first, unit, second, other)
    assert more == first - convert(second, other, unit)
    assert (more == 0) == (difference(second, other, first, unit) == 0)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_is_found_by_each_of_its_spellings(unit: Unit) -> None:
    assert unit.factor > 0
    for spelling in (unit.name, *unit.spellings):
        assert find_unit(f"  {spelling} ") is unit


def test_no_two_units_share_a_spelling() -> None:
    counts = Counter(word for unit in UNITS for word in (unit.name, *unit.spellings))
    assert [word for word, count in counts.items() if count > 1] == []


def test_letter_case_is_forgiven_where_only_one_unit_is_meant() -> None:
    assert find_unit("KILOMETRE").name == "kilometre"
    assert find_unit("gib").name == "gibibyte"


def test_letter_case_that_decides_is_asked_for() -> None:
    with pytest.raises(Refused, match='"mb" can be megabyte or megabit: say which'):
        find_unit("mb")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("kilometr", "kilometre"),
        ("fahrenhiet", "fahrenheit"),
        ("ton", "tonne"),
        ("zzz", "list_units"),
        ("", "list_units"),
    ],
)
def test_an_unknown_unit_is_refused_with_the_nearest_names(name: str, hint: str) -> None:
    with pytest.raises(Refused, match=hint):
        find_unit(name)


def test_units_of_different_kinds_are_refused() -> None:
    with pytest.raises(Refused, match="mile is a unit of length and kilogram one of mass"):
        convert(Fraction(1), find_unit("mile"), find_unit("kg"))


def test_a_temperature_below_absolute_zero_is_refused() -> None:
    with pytest.raises(Refused, match="absolute zero"):
        convert(Fraction(-300), find_unit("celsius"), find_unit("kelvin"))


def test_an_unknown_kind_is_refused_with_all_kinds() -> None:
    with pytest.raises(Refused, match="length, mass, temperature, volume, speed, data or time"):
        units_of("colour")
