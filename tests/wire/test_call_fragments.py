"""Tool calls, put together from fragments."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.records import ToolCall
from host.wire.call_fragments import CallFragments

Fragment: TypeAlias = dict[str, Any]


def fragment(
    index: object = None, call_id: object = None, name: object = None, arguments: object = None
) -> Fragment:
    function = {"name": name, "arguments": arguments}
    raw: Fragment = {"index": index, "id": call_id}
    raw = {key: value for key, value in raw.items() if value is not None}
    raw["function"] = {key: value for key, value in function.items() if value is not None}
    return raw


def assembled(*fragments: Fragment) -> tuple[ToolCall, ...]:
    calls = CallFragments()
    for one in fragments:
        calls.add(one)
    return calls.tool_calls()


def brief(calls: tuple[ToolCall, ...]) -> list[tuple[str, str, str]]:
    return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls]


CASES: dict[str, tuple[list[Fragment], list[tuple[str, str, str]]]] = {
    "llama-server": (
        [
            fragment(0, "Jbcf", "get_time", "{"),
            fragment(0, arguments='"tz'),
            fragment(0, arguments='":1}'),
        ],
        [("Jbcf", "get_time", '{"tz":1}')],
    ),
    "no index, ids and names only at the start": (
        [
            fragment(call_id="a", name="f"),
            fragment(arguments="{"),
            fragment(arguments="}"),
            fragment(name="g", arguments="{}"),
        ],
        [("a", "f", "{}"), ("call_1", "g", "{}")],
    ),
    "three whole calls at index 0": (
        [fragment(0, name="f", arguments=f'{{"n":{number}}}') for number in range(3)],
        [("call_0", "f", '{"n":0}'), ("call_0_2", "f", '{"n":1}'), ("call_0_3", "f", '{"n":2}')],
    ),
    "three whole calls at index 0 with ids": (
        [fragment(0, one, "f", "{}") for one in "abc"],
        [(one, "f", "{}") for one in "abc"],
    ),
    "an index without an id": ([fragment(5, name="f", arguments="{}")], [("call_5", "f", "{}")]),
    "the same whole call again under its id": (
        [fragment(0, "a", "f", "{}"), fragment(0, "a", "f", "{}")],
        [("a", "f", "{}"), ("call_0", "f", "{}")],
    ),
    "one id for two calls": (
        [fragment(0, "x", "f", "{}"), fragment(1, "x", "g", "{}")],
        [("x", "f", "{}"), ("call_1", "g", "{}")],
    ),
    "a minted id that the server uses": (
        [fragment(0, name="f", arguments="{}"), fragment(1, "call_0", "g", "{}")],
        [("call_0_2", "f", "{}"), ("call_0", "g", "{}")],
    ),
    "another name under the same index": (
        [fragment(0, "a", "f", "{}"), fragment(0, name="g", arguments="{}")],
        [("a", "f", "{}"), ("call_0", "g", "{}")],
    ),
    "the name again while the arguments are incomplete": (
        [fragment(0, "a", "f", '{"x":{}'), fragment(0, name="f", arguments="}")],
        [("a", "f", '{"x":{}}')],
    ),
    "the name again once the arguments are complete": (
        [fragment(0, "a", "f", '{"x":{}}'), fragment(0, name="f", arguments='{"x":1}')],
        [("a", "f", '{"x":{}}'), ("call_0", "f", '{"x":1}')],
    ),
    "the name again before any arguments": (
        [fragment(0, "a", "f", ""), fragment(0, name="f", arguments="{}")],
        [("a", "f", "{}")],
    ),
    "id and name on every fragment": (
        [fragment(0, "a", "f", "{"), fragment(0, "a", "f", "}"), fragment(0, "a", "f", "")],
        [("a", "f", "{}")],
    ),
    "a name in pieces": (
        [fragment(0, "a", "get_"), fragment(0, name="time"), fragment(0, arguments="{}")],
        [("a", "get_time", "{}")],
    ),
    "an id that comes late": (
        [fragment(0, name="f", arguments="{"), fragment(0, "a", arguments="}")],
        [("a", "f", "{}")],
    ),
    "ids without an index, mixed": (
        [
            fragment(call_id="a", name="f", arguments="{"),
            fragment(call_id="b", name="g", arguments="{"),
            fragment(call_id="a", arguments="}"),
            fragment(call_id="b", arguments='"n":1}'),
        ],
        [("a", "f", "{}"), ("b", "g", '{"n":1}')],
    ),
    "indexes out of order": (
        [fragment(2, "c", "h"), fragment(0, "a", "f"), fragment(1, "b", "g")],
        [("a", "f", ""), ("b", "g", ""), ("c", "h", "")],
    ),
    "indexes that are floats, or no numbers": (
        [fragment(1.0, "b", "g"), fragment(0.0, "a", "f"), fragment(1, arguments="{}")],
        [("a", "f", ""), ("b", "g", "{}")],
    ),
    "indexes that are truth values": (
        [fragment(True, name="f"), fragment(True, name="g")],
        [("call_0", "f", ""), ("call_1", "g", "")],
    ),
    "arguments as an object": (
        [fragment(0, "a", "f", {"n": 1})],
        [("a", "f", '{"n":1}')],
    ),
    "arguments before any call": ([fragment(arguments="{}")], [("call_0", "", "{}")]),
    "fragments without content": (
        [
            {},
            {"index": 0, "id": "", "function": {"name": "", "arguments": ""}},
            {"index": True, "id": None, "function": None},
        ],
        [],
    ),
}


@pytest.mark.parametrize(("fragments", "calls"), CASES.values(), ids=CASES)
def test_every_known_way_of_streaming_calls_is_read(
    fragments: list[Fragment], calls: list[tuple[str, str, str]]
) -> None:
    assert brief(assembled(*fragments)) == calls


def test_every_call_is_a_function_call() -> None:
    [call] = assembled(fragment(0, "a", "f", "{}"))
    assert call == {
        "id": "a",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
    }


def test_a_name_on_every_fragment_of_long_arguments_is_one_call() -> None:
    text = '{"text":"' + "{}" * 5_000 + '"}'
    [call] = assembled(*(fragment(0, "a", "f", char) for char in text))
    assert call["function"]["arguments"] == text


NAMES = st.sampled_from(["get_time", "f", "server__tool"])
ARGUMENTS = st.sampled_from(['{"a":1}', '{"tz":"Asia/Tokyo"}', '{"x":{"y":[{}]},"z":"}{"}', "{}"])
WAYS = st.sampled_from(["indexed", "index 0", "index 0, no ids", "ids", "bare"])


def _cut(draw: st.DrawFn, text: str) -> list[str]:
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _rendered(draw: st.DrawFn, way: str, place: int, name: str, arguments: str) -> list[Fragment]:
    repeats = draw(st.booleans()) and way != "bare"
    index = {"indexed": place * 2, "ids": None, "bare": None}.get(way, 0)
    call_id = None if way == "index 0, no ids" else f"id{place}"
    first = fragment(index, call_id, name, draw(st.sampled_from(["", None])))
    rest = [
        fragment(
            index,
            call_id if way == "ids" or repeats else None,
            name if repeats else None,
            piece,
        )
        for piece in _cut(draw, arguments)
        if piece
    ]
    return [first, *rest]


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[tuple[str, str]], list[Fragment]]:
    """Calls, and their fragments as some server would send them."""
    way = draw(WAYS)
    calls = draw(st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=4))
    queues = [
        _rendered(draw, way, place, name, arguments)
        for place, (name, arguments) in enumerate(calls)
    ]
    if way not in {"indexed", "ids"}:
        return calls, [one for queue in queues for one in queue]
    # The calls begin in order; after that their fragments may be mixed.
    fragments = [queue.pop(0) for queue in queues]
    while any(queues):
        at = draw(st.sampled_from([at for at, queue in enumerate(queues) if queue]))
        fragments.append(queues[at].pop(0))
    return calls, fragments


@given(streams())
def test_calls_come_back_whole_however_a_server_cuts_them(
    stream: tuple[list[tuple[str, str]], list[Fragment]],
) -> None:
    calls, fragments = stream
    found = assembled(*fragments)
    assert [(name, arguments) for _, name, arguments in brief(found)] == calls
    ids = [call["id"] for call in found]
    assert len(set(ids)) == len(ids)
    given_ids = {one["id"] for one in fragments if "id" in one}
    assert not given_ids or set(ids) == given_ids


@given(
    st.lists(
        st.builds(
            fragment,
            st.sampled_from([None, 0, 1, -1]),
            st.sampled_from([None, "", "a", "call_0", "call_0_2"]),
            st.sampled_from([None, "", "f", "g"]),
            st.sampled_from([None, "", "{", "}", "{}"]),
        )
    )
)
def test_no_fragment_is_lost_and_no_two_calls_share_an_id(fragments: list[Fragment]) -> None:
    calls = assembled(*fragments)
    ids = [call["id"] for call in calls]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    sent = "".join(str(one["function"].get("arguments", "")) for one in fragments)
    kept = "".join(call["function"]["arguments"] for call in calls)
    assert sorted(kept) == sorted(sent)


def test_thousands_of_calls_without_ids_are_told_apart_at_once() -> None:
    fragments = CallFragments()
    for _ in range(20_000):
        fragments.add({"index": 0, "function": {"name": "f", "arguments": "{}"}})
    ids = [call["id"] for call in fragments.tool_calls()]
    assert (ids[0], ids[1], ids[-1]) == ("call_0", "call_0_2", "call_0_20000")
    assert len(set(ids)) == 20_000
