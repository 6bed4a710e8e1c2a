from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from host.pool.form_fields import (
    MAX_CHOICES,
    MAX_FIELDS,
    FormChoice,
    field_problems,
    filled_in,
    form_fields,
    misfits,
)

TEXTS = st.sampled_from(["", "a", "ab", "abc", "x", "5", "true"])
NUMBERS = st.integers(-3, 3) | st.sampled_from([0.5, 1.0, -2.5])
CHOICES = st.lists(TEXTS, min_size=1, max_size=4, unique=True)
VALUES: st.SearchStrategy[Any] = (
    TEXTS
    | NUMBERS
    | st.booleans()
    | st.none()
    | st.lists(TEXTS, max_size=3)
    | st.just({})
    | st.just([1])
)


def titled(values: list[str]) -> list[dict[str, str]]:
    return [{"const": value, "title": f"The {value}"} for value in values]


PROPERTIES = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(1, 3),
            "pattern": st.sampled_from(["^a", "b$"]),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={"minimum": st.integers(-2, 1), "maximum": st.integers(0, 3)},
    ),
    st.just({"type": "boolean"}),
    CHOICES.map(lambda values: {"type": "string", "enum": values}),
    CHOICES.map(lambda values: {"type": "string", "oneOf": titled(values)}),
    st.builds(
        lambda values, least: {
            "type": "array",
            "items": {"type": "string", "enum": values},
            "minItems": least,
        },
        CHOICES,
        st.integers(0, 2),
    ),
    CHOICES.map(lambda values: {"type": "array", "items": {"anyOf": titled(values)}}),
)
FORMS = st.dictionaries(st.sampled_from("abc"), PROPERTIES).flatmap(
    lambda properties: st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.just(properties),
            "required": st.lists(st.sampled_from([*properties, "z"]), unique=True).map(
                lambda names: [name for name in names if name in properties]
            ),
        }
    )
)
CONTENTS = st.dictionaries(st.sampled_from("abcd"), VALUES)


@given(FORMS, CONTENTS)
def test_content_fits_a_form_exactly_where_its_schema_takes_it_and_nothing_more(
    schema: dict[str, Any], content: dict[str, Any]
) -> None:
    closed = {**schema, "additionalProperties": False}
    fits = Draft202012Validator(closed).is_valid(content)
    wrong = misfits(form_fields(schema), content)
    assert (wrong == []) is fits
    assert set(wrong) <= {*content, *schema["required"]}


@given(FORMS, CONTENTS, st.data())
def test_defaults_stand_in_for_what_is_left_out_and_for_nothing_else(
    schema: dict[str, Any], content: dict[str, Any], data: st.DataObject
) -> None:
    properties = {
        name: {**written, "default": data.draw(VALUES)}
        for name, written in schema["properties"].items()
    }
    fields = form_fields({**schema, "properties": properties})
    filled = filled_in(fields, content)
    assert {name: filled[name] for name in content} == content
    for name in set(filled) - set(content):
        written = properties[name]
        assert filled[name] == written["default"]
        assert Draft202012Validator(written).is_valid(filled[name])


def test_choices_are_read_in_every_way_they_are_written() -> None:
    fields = form_fields(
        {
            "properties": {
                "plain": {"type": "string", "enum": ["a", "b"]},
                "named": {"enum": ["a", "b"], "enumNames": ["The a", "The\x1b[1m b\n"]},
                "titled": {"type": "string", "oneOf": titled(["a"])},
                "many": {"type": "array", "items": {"type": "string", "enum": ["a"]}},
                "many_titled": {"type": "array", "items": {"anyOf": titled(["a"])}},
                "misnamed": {"type": "string", "enum": ["a", "b"], "enumNames": ["only one"]},
            }
        }
    )
    shown = {field.name: (field.kind, field.choices) for field in fields}
    a, the_a = FormChoice(value="a", title="a"), FormChoice(value="a", title="The a")
    b, the_b = FormChoice(value="b", title="b"), FormChoice(value="b", title="The b")
    assert shown == {
        "plain": ("choice", (a, b)),
        "named": ("choice", (the_a, the_b)),
        "titled": ("choice", (the_a,)),
        "many": ("choices", (a,)),
        "many_titled": ("choices", (the_a,)),
        "misnamed": ("choice", (a, b)),
    }


def test_an_optional_field_as_servers_in_python_write_it_is_one_that_may_be_left_out() -> None:
    null = {"type": "null"}
    fields = form_fields(
        {
            "properties": {
                "nick": {"anyOf": [{"type": "string", "maxLength": 3}, null], "title": "Nick"},
                "age": {"type": ["integer", "null"], "default": None},
            }
        }
    )
    assert [(field.kind, field.title, field.default) for field in fields] == [
        ("text", "Nick", None),
        ("integer", "age", None),
    ]
    assert field_problems(fields[0], "abcd") == ['must have at most 3 characters, not "abcd"']


@pytest.mark.parametrize(
    "properties",
    [
        [],
        {"a": 5},
        {"a": {"type": "object"}},
        {"a": {"type": "array"}},
        {"a": {"type": "array", "items": {"type": "integer"}}},
        {"a": {"type": ["string", "integer"]}},
        {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        {"a": {"anyOf": [{"type": "string"}]}},
        {"a": {"enum": [1, 2]}},
        {"a": {"enum": []}},
        {"a": {"enum": "ab"}},
        {"a": {"oneOf": ["a"]}},
        {"a": {"oneOf": [{"title": "no value"}]}},
        {"a": {"type": "integer", "enum": ["1"]}},
        {"a": {"type": {}}},
        {"a": {"type": "string", "enum": [str(number) for number in range(MAX_CHOICES + 1)]}},
        {str(number): {"type": "string"} for number in range(MAX_FIELDS + 1)},
        {"a": {}},
    ],
    ids=lambda properties: str(properties)[:60],
)
def test_what_is_no_flat_form_is_not_read(properties: Any) -> None:
    with pytest.raises(ValueError, match=r"^(no|a property|choices) "):
        form_fields({"type": "object", "properties": properties})


@pytest.mark.parametrize("limit", ["five", {}, -1, None])
def test_a_limit_that_is_none_judges_nothing_but_the_kind(limit: Any) -> None:
    (field,) = form_fields({"properties": {"a": {"type": "string", "minLength": limit}}})
    assert field_problems(field, "abc") == []
    assert field_problems(field, 5) == ["must be a text"]
