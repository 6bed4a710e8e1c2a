"""Messages that replay: one tool message per call, ids that nothing else carries."""

from __future__ import annotations

import json
import math
import sys
from types import FrameType
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.transcript import (
    assistant_message,
    free_id,
    ids_in,
    kept_ids,
    not_run_text,
    tool_call,
    tool_message,
    unanswered_calls,
    unique_ids,
    with_answers,
)
from host.records import Message, StopReason

IDS = st.sampled_from(["a", "a_2", "a_3", "a_2_2", "b", "call_0"])


@given(st.lists(IDS, max_size=8), st.frozensets(IDS))
def test_unique_ids_are_unique_free_and_kept_where_they_can_be(
    wanted: list[str], taken: frozenset[str]
) -> None:
    ids = unique_ids(wanted, taken)
    assert len(ids) == len(wanted) == len(set(ids))
    assert not set(ids) & taken
    for position, (name, chosen) in enumerate(zip(wanted, ids, strict=True)):
        assert chosen.startswith(name)
        if name not in taken and name not in wanted[:position]:
            assert chosen == name


@given(st.lists(st.tuples(st.one_of(st.just(""), IDS), IDS), max_size=8), st.frozensets(IDS))
def test_kept_ids_leave_given_ones_alone_and_make_no_two_alike(
    pairs: list[tuple[str, str]], taken: frozenset[str]
) -> None:
    given_ids, fallbacks = [own for own, _ in pairs], [fallback for _, fallback in pairs]
    ids = kept_ids(given_ids, fallbacks, taken)
    minted = [chosen for own, chosen in zip(given_ids, ids, strict=True) if not own]
    assert [chosen for own, chosen in zip(given_ids, ids, strict=True) if own] == [
        own for own in given_ids if own
    ]
    assert len(set(minted)) == len(minted)
    assert not set(minted) & (taken | set(given_ids))


def test_two_calls_without_ids_get_two_ids() -> None:
    assert kept_ids(["", ""], ["call_f", "call_f"], []) == ["call_f", "call_f_2"]
    assert free_id("x", {"x", "x_2"}) == "x_3"


@given(st.lists(IDS, min_size=1, max_size=6, unique=True), st.data())
def test_every_call_is_answered_once_whatever_was_answered_before(
    ids: list[str], data: st.DataObject
) -> None:
    done = data.draw(st.lists(st.sampled_from(ids), unique=True))
    messages: list[Message] = [
        {"role": "user", "content": "q"},
        assistant_message("", [tool_call(call_id, "f", {}) for call_id in ids]),
        *(tool_message(call_id, "r") for call_id in done),
    ]
    messages.extend(tool_message(call["id"], "x") for call in unanswered_calls(messages))
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert sorted(answered) == sorted(ids)
    assert unanswered_calls(messages) == ()
    assert ids_in(messages) == set(ids)


def test_nothing_is_unanswered_without_calls_or_after_a_question() -> None:
    asked = assistant_message("", [tool_call("a", "f", {})])
    assert unanswered_calls([]) == ()
    assert unanswered_calls([assistant_message("done")]) == ()
    assert unanswered_calls([asked, {"role": "user", "content": "next"}]) == ()


_TURNS = st.lists(
    st.tuples(
        st.lists(IDS, max_size=3, unique=True),  # calls; a history may use an id again
        st.integers(0, 3),  # how many of them are answered
        st.booleans(),  # whether a question follows
    ),
    max_size=4,
)


@given(_TURNS)
def test_a_history_is_whole_once_its_calls_are_answered(
    turns: list[tuple[list[str], int, bool]],
) -> None:
    history: list[Message] = []
    whole: list[Message] = []
    for ids, answered, asks in turns:
        asked = assistant_message("x", [tool_call(call_id, "f", {}) for call_id in ids])
        question: list[Message] = [{"role": "user", "content": "q"}] if asks else []
        done = [tool_message(call_id, "r") for call_id in ids[:answered]]
        missing = [tool_message(call_id, "never") for call_id in ids[answered:]]
        history += [asked, *done, *question]
        whole += [asked, *done, *missing, *question]
    before = list(history)
    assert with_answers(history, "never") == whole
    assert history == before
    assert with_answers(whole, "again") == whole


@given(st.lists(IDS, max_size=6), st.data())
def test_calls_that_share_an_id_have_one_answer_each(ids: list[str], data: st.DataObject) -> None:
    done = [call_id for call_id in ids if data.draw(st.booleans())]
    asked = assistant_message("", [tool_call(call_id, "f", {}) for call_id in ids])
    history: list[Message] = [asked, *(tool_message(call_id, "r") for call_id in done)]
    missing = [call["id"] for call in unanswered_calls(history)]
    assert sorted([*done, *missing]) == sorted(ids)
    assert with_answers(history, "x") == [*history, *(tool_message(one, "x") for one in missing)]


@pytest.mark.parametrize("ids", [["call"], ["call", "call_2", "call_3"], [""]])
def test_making_ids_takes_as_many_steps_as_there_are_calls(ids: list[str]) -> None:
    """Counted in lines of code run, which no other load of the machine changes."""

    def steps(count: int) -> int:
        lines = 0

        def trace(frame: FrameType, event: str, arg: object) -> Any:
            nonlocal lines
            lines += event == "line"
            return trace

        wanted = (ids * count)[:count]
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            unique_ids(wanted, ())
            kept_ids([""] * count, wanted, ())
        finally:
            sys.settrace(before)
        return lines

    assert steps(600) < 3 * steps(300)


def test_an_answer_that_comes_behind_a_question_counts() -> None:
    asked = assistant_message("", [tool_call("a", "f", {}), tool_call("b", "f", {})])
    question: Message = {"role": "user", "content": "q"}
    late = tool_message("a", "r")
    assert with_answers([asked, question, late], "never") == [
        asked,
        tool_message("b", "never"),
        question,
        late,
    ]


ARGUMENTS = st.dictionaries(
    st.sampled_from(["a", "ä"]), st.one_of(st.integers(), st.text(max_size=3), st.none())
)


@given(ARGUMENTS)
def test_arguments_are_compact_json_of_the_arguments(args: dict[str, object]) -> None:
    written = tool_call("i", "f", args)["function"]["arguments"]
    assert json.loads(written) == args
    assert written == json.dumps(args, separators=(",", ":"), ensure_ascii=False)


def test_unreadable_arguments_are_an_empty_object() -> None:
    assert tool_call("i", "f", None)["function"]["arguments"] == "{}"


def test_arguments_that_json_has_no_form_for_are_still_an_object() -> None:
    ring: dict[str, Any] = {}
    ring["self"] = ring
    for args, written in (
        ({"n": math.nan}, '{"n":null}'),
        ({"s": {1}}, '{"s":"{1}"}'),
        (ring, "{}"),
    ):
        assert tool_call("i", "f", args)["function"]["arguments"] == written


def test_empty_content_is_null_beside_calls_only() -> None:
    assert assistant_message("", [tool_call("i", "f", {})])["content"] is None
    assert assistant_message("x", [tool_call("i", "f", {})])["content"] == "x"
    assert assistant_message("") == {"role": "assistant", "content": ""}


def test_a_call_never_made_says_why() -> None:
    texts = [not_run_text(reason) for reason in (*get_args(StopReason), None)]
    assert len(set(texts)) == len(texts)
    assert all("never made" in text for text in texts)
