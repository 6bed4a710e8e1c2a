"""Latches, and what is sent under them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.capabilities import (
    Capabilities,
    ModelCapabilities,
    ceiling_and_temperature,
    effort_for,
    latch_state,
)
from host.wire.efforts import EFFORT_LADDER


def test_a_models_latches_are_one_live_object() -> None:
    capabilities = Capabilities()
    capabilities.for_model("m").reasoning_effort = False
    assert capabilities.for_model("m") is capabilities.for_model("m")
    assert not capabilities.for_model("m").reasoning_effort
    assert capabilities.for_model("n").reasoning_effort


def test_two_endpoints_share_no_latch() -> None:
    Capabilities().for_model("m").refused_fields.add("a")
    assert Capabilities().for_model("m").refused_fields == set()


FLAGS = [
    "reasoning_effort",
    "legacy_token_limit",
    "chosen_temperature",
    "structured_output",
    "assistant_prefill",
    "thinking_hints",
    "tools",
]


def _turn_off(capabilities: Capabilities, change: str) -> None:
    model = capabilities.for_model("m")
    match change:
        case "strict_schemas" | "usage_in_stream":
            setattr(capabilities, change, False)
        case "field":
            model.refused_fields.add(f"f{len(model.refused_fields)}")
        case "effort":
            model.refused_efforts.add(f"e{len(model.refused_efforts)}")
        case "tool":
            model.refused_tools[f"d{len(model.refused_tools)}"] = "bare"
        case "list":
            model.supported_efforts = (*(model.supported_efforts or ()), "low")
        case flag:
            setattr(model, flag, False)


@given(
    st.lists(
        st.sampled_from(
            [*FLAGS, "strict_schemas", "usage_in_stream", "field", "effort", "tool", "list"]
        ),
        unique=True,
    )
)
def test_the_state_changes_with_every_latch_and_with_nothing_else(changes: list[str]) -> None:
    capabilities = Capabilities()
    states = [latch_state(capabilities, "m")]
    for change in changes:
        _turn_off(capabilities, change)
        capabilities.for_model("other").refused_fields.add(change)
        states.append(latch_state(capabilities, "m"))
        assert latch_state(capabilities, "m") == states[-1]
    assert len(set(states)) == len(changes) + 1


def test_asking_for_the_state_makes_no_entry() -> None:
    capabilities = Capabilities()
    latch_state(capabilities, "m")
    assert capabilities.models == {}


@pytest.mark.parametrize(
    ("refused", "asked", "sent"),
    [
        (None, None, ""),
        (None, "", ""),
        (None, "off", ""),
        (None, "high", "high"),
        (None, "xhigh", "xhigh"),
        (ModelCapabilities(), "High", "High"),
        (ModelCapabilities(reasoning_effort=False), "high", ""),
        (ModelCapabilities(refused_efforts={"minimal"}), "minimal", "low"),
        (ModelCapabilities(refused_efforts={"minimal"}), "Minimal", "low"),
        (ModelCapabilities(refused_efforts={"minimal", "low"}), "minimal", "medium"),
        (ModelCapabilities(refused_efforts={"high"}), "high", "high"),
        (ModelCapabilities(supported_efforts=("low", "high")), "medium", "high"),
        (ModelCapabilities(supported_efforts=("low", "high")), "low", "low"),
        (ModelCapabilities(supported_efforts=("low",)), "high", "high"),
        (ModelCapabilities(supported_efforts=("low",)), "xhigh", "xhigh"),
        (ModelCapabilities(refused_efforts={"low"}, supported_efforts=("low",)), "none", "none"),
    ],
)
def test_an_effort_is_sent_as_asked_or_stepped(
    refused: ModelCapabilities | None, asked: str | None, sent: str
) -> None:
    assert effort_for(refused, asked) == sent


@given(
    st.sampled_from(EFFORT_LADDER),
    st.sets(st.sampled_from(EFFORT_LADDER)),
    st.none() | st.sets(st.sampled_from(EFFORT_LADDER), min_size=1),
)
def test_a_stepped_effort_is_one_the_model_may_take_and_never_cheaper(
    asked: str, refused: set[str], supported: set[str] | None
) -> None:
    listed = None if supported is None else tuple(sorted(supported, key=EFFORT_LADDER.index))
    known = ModelCapabilities(refused_efforts=refused, supported_efforts=listed)
    sent = effort_for(known, asked)
    assert EFFORT_LADDER.index(sent) >= EFFORT_LADDER.index(asked)
    if sent != asked:
        assert sent not in refused
        assert listed is None or sent in listed


@pytest.mark.parametrize(
    ("refused", "max_tokens", "temperature", "fields"),
    [
        (None, 10, 0.5, {"max_tokens": 10, "temperature": 0.5}),
        (None, 0, 0.0, {"temperature": 0.0}),
        (None, -1, None, {}),
        (ModelCapabilities(), 10, None, {"max_tokens": 10}),
        (ModelCapabilities(legacy_token_limit=False), 10, None, {"max_completion_tokens": 10}),
        (ModelCapabilities(legacy_token_limit=False), 0, None, {}),
        (ModelCapabilities(chosen_temperature=False), 10, 1.0, {"max_tokens": 10}),
    ],
)
def test_ceiling_and_temperature_follow_the_latches(
    refused: ModelCapabilities | None,
    max_tokens: int,
    temperature: float | None,
    fields: dict[str, Any],
) -> None:
    assert ceiling_and_temperature(refused, max_tokens, temperature) == fields
