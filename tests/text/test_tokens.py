"""Token estimates against the JSON they stand for."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.text.json_text import compact_json
from host.text.tokens import (
    compact_count,
    estimate_tokens,
    message_tokens,
    request_tokens,
    tools_tokens,
)

_PLAIN = st.text(alphabet="abc é.<{", max_size=60)
_TOOL_RESULT = st.builds(
    lambda call_id, text: {"role": "tool", "tool_call_id": call_id, "content": text}, _PLAIN, _PLAIN
)
_ASKING = st.builds(
    lambda calls: {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": i, "type": "function", "function": {"name": n, "arguments": a}}
            for i, n, a in calls
        ],
    },
    st.lists(st.tuples(_PLAIN, _PLAIN, _PLAIN), min_size=1, max_size=4),
)
_TALKING = st.builds(
    lambda role, text, extra: {"role": role, "content": text, **extra},
    st.sampled_from(["system", "user", "assistant", "developer"]),
    _PLAIN,
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(["name", "reasoning_content", "reasoning"], _PLAIN)
    ),
)
_PARTS = st.builds(
    lambda parts: {"role": "user", "content": parts},
    st.lists(
        _PLAIN.map(lambda text: {"type": "text", "text": text})
        | _PLAIN.map(lambda text: {"type": "refusal", "refusal": text}),
        min_size=1,
        max_size=5,
    ),
)


@given(st.lists(_TOOL_RESULT | _ASKING | _TALKING, min_size=1, max_size=20))
def test_a_transcript_of_plain_text_measures_what_its_json_measures(
    messages: list[dict[str, Any]],
) -> None:
    # every message is charged a comma, which pays for all but one of the list's two brackets
    assert request_tokens({"messages": messages}, chars_per_token=1) == (
        len(compact_json(messages)) - 1
    )


@given(_PARTS)
def test_a_message_of_text_and_refusal_parts_measures_its_json_with_a_comma_to_spare(
    message: dict[str, Any],
) -> None:
    assert message_tokens(message, chars_per_token=1) == len(compact_json(message)) + 2


@given(st.lists(_TOOL_RESULT | _ASKING | _TALKING | _PARTS, max_size=6), st.floats(0.5, 12))
def test_a_request_is_its_messages_and_its_tools_each_rounded_up_once(
    messages: list[dict[str, Any]], per: float
) -> None:
    tools = [{"type": "function", "function": {"name": "ls"}}]
    chars = sum(message_tokens(message, chars_per_token=1) for message in messages)
    assert request_tokens({"messages": messages, "tools": tools}, chars_per_token=per) == (
        math.ceil(chars / per) + math.ceil(len(compact_json(tools)) / per)
    )


@pytest.mark.parametrize(
    "message",
    [
        [
            {"role": "tool", "tool_call_id": f"call_{n:02}", "content": f"row {n}"}
            for n in range(20)
        ],
        [{"role": "user", "content": [{"type": "text", "text": "t" * n} for n in range(20)]}],
        [
            {
                "role": "assistant",
                "content": [{"type": "refusal", "refusal": "no" * n} for n in range(20)],
            }
        ],
    ],
    ids=["tool results", "text parts", "refusals"],
)
def test_twenty_of_a_kind_are_estimated_exactly_as_their_json(message: list[Any]) -> None:
    assert request_tokens({"messages": message}) == estimate_tokens(compact_json(message))


def test_a_mixed_transcript_is_within_a_tenth_of_its_json() -> None:
    arguments = '{"path":"/srv/notes/today.md","mode":"append"}'
    call = {
        "id": "call_7",
        "type": "function",
        "function": {"name": "disk__write", "arguments": arguments},
    }
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief. " * 40}]
    for turn in range(30):
        messages += [
            {"role": "user", "content": f"Line {turn}\nplease. " * 20},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_7", "content": 'He said "done"\n' * 20},
            {"role": "assistant", "content": [{"type": "text", "text": "Fine. " * 9}]},
        ]
    measured = request_tokens({"messages": messages})
    assert measured == pytest.approx(estimate_tokens(compact_json(messages)), rel=0.1)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("x" * 4000, 1000)])
def test_a_token_is_four_characters_rounded_up(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    ("message", "chars"),
    [
        ({"role": "user", "content": "hi"}, 4 + 25 + 2),
        ({"role": "assistant", "content": None}, 9 + 25),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x" * 999}}]}, 29),
        ({"role": "user", "content": [{"type": "input_audio"}, "odd", None]}, 29),
        ({"role": "assistant", "tool_calls": [{"id": "c1", "type": "custom"}]}, 34 + 15 + 68),
        ({"role": "assistant", "tool_calls": ["odd"]}, 34 + 15),
        ({"role": "tool", "tool_call_id": None, "name": 7, "content": 5}, 29),
        ({}, 25),
    ],
)
def test_each_piece_of_a_message_has_its_price(message: dict[str, Any], chars: int) -> None:
    assert message_tokens(message, chars_per_token=1) == chars


@pytest.mark.parametrize("per", [0, -1, float("nan"), float("inf"), None])
def test_a_ratio_that_is_no_positive_number_means_four(per: float | None) -> None:
    message = {"role": "user", "content": "x" * 71}
    assert message_tokens(message, chars_per_token=per) == 25
    assert tools_tokens([{"name": "abc"}], chars_per_token=per) == 4
    assert request_tokens({"messages": [message]}, chars_per_token=per) == 25


def test_a_tools_list_is_measured_once_even_if_it_changes_later() -> None:
    tools: list[dict[str, object]] = [{"name": "ls"}]
    first = tools_tokens(tools)
    tools.append({"name": "x" * 400})
    assert tools_tokens(tools) == first
    assert tools_tokens(list(tools)) > first


def test_no_tools_and_no_messages_take_nothing() -> None:
    assert tools_tokens(None) == tools_tokens([]) == tools_tokens(()) == 0
    assert request_tokens({}) == request_tokens({"messages": None, "tools": []}) == 0


def test_an_empty_tools_list_is_measured_when_it_is_filled() -> None:
    tools: list[dict[str, object]] = []
    assert tools_tokens(tools) == 0
    tools.append({"name": "ls"})
    assert tools_tokens(tools) == 4


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (1049, "1.0k"),
        (1050, "1.1k"),
        (1250, "1.3k"),
        (2345, "2.3k"),
        (999_960, "1000.0k"),
        (-5, "-5"),
    ],
)
def test_counts_are_compact_from_a_thousand_on(n: int, text: str) -> None:
    assert compact_count(n) == text
