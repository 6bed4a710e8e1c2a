"""Cut answers and what continues them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.records import ToolCall, Turn, TurnUsage
from host.wire.turn_joining import (
    FreshText,
    begun_answer,
    fresh_part,
    is_continuable,
    join_turns,
    join_usage,
    prefilled,
)

CALL: ToolCall = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ANSWER = "It was a dark and stormy night, and the rain fell in torrents"


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (Turn(content="half", finish_reason="length"), True),
        (Turn(content=" \n", finish_reason="length"), False),
        (Turn(reasoning="hm", finish_reason="length"), False),
        (Turn(content="whole", finish_reason="stop"), False),
        (Turn(content="half", finish_reason=""), False),
        (Turn(content="half", finish_reason="length", tool_calls=(CALL,)), False),
    ],
)
def test_only_text_cut_at_its_ceiling_can_be_continued(turn: Turn, expected: bool) -> None:
    assert is_continuable(turn) is expected


# --- the request --------------------------------------------------------------------------------

_QUESTION = {"role": "user", "content": "q"}
_CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}


@pytest.mark.parametrize(
    ("last", "ends"),
    [
        (_QUESTION, [_QUESTION, {"role": "assistant", "content": "more"}]),
        (_CALLING, [_CALLING, {"role": "assistant", "content": "more"}]),
        (
            {"role": "assistant", "content": "begun ", "prefix": True},
            [{"role": "assistant", "content": "begun more", "prefix": True}],
        ),
        ({"role": "assistant", "content": None}, [{"role": "assistant", "content": "more"}]),
        (
            {"role": "assistant", "content": [{"type": "text", "text": "begun "}]},
            [
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "begun "},
                        {"type": "text", "text": "more"},
                    ],
                }
            ],
        ),
    ],
)
def test_an_answer_goes_on_from_the_words_a_request_ends_with(
    last: dict[str, Any], ends: list[dict[str, Any]]
) -> None:
    body = {"model": "m", "messages": [_QUESTION, last]}
    changed = prefilled(body, "more")
    assert changed == {"model": "m", "messages": [_QUESTION, *ends]}
    assert body["messages"] == [_QUESTION, last]
    assert begun_answer(changed).endswith("more")


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_going_on_again_and_again_is_one_message(pieces: list[str]) -> None:
    body: dict[str, Any] = {"messages": [_QUESTION]}
    for piece in pieces:
        body = prefilled(body, piece)
    assert body["messages"] == [_QUESTION, {"role": "assistant", "content": "".join(pieces)}]
    assert begun_answer(body) == "".join(pieces)


def test_a_request_without_messages_can_be_gone_on_with() -> None:
    assert prefilled({"messages": []}, "x")["messages"] == [{"role": "assistant", "content": "x"}]


# --- what is new --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "piece", "fresh"),
    [
        (ANSWER, "; except at intervals", "; except at intervals"),
        (ANSWER, "\n\nIt was", "\n\nIt was"),
        (ANSWER, "It was a bright day", "It was a bright day"),
        (ANSWER, ANSWER[:40] + "!", None),
        (ANSWER, "\n " + ANSWER[:40], None),
        ("\n" + ANSWER, ANSWER[:41], None),
        (ANSWER, ANSWER[:39] + "!", ANSWER[:39] + "!"),
        (ANSWER, ANSWER[:39], ANSWER[:39]),
        (ANSWER, ANSWER + ";", ";"),
        (ANSWER, f" {ANSWER}\n", "\n"),
        (ANSWER, ANSWER, ""),
        ("ha ha ha ha", "ha ha ha ha", "ha ha ha ha"),
        ("ha ha ha ha ", "ha ha ha ha h", "h"),
        ("ha ha ha ha ", "ha ha ha haa", "ha ha ha haa"),
        (ANSWER, "", ""),
        (ANSWER, "  ", "  "),
    ],
)
def test_a_piece_adds_what_is_new_unless_it_begins_anew(
    answer: str, piece: str, fresh: str | None
) -> None:
    assert fresh_part(answer, Turn(content=piece, finish_reason="stop")) == fresh


def test_an_answer_that_is_cut_at_the_very_same_place_got_no_further() -> None:
    assert fresh_part(ANSWER, Turn(content=ANSWER, finish_reason="length")) is None
    assert fresh_part(ANSWER, Turn(content="", finish_reason="length")) == ""


WORDS = st.lists(st.sampled_from(["ha ", "ho ", "\n", "a", " ", "longer words "]), max_size=12)
ANSWERS = WORDS.map("".join).filter(str.strip)


@st.composite
def pieces(draw: st.DrawFn) -> tuple[str, str]:
    """An answer, and a piece that shares anything with its beginning."""
    answer = draw(ANSWERS)
    begun = answer.lstrip()[: draw(st.sampled_from([0, 1, 11, 12, 13, 39, 40, 41, 10**6]))]
    return answer, draw(st.sampled_from(["", " ", "\n"])) + begun + draw(WORDS.map("".join))


def _plainly(answer: str, piece: str) -> str | None:
    known, begun = answer.lstrip(), piece.lstrip()
    opening = known[:40]
    if len(opening) < 12:
        return piece
    if begun.startswith(known):
        return begun[len(known) :]
    return None if begun.startswith(opening) else piece


@given(pieces(), st.lists(st.integers(0, 200), max_size=6))
def test_what_is_let_through_is_the_same_wherever_the_piece_was_cut(
    texts: tuple[str, str], cuts: list[int]
) -> None:
    answer, piece = texts
    fresh, heard, start = FreshText(answer), "", 0
    for cut in [*sorted(cut % (len(piece) + 1) for cut in cuts), len(piece)]:
        heard += fresh.push(piece[start:cut])
        start = cut
    heard += fresh.finish()
    expected = _plainly(answer, piece)
    assert fresh.is_restart is (expected is None)
    assert heard == (expected or "")
    assert fresh_part(answer, Turn(content=piece, finish_reason="stop")) == expected


# --- both as one --------------------------------------------------------------------------------


def test_texts_follow_each_other_and_the_end_is_the_last_ones() -> None:
    first = Turn(content="a ", reasoning="x ", finish_reason="length")
    last = Turn(content="b", reasoning="y", finish_reason="tool_calls", tool_calls=(CALL,))
    joined = join_turns(first, last)
    assert (joined.content, joined.reasoning) == ("a b", "x y")
    assert (joined.finish_reason, joined.tool_calls) == ("tool_calls", (CALL,))
    assert join_turns(joined, last).usage.continuations == 2


def test_a_rate_is_the_mean_over_its_time() -> None:
    fast = TurnUsage(tokens_per_second=90, predicted_seconds=2)
    slow = TurnUsage(tokens_per_second=30, predicted_seconds=4)
    assert join_usage(fast, slow).tokens_per_second == 50
    assert join_usage(fast, TurnUsage(tokens_per_second=30)).tokens_per_second is None
    still = TurnUsage(prompt_tokens_per_second=1, prompt_seconds=0)
    assert join_usage(still, still).prompt_tokens_per_second is None


COUNTED = {"prompt_tokens", "completion_tokens", "total_tokens"}
RATES = {"prompt_tokens_per_second", "tokens_per_second"}
OWN_RULE = {*RATES, "cached_tokens", "first_token_seconds", "continuations"}
NUMBERS = st.integers(0, 1000)
USAGES = st.fixed_dictionaries(
    {}, optional={field.name: NUMBERS for field in fields(TurnUsage)}
).map(lambda counts: TurnUsage(**counts))


@given(USAGES, USAGES)
def test_counts_add_up_and_half_a_figure_is_none(first: TurnUsage, last: TurnUsage) -> None:
    joined = join_usage(first, last)
    for name in {field.name for field in fields(TurnUsage)} - OWN_RULE:
        ours: Any = getattr(first, name)
        theirs: Any = getattr(last, name)
        both = ours is not None and theirs is not None
        assert getattr(joined, name) == (ours + theirs if both else None), name
    known = [one for one in (first.cached_tokens, last.cached_tokens) if one is not None]
    assert joined.cached_tokens == (sum(known) if known else None)
    assert joined.first_token_seconds == first.first_token_seconds
    assert joined.continuations == (first.continuations or 0) + 1
    for name in RATES:
        rates = [getattr(first, name), getattr(last, name)]
        if (mean := getattr(joined, name)) is not None:
            assert min(rates) - 1e-9 <= mean <= max(rates) + 1e-9
