"""The ladder of reasoning efforts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.efforts import (
    EFFORT_LADDER,
    names_other_effort,
    next_effort,
    published_efforts,
    refused_effort,
    refuses_effort_value,
)

RUNGS = st.sampled_from(EFFORT_LADDER)
PYDANTIC = (
    "[{'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': "
    "\"Input should be 'low', 'medium' or 'high'\", 'input': 'none', "
    "'ctx': {'expected': \"'low', 'medium' or 'high'\"}}]"
)
ZOD = (
    "Validation error for `reasoning_effort`: "
    "expected one of `'low' | 'medium' | 'high'`, received `'none'`."
)
THREE = ("low", "medium", "high")


@given(RUNGS, st.sets(RUNGS), st.none() | st.sets(RUNGS))
def test_the_next_effort_is_the_cheapest_dearer_one_that_is_left(
    effort: str, refused: set[str], supported: set[str] | None
) -> None:
    following = next_effort(effort, refused=refused, supported=supported)
    cost = EFFORT_LADDER.index
    left = [
        rung
        for rung in (EFFORT_LADDER if supported is None else supported)
        if rung not in refused and cost(rung) > cost(effort)
    ]
    assert following == min(left, key=cost, default=None)


@pytest.mark.parametrize("effort", ["xhigh", "auto", ""])
def test_an_effort_without_a_rung_is_never_stepped(effort: str) -> None:
    assert next_effort(effort) is None


@pytest.mark.parametrize(
    ("text", "efforts"),
    [
        ("Supported values are: 'low', 'medium', and 'high'.", ("low", "medium", "high")),
        ("supported values are: High or none\nminimal", ("none", "high")),
        ("Supported values are: `low`, `xhigh`. Not medium.", ("low",)),
        ("Supported values are: 'fast'", None),
        ("Supported values: low", ("low",)),
        (PYDANTIC, THREE),
        (ZOD, THREE),
        ("Invalid 'reasoning_effort': 'none' is not one of ['low','medium','high']", THREE),
        ("`reasoning_effort` must be one of `low`, `medium`, or `high`", THREE),
        ("'none' is not one of ['low', 'high'] - 'reasoning_effort'", ("low", "high")),
        ("reasoning_effort: unknown variant `none`, expected `low` or `high`", ("low", "high")),
        ("reasoning_effort: unexpected value; permitted: 'low', 'high'", ("low", "high")),
        ("tool_choice: Input should be 'none'; reasoning_effort: Input should be 'low'", ("low",)),
        ("verbosity must be low; reasoning_effort is unknown", None),
        ("reasoning_effort 'medium' not in ['low', 'high', 'max']", ("low", "high")),
        ("reasoning_effort must be omitted", None),
        ("", None),
    ],
)
def test_published_efforts_are_read_up_to_the_end_of_their_list(
    text: str, efforts: tuple[str, ...] | None
) -> None:
    assert published_efforts(text) == efforts


@given(
    st.lists(RUNGS, min_size=1, unique=True),
    st.sampled_from(["'{}'", '"{}"', "`{}`", "{}"]),
    st.sampled_from([", ", " or ", ", and "]),
    st.sampled_from([".", "\n", ""]),
)
def test_a_published_list_is_read_in_any_dress(
    rungs: list[str], quotes: str, between: str, end: str
) -> None:
    listed = between.join(quotes.format(rung) for rung in rungs)
    found = published_efforts(f"Unsupported value. Supported values are: {listed}{end}")
    assert found == tuple(sorted(rungs, key=EFFORT_LADDER.index))


@pytest.mark.parametrize(
    ("text", "effort"),
    [
        ("Unsupported value: 'reasoning_effort' does not support 'minimal' here", "minimal"),
        ("invalid value: `reasoning_effort` is not supported with `none`", "none"),
        ("Invalid value for reasoning_effort: High", "high"),
        ("this value of reasoning_effort is not supported with this model", None),
        ("'reasoning_effort' does not support 'xhigh'", None),
        ("'temperature' does not support 'low'", None),
        ("reasoning_effort: invalid value, is not supported with low", "low"),
        (PYDANTIC, "none"),
        (ZOD, "none"),
        ("Invalid 'reasoning_effort': 'none' is not one of ['low','medium','high']", "none"),
        ("reasoning_effort: unknown variant `minimal`, expected one of `low`, `high`", "minimal"),
        ("This model does not support reasoning_effort='none'", "none"),
        ("Invalid reasoning_effort 'medium': not in ['low', 'high', 'max']", "medium"),
        ("use it without tools or set reasoning_effort to 'none'", None),
        ("`reasoning_effort` must be one of `low`, `medium`, or `high`", None),
        ("reasoning_effort: Input should be 'low', 'medium' or 'high'", None),
    ],
)
def test_the_refused_effort_is_read_where_servers_name_it(text: str, effort: str | None) -> None:
    assert refused_effort(text) == effort


@pytest.mark.parametrize(
    "text",
    [
        PYDANTIC,
        ZOD,
        "reasoning_effort: Input should be 'default'",
        "Invalid 'reasoning_effort': 'none' is not one of ['low','medium','high']",
        "`reasoning_effort` must be one of `none` or `default`",
        "reasoning_effort: unknown variant `none`, expected one of `low`, `high`",
        "Invalid reasoning_effort: none",
        "Invalid option for reasoning_effort",
        "reasoning_effort does not support 'none' here",
        "reasoning_effort must be low or high",
        "reasoning_effort 'none' is not supported for this model",
        "This model does not support reasoning_effort='xhigh'",
        "Invalid value: 'none'. Supported values are: 'low' and 'high'.",
    ],
)
def test_a_complaint_about_a_value_is_known_in_the_wordings_of_many_servers(text: str) -> None:
    assert refuses_effort_value(text)


@pytest.mark.parametrize(
    "text",
    [
        "This model does not support reasoning_effort",
        "reasoning_effort: Extra inputs are not permitted; top_k: Input should be a valid integer",
        "reasoning_effort must be omitted for this model",
        "reasoning_effort is not supported with this model",
        "Invalid parameter: reasoning_effort",
        "reasoning_effort is one of the fields that are not supported",
    ],
)
def test_a_complaint_about_the_field_is_none_about_a_value(text: str) -> None:
    assert not refuses_effort_value(text)


@pytest.mark.parametrize(
    ("text", "is_other"),
    [
        (PYDANTIC, False),
        (PYDANTIC.replace("none", "xhigh"), True),
        (ZOD.replace("none", "xhigh"), True),
        ("'reasoning_effort' does not support 'xhigh'", True),
        ("`reasoning_effort` must be one of `low` or `high`", False),
        ("'reasoning_effort' is not supported", False),
    ],
)
def test_a_refused_value_without_a_rung_is_told_from_none_named(text: str, is_other: bool) -> None:
    assert names_other_effort(text) == is_other


@given(
    st.lists(RUNGS, min_size=1, unique=True),
    st.sampled_from(["'{}'", "`{}`", '"{}"', '\\"{}\\"']),
    st.sampled_from([", ", " | ", " or ", ", or "]),
    st.sampled_from(
        [
            "`reasoning_effort` must be one of {}",
            "reasoning_effort: Input should be {}",
            "'x' is not one of [{}] - 'reasoning_effort'",
            "reasoning_effort: unknown variant `x`, expected one of {} at line 1 column 9",
            "Invalid enum value for reasoning_effort. Expected {}, received 'x'",
        ]
    ),
)
def test_a_list_is_read_in_every_wording_and_makes_the_complaint_one_about_a_value(
    rungs: list[str], quotes: str, between: str, wording: str
) -> None:
    text = wording.format(between.join(quotes.format(rung) for rung in rungs))
    assert published_efforts(text) == tuple(sorted(rungs, key=EFFORT_LADDER.index))
    assert refuses_effort_value(text)
    assert refused_effort(text) is None
