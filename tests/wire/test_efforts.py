"""The ladder of reasoning efforts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.efforts import EFFORT_LADDER, next_effort, published_efforts, refused_effort

RUNGS = st.sampled_from(EFFORT_LADDER)


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
        ("Supported values: low", None),
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
    ],
)
def test_the_refused_effort_is_read_where_servers_name_it(text: str, effort: str | None) -> None:
    assert refused_effort(text) == effort
