"""What a refusal teaches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.capabilities import Capabilities, ModelCapabilities, latch_state
from host.wire.efforts import EFFORT_LADDER
from host.wire.refusals import learn, lesson_of

GRAMMAR = "Failed to initialize samplers: failed to parse grammar"
STREAM_OPTIONS = "Unknown parameter: 'stream_options.include_usage'"
EFFORT_FIELD = "This model does not support reasoning_effort"
EFFORT_VALUE = (
    "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. "
    "Supported values are: 'low', 'medium', and 'high'."
)
CEILING = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead."
)
TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0.4 with this model. "
    "Only the default (1) value is supported."
)
RESPONSE_FORMAT = "response_format is not available"
UNKNOWN = "Unrecognized request arguments supplied: top_k, min_p"

TEACHING = {
    GRAMMAR: "strict_schemas",
    STREAM_OPTIONS: "usage_in_stream",
    EFFORT_FIELD: "reasoning_effort",
    EFFORT_VALUE: "refused_efforts",
    CEILING: "legacy_token_limit",
    TEMPERATURE: "chosen_temperature",
    RESPONSE_FORMAT: "structured_output",
    UNKNOWN: "refused_fields",
}
DROPPABLE = ("top_k", "min_p")


@pytest.mark.parametrize(("text", "latch"), TEACHING.items())
def test_a_field_refusal_teaches_its_latch_once(text: str, latch: str) -> None:
    capabilities = Capabilities()
    lesson = lesson_of(text, capabilities, model="m", droppable=DROPPABLE)
    assert lesson is not None
    assert lesson.latch == latch
    learn(capabilities, lesson)
    assert lesson_of(text, capabilities, model="m", droppable=DROPPABLE) is None


@given(st.permutations(list(TEACHING)), st.sampled_from(["\n", "; ", " "]))
def test_of_several_refusals_in_one_text_the_earlier_rule_wins_until_all_are_learned(
    texts: list[str], between: str
) -> None:
    capabilities = Capabilities()
    # Value wordings hide a field refusal of the effort, so that these two are kept apart.
    whole = between.join(text for text in texts if text != EFFORT_VALUE)
    learned = []
    while lesson := lesson_of(whole, capabilities, model="m", droppable=DROPPABLE):
        learned.append(lesson.latch)
        before = latch_state(capabilities, "m")
        learn(capabilities, lesson)
        assert latch_state(capabilities, "m") != before
    order = [latch for latch in TEACHING.values() if latch in learned]
    assert learned == order
    assert {"strict_schemas", "usage_in_stream", "chosen_temperature"} <= set(learned)


@pytest.mark.parametrize("text", [EFFORT_FIELD, EFFORT_VALUE, CEILING, TEMPERATURE, UNKNOWN])
def test_without_a_model_its_refusals_teach_nothing(text: str) -> None:
    assert lesson_of(text, Capabilities(), droppable=DROPPABLE) is None


@pytest.mark.parametrize(
    "text",
    [
        "no such model",
        "",
        "max_tokens is too large: 900000. This model supports at most 16384 tokens",
        "max_tokens or max_completion_tokens is too large: 99999",
        "max_tokens (or max_completion_tokens) must be less than 8192",
        "Invalid value: 'temperature' does not support 7. Supported values are between 0 and 2",
        "'top_p' does not support 3. Only the default is supported. Adjust temperature",
        "Only the default is supported for 'temperature\"",
        "Invalid schema for response_format 'answer': additionalProperties must be false",
        "Invalid JSON_SCHEMA: Invalid Schema",
        "Unrecognized request argument supplied: other",
        "Unknown parameter: 'other.deep'.",
        "property 'top_k' must be a number",
        "top_k: Input should be a valid integer",
        "messages.0.top_k: Extra inputs are not permitted",
        "Invalid value: 'reasoning_effort'",
        "Unsupported value: 'reasoning_effort' does not support 'xhigh'",
        "Unsupported value: 'reasoning_effort' does not support 'high'",
        "Unsupported value: 'reasoning_effort' does not support 'low'. Supported values are: low",
        "no user query found in messages; grammar follows",
        "reasoning_effort: Input should be 'low', 'medium' or 'high', got 'xhigh'",
        "reasoning_effort: Input should be 'default'",
        "`reasoning_effort` must be one of `none` or `default`",
        "temperature is not supported above 1",
        "Invalid value: 'temperature' is not supported",
        "temperature must be at most 2",
        "invalid JSON schema for response_format: 'a': `additionalProperties:false` must be set",
    ],
)
def test_complaints_about_values_and_strangers_teach_nothing(text: str) -> None:
    assert lesson_of(text, Capabilities(), model="m", droppable=("top_k",)) is None


@pytest.mark.parametrize(
    ("text", "latch"),
    [
        ("Unsupported parameter: 'reasoning_effort' is not supported", "reasoning_effort"),
        ("temperature does not take 0.3: only the default works", "chosen_temperature"),
        ('"temperature": Only the default (1) is supported', "chosen_temperature"),
        (
            "Unsupported parameter: 'temperature' is not supported with this model.",
            "chosen_temperature",
        ),
        ("m does not support the parameter `temperature`", "chosen_temperature"),
        ("`temperature` is deprecated for this model.", "chosen_temperature"),
        ("temperature: Extra inputs are not permitted", "chosen_temperature"),
        ("Argument not supported on this model: temperature", "chosen_temperature"),
        (
            "reasoning_effort: Extra inputs are not permitted; top_k: Input should be 'low'",
            "reasoning_effort",
        ),
        (
            "Unsupported parameter: 'reasoning_effort'. Supported values are: none",
            "reasoning_effort",
        ),
        ("json_schema is not implemented", "structured_output"),
        ("STREAM_OPTIONS is unknown", "usage_in_stream"),
        ("JSON schema conversion failed for response_format", "strict_schemas"),
    ],
)
def test_other_wordings_of_a_field_refusal_are_known(text: str, latch: str) -> None:
    lesson = lesson_of(text, Capabilities(), model="m")
    assert lesson is not None
    assert lesson.latch == latch


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Unrecognized request argument supplied: top_k", ("top_k",)),
        ("Unrecognized request arguments supplied: top_k, other, 'min_p'.\nBye", DROPPABLE),
        ("Unknown parameter: 'top_k.deep'.", ("top_k",)),
        ("unknown parameter: `min_p[0].x`", ("min_p",)),
        ('Unknown parameter: "top_k". Unknown parameter: "min_p"', DROPPABLE),
        ("Unrecognized request arguments supplied: top_k, top_k", ("top_k",)),
        ("Unsupported parameter: 'top_k' is not supported with this model.", ("top_k",)),
        ("property 'top_k' is unsupported", ("top_k",)),
        (
            "top_k: Extra inputs are not permitted; min_p.x: Extra inputs are not permitted",
            DROPPABLE,
        ),
        ('Invalid JSON payload received. Unknown name "top_k": Cannot find field.', ("top_k",)),
        ('json: unknown field "min_p"', ("min_p",)),
        ("Argument not supported on this model: min_p", ("min_p",)),
    ],
)
def test_unknown_fields_are_read_by_their_top_level_name(
    text: str, fields: tuple[str, ...]
) -> None:
    lesson = lesson_of(text, Capabilities(), model="m", droppable=DROPPABLE)
    assert lesson is not None
    assert lesson.fields == fields


FIELDS = st.lists(st.sampled_from(["a", "b_c", "d1", "top_k"]), unique=True, min_size=1)


@given(FIELDS, FIELDS, FIELDS, st.sampled_from(["{}", "'{}'", "`{}`"]), st.sampled_from(["", "."]))
def test_exactly_the_droppable_fields_not_refused_before_are_learned(
    named: list[str], droppable: list[str], refused: list[str], dress: str, end: str
) -> None:
    capabilities = Capabilities()
    capabilities.for_model("m").refused_fields.update(refused)
    listed = ", ".join(dress.format(name) for name in named)
    text = f"Unrecognized request arguments supplied: {listed}{end}"
    lesson = lesson_of(text, capabilities, model="m", droppable=droppable)
    new = {name for name in named if name in droppable and name not in refused}
    assert set(lesson.fields if lesson else ()) == new
    if lesson:
        learn(capabilities, lesson)
        assert capabilities.for_model("m").refused_fields == {*refused, *new}


def test_a_refused_effort_is_learned_with_the_published_list() -> None:
    capabilities = Capabilities()
    lesson = lesson_of(EFFORT_VALUE, capabilities, model="m")
    assert lesson is not None
    learn(capabilities, lesson)
    known = capabilities.for_model("m")
    assert known.refused_efforts == {"minimal"}
    assert known.supported_efforts == ("low", "medium", "high")
    assert "minimal" in lesson.notice
    assert "low" in lesson.notice


def test_a_second_refused_effort_keeps_the_list_published_before() -> None:
    known = ModelCapabilities(refused_efforts={"none"}, supported_efforts=("low", "high"))
    capabilities = Capabilities(models={"m": known})
    text = "Unsupported value: 'reasoning_effort' does not support 'low'"
    lesson = lesson_of(text, capabilities, model="m")
    assert lesson is not None
    learn(capabilities, lesson)
    assert known.refused_efforts == {"none", "low"}
    assert known.supported_efforts == ("low", "high")


LISTED = "reasoning_effort: Input should be 'low', 'medium' or 'high'"


def test_a_list_without_the_refused_value_is_learned_as_the_list() -> None:
    capabilities = Capabilities()
    lesson = lesson_of(LISTED, capabilities, model="m")
    assert lesson is not None
    assert "low, medium, high" in lesson.notice
    learn(capabilities, lesson)
    known = capabilities.for_model("m")
    assert known == ModelCapabilities(supported_efforts=("low", "medium", "high"))
    assert lesson_of(LISTED, capabilities, model="m") is None


EFFORT_LISTS = st.lists(st.sampled_from(EFFORT_LADDER), min_size=1, unique=True)


@given(st.lists(EFFORT_LISTS, min_size=1, max_size=30))
def test_lists_that_contradict_each_other_come_to_an_end(lists: list[list[str]]) -> None:
    capabilities = Capabilities()
    lessons = 0
    for listed in lists:
        text = f"reasoning_effort must be one of {', '.join(listed)}"
        if lesson := lesson_of(text, capabilities, model="m"):
            learn(capabilities, lesson)
            lessons += 1
    assert lessons <= len(EFFORT_LADDER)
    assert capabilities.for_model("m").refused_efforts == set()
    assert capabilities.for_model("m").reasoning_effort


def test_a_format_that_the_caller_chose_is_left_out_and_schemas_stay_possible() -> None:
    text = "'response_format.type' must be 'json_schema' or 'text'"
    capabilities = Capabilities()
    lesson = lesson_of(text, capabilities, model="m", droppable=("response_format",))
    assert lesson is not None
    learn(capabilities, lesson)
    assert capabilities.for_model("m") == ModelCapabilities(refused_fields={"response_format"})
    again = lesson_of(text, capabilities, model="m", droppable=("response_format",))
    assert again is not None
    assert again.latch == "structured_output"


@pytest.mark.parametrize(
    ("text", "first"),
    [(text, "server" if i < 2 else "m") for i, text in enumerate(TEACHING)],
)
def test_a_notice_is_one_line_and_opens_with_whom_it_is_about(text: str, first: str) -> None:
    lesson = lesson_of(text, Capabilities(), model="m", droppable=DROPPABLE)
    assert lesson is not None
    assert lesson.notice.split()[0] == first
    assert "\n" not in lesson.notice


def test_one_unknown_field_is_spoken_of_as_one_and_two_as_two() -> None:
    one = lesson_of("Unknown parameter: 'top_k'", Capabilities(), model="m", droppable=DROPPABLE)
    two = lesson_of(UNKNOWN, Capabilities(), model="m", droppable=DROPPABLE)
    assert one is not None
    assert two is not None
    assert "field top_k" in one.notice
    assert "fields top_k, min_p" in two.notice


def test_judging_changes_nothing() -> None:
    capabilities = Capabilities()
    lesson_of(EFFORT_FIELD, capabilities, model="m")
    assert capabilities == Capabilities()


def test_a_lesson_about_one_model_leaves_the_others_alone() -> None:
    capabilities = Capabilities()
    lesson = lesson_of(CEILING, capabilities, model="m")
    assert lesson is not None
    learn(capabilities, lesson)
    assert not capabilities.for_model("m").legacy_token_limit
    assert capabilities.for_model("n").legacy_token_limit
