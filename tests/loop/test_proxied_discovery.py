"""Two tools on every request; what the model has read stands in the transcript."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from host.catalogue import CALL_TOOL, LOAD_TOOLS, holds_definitions
from host.loop.hook_context import message_text
from host.loop.proxied_discovery import ProxiedDiscovery
from host.records import Message
from tests.fakes.loop_peers import MemoryToolbox
from tests.loop.runs import replays

NAMES = [f"{server}__{tool}" for server in ("a", "b") for tool in ("x", "y", "z")]
BOX = MemoryToolbox(*NAMES)
QUESTION: Message = {"role": "user", "content": "Which?"}

shortlists = st.lists(st.lists(st.sampled_from([*NAMES, "gone", "a__*"]), max_size=4), max_size=4)


def test_without_tools_nothing_is_declared() -> None:
    discovery = ProxiedDiscovery(MemoryToolbox())
    assert discovery.show().tools == []
    assert discovery.show().system("Own.") == "Own."


def test_the_two_tools_never_change_and_answers_hold_the_definitions() -> None:
    discovery = ProxiedDiscovery(BOX)
    before = discovery.show()
    assert [tool["function"]["name"] for tool in before.tools] == [LOAD_TOOLS, CALL_TOOL]
    text, ok = discovery.answer_load({"names": ["a__x"]})
    assert ok
    assert holds_definitions(text)
    assert discovery.show() is before
    assert discovery.loaded == ("a__x",)
    again, _ = discovery.answer_load({"names": ["a__x"]})
    assert not holds_definitions(again)


@given(shortlists)
def test_what_was_shown_is_read_back_from_the_transcript_alone(asked: list[list[str]]) -> None:
    discovery = ProxiedDiscovery(BOX)
    messages: list[Message] = [QUESTION]
    for names in asked:
        known = set(discovery.loaded)
        shown = discovery.shortlist(names, messages)
        new = list(dict.fromkeys(name for name in names if name in NAMES and name not in known))
        assert bool(shown) == bool(new)
        messages += shown
    assert replays(messages)
    other = ProxiedDiscovery(BOX)
    other.reread(messages)
    assert other.loaded == discovery.loaded
    other.reread([QUESTION])
    assert other.loaded == ()


def test_an_exchange_nobody_asked_for_says_where_it_stands() -> None:
    discovery = ProxiedDiscovery(BOX)
    [asked, told] = discovery.shortlist(["b__y", "a__x"], [QUESTION])
    assert asked["role"] == "assistant"
    assert [call["id"] for call in asked.get("tool_calls") or ()] == ["preselect-1"]
    assert told["role"] == "tool"
    assert holds_definitions(message_text(told))
    assert discovery.shortlist(["b__y"], [QUESTION, asked, told]) == []


@given(st.frozensets(st.sampled_from(["preselect-1", "preselect-1_2", "other"])))
def test_an_exchange_takes_no_id_that_is_not_free(taken: frozenset[str]) -> None:
    [asked, _] = ProxiedDiscovery(BOX).shortlist(["b__y"], [QUESTION], taken_ids=taken)
    assert asked["role"] == "assistant"
    (call,) = asked["tool_calls"]
    assert call["id"].startswith("preselect-1")
    assert call["id"] not in taken
