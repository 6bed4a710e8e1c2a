"""Characters per token, learned from what endpoints count."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.tokens import request_tokens
from host.wire.calibration import MAX_READINGS, Calibration, chars_per_prompt_token


def _body(chars: int) -> dict[str, Any]:
    """A request that is measured as so many characters."""
    empty = request_tokens({"messages": [{"role": "user", "content": ""}]}, chars_per_token=1)
    return {"messages": [{"role": "user", "content": "x" * (chars - empty)}]}


def test_the_largest_of_the_last_four_readings_is_in_force() -> None:
    calibration = Calibration()
    for ratio in (6, 2.2, 3.1, 2.4, 3.3):
        calibration.observe("m", _body(int(ratio * 100)), 100)
    assert calibration.chars_per_token("m") == 3.3


@pytest.mark.parametrize(("chars", "prompt_tokens"), [(100, 200), (2000, 100), (100, 0), (100, -1)])
def test_a_ratio_nobody_would_believe_changes_nothing(chars: int, prompt_tokens: int) -> None:
    assert Calibration().observe("m", _body(chars), prompt_tokens) == 4


def test_a_request_with_an_image_changes_nothing() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:,x"}}
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}, picture]}]}
    assert Calibration().observe("m", body, 20) == 4


def test_text_and_refusal_parts_count() -> None:
    parts = [{"type": "text", "text": "x" * 300}, {"type": "refusal", "refusal": "no"}]
    assert chars_per_prompt_token({"messages": [{"role": "user", "content": parts}]}, 100)


def test_declared_tools_count() -> None:
    tool = {"type": "function", "function": {"name": "n" * 400}}
    bare = chars_per_prompt_token(_body(200), 100)
    assert bare is not None
    with_tools = chars_per_prompt_token({**_body(200), "tools": [tool]}, 100)
    assert with_tools is not None
    assert with_tools > bare + 4


def test_models_are_measured_apart_and_forgotten_together() -> None:
    calibration = Calibration()
    calibration.observe("m", _body(300), 100)
    assert (calibration.chars_per_token("m"), calibration.chars_per_token("n")) == (3, 4)
    calibration.reset()
    assert calibration.chars_per_token("m") == 4


@given(st.lists(st.tuples(st.integers(50, 1200), st.integers(-5, 120)), max_size=12))
def test_in_force_is_what_a_plain_model_of_the_rule_says(readings: list[tuple[int, int]]) -> None:
    calibration = Calibration()
    believed: list[float] = []
    for chars, prompt_tokens in readings:
        if prompt_tokens > 0 and 1 <= chars / prompt_tokens <= 8:
            believed.append(chars / prompt_tokens)
        in_force = calibration.observe("m", _body(chars), prompt_tokens)
        assert in_force == max(believed[-MAX_READINGS:], default=4)
