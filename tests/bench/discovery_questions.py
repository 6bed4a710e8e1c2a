"""Twenty questions for the bundled fleet, and what to call for each; seven need no tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question.

    Attributes:
        tool: what answers it; None if nothing is to be called.
        args: what its arguments have to be. A set means one of these; texts are compared without
            case and blanks, a text of ``contains`` only has to occur.
        contains: by argument, texts that have to occur in it.
    """

    text: str
    tool: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    contains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


KG = frozenset({"kg", "kilogram", "kilograms"})
POUND = frozenset({"lb", "lbs", "pound", "pounds"})
LITRE = frozenset({"l", "litre", "litres", "liter", "liters"})
GALLON = frozenset({"gallon", "gallons", "gal"})
CELSIUS = frozenset({"celsius", "c", "°c"})
FAHRENHEIT = frozenset({"fahrenheit", "f", "°f"})
INCH = frozenset({"inch", "inches", "in"})
CENTIMETRE = frozenset({"cm", "centimetre", "centimetres", "centimeter", "centimeters"})

QUESTIONS: tuple[Question, ...] = (
    Question(
        text="How many pounds are 74 kilograms?",
        tool="units__convert_unit",
        args={"value": 74, "from_unit": KG, "to_unit": POUND},
    ),
    Question(
        text="The oven says 410 degrees Fahrenheit. What is that in Celsius?",
        tool="units__convert_unit",
        args={"value": 410, "from_unit": FAHRENHEIT, "to_unit": CELSIUS},
    ),
    Question(
        text="Work out (348 - 59) * 17 / 4.",
        tool="units__calculate",
        args={"expression": "(348-59)*17/4"},
    ),
    Question(
        text="How much is 22 percent of 1350?",
        tool="units__percentage",
        args={"percent": 22, "of": 1350},
    ),
    Question(
        text="Our rent went up from 880 to 946. By how many percent?",
        tool="units__percent_change",
        args={"before": 880, "after": 946},
    ),
    Question(
        text="Which is more, 3 gallons or 11 litres?",
        tool="units__compare_quantities",
        args={
            "first_value": 3,
            "first_unit": GALLON,
            "second_value": 11,
            "second_unit": LITRE,
        },
    ),
    Question(
        text="Round 7.38461 to two decimals.",
        tool="units__round_number",
        args={"value": 7.38461, "digits": 2},
    ),
    Question(
        text="What time is it now in Buenos Aires?",
        tool="clock__current_time",
        contains={"zone": ("america", "buenos_aires")},
    ),
    Question(
        text="It is 2027-05-11 09:30 in America/New_York. What time is that in Europe/Madrid?",
        tool="clock__convert_time",
        args={"from_zone": "America/New_York", "to_zone": "Europe/Madrid"},
        contains={"time": ("2027-05-11", "09:30")},
    ),
    Question(
        text="Which date is 90 days after 2027-02-14?",
        tool="clock__add_days",
        args={"start": "2027-02-14", "days": 90},
    ),
    Question(
        text="How many days lie between 2027-04-03 and 2027-09-21?",
        tool="clock__days_between",
        args={"start": "2027-04-03", "end": "2027-09-21"},
    ),
    Question(
        text="Please note down: the plumber comes on Friday at ten. Title it plumber.",
        tool="notes__add_note",
        contains={"title": ("plumber",), "text": ("friday", "ten")},
    ),
    Question(
        text="Do I have a note about the bicycle?",
        tool="notes__search_notes",
        contains={"query": ("bicycle",)},
    ),
    Question(text="Good morning! How are you?"),
    Question(text="Who wrote the novel Moby-Dick?"),
    Question(text="Thank you, that was all for today."),
    Question(text="Write one sentence about the sea in autumn."),
    Question(text="What is the capital of Portugal?"),
    Question(text="Say 'see you tomorrow' in French."),
    Question(text="Is a tomato a fruit or a vegetable?"),
)


def fits(question: Question, name: str, args: Mapping[str, Any]) -> bool:
    """Whether a call is the one that the question asks for, arguments included."""
    return (
        name == question.tool
        and all(_is(args.get(key), wanted) for key, wanted in question.args.items())
        and all(
            word in str(args.get(key, "")).casefold().replace(" ", "_" if key == "zone" else " ")
            for key, words in question.contains.items()
            for word in words
        )
    )


def _is(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, frozenset):
        return _plain(given) in wanted
    if isinstance(wanted, str):
        return _plain(given) == _plain(wanted)
    try:
        return float(given) == float(wanted)
    except (TypeError, ValueError):
        return False


def _plain(given: Any) -> str:
    return "".join(str(given).split()).casefold()
