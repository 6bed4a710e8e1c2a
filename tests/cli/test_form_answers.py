"""Typed lines answer a form's fields: in their type, their choices and their limits, or not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.cli.form_answers import answer_lines, field_lines, shown_value, typed_value
from host.pool.form_fields import FormField, field_problems, form_fields

NAMED = {"type": "string", "enum": ["eu", "us", "2"], "enumNames": ["Europe", "America", "Two"]}
SCHEMAS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "minLength": 2, "maxLength": 4},
    {"type": "string", "format": "email"},
    {"type": "string", "format": "date"},
    {"type": "string", "default": "Ada"},
    {"type": "integer", "minimum": 1, "maximum": 9},
    {"type": "integer", "default": 5},
    {"type": "number"},
    {"type": "boolean"},
    {"type": "boolean", "default": True},
    NAMED,
    {**NAMED, "default": "us"},
    {"type": "array", "items": NAMED, "minItems": 1},
    {"type": "array", "items": NAMED, "default": ["eu", "us"]},
]
LINES = st.sampled_from(
    [
        *("", " ", "a", "abc", "abcdef", "a@b.c", "a@", "2026-03-01", "2026-13-01", "y", "No"),
        *("true", "5", "05", "5.0", "5.5", "1e3", "nan", "-3", "0x10", "eu", "EUROPE", "america"),
        *("1", "2", "3", "4", "1,2", "1, us , eu", "eu,", ",", "europe,moon", "\x1b[31m", "９"),
    ]
)


def field_of(schema: dict[str, Any], *, required: bool = False) -> FormField:
    names = ["it"] if required else []
    (field,) = form_fields({"properties": {"it": schema}, "required": names})
    return field


@given(st.sampled_from(SCHEMAS), st.booleans(), LINES | st.text())
def test_a_line_is_an_answer_that_fits_or_is_refused(
    schema: dict[str, Any], required: bool, line: str
) -> None:
    field = field_of(schema, required=required)
    try:
        value = typed_value(field, line)
    except ValueError:
        return
    if not line.strip():
        assert value == schema.get("default")
        assert value is not None or not required
    else:
        assert value is not None
        assert field_problems(field, value) == []


@pytest.mark.parametrize(
    ("schema", "line", "value"),
    [
        ({"type": "string"}, "  Ada L. ", "Ada L."),
        ({"type": "integer"}, "7", 7),
        ({"type": "number"}, "7.5", 7.5),
        ({"type": "boolean"}, "y", True),
        ({"type": "boolean"}, "OFF", False),
        (NAMED, "us", "us"),
        (NAMED, "america", "us"),
        (NAMED, "2", "2"),
        (NAMED, "1", "eu"),
        ({"type": "array", "items": NAMED}, "1, two,eu", ["eu", "2"]),
        ({"type": "string", "format": "email"}, "a@b.example", "a@b.example"),
        ({"type": "string", "format": "uri"}, "https://a.example/x", "https://a.example/x"),
        ({"type": "string", "format": "date"}, "2026-03-01", "2026-03-01"),
        ({"type": "string", "format": "date-time"}, "2026-03-01T12:00Z", "2026-03-01T12:00Z"),
        ({"type": "string", "format": "made-up"}, "anything", "anything"),
    ],
    ids=str,
)
def test_what_is_meant_is_read(schema: dict[str, Any], line: str, value: object) -> None:
    assert typed_value(field_of(schema), line) == value


@pytest.mark.parametrize(
    ("schema", "line", "reason"),
    [
        ({"type": "string"}, "", "this one is needed"),
        ({"type": "integer"}, "seven", "must be a whole number"),
        ({"type": "integer", "maximum": 5}, "7", "must be at most 5, not 7"),
        ({"type": "boolean"}, "perhaps", "must be y or n"),
        (NAMED, "moon", "must be a number from 1 to 3, or one of the names"),
        (NAMED, "4", "must be a number from 1 to 3, or one of the names"),
        ({"type": "string", "minLength": 3}, "ab", 'must have at least 3 characters, not "ab"'),
        ({"type": "string", "format": "email"}, "nobody", "must be a valid email address"),
        (
            {"type": "string", "format": "date"},
            "soon",
            "must be a valid date such as 2026-03-01",
        ),
        (
            {"type": "string", "format": "uri"},
            "//x",
            "must be a valid address such as https://example.org/",
        ),
        (
            {"type": "string", "format": "date-time"},
            "2026-03-01",
            "must be a valid moment such as 2026-03-01T12:00:00Z",
        ),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(schema: dict[str, Any], line: str, reason: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  # the text is compared whole
        typed_value(field_of(schema, required=True), line)
    assert str(refused.value) == reason


def test_a_field_is_asked_for_with_its_type_its_limits_its_default_and_its_choices() -> None:
    field = field_of({**NAMED, "title": "Region", "description": "Where it runs.", "default": "us"})
    assert field_lines(field, 1, 2) == [
        "  1/2 Region (one of these, by number or name; Enter for America)",
        "      Where it runs.",
        "      1 Europe",
        "      2 America",
        "      3 Two",
    ]
    number = field_of({"type": "integer", "minimum": 1, "maximum": 9})
    assert field_lines(number, 2, 2) == [
        "  2/2 it (whole number; at least 1; at most 9; Enter for nothing)"
    ]
    assert field_lines(field_of({"type": "string"}, required=True), 1, 1) == ["  1/1 it (text)"]


def test_what_will_be_sent_is_shown_as_a_person_reads_it() -> None:
    fields = form_fields(
        {"properties": {"a": NAMED, "b": {"type": "boolean"}, "c": {"type": "integer"}}}
    )
    assert answer_lines(fields, {"a": "eu", "b": False}) == ["    a: Europe", "    b: no"]
    assert shown_value(fields[0], ["eu", "us"]) == "Europe, America"
    assert shown_value(fields[0], []) == "none"
    assert shown_value(fields[2], 5) == "5"
