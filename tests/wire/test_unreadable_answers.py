"""Other requests for an answer its server could not read."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.capabilities import ModelCapabilities
from host.wire.unreadable_answers import (
    RESAMPLING_TEMPERATURE,
    can_forbid_calls,
    going_on,
    sampled_otherwise,
    without_calls,
)

_choices = st.sampled_from(
    ["auto", "none", "required", {"type": "function", "function": {"name": "f"}}]
)
BODIES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"messages": st.just([{"role": "user", "content": "q"}])},
    optional={
        "tools": st.sampled_from([[], [{"type": "function"}]]),
        "tool_choice": _choices,
        "parallel_tool_calls": st.booleans(),
        "temperature": st.sampled_from([0, 0.2, 0.8, 1.5]),
        "seed": st.integers(0, 9),
        "top_k": st.integers(1, 3),
    },
)


@given(BODIES, st.booleans())
def test_no_two_ways_to_ask_are_the_same_request_and_none_changes_the_first(
    body: dict[str, Any], chosen_temperature: bool
) -> None:
    before = deepcopy(body)
    known = ModelCapabilities(chosen_temperature=chosen_temperature)
    ways = [sampled_otherwise(body, known)]
    if can_forbid_calls(body):
        ways.append(without_calls(body))
    assert body == before
    # A warm request without a seed is another draw as it is.
    is_warm = body.get("temperature", 0) >= RESAMPLING_TEMPERATURE
    if "seed" in body or (chosen_temperature and not is_warm):
        assert ways[0] != body
    assert all(way != body for way in ways[1:])
    assert len(ways) == 1 or ways[0] != ways[1]


@given(BODIES)
def test_forbidding_calls_changes_nothing_but_what_is_said_of_calls(body: dict[str, Any]) -> None:
    changed = without_calls(body)
    assert changed["tool_choice"] == "none"
    said = {"tool_choice", "parallel_tool_calls"}
    assert {name: changed[name] for name in changed.keys() - said} == {
        name: body[name] for name in body.keys() - said
    }
    assert "parallel_tool_calls" not in changed
    assert not can_forbid_calls(changed)


@given(BODIES, st.text(min_size=1))
def test_going_on_appends_the_answer_so_far(body: dict[str, Any], answer: str) -> None:
    changed = going_on(body, answer)
    assert changed["messages"] == [*body["messages"], {"role": "assistant", "content": answer}]
    assert {**changed, "messages": body["messages"]} == without_calls(body)


@pytest.mark.parametrize(("asked", "sent"), [(0, 0.8), (None, 0.8), (0.8, 0.8), (1.2, 1.2)])
def test_another_draw_is_warmer_and_never_colder(asked: float | None, sent: float) -> None:
    assert RESAMPLING_TEMPERATURE == 0.8
    body = {} if asked is None else {"temperature": asked}
    assert sampled_otherwise(body, None)["temperature"] == sent
