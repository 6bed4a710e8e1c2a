"""Old results make room in place; everything else stays as it is."""

from __future__ import annotations

import copy

from hypothesis import given
from hypothesis import strategies as st

from host.catalogue import LOAD_TOOLS, expand_names, proxy_load_result
from host.loop.hook_context import message_text
from host.loop.pruning import prune_tool_results
from host.loop.transcript import assistant_message, tool_call, tool_message
from host.records import Message
from host.text.tokens import message_tokens
from tests.fakes.loop_peers import MemoryToolbox
from tests.loop.transcripts import transcripts

STUB = "[result cleared, "
LONG = "x" * 10_412


def definitions() -> str:
    """What a proxied run's model reads after a load."""
    toolbox = MemoryToolbox("notes__find")
    resolution = expand_names(["notes__find"], toolbox.catalogue())
    return proxy_load_result(resolution, toolbox.catalogue(), toolbox.definitions(["notes__find"]))


def test_the_oldest_of_three_long_results_is_cleared_and_its_length_told() -> None:
    messages: list[Message] = [tool_message(one, LONG) for one in "abc"]
    before = copy.deepcopy(messages)
    pruned = prune_tool_results(messages, keep_last=2)
    assert pruned[0] == tool_message("a", "[result cleared, 10,412 chars]")
    assert pruned[1:] == messages[1:]
    assert messages == before
    assert prune_tool_results(pruned, keep_last=2) is pruned


def test_short_results_stay_but_count_among_the_latest() -> None:
    messages: list[Message] = [
        tool_message("a", LONG),
        tool_message("b", "x" * 256),
        tool_message("c", "x" * 257),
        tool_message("d", "ok"),
        tool_message("e", "ok"),
    ]
    pruned = prune_tool_results(messages, keep_last=2)
    assert [str(one["content"]).startswith(STUB) for one in pruned] == [True, False, True, 0, 0]
    assert prune_tool_results(messages) is messages


def test_parts_are_measured_together_and_replaced_whole() -> None:
    parts = [{"type": "text", "text": "x" * 200}, {"type": "text", "text": "y" * 100}]
    result: Message = {"role": "tool", "tool_call_id": "a", "content": parts}
    assert prune_tool_results([result], keep_last=0) == [
        tool_message("a", "[result cleared, 300 chars]")
    ]
    assert prune_tool_results([result], keep_last=0, max_chars=300) == [result]


def test_definitions_that_a_proxied_run_goes_by_are_never_cleared() -> None:
    asked = assistant_message("", [tool_call("a", LOAD_TOOLS, {"names": ["notes__find"]})])
    loaded: list[Message] = [asked, tool_message("a", definitions()), tool_message("b", LONG)]
    pruned = prune_tool_results(loaded, keep_last=0, max_chars=10)
    assert pruned[:2] == loaded[:2]
    assert pruned[2] is not loaded[2]


@given(transcripts(), st.integers(-1, 6), st.sampled_from([0, 30, 256, 600]))
def test_only_old_long_results_change_and_only_their_content(
    messages: list[Message], keep_last: int, max_chars: int
) -> None:
    before = copy.deepcopy(messages)
    pruned = prune_tool_results(messages, keep_last=keep_last, max_chars=max_chars)
    assert messages == before
    assert prune_tool_results(pruned, keep_last=keep_last, max_chars=max_chars) is pruned
    results_behind, cleared = 0, 0
    for old, new in reversed(list(zip(messages, pruned, strict=True))):
        text = message_text(old)
        due = (
            old["role"] == "tool"
            and results_behind >= keep_last
            and len(text) > max_chars
            and not text.startswith(STUB)
        )
        if due:
            assert new == {**old, "content": f"[result cleared, {len(text):,} chars]"}
        else:
            assert new is old
        results_behind += old["role"] == "tool"
        cleared += due
    assert (pruned is messages) == (cleared == 0)


@given(transcripts())
def test_pruning_makes_no_transcript_longer(messages: list[Message]) -> None:
    pruned = prune_tool_results(messages, keep_last=0)
    assert sum(map(message_tokens, pruned)) <= sum(map(message_tokens, messages))
