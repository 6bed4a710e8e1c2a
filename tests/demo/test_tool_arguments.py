from __future__ import annotations

import math
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.demo.refusal import Refused
from host.demo.tool_arguments import Parameter, checked_arguments, input_schema

PARAMETERS = (
    Parameter(name="text", type="string", description="some text"),
    Parameter(name="value", type="number", description="a number"),
    Parameter(name="digits", type="integer", description="how many", default=0),
)

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1.0, -0.0, 1e300, 10**400, "", "1"]),
    st.just([]),
    st.just({}),
)
CALLS = st.dictionaries(st.sampled_from(["text", "value", "digits", "other"]), VALUES)


@given(CALLS)
def test_arguments_are_accepted_exactly_when_the_schema_accepts_them(
    given_arguments: dict[str, Any],
) -> None:
    """Oracle: jsonschema on the schema that is published."""
    fits = jsonschema.Draft202012Validator(input_schema(PARAMETERS)).is_valid(given_arguments)
    try:
        checked = checked_arguments("tool", PARAMETERS, given_arguments)
    except Refused:
        assert not fits
    else:
        assert fits
        assert checked == {"digits": 0, **given_arguments}
        assert type(checked["digits"]) is int


def test_the_schema_is_flat_and_closed() -> None:
    assert input_schema(PARAMETERS) == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "some text"},
            "value": {"type": "number", "description": "a number"},
            "digits": {"type": "integer", "description": "how many", "default": 0},
        },
        "required": ["text", "value"],
        "additionalProperties": False,
    }


def test_a_tool_without_parameters_takes_no_argument() -> None:
    assert checked_arguments("tool", (), {}) == {}
    with pytest.raises(Refused, match='tool has no argument "x": it takes none'):
        checked_arguments("tool", (), {"x": 1})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"value": 1}, 'tool needs "text" (string): some text.'),
        (
            {"text": "a", "value": 1, "unit": "x"},
            'tool has no argument "unit": its arguments are text, value and digits.',
        ),
        (
            {"text": None, "value": 1},
            'tool needs "text" (string): some text; what was given is null.',
        ),
        (
            {"text": 5, "value": 1},
            'tool needs "text" (string): some text; what was given is a number.',
        ),
        (
            {"text": "a", "value": "5"},
            'tool needs "value" (number): a number; what was given is text.',
        ),
        (
            {"text": "a", "value": True},
            'tool needs "value" (number): a number; what was given is true or false.',
        ),
        (
            {"text": "a", "value": math.nan},
            'tool needs "value" (number): a number; what was given is the number nan.',
        ),
        (
            {"text": "a", "value": 1, "digits": 1.5},
            'tool needs "digits" (integer): how many; what was given is the number 1.5.',
        ),
        (
            {"text": [], "value": 1},
            'tool needs "text" (string): some text; what was given is a list.',
        ),
        (
            {"text": {}, "value": 1},
            'tool needs "text" (string): some text; what was given is an object.',
        ),
    ],
)
def test_a_wrong_argument_is_refused_in_one_sentence(
    arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Refused) as refusal:
        checked_arguments("tool", PARAMETERS, arguments)
    assert str(refusal.value) == sentence
