"""Context on the question, and conversations as hooks are told of them."""

from __future__ import annotations

import copy
import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop import HOOK_PREFACE, turn_index, turn_messages, with_context
from host.loop.hook_context import (
    answer_context,
    context_lead,
    last_question,
    message_text,
    question_after,
    question_context,
    question_index,
)
from host.records import Message

PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "see "},
    {"type": "image_url", "image_url": {"url": "data:"}},
    {"type": "refusal", "refusal": "no"},
    {"type": "text", "text": "this"},
]
TALK: list[Message] = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": " one "},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "tool", "tool_call_id": "c", "content": "result"},
    {"role": "assistant", "content": "answer"},
    {"role": "user", "content": PARTS},
]


def test_context_stands_before_the_question_and_changes_nothing_else() -> None:
    before = copy.deepcopy(TALK)
    changed = with_context(TALK, 1, "<context/>")
    assert changed[1]["content"] == f"{HOOK_PREFACE}\n\n<context/>\n\n one "
    assert all(changed[i] is TALK[i] for i in range(len(TALK)) if i != 1)
    assert before == TALK


def test_context_is_one_more_part_before_the_parts() -> None:
    changed = with_context(TALK, 5, "C", "P")
    assert changed[5]["content"] == [{"type": "text", "text": "P\n\nC"}, *PARTS]


def test_an_empty_preface_leaves_no_blank_line() -> None:
    assert with_context(TALK, 1, "C", "")[1]["content"] == "C\n\n one "


@pytest.mark.parametrize(
    ("index", "context"), [(1, ""), (-1, "C"), (6, "C"), (0, "C"), (2, "C"), (3, "C"), (4, "C")]
)
def test_without_a_question_there_the_history_is_the_same_list(index: int, context: str) -> None:
    assert with_context(TALK, index, context) is TALK


def test_messages_are_told_with_stable_ids() -> None:
    def digest(role: str, text: str) -> str:
        return hashlib.sha256(f"{role}\0{text}".encode()).hexdigest()[:12]

    assert turn_messages("s", TALK, 0, offset=10) == [
        {"speaker": "user", "text": "one", "uuid": f"s:11:{digest('user', 'one')}"},
        {"speaker": "assistant", "text": "answer", "uuid": f"s:14:{digest('assistant', 'answer')}"},
        {"speaker": "user", "text": "see this", "uuid": f"s:15:{digest('user', 'see this')}"},
    ]


def test_a_lone_surrogate_has_an_id_too() -> None:
    assert len(turn_messages("s", [{"role": "user", "content": "\ud800"}], 0)) == 1


ROLES = st.sampled_from(["user", "assistant", "tool", "system"])
MESSAGES: st.SearchStrategy[list[Any]] = st.lists(
    st.builds(
        lambda role, text: {"role": role, "content": text, "tool_call_id": "c"},
        ROLES,
        st.sampled_from(["", "  ", "a", " a", "b"]),
    ),
    max_size=8,
)


@given(MESSAGES, st.integers(-2, 10), st.one_of(st.none(), st.integers(-2, 10)), st.integers(0, 9))
def test_a_range_is_what_the_whole_says_of_it(
    messages: list[Message], start: int, end: int | None, offset: int
) -> None:
    whole = turn_messages("s", messages, 0, offset=offset)
    low = max(0, start)
    high = len(messages) if end is None else min(len(messages), end)
    places = {f"s:{index + offset}" for index in range(low, high)}
    assert turn_messages("s", messages, start, end, offset=offset) == [
        said for said in whole if said["uuid"].rpartition(":")[0] in places
    ]


@given(MESSAGES, st.one_of(st.none(), st.integers(-2, 10)), st.integers(0, 3))
def test_the_turn_index_counts_questions(
    messages: list[Message], before: int | None, offset: int
) -> None:
    counted = 0
    for position, message in enumerate(messages):
        if (before is None or position < before) and message["role"] == "user":
            counted += 1
    assert turn_index(messages, before, offset=offset) == counted + offset


@given(MESSAGES, st.integers(0, 7), st.integers(0, 4))
def test_the_question_is_found_where_it_has_moved_to(
    messages: list[Message], index: int, shift: int
) -> None:
    if index >= len(messages):
        assert question_index(messages, None) == -1
        return
    question = messages[index]
    older: Message = {"role": "user", "content": "older"}
    moved = [*[older] * shift, *messages]
    assert question_index(moved, question) == index + shift


def test_a_copied_question_is_found_by_what_it_says() -> None:
    question: Message = {"role": "user", "content": "q"}
    copied: list[Message] = [{"role": "user", "content": "q"}, {"role": "user", "content": "q"}]
    assert question_index(copied, question) == 1
    assert question_index([{"role": "user", "content": "other"}], question) == -1


@given(MESSAGES, st.integers(0, 7), MESSAGES, st.booleans())
def test_a_rewritten_question_is_the_last_one_asked_if_nobody_asked_it_before(
    before: list[Message], at: int, after: list[Message], keeps: bool
) -> None:
    question = before[at] if at < len(before) and before[at]["role"] == "user" else None
    after = [*after, question] if keeps and question is not None else after
    found = question_after(before, after, question)
    asked = [message for message in after if message["role"] == "user"]
    if question is not None and question in after:
        assert found is question
    elif asked and asked[-1] not in before:
        assert found is asked[-1]
    else:
        assert found is question


@pytest.mark.parametrize(
    ("context", "preface", "lead"), [("", "P", ""), ("C", "", "C"), ("C", "P", "P\n\nC")]
)
def test_nothing_is_put_before_a_question_without_context(
    context: str, preface: str, lead: str
) -> None:
    assert context_lead(context, preface) == lead
    said = with_context([{"role": "user", "content": "q"}], 0, context, preface)[0]["content"]
    assert said == (f"{lead}\n\nq" if lead else "q")


def test_the_last_user_message_is_the_question() -> None:
    assert last_question(TALK) is TALK[5]
    assert last_question(TALK[:1]) is None
    assert message_text(TALK[2]) == ""


def test_hooks_are_told_of_the_question_and_later_of_the_answer() -> None:
    context = question_context({"session": {"id": "s"}}, TALK, 1)
    assert context == {"session": {"id": "s"}, "prompt": " one ", "turn": {"index": 0}}
    told = answer_context({"session": {"id": "s"}}, TALK[:5], 1, "answer")
    assert told["reply"] == "answer"
    assert told["turn"]["index"] == 0
    assert [said["text"] for said in told["turn"]["messages"]] == ["one", "answer"]


def test_what_the_caller_tells_hooks_stays() -> None:
    own = question_context({"prompt": "mine", "turn": {"index": 9}}, TALK, 1)
    assert own == {"prompt": "mine", "turn": {"index": 9}}
    assert question_context({"host": "h"}, TALK, -1) == {"host": "h"}
    assert answer_context({}, [], -1, "r") == {"reply": "r"}
