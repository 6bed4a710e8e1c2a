"""A fold stands for what came before it, and for nothing it would tear apart."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.stored_folds import (
    SUMMARY_LEAD,
    StoredFold,
    apply_compaction,
    fold_applies,
    is_summary,
    last_summary,
    leading_system_messages,
    request_index,
    summary_message,
    whole_cuts,
)
from host.loop.transcript import assistant_message, tool_call, tool_message
from host.records import Message
from tests.loop.transcripts import parts_a_call, same_objects, transcripts

AT = datetime(2026, 5, 4, 12, tzinfo=UTC)
SYSTEM: Message = {"role": "system", "content": "S"}
ASKED = assistant_message("", [tool_call("a", "f", {})])
TALK: list[Message] = [
    SYSTEM,
    summary_message("old"),
    {"role": "user", "content": "one"},
    ASKED,
    tool_message("a", "r"),
    {"role": "user", "content": "two"},
]


def fold(through: int, summary: str = "notes") -> StoredFold:
    return StoredFold(summary=summary, through=through, at=AT)


def test_the_new_summary_takes_the_place_of_the_old_and_of_what_was_folded() -> None:
    folded = apply_compaction(TALK, fold(5))
    assert [message["content"] for message in folded] == ["S", f"{SUMMARY_LEAD}notes", "two"]
    assert folded[0] is SYSTEM
    assert folded[2] is TALK[5]


def test_what_stands_before_a_given_start_stays() -> None:
    folded = apply_compaction(TALK, fold(5), start=3)
    assert [message["content"] for message in folded] == [
        "S",
        "one",
        f"{SUMMARY_LEAD}notes",
        "two",
    ]


@pytest.mark.parametrize(
    "stale",
    [
        fold(4),  # between a call and its result
        fold(7),  # past the end: the transcript was cut back
        fold(2),  # stands for nothing
        fold(0),
        fold(5, "  "),
        None,
    ],
)
def test_a_fold_that_does_not_fit_the_transcript_is_left_out(stale: StoredFold | None) -> None:
    assert apply_compaction(TALK, stale) is TALK


def test_a_fold_may_stand_for_all_there_is() -> None:
    assert apply_compaction(TALK, fold(6)) == [SYSTEM, summary_message("notes")]


def test_a_summary_is_known_by_how_it_opens_and_read_without_that() -> None:
    parts: Any = [{"type": "text", "text": SUMMARY_LEAD}, {"type": "text", "text": "in parts "}]
    in_parts: Message = {"role": "system", "content": parts}
    quoted: Message = {"role": "user", "content": f"{SUMMARY_LEAD}x"}
    assert is_summary(in_parts)
    assert not is_summary(quoted)
    assert last_summary([summary_message("first"), in_parts, quoted]) == "in parts"
    assert last_summary([summary_message(" ")]) is None
    assert last_summary([SYSTEM]) is None


def test_developer_messages_lead_a_transcript_as_system_messages_do() -> None:
    developer: Message = {"role": "developer", "content": "D"}
    assert leading_system_messages([developer, SYSTEM, TALK[2], SYSTEM]) == 2
    assert leading_system_messages([SYSTEM]) == 1


@given(transcripts())
def test_a_cut_is_whole_where_no_result_would_lose_its_call(messages: list[Message]) -> None:
    whole = {cut for cut in range(len(messages)) if not parts_a_call(messages, cut)}
    assert whole_cuts(messages) == whole


@given(transcripts(), st.integers(0, 30), st.one_of(st.none(), st.integers(0, 4)))
def test_a_request_holds_the_rest_of_its_transcript_where_its_indexes_say(
    messages: list[Message], through: int, start: int | None
) -> None:
    before = copy.copy(messages)
    stored = fold(through)
    folded = apply_compaction(messages, stored, start=start)
    assert same_objects(messages, before)
    if not fold_applies(messages, stored, start=start):
        assert folded is messages
        assert [request_index(i, None) for i in range(len(messages))] == [*range(len(messages))]
        return
    head = folded.index(summary_message("notes"))
    assert last_summary(folded[: head + 1]) == "notes"
    assert not any(map(is_summary, folded[:head]))
    assert len(folded) == head + 1 + len(messages) - through
    for index, message in enumerate(messages):
        place = request_index(index, stored, head)
        assert folded[place] is message if index >= through else place == head


@given(transcripts(), st.data())
def test_a_later_fold_of_the_whole_says_the_same_as_a_fold_of_the_folded(
    messages: list[Message], data: st.DataObject
) -> None:
    whole = whole_cuts(messages)
    questions = [i for i, one in enumerate(messages) if one["role"] == "user" and i in whole]
    if len(questions) < 2:
        return
    through, later = sorted(data.draw(st.permutations(questions))[:2])
    first = fold(through, "first")
    if fold_applies(messages, first):
        folded = apply_compaction(messages, first)
        head = folded.index(summary_message("first"))
        again = apply_compaction(folded, fold(request_index(later, first, head), "second"))
        assert apply_compaction(messages, fold(later, "second")) == again
