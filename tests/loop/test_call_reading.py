"""Reading a turn's calls before anything is written down."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.call_reading import read_turn
from host.records import ToolCall, Turn
from tests.fakes.loop_peers import call, calling, saying


def test_arguments_are_repaired_before_the_message_is_written_and_raw_is_kept() -> None:
    read = read_turn(
        calling(call("a", "{'k': True,}"), call("b", "{bad"), call("c", "")), taken_ids=()
    )
    assert [one.args for one in read.calls] == [{"k": True}, None, {}]
    assert [one.raw for one in read.calls] == ["{'k': True,}", "{bad", ""]
    assert "{bad" in read.calls[1].problem
    written = [one["function"]["arguments"] for one in read.message.get("tool_calls", [])]
    assert written == ['{"k":true}', "{}", "{}"]
    assert read.message["content"] is None
    assert [one["function"]["arguments"] for one in read.turn.tool_calls] == [
        "{'k': True,}",
        "{bad",
        "",
    ]


def test_a_call_cut_off_at_the_ceiling_tells_to_raise_it() -> None:
    turn = Turn(tool_calls=(call("a", '{"q": "lon', "c"),), finish_reason="length")
    (read,) = read_turn(turn, taken_ids=()).calls
    assert read.args is None
    assert "maxTokens" in read.problem


@pytest.mark.parametrize("name", ["", "  "])
def test_a_call_without_a_name_is_dropped(name: str) -> None:
    read = read_turn(calling(call(name), call("a")), taken_ids=())
    assert [one.name for one in read.calls] == ["a"]
    assert [one["function"]["name"] for one in read.turn.tool_calls] == ["a"]
    nothing = read_turn(calling(call(name), text="Hm."), taken_ids=())
    assert nothing.calls == ()
    assert nothing.message == {"role": "assistant", "content": "Hm."}


TEXT_CALL = 'Ok.<tool_call>{"name":"ls","arguments":{"d":"/"}}</tool_call>'


def test_a_call_written_as_text_is_read_and_leaves_the_text() -> None:
    read = read_turn(saying(TEXT_CALL), taken_ids={"call_recovered_0"}, recoverable=["ls"])
    assert (read.recovered, read.turn.content) == (1, "Ok.")
    (one,) = read.calls
    assert (one.name, one.args) == ("ls", {"d": "/"})
    assert one.id == read.turn.tool_calls[0]["id"] == "call_recovered_0_2"


def test_text_is_left_alone_beside_calls_and_when_recovery_is_off() -> None:
    off = read_turn(saying(TEXT_CALL), taken_ids=())
    assert (off.turn.content, off.calls, off.recovered) == (TEXT_CALL, (), 0)
    beside = read_turn(calling(call("a"), text=TEXT_CALL), taken_ids=(), recoverable=["ls"])
    assert ([one.name for one in beside.calls], beside.turn.content) == (["a"], TEXT_CALL)


def test_identical_calls_have_one_key_whatever_their_order_or_id() -> None:
    read = read_turn(
        calling(
            call("a", '{"x":1,"y":{"p":1,"q":2}}', "1"),
            call("a", '{"y":{"q":2,"p":1.0},"x":1}', "2"),
            call("b", '{"x":1,"y":{"p":1,"q":2}}', "3"),
            call("a", "{bad", "4"),
            call("a", "{bad", "5"),
            call("a", "{worse", "6"),
        ),
        taken_ids=(),
    )
    keys = [one.key for one in read.calls]
    assert [keys.index(key) for key in keys] == [0, 0, 2, 3, 3, 5]


RAW = st.sampled_from(['{"a":1}', "{'a': None,}", "", "[1]", "{oops", "7", '"{}"', '{"ä":2.0}'])
CALLS: st.SearchStrategy[list[ToolCall]] = st.lists(
    st.builds(
        lambda name, raw, call_id: {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": raw},
        },
        st.sampled_from(["a", "b", ""]),
        RAW,
        st.sampled_from(["", "c", "c_2", "d"]),
    ),
    max_size=6,
)


@given(CALLS, st.frozensets(st.sampled_from(["c", "c_2", "call_a"])))
def test_what_is_written_replays(calls: list[ToolCall], taken: frozenset[str]) -> None:
    read = read_turn(Turn(content="t", tool_calls=tuple(calls)), taken_ids=taken)
    written: list[Any] = read.message.get("tool_calls", [])
    named = [one for one in calls if one["function"]["name"]]
    assert [one["function"]["name"] for one in written] == [
        one["function"]["name"] for one in named
    ]
    ids = [one["id"] for one in written]
    assert ids == [one.id for one in read.calls] == [one["id"] for one in read.turn.tool_calls]
    assert len(set(ids)) == len(ids)
    assert not set(ids) & taken
    for one, message in zip(read.calls, written, strict=True):
        assert json.loads(message["function"]["arguments"]) == (one.args or {})
        assert (one.args is None) == bool(one.problem)
