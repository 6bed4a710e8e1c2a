from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.violation_text import violation_text


def told(schema: dict[str, Any], value: Any) -> tuple[tuple[str | int, ...], str]:
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(value))
    assert errors
    return violation_text(errors[0])


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "integer"}, "x", 'must be of type integer, not "x"'),
        ({"type": ["integer", "null"]}, "x", 'must be of type integer or null, not "x"'),
        ({"enum": [1, "a"]}, 5, 'must be one of [1,"a"], not 5'),
        ({"const": {"a": 1}}, 5, 'must be {"a":1}, not 5'),
        ({"minimum": 3}, 2, "must be at least 3, not 2"),
        ({"exclusiveMaximum": 3}, 3, "must be less than 3, not 3"),
        ({"maxLength": 3}, "long" * 50, 'must have at most 3 characters, not "longlong'),
        ({"required": ["a", "b", "c"]}, {"b": 1}, 'lacks "a", "c"'),
        (
            {"properties": {"a": {}, "b": {}}, "additionalProperties": False},
            {"a": 1, "c": 2},
            'does not take "c"; there are "a", "b"',
        ),
        ({"additionalProperties": False}, {"c": 2}, 'does not take "c"'),
        (
            {"patternProperties": {"^x": {}}, "additionalProperties": False},
            {"c": 2},
            "has properties of names that are not allowed",
        ),
        (
            {"anyOf": [{"type": "integer"}, {"type": ["null", "string"]}]},
            [],
            "integer or null or s",
        ),
        (
            {"anyOf": [{"type": "integer"}, {"minLength": 3}]},
            "ab",
            "fits none of the allowed forms",
        ),
        ({"oneOf": [{"type": "integer"}, {"minimum": 3}]}, 5, "fits more than one form"),
        ({"not": {}}, 5, "ruled out"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, 'dependentRequired: {"a":["b"]}'),
        ({"contains": {"type": "integer"}}, ["x"], "does not meet the schema's contains"),
    ],
)
def test_what_is_wanted_is_said_in_one_line(schema: dict[str, Any], value: Any, text: str) -> None:
    path, found = told(schema, value)

    assert path == ()
    assert text in found
    assert "\n" not in found


def test_of_alternatives_the_closest_is_told() -> None:
    schema = {
        "anyOf": [
            {"type": "null"},
            {"properties": {"a": {"items": {"type": "integer"}}}, "type": "object"},
        ]
    }

    assert told(schema, {"a": [1, "x"]}) == (("a", 1), 'must be of type integer, not "x"')


KEYWORDS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "array", "object"]),
        "minimum": st.integers(0, 9),
        "maxLength": st.just(1),
        "minItems": st.just(2),
        "uniqueItems": st.just(True),
        "required": st.just(["a"]),
        "maxProperties": st.just(0),
        "multipleOf": st.just(7),
        "propertyNames": st.just({"maxLength": 0}),
        "if": st.just({}),
        "then": st.just(False),
    },
)
VALUES = st.sampled_from(["xy" * 500, 5, [1, 1], ["a" * 999], {"b" * 999: 1}, {}, None, "\n" * 300])


@given(schema=KEYWORDS, value=VALUES)
def test_every_violation_has_a_short_line(schema: dict[str, Any], value: Any) -> None:
    for error in jsonschema.Draft202012Validator(schema).iter_errors(value):
        path, text = violation_text(error)

        assert path == tuple(error.absolute_path)
        assert 0 < len(text) < 400
        assert "\n" not in text
