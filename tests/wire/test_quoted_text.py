"""What a server says itself, and where it begins to quote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.wire.quoted_text import own_words_in

INTRODUCTIONS = [
    "Failed to parse input at pos 184",
    "Failed to parse tools: key 'name' not found; tools = ",
    "Failed to parse messages: Missing 'content'; messages = ",
    "Failed to call a function: attempted to call tool",
    "syntax error while parsing value - invalid literal; last read: ",
]


@given(st.sampled_from(INTRODUCTIONS), st.text().filter(lambda text: not text[:1].isdigit()))
def test_nothing_quoted_is_left_and_nothing_else_goes(introduction: str, quoted: str) -> None:
    assert own_words_in(introduction + quoted) == introduction


@given(st.text())
def test_own_words_are_a_beginning_and_hold_no_further_quote(text: str) -> None:
    own = own_words_in(text)
    assert text.startswith(own)
    assert own_words_in(own) == own


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Expected 'tools' to be an array, got {\"a\":1}", "Expected 'tools' to be an array, got "),
        (
            "{'loc': ('body', 'x'), 'msg': 'Field required', 'input': {'role': 'assistant'}}",
            "{'loc': ('body', 'x'), 'msg': 'Field required', 'input': ",
        ),
    ],
)
def test_a_piece_of_the_request_is_quoted(text: str, own: str) -> None:
    assert own_words_in(text) == own


@pytest.mark.parametrize(
    "text",
    [
        "Value must be between 1 <= value <= 1, but got 2",
        "{'loc': ('body', 'reasoning_effort'), 'input': 'none', 'ctx': {'expected': \"'low'\"}}",
        "at position 3: Unrecognized schema",
    ],
)
def test_a_value_that_the_server_names_is_no_quote(text: str) -> None:
    assert own_words_in(text) == text
