"""The ledger against an endpoint whose every token is known."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.ledger import (
    Ledger,
    SentRequest,
    break_reason,
    estimate_from,
    rebase_ledger,
    record_request,
    tokens_between,
)
from host.records import LedgerEntry, Message, ToolDefinition, TurnUsage
from host.text.tokens import message_tokens

SYSTEM: Message = {"role": "system", "content": "Be brief."}


def said(text: str) -> Message:
    return {"role": "user", "content": text}


def ledger_of(*entries: tuple[int, int] | tuple[int, int, int]) -> Ledger:
    """Entries as (through, prompt) or (through, prompt, epoch)."""
    return tuple(
        LedgerEntry(through=through, prompt=prompt, epoch=epoch[0] if epoch else 0)
        for through, prompt, *epoch in entries
    )


def sent(
    messages: Sequence[Message], prompt: int = 1, through: int = 0, tools: Sequence[str] = ()
) -> SentRequest:
    return SentRequest(messages=tuple(messages), tools=tuple(tools), prompt=prompt, through=through)


TEN: list[Message] = [said(f"message {number}") for number in range(10)]
COUNTED = ledger_of((0, 50), (2, 90), (5, 210))


def guess(messages: Sequence[Message]) -> int:
    return sum(message_tokens(message) for message in messages)


@pytest.mark.parametrize(
    ("start", "end", "tokens"),
    [
        (1, 3, 40),
        (3, 6, 120),
        (1, 6, 160),
        (1, 2, 20),
        (2, 4, 60),
        (0, 1, guess(TEN[:1])),
        (6, 10, guess(TEN[6:])),
        (-4, 3, guess(TEN[:1]) + 40),
        (3, 99, 120 + guess(TEN[6:])),
        (6, 3, 0),
        (12, 15, 0),
    ],
)
def test_what_was_counted_is_not_estimated(start: int, end: int, tokens: int) -> None:
    assert tokens_between(COUNTED, start, end, TEN) == tokens


@pytest.mark.parametrize(
    "ledger",
    [
        (),
        ledger_of((2, 90)),
        ledger_of((0, 50), (2, 90, 1)),
        ledger_of((0, 50), (2, 50)),
        ledger_of((0, 50), (2, 40)),
        ledger_of((2, 50), (2, 90)),
        ledger_of((2, 50), (0, 90)),
        ledger_of((0, 50), (10, 900)),
        ledger_of((-3, 50), (2, 90)),
    ],
    ids=str,
)
def test_what_no_difference_tells_is_estimated(ledger: Ledger) -> None:
    assert tokens_between(ledger, 0, 3, TEN) == guess(TEN[:3])


def test_a_transcript_that_no_request_carried_is_counted_from_its_first_message() -> None:
    assert tokens_between(ledger_of((-1, 20), (1, 70)), 0, 2, TEN) == 50


def test_messages_counted_together_share_by_their_characters() -> None:
    short, long = said("x" * 71), said("x" * 171)  # with role and punctuation 100 and 200
    ledger = ledger_of((-1, 10), (1, 40))
    assert tokens_between(ledger, 0, 1, [short, long]) == 10
    assert tokens_between(ledger, 1, 2, [short, long]) == 20


@pytest.mark.parametrize("prompts", [(90, 210), (210, 90)])
def test_of_two_counts_the_later_is_believed(prompts: tuple[int, int]) -> None:
    first, second = prompts
    ledger = ledger_of((0, 50), (2, first), (0, 50, 1), (2, second, 1))
    assert tokens_between(ledger, 1, 3, TEN) == second - 50
    assert estimate_from(ledger, TEN)(TEN[1]) == (second - 50) / 2


def test_the_guess_is_the_callers_and_is_rounded_with_the_sum() -> None:
    assert tokens_between((), 0, 3, TEN, estimate=lambda _: 0.5) == 2
    assert tokens_between((), 0, 1, TEN, estimate=lambda _: 0.4) == 0
    by_two = tokens_between((), 0, 3, TEN, chars_per_token=2)
    assert by_two == sum(message_tokens(message, chars_per_token=2) for message in TEN[:3])
    assert estimate_from((), TEN, chars_per_token=2)(TEN[0]) == by_two / 3
    assert estimate_from((), TEN, estimate=lambda _: 7)(TEN[0]) == 7


ENTRIES = st.lists(
    st.tuples(st.integers(-2, 10), st.integers(1, 300), st.integers(0, 2)), max_size=6
).map(lambda entries: ledger_of(*entries))
TEXTS = st.lists(st.text("ab", max_size=40), max_size=9)


def _brute_force(ledger: Ledger, index: int, messages: Sequence[Message]) -> Fraction:
    """One message's tokens: the youngest pair around it, else the estimate."""
    for earlier, later in reversed(list(pairwise(ledger))):
        around = earlier.through < index <= later.through
        inside = earlier.through >= -1 and later.through < len(messages)
        if earlier.epoch == later.epoch and later.prompt > earlier.prompt and around and inside:
            chars = [message_tokens(message, chars_per_token=1) for message in messages]
            whole = sum(chars[earlier.through + 1 : later.through + 1])
            return Fraction((later.prompt - earlier.prompt) * chars[index], whole)
    return Fraction(message_tokens(messages[index]))


@given(ENTRIES, TEXTS, st.integers(-2, 12), st.integers(-2, 12))
def test_a_range_takes_what_its_messages_take_one_by_one(
    ledger: Ledger, texts: list[str], start: int, end: int
) -> None:
    messages = [said(text) for text in texts]
    each = [_brute_force(ledger, index, messages) for index in range(len(messages))]
    exact = float(sum(each[index] for index in range(len(each)) if start <= index < end))
    assert abs(tokens_between(ledger, start, end, messages) - exact) <= 0.5 + 1e-9
    tokens_of = estimate_from(ledger, messages)
    assert [tokens_of(message) for message in messages] == pytest.approx([float(n) for n in each])


def test_a_message_is_known_by_identity() -> None:
    tokens_of = estimate_from(COUNTED, TEN)
    assert tokens_of(TEN[1]) == 20
    assert tokens_of(copy.copy(TEN[1])) == message_tokens(TEN[1])


def test_a_message_in_two_places_takes_what_the_last_takes() -> None:
    messages = [TEN[0], TEN[1], TEN[2], TEN[1]]
    ledger = ledger_of((0, 50), (1, 60), (2, 70), (3, 110))
    assert estimate_from(ledger, messages)(TEN[1]) == 40


def test_known_messages_are_held() -> None:
    """A dead message's id may be given to a new one, which then must not pass for it."""
    tokens_of = estimate_from(ledger_of((-1, 100), (0, 1100)), [said("gone")])
    fresh = [said("gone") for _ in range(50)]
    assert {tokens_of(message) for message in fresh} == {message_tokens(said("gone"))}


A, B, C, D = (said(letter) for letter in "abcd")


@pytest.mark.parametrize(
    ("ledger", "previous", "request_", "recorded"),
    [
        ((), None, sent([A], 50, 0), ledger_of((0, 50))),
        ((), sent([A]), sent([A, B], 50, 1), ledger_of((1, 50))),
        ((), None, sent([A], 0, 0), ()),
        (COUNTED, sent([A]), sent([A, B], 0, 6), COUNTED),
        (COUNTED, sent([A]), sent([A, B], -1, 6), COUNTED),
        (COUNTED, sent([A]), sent([A, B], 250, 6), (*COUNTED, *ledger_of((6, 250)))),
        (COUNTED, sent([A]), sent([copy.copy(A), B], 250, 6), (*COUNTED, *ledger_of((6, 250)))),
        (COUNTED, sent([A]), sent([A, B], 250, 5), COUNTED),
        (COUNTED, sent([A]), sent([A, B], 250, 4), COUNTED),
        (COUNTED, None, sent([A, B], 250, 6), (*COUNTED, *ledger_of((6, 250, 1)))),
        (COUNTED, sent([A, B]), sent([A], 250, 6), (*COUNTED, *ledger_of((6, 250, 1)))),
        (COUNTED, sent([A, B]), sent([B, A], 40, 2), (*COUNTED, *ledger_of((2, 40, 1)))),
        (
            COUNTED,
            sent([A], tools=["x", "y"]),
            sent([A, B], 250, 6, ["y", "x"]),
            (*COUNTED, *ledger_of((6, 250, 1))),
        ),
        (
            ledger_of((0, 50, 3)),
            sent([A], tools=["x"]),
            sent([A, B], 90, 1, ["x"]),
            ledger_of((0, 50, 3), (1, 90, 3)),
        ),
    ],
)
def test_a_request_is_recorded(
    ledger: Ledger, previous: SentRequest | None, request_: SentRequest, recorded: Ledger
) -> None:
    after = record_request(ledger, previous, request_)
    assert after == recorded
    assert (after is ledger) == (recorded == ledger)


@pytest.mark.parametrize(
    ("after", "rebased"),
    [
        (TEN[:6], COUNTED),
        (TEN, COUNTED),
        ([said("folded"), *TEN[2:6]], ledger_of((1, 90, 1), (4, 210, 1))),
        ([*TEN[:2], said("stub"), *TEN[3:6]], ledger_of((0, 50), (2, 90, 1), (5, 210, 1))),
        ([*TEN[:2], *TEN[3:6]], ledger_of((0, 50), (1, 90, 1), (4, 210, 1))),
        ([TEN[0], said("new"), *TEN[1:6]], ledger_of((0, 50), (3, 90, 1), (6, 210, 1))),
        ([said("new"), *TEN[:6]], ledger_of((1, 50, 1), (3, 90, 1), (6, 210, 1))),
        (TEN[:3], ledger_of((0, 50), (2, 90))),
        ([*TEN[:5], said("new")], ledger_of((0, 50), (2, 90))),
        ([said("all"), said("new")], ()),
        ([], ()),
    ],
)
def test_a_ledger_is_rebased(after: list[Message], rebased: Ledger) -> None:
    ledger = rebase_ledger(COUNTED, TEN[:6], after)
    assert ledger == rebased
    assert (ledger is COUNTED) == (rebased == COUNTED)


def test_a_copied_transcript_keeps_its_ledger() -> None:
    assert rebase_ledger(COUNTED, TEN, copy.deepcopy(TEN)) is COUNTED


def test_what_was_never_sent_may_be_rewritten_freely() -> None:
    assert rebase_ledger(COUNTED, TEN, [*TEN[:7], A, *TEN[8:]]) is COUNTED
    assert rebase_ledger(COUNTED, TEN, TEN[:6]) is COUNTED


def test_a_message_is_of_the_common_beginning_before_it_is_of_the_common_end() -> None:
    ledger = ledger_of((0, 10), (1, 20), (2, 30), (3, 40))
    assert rebase_ledger(ledger, [A] * 4, [A] * 2) == ledger[:2]


def test_one_stubbed_result_costs_its_group_alone() -> None:
    after = [*TEN[:2], said("stub"), *TEN[3:6]]
    ledger = rebase_ledger(COUNTED, TEN[:6], after)
    assert tokens_between(ledger, 1, 3, after) == guess(after[1:3])
    assert tokens_between(ledger, 3, 6, after) == 120


def _taken(messages: Sequence[Message]) -> int:
    """What the pretended endpoint takes for messages; nothing like the estimate."""
    return sum(7 + 3 * str(message["content"]).count("a") for message in messages)


LETTERS = st.text("ab", min_size=1, max_size=3)
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.lists(LETTERS, min_size=1, max_size=3)),
        st.tuples(st.just("ask"), st.sampled_from(["counted", "counted", "uncounted"])),
        st.tuples(st.just("load"), st.none()),
        st.tuples(st.just("rewrite"), st.tuples(st.integers(0, 6), st.integers(0, 3), TEXTS)),
    ),
    max_size=25,
)


@given(DEEDS)
def test_whatever_is_measured_is_what_the_endpoint_took(deeds: list[tuple[str, Any]]) -> None:
    ledger: Ledger = ()
    previous: SentRequest | None = None
    messages: list[Message] = []
    tools: list[str] = []
    for deed, given_ in deeds:
        if deed == "say":
            messages = [*messages, *(said(text) for text in given_)]
        elif deed == "load":
            tools = [*tools, f"tool {len(tools)}"]
        elif deed == "rewrite":
            start, length, texts = given_
            new = [said(text) for text in texts]
            rewritten = [*messages[:start], *new, *messages[start + length :]]
            rebased = rebase_ledger(ledger, messages, rewritten)
            previous = previous if rebased is ledger else None
            ledger, messages = rebased, rewritten
        else:
            prompt = 1000 * len(tools) + _taken([SYSTEM, *messages]) if given_ == "counted" else 0
            request_ = sent([SYSTEM, *messages], prompt, len(messages) - 1, tools)
            recorded = record_request(ledger, previous, request_)
            previous = previous if recorded is ledger else request_
            ledger = recorded
        for earlier, later in pairwise(ledger):
            assert earlier.epoch <= later.epoch
            if earlier.epoch == later.epoch and earlier.through < later.through < len(messages):
                group = slice(earlier.through + 1, later.through + 1)
                assert later.prompt - earlier.prompt == _taken(messages[group])


@pytest.mark.parametrize(
    ("previous", "request_", "reason"),
    [
        (sent([SYSTEM, A]), sent([SYSTEM, A, B]), "none-known"),
        (sent([SYSTEM, A]), sent([SYSTEM, A]), "none-known"),
        (sent([]), sent([A]), "none-known"),
        (sent([SYSTEM, A]), sent([copy.copy(SYSTEM), copy.copy(A), B]), "none-known"),
        (sent([SYSTEM, A]), sent([SYSTEM, B, A]), "history-rewritten"),
        (sent([SYSTEM, A, B]), sent([SYSTEM, A]), "history-rewritten"),
        (sent([A]), sent([SYSTEM, A]), "system-changed"),
        (sent([SYSTEM, A]), sent([{"role": "system", "content": "x"}, B]), "system-changed"),
        (
            sent([SYSTEM, A]),
            sent([SYSTEM, {"role": "developer", "content": "x"}, A]),
            "system-changed",
        ),
        (sent([A, SYSTEM]), sent([A, {"role": "system", "content": "x"}]), "history-rewritten"),
        (sent([A], tools=["x"]), sent([A], tools=["x", "y"]), "tools-changed"),
        (sent([A], tools=["x", "y"]), sent([A], tools=["y", "x"]), "tools-changed"),
        (sent([SYSTEM, A], tools=["x"]), sent([B], tools=[]), "tools-changed"),
    ],
)
def test_a_break_has_its_gravest_reason(
    previous: SentRequest, request_: SentRequest, reason: str
) -> None:
    assert break_reason(previous, request_) == reason


@given(
    st.lists(st.sampled_from([A, B, C, D]), max_size=5),
    st.lists(st.sampled_from([A, B]), max_size=3),
)
def test_going_on_from_a_request_is_no_rewriting(head: list[Message], more: list[Message]) -> None:
    assert break_reason(sent(head), sent(copy.deepcopy([*head, *more]))) == "none-known"
    if more:
        assert break_reason(sent([*head, *more]), sent(head)) == "history-rewritten"


class _Unread(dict[str, Any]):
    """A message whose content nobody needs to compare."""

    def __eq__(self, other: object) -> NoReturn:
        raise AssertionError("a shared message was compared by value")

    __hash__ = None


def test_shared_messages_are_not_read_again() -> None:
    shared: list[Any] = [_Unread(role="user", content="x") for _ in range(4)]
    before, after = sent(shared, 50, 3), sent([*shared, A], 90, 4)
    assert break_reason(before, after) == "none-known"
    assert len(record_request(record_request((), None, before), before, after)) == 2
    assert rebase_ledger(COUNTED, [A, *shared, B], [D, *shared, C]) == ()
    assert rebase_ledger(COUNTED, shared, [*shared, A]) is COUNTED


def _tool(name: str) -> ToolDefinition:
    return {"type": "function", "function": {"name": name}}


@pytest.mark.parametrize(
    ("usage", "prompt"),
    [
        (TurnUsage(prompt_tokens=50), 50),
        (TurnUsage(prompt_tokens=50, cached_tokens=50), 50),
        (TurnUsage(prompt_tokens=50, cached_tokens=51), 0),
        (TurnUsage(prompt_tokens=50, continuations=0), 50),
        (TurnUsage(prompt_tokens=50, continuations=1), 0),
        (TurnUsage(), 0),
    ],
)
def test_only_a_count_of_one_whole_prompt_is_a_count(usage: TurnUsage, prompt: int) -> None:
    request_ = SentRequest.of([A], [_tool("x"), _tool("y")], usage, through=3)
    assert request_ == sent([A], prompt, 3, ["x", "y"])
