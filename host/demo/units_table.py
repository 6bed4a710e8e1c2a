"""Units of measure with exact factors, found by name, plural or symbol."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from host.demo.refusal import Refused, listed, nearest, shown, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One unit; a value in it is ``(value + offset) * factor`` of its kind's base unit.

    Attributes:
        spellings: symbols and other names, the plural included.
    """

    name: str
    kind: str
    factor: Fraction
    offset: Fraction = Fraction(0)
    spellings: tuple[str, ...] = ()


def _units(kind: str, rows: Iterable[tuple[str, str, Fraction | int | str]]) -> list[Unit]:
    """The kind's units from rows of a name, other spellings separated by commas, and a factor."""
    return [
        Unit(name=name, kind=kind, factor=Fraction(factor), spellings=tuple(more.split(",")))
        for name, more, factor in rows
    ]


_FOOT = Fraction("0.3048")
_POUND = Fraction("0.45359237")
_US_GALLON = Fraction("3.785411784")
_UK_GALLON = Fraction("4.54609")

_LENGTH = _units(
    "length",
    [
        ("metre", "metres,m,meter,meters", 1),
        ("kilometre", "kilometres,km,kilometer,kilometers", 1000),
        ("centimetre", "centimetres,cm,centimeter,centimeters", "0.01"),
        ("millimetre", "millimetres,mm,millimeter,millimeters", "0.001"),
        ("micrometre", "micrometres,um,µm,micrometer,micrometers,micron,microns", "1e-6"),
        ("inch", "inches,in", _FOOT / 12),
        ("foot", "feet,ft", _FOOT),
        ("yard", "yards,yd", _FOOT * 3),
        ("mile", "miles,mi", _FOOT * 5280),
        ("nautical mile", "nautical miles,nmi", 1852),
    ],
)
_MASS = _units(
    "mass",
    [
        ("kilogram", "kilograms,kg,kilo,kilos", 1),
        ("gram", "grams,g", "0.001"),
        ("milligram", "milligrams,mg", "1e-6"),
        ("tonne", "tonnes,t,metric ton,metric tons", 1000),
        ("ounce", "ounces,oz", _POUND / 16),
        ("pound", "pounds,lb,lbs", _POUND),
        ("stone", "stones,st", _POUND * 14),
        ("short ton", "short tons,US ton,US tons", _POUND * 2000),
    ],
)
_VOLUME = _units(
    "volume",
    [
        ("litre", "litres,l,liter,liters", 1),
        ("millilitre", "millilitres,ml,milliliter,milliliters", "0.001"),
        ("cubic metre", "cubic metres,m3,m³,cubic meter,cubic meters", 1000),
        ("cubic centimetre", "cubic centimetres,cm3,cm³,cc,cubic centimeter", "0.001"),
        ("teaspoon", "teaspoons,tsp", _US_GALLON / 768),
        ("tablespoon", "tablespoons,tbsp", _US_GALLON / 256),
        ("fluid ounce", "fluid ounces,fl oz,US fluid ounce", _US_GALLON / 128),
        ("cup", "cups,US cup,US cups", _US_GALLON / 16),
        ("pint", "pints,US pint,US pints", _US_GALLON / 8),
        ("quart", "quarts,qt,US quart,US quarts", _US_GALLON / 4),
        ("gallon", "gallons,gal,US gallon,US gallons", _US_GALLON),
        ("imperial pint", "imperial pints,UK pint,UK pints", _UK_GALLON / 8),
        ("imperial gallon", "imperial gallons,UK gallon,UK gallons", _UK_GALLON),
    ],
)
_SPEED = _units(
    "speed",
    [
        ("metre per second", "metres per second,m/s,meter per second,meters per second", 1),
        ("kilometre per hour", "kilometres per hour,km/h,kph,kmh", Fraction(5, 18)),
        ("mile per hour", "miles per hour,mph,mi/h", _FOOT * 5280 / 3600),
        ("foot per second", "feet per second,ft/s", _FOOT),
        ("knot", "knots,kn,kt", Fraction(1852, 3600)),
    ],
)
_DECIMAL_SIZES = [("kilo", "k"), ("mega", "M"), ("giga", "G"), ("tera", "T")]
_BINARY_SIZES = [("kibi", "Ki"), ("mebi", "Mi"), ("gibi", "Gi"), ("tebi", "Ti")]
_DATA = _units(
    "data",
    [
        ("byte", "bytes,B", 1),
        *((f"{n}byte", f"{n}bytes,{s}B", 1000**p) for p, (n, s) in enumerate(_DECIMAL_SIZES, 1)),
        *((f"{n}byte", f"{n}bytes,{s}B", 1024**p) for p, (n, s) in enumerate(_BINARY_SIZES, 1)),
        ("bit", "bits,b", Fraction(1, 8)),
        *(
            (f"{n}bit", f"{n}bits,{s}bit,{s}b", Fraction(1000**p, 8))
            for p, (n, s) in enumerate(_DECIMAL_SIZES, 1)
        ),
    ],
)
_TIME = _units(
    "time",
    [
        ("second", "seconds,s,sec,secs", 1),
        ("millisecond", "milliseconds,ms", "0.001"),
        ("microsecond", "microseconds,us,µs", "1e-6"),
        ("nanosecond", "nanoseconds,ns", "1e-9"),
        ("minute", "minutes,min,mins", 60),
        ("hour", "hours,h,hr,hrs", 3600),
        ("day", "days,d", 86400),
        ("week", "weeks,wk", 604800),
    ],
)
_TEMPERATURE = [
    Unit(name="kelvin", kind="temperature", factor=Fraction(1), spellings=("kelvins", "K")),
    Unit(
        name="celsius",
        kind="temperature",
        factor=Fraction(1),
        offset=Fraction("273.15"),
        spellings=("°C", "C", "degC", "degrees celsius", "degree celsius", "centigrade"),
    ),
    Unit(
        name="fahrenheit",
        kind="temperature",
        factor=Fraction(5, 9),
        offset=Fraction("459.67"),
        spellings=("°F", "F", "degF", "degrees fahrenheit", "degree fahrenheit"),
    ),
]

UNITS: tuple[Unit, ...] = (
    *_LENGTH,
    *_MASS,
    *_TEMPERATURE,
    *_VOLUME,
    *_SPEED,
    *_DATA,
    *_TIME,
)
KINDS: tuple[str, ...] = tuple(dict.fromkeys(unit.kind for unit in UNITS))

_BY_SPELLING = {word: unit for unit in UNITS for word in (unit.name, *unit.spellings)}
_BY_FOLDED = {
    folded: tuple({u: None for word, u in _BY_SPELLING.items() if word.casefold() == folded})
    for folded in {word.casefold() for word in _BY_SPELLING}
}


def find_unit(text: str) -> Unit:
    """The unit of that name, plural or symbol; letter case counts only where it must (Mb, MB).

    Raises:
        Refused: there is none, or there are several that differ in letter case.
    """
    wanted = " ".join(text.split())
    if unit := _BY_SPELLING.get(wanted):
        return unit
    folded = _BY_FOLDED.get(wanted.casefold(), ())
    if len(folded) > 1:
        raise Refused(f"{shown(text)} can be {listed(u.name for u in folded)}: say which.")
    if folded:
        return folded[0]
    near = dict.fromkeys(_BY_SPELLING[word].name for word in nearest(wanted, _BY_SPELLING))
    raise unknown("unit", text, near, "list_units shows the units there are")


def units_of(kind: str) -> list[Unit]:
    """The units of one kind, in table order.

    Raises:
        Refused: there is no such kind.
    """
    wanted = kind.strip().casefold()
    if wanted not in KINDS:
        raise Refused(f"There is no kind of unit {shown(kind)}: it must be {listed(KINDS)}.")
    return [unit for unit in UNITS if unit.kind == wanted]


def convert(value: Fraction, source: Unit, target: Unit) -> Fraction:
    """The value of one unit in another of its kind, exactly.

    Raises:
        Refused: the units measure different things, or the temperature is below absolute zero.
    """
    return _to_base(value, source, target) / target.factor - target.offset


def difference(first: Fraction, unit: Unit, second: Fraction, other: Unit) -> Fraction:
    """How much more the first quantity is than the second, in the first one's unit.

    Raises:
        Refused: as for ``convert``.
    """
    return (_to_base(first, unit, other) - _to_base(second, other, unit)) / unit.factor


def _to_base(value: Fraction, unit: Unit, other: Unit) -> Fraction:
    if unit.kind != other.kind:
        raise Refused(
            f"{unit.name} is a unit of {unit.kind} and {other.name} one of {other.kind}: "
            "both must be of one kind."
        )
    base = (value + unit.offset) * unit.factor
    if unit.kind == "temperature" and base < 0:
        raise Refused("No temperature is below absolute zero: 0 kelvin, -273.15 celsius.")
    return base
