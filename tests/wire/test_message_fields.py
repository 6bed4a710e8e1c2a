"""Text and reasoning, wherever a server puts them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.message_fields import plain_text, reasoning_of, text_of

TEXTS = st.sampled_from(["a", " ", "é\n", "<think>", '{"text": "x"}', "two words"])
NOTHING: list[Any] = [None, "", [], {}, 7, True, [None, "x"], [{"type": "image"}], {"text": "x"}]


def _thinking(text: str) -> list[dict[str, Any]]:
    return [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]


REASONING_PLACES: dict[str, Any] = {
    "reasoning_content": lambda text: {"reasoning_content": text},
    "reasoning": lambda text: {"reasoning": text},
    "reasoning_text": lambda text: {"reasoning_text": text},
    "thinking parts": lambda text: {"content": _thinking(text)},
    "thinking text": lambda text: {"content": [{"type": "thinking", "thinking": text}]},
    "details": lambda text: {"reasoning_details": [{"type": "reasoning.text", "text": text}]},
    "summary": lambda text: {"reasoning_details": [{"type": "reasoning.summary", "summary": text}]},
}
TEXT_PLACES: dict[str, Any] = {
    "content": lambda text: {"content": text},
    "parts": lambda text: {"content": [{"type": "text", "text": text}, {"type": "image"}]},
    "refusal": lambda text: {"content": None, "refusal": text},
}


@given(TEXTS, st.sampled_from(sorted(REASONING_PLACES)), st.sampled_from(NOTHING))
def test_reasoning_is_found_in_every_place_and_is_no_text(
    text: str, place: str, nothing: Any
) -> None:
    fields = {"reasoning_content": nothing, "reasoning_details": nothing, "content": nothing}
    message = {**fields, **REASONING_PLACES[place](text)}
    assert reasoning_of(message) == text
    assert text_of(message) == ""


@given(TEXTS, st.sampled_from(sorted(TEXT_PLACES)), st.sampled_from(NOTHING))
def test_text_is_found_in_every_place_and_is_no_reasoning(
    text: str, place: str, nothing: Any
) -> None:
    message = {"reasoning_content": nothing, "refusal": nothing, **TEXT_PLACES[place](text)}
    assert text_of(message) == text
    assert reasoning_of(message) == ""


@given(TEXTS, TEXTS)
def test_parts_of_both_kinds_come_apart(thought: str, answer: str) -> None:
    message = {"content": [*_thinking(thought), {"type": "text", "text": answer}]}
    assert (reasoning_of(message), text_of(message)) == (thought, answer)


def test_the_same_reasoning_in_two_places_counts_once() -> None:
    details = [{"type": "reasoning.text", "text": "hm"}, {"type": "reasoning.encrypted"}]
    assert reasoning_of({"reasoning": "hm", "reasoning_details": details}) == "hm"
    assert reasoning_of({"reasoning_content": "one", "reasoning": "other"}) == "one"


def test_a_refusal_beside_text_is_not_added() -> None:
    assert text_of({"content": "yes", "refusal": "no"}) == "yes"


@pytest.mark.parametrize("value", NOTHING)
def test_what_holds_no_text_is_empty(value: Any) -> None:
    assert plain_text(value) == ""
