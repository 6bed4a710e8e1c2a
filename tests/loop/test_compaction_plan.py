"""Where a transcript is folded: at a question, with room made, or a reason why not."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.compaction_plan import (
    CompactionPlan,
    Estimate,
    FoldTerms,
    NoFold,
    plan_compaction,
    plan_or_reason,
)
from host.loop.hook_context import message_text
from host.loop.pruning import prune_tool_results
from host.loop.stored_folds import (
    apply_compaction,
    is_summary,
    leading_system_messages,
    summary_message,
)
from host.loop.transcript import assistant_message, tool_call, tool_message
from host.records import Message
from host.text.tokens import message_tokens
from tests.loop.test_stored_folds import fold
from tests.loop.transcripts import parts_a_call, same_objects, transcripts

SYSTEM: Message = {"role": "system", "content": "S"}
QUESTION: Message = {"role": "user", "content": "Q"}
ANSWER = assistant_message("A")
CALLING = assistant_message("", [tool_call("a", "f", {})])
RESULT = tool_message("a", "R")
NINE: list[Message] = [SYSTEM, *[QUESTION, ANSWER] * 4]
STEPS: list[Message] = [CALLING, RESULT] * 9


def ten(message: Message) -> float:
    return 10


def chars(message: Message) -> float:
    return len(message_text(message)) + 1


def reason(messages: Sequence[Message], **terms: Any) -> str:
    none = plan_or_reason(messages, FoldTerms(**terms))
    assert isinstance(none, NoFold)
    assert none.text
    assert plan_compaction(messages, **terms) is None
    return none.reason


def planned(messages: Sequence[Message], **terms: Any) -> CompactionPlan:
    plan = plan_compaction(messages, **terms)
    assert plan is not None
    return plan


def test_three_quarters_full_the_newest_third_is_kept_from_its_question_on() -> None:
    plan = planned(NINE, limit=100, estimate=ten)
    assert (plan.start, plan.cut) == (1, 7)
    assert same_objects(plan.to_summarise, NINE[1:7])
    assert plan.previous is None


@pytest.mark.parametrize(
    ("messages", "terms", "why"),
    [
        (NINE, {"limit": 0}, "no-window"),
        (NINE, {"limit": -5}, "no-window"),
        (NINE, {"limit": math.nan}, "no-window"),
        (NINE, {"limit": math.inf}, "no-window"),
        (NINE, {"limit": 200}, "not-due"),
        (NINE, {"limit": 100, "used": 74.9}, "not-due"),
        (NINE, {"limit": 100, "compact_at": 0.91}, "not-due"),
        ([], {"limit": 1, "compact_at": 0}, "one-question"),
        ([SYSTEM], {"limit": 1, "compact_at": 0}, "one-question"),
        ([QUESTION, ANSWER], {"limit": 10}, "one-question"),
        ([QUESTION, QUESTION, ANSWER], {"limit": 10}, "one-question"),
        ([SYSTEM, QUESTION, *STEPS], {"limit": 100}, "one-question"),
        ([QUESTION, ANSWER, QUESTION], {"limit": 10}, "question-too-long"),
        ([*NINE, QUESTION, *STEPS], {"limit": 100}, "question-too-long"),
        ([QUESTION] * 4, {"limit": 100, "used": 90}, "little-said"),
    ],
)
def test_without_a_fold_there_is_a_reason(
    messages: list[Message], terms: dict[str, Any], why: str
) -> None:
    assert reason(messages, estimate=ten, **terms) == why


def test_what_the_endpoint_counted_wins_over_the_estimate() -> None:
    small: list[Message] = [QUESTION, ANSWER] * 2
    assert reason(small, limit=1000) == "not-due"
    assert planned(small, limit=1000, used=800).cut == 2


def test_being_exactly_at_the_mark_folds() -> None:
    assert planned(NINE, limit=120, estimate=ten).cut == 5
    assert planned(NINE, limit=10_000, compact_at=0, keep_ratio=0.002, estimate=ten).cut == 7


def test_an_older_summary_is_gone_on_with_and_not_folded_again() -> None:
    messages: list[Message] = [SYSTEM, summary_message("older"), summary_message("old"), *NINE[1:]]
    plan = planned(messages, limit=100, estimate=ten)
    assert plan.previous == "old"
    assert same_objects(plan.to_summarise, NINE[1:7])
    assert planned(messages, limit=100, estimate=ten, previous=" mine ").previous == "mine"
    assert plan.after == 110 - 60 - 20 + 1024


def test_a_target_folds_no_further_than_it_has_to() -> None:
    terms = {"limit": 100, "estimate": ten, "summary_tokens": 5}
    assert planned(NINE, target=0.75, **terms).cut == 3
    plan = planned(NINE, target=0.55, **terms)
    assert (plan.cut, plan.after) == (5, 55)
    assert planned(NINE, target=0.54, **terms).cut == 7
    hopeless = planned(NINE, target=0.01, **terms)
    assert (hopeless.cut, hopeless.after, hopeless.fits) == (7, 35, True)
    for ignored in (None, 0, -1, math.nan):
        assert planned(NINE, target=ignored, **terms) == planned(NINE, **terms)


def test_a_target_folds_up_to_a_question_that_is_too_long_to_be_kept() -> None:
    messages: list[Message] = [*NINE, QUESTION, *STEPS]
    plan = planned(messages, limit=200, target=0.5, estimate=ten, summary_tokens=10)
    assert plan.cut == 9
    assert plan.after == 280 - 80 + 10


def test_a_plan_that_does_not_fit_says_so() -> None:
    messages: list[Message] = [*NINE, QUESTION, *STEPS]
    plan = planned(messages, limit=100, target=0.5, estimate=ten)
    assert not plan.fits
    assert "folding 8 messages" in plan.shortfall
    assert "1.2k" in plan.shortfall
    assert planned(NINE, limit=100, estimate=ten, summary_tokens=40).shortfall == ""


def test_half_a_token_is_rounded_up() -> None:
    assert planned(NINE, limit=100, used=90.5, estimate=ten, summary_tokens=0).after == 31


def test_a_late_result_keeps_its_call_from_being_folded_away() -> None:
    late: list[Message] = [QUESTION, ANSWER, QUESTION, CALLING, QUESTION, RESULT, ANSWER]
    assert planned(late, limit=80, target=0.01, estimate=ten).cut == 2
    assert planned([*late, QUESTION], limit=80, estimate=ten).cut == 7


def test_a_stored_fold_counts_as_its_notes_and_is_gone_on_with() -> None:
    messages: list[Message] = [SYSTEM, *[QUESTION, ANSWER] * 6]
    stored = {"start": 5, "previous": "notes", "estimate": ten}
    assert reason(messages, limit=140, **stored) == "not-due"
    plan = planned(messages, limit=130, summary_tokens=0, **stored)
    assert (plan.start, plan.cut, plan.previous) == (5, 9, "notes")
    assert plan.after == 100 - 40 - 10


def test_a_fold_never_begins_between_a_call_and_its_result() -> None:
    messages: list[Message] = [SYSTEM, QUESTION, CALLING, RESULT, ANSWER, QUESTION]
    terms = {"limit": 10, "keep_ratio": 1, "estimate": ten}
    assert planned(messages, start=3, **terms).start == 2
    assert planned(messages, start=-7, **terms).start == 1
    assert reason(messages, start=99, **terms) == "one-question"


def test_sizes_are_characters_over_what_a_token_takes() -> None:
    assert reason(NINE, limit=100, chars_per_token=8) == "not-due"
    assert planned(NINE, limit=100, chars_per_token=3).start == 1


LIMITS = st.sampled_from([1, 40, 300, 1500])
SHARES = st.sampled_from([0.0, 0.2, 0.35, 0.75, 1.0])
TERMS = st.builds(
    FoldTerms,
    limit=LIMITS,
    used=st.one_of(st.none(), st.integers(0, 2500)),
    compact_at=SHARES,
    keep_ratio=SHARES,
    target=st.one_of(st.none(), SHARES),
    summary_tokens=st.sampled_from([0, 20, 1024]),
    estimate=st.sampled_from([ten, chars, None]),
    start=st.one_of(st.none(), st.integers(-1, 12)),
    previous=st.sampled_from([None, "", "noted"]),
)


@given(transcripts(), TERMS)
def test_a_fold_ends_at_a_question_and_parts_no_call_from_its_result(
    messages: list[Message], terms: FoldTerms
) -> None:
    before = copy.copy(messages)
    plan = plan_or_reason(messages, terms)
    assert same_objects(messages, before)
    if isinstance(plan, NoFold):
        assert plan.text
        return
    assert messages[plan.cut]["role"] == "user"
    assert not parts_a_call(messages, plan.cut)
    assert not parts_a_call(messages, plan.start)
    assert plan.start >= leading_system_messages(messages)
    assert plan.cut - plan.start >= 2
    assert same_objects(plan.to_summarise, messages[plan.start : plan.cut])
    assert plan.fits == (plan.after <= terms.limit) == (plan.shortfall == "")
    assert len(apply_compaction(messages, fold(plan.cut))) < len(messages)


def naive_cut(messages: Sequence[Message], terms: FoldTerms, size: Estimate) -> int | None:
    """The cut for a keep ratio as §17 tells it, where every question is a whole cut."""
    start = leading_system_messages(messages)
    cost = sum(map(size, messages)) if terms.used is None else terms.used
    if cost < terms.limit * terms.compact_at:
        return None
    fitting = [
        index
        for index in range(start + 1, len(messages))
        if sum(map(size, messages[index:])) <= terms.limit * terms.keep_ratio
    ]
    later = range(min(fitting, default=len(messages)), len(messages))
    cut = next((index for index in later if messages[index]["role"] == "user"), None)
    return None if cut is None or cut - start < 2 else cut


@given(transcripts(), TERMS)
def test_a_plan_without_a_target_is_the_one_the_specification_tells(
    messages: list[Message], terms: FoldTerms
) -> None:
    whole = [one for one in messages if one["role"] != "tool"]
    plan = plan_compaction(
        whole,
        limit=terms.limit,
        used=terms.used,
        compact_at=terms.compact_at,
        keep_ratio=terms.keep_ratio,
        estimate=chars,
    )
    assert (plan and plan.cut) == naive_cut(whole, terms, chars)


@given(transcripts(), LIMITS, SHARES, st.sampled_from([0, 20, 1024]))
def test_a_target_is_met_by_the_first_question_that_meets_it(
    messages: list[Message], limit: int, target: float, summary_tokens: int
) -> None:
    if not target:
        return
    start = leading_system_messages(messages)
    cuts = [
        index
        for index in range(start + 2, len(messages))
        if messages[index]["role"] == "user" and not parts_a_call(messages, index)
    ]
    left = {
        cut: summary_tokens
        + sum(chars(one) for one in messages[:start] if not is_summary(one))
        + sum(map(chars, messages[cut:]))
        for cut in cuts
    }
    plan = plan_compaction(
        messages,
        limit=limit,
        compact_at=0,
        target=target,
        summary_tokens=summary_tokens,
        estimate=chars,
    )
    met = [cut for cut in cuts if left[cut] <= limit * target]
    assert (plan and plan.cut) == (met[0] if met else cuts[-1] if cuts else None)
    assert plan is None or plan.after == left[plan.cut]


@given(transcripts(), st.sampled_from([200, 400, 900]), SHARES, SHARES)
def test_what_fits_by_plan_fits_once_it_is_done(
    messages: list[Message], limit: int, keep_ratio: float, target: float
) -> None:
    plan = plan_compaction(
        messages,
        limit=limit,
        compact_at=0,
        keep_ratio=keep_ratio,
        target=target,
        summary_tokens=100,
    )
    if plan is not None:
        notes = "x" * (100 - message_tokens(summary_message(""))) * 4
        done = apply_compaction(messages, fold(plan.cut, notes), start=plan.start)
        size = sum(map(message_tokens, done))
        assert plan.after - 1 <= size <= plan.after
        assert size <= limit or not plan.fits


@given(transcripts(), TERMS)
def test_a_plan_made_before_pruning_folds_the_pruned_transcript_at_the_same_place(
    messages: list[Message], terms: FoldTerms
) -> None:
    plan = plan_or_reason(messages, terms)
    if isinstance(plan, CompactionPlan):
        pruned = prune_tool_results(messages, keep_last=1)
        folded = apply_compaction(pruned, fold(plan.cut), start=plan.start)
        assert same_objects(folded[-len(messages) + plan.cut :], pruned[plan.cut :])
        assert not parts_a_call(pruned, plan.cut)
