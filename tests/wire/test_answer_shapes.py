"""The forms in which an answer's shape is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import EndpointRefused, EndpointSilent, EndpointUnavailable, WireError
from host.wire.answer_shapes import ShapeForm, form_notice, next_form, refuses_schema

OPENAI = (
    "Invalid schema for response_format 'answer': In context=(), 'additionalProperties' is "
    "required to be supplied and to be false."
)
GROQ = (
    "invalid JSON schema for response_format: 'answer': /: `additionalProperties:false` must be "
    "set on every object"
)
ANTHROPIC = (
    "output_format.schema: For 'object' type, 'additionalProperties' must be explicitly set to "
    "false"
)
GRAMMAR = "Failed to initialize samplers: failed to parse grammar"


@pytest.mark.parametrize("text", [OPENAI, GROQ, ANTHROPIC, "Invalid JSON_SCHEMA: Invalid Schema"])
def test_a_complaint_about_an_answers_schema_is_known(text: str) -> None:
    assert refuses_schema(text)


@pytest.mark.parametrize(
    "text",
    [
        "Invalid schema for function 'f': 'additionalProperties' is required to be supplied",
        "tools.0.custom: additionalProperties must be false",
        "response_format is not available",
        "json_schema is not implemented",
        "Bad Request",
    ],
)
def test_a_complaint_about_a_tool_or_about_the_field_is_another(text: str) -> None:
    assert not refuses_schema(text)


FORMS: list[ShapeForm] = ["strict", "loose", "words"]
WORDS = st.sampled_from([OPENAI, GROQ, GRAMMAR, "Bad Request", "no such model"])
ERRORS: list[WireError] = [
    EndpointRefused(400, ""),
    EndpointRefused(422, ""),
    EndpointRefused(401, ""),
    EndpointUnavailable(1, 503, detail=""),
    EndpointSilent(3, True),
]


@given(st.sampled_from(FORMS), st.sampled_from(ERRORS), WORDS, st.sampled_from(["strict", "loose"]))
def test_each_form_is_followed_by_a_weaker_one_or_by_none(
    form: ShapeForm, error: WireError, words: str, first: ShapeForm
) -> None:
    following = next_form(form, error, words, first=first)
    assert following is None or FORMS.index(following) > FORMS.index(form)
    if following is not None:
        assert "\n" not in form_notice("m", following)
        assert form_notice("m", following).startswith("m ")


@pytest.mark.parametrize(
    ("form", "first", "words", "following"),
    [
        ("strict", "strict", OPENAI, "loose"),
        ("strict", "strict", "Bad Request", None),
        ("strict", "strict", GRAMMAR, "words"),
        ("loose", "strict", OPENAI, "words"),
        ("loose", "strict", "Bad Request", "words"),
        ("loose", "loose", OPENAI, "words"),
        ("loose", "loose", "Bad Request", None),
        ("words", "strict", OPENAI, None),
    ],
)
def test_a_refused_schema_is_loosened_before_it_is_told_in_words(
    form: ShapeForm, first: ShapeForm, words: str, following: ShapeForm | None
) -> None:
    assert next_form(form, EndpointRefused(400, words), words, first=first) == following


def test_other_statuses_say_nothing_of_the_schema() -> None:
    for error in ERRORS[2:]:
        assert next_form("strict", error, OPENAI) is None
    unknown = "The model `grammarly/coedit` does not exist"
    assert next_form("strict", EndpointRefused(404, unknown), unknown) is None
