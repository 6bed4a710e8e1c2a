"""What is told of requests, against endpoints that count everything, something or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.cache_watch import CacheWatch, cached_share, context_parts
from host.records import Message, ToolDefinition, TurnUsage
from host.text.tokens import message_tokens, request_tokens, tools_tokens

SYSTEM: Message = {"role": "system", "content": "Be brief."}
QUESTION: Message = {"role": "user", "content": "Where is it?"}
ANSWER: Message = {"role": "assistant", "content": "Here."}
RESULT: Message = {"role": "tool", "tool_call_id": "c", "content": "found"}


def tool(name: str) -> ToolDefinition:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}


FIRST: list[Message] = [SYSTEM, QUESTION]
TOOLS = [tool("x")]


def usage(prompt: int, completion: int = 10, **others: Any) -> TurnUsage:
    return TurnUsage(prompt_tokens=prompt, completion_tokens=completion, **others)


def cache_told(
    before: TurnUsage,
    after: TurnUsage,
    messages: list[Message] | None = None,
    tools: list[ToolDefinition] = TOOLS,
) -> dict[str, Any]:
    """What a second request is told of the cache, after a first one."""
    watch = CacheWatch()
    assert _cache_only(watch.answered(FIRST, TOOLS, before)) == {}
    sent = [*FIRST, ANSWER] if messages is None else messages
    return _cache_only(watch.answered(sent, tools, after))


def _cache_only(told: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in told.items() if key.startswith("cache")}


def test_the_first_request_is_told_what_it_declares_and_is_made_of() -> None:
    tools = [tool("x"), tool("y")]
    assert CacheWatch().answered(FIRST, tools, usage(200)) == {
        "toolsDeclared": 2,
        "toolSchemaTokens": tools_tokens(tools),
        "context": context_parts(FIRST, tools, prompt_tokens=200),
    }


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (usage(100), usage(150), {"cacheExpected": 110}),
        (
            usage(100),
            usage(150, cached_tokens=90),
            {"cacheExpected": 110, "cacheBroken": False},
        ),
        (
            usage(100),
            usage(150, cached_tokens=89),
            {"cacheExpected": 110, "cacheBroken": True, "cacheBreakReason": "none-known"},
        ),
        (
            usage(100),
            usage(150, cached_tokens=0),
            {"cacheExpected": 110, "cacheBroken": True, "cacheBreakReason": "none-known"},
        ),
        (usage(0), usage(150, cached_tokens=0), {}),
        (usage(50, cached_tokens=60), usage(150, cached_tokens=0), {}),
        (usage(300, continuations=2), usage(150, cached_tokens=100), {}),
        (usage(100), usage(300, cached_tokens=0, continuations=1), {"cacheExpected": 110}),
        (
            usage(100),
            usage(20, cached_tokens=130),
            {"cacheExpected": 110, "cacheBroken": False},
        ),
    ],
)
def test_a_later_request_is_told_what_the_counts_say(
    before: TurnUsage, after: TurnUsage, told: dict[str, Any]
) -> None:
    assert cache_told(before, after) == told


OTHER_SYSTEM: Message = {"role": "system", "content": "Be long."}


@pytest.mark.parametrize(
    ("messages", "tools", "reason"),
    [
        ([OTHER_SYSTEM, ANSWER], [tool("x"), tool("y")], "tools-changed"),
        ([OTHER_SYSTEM, ANSWER], [tool("x")], "system-changed"),
        ([SYSTEM, ANSWER], [tool("x")], "history-rewritten"),
        ([SYSTEM, QUESTION, ANSWER], [tool("x")], "none-known"),
    ],
)
def test_a_broken_cache_has_a_reason_and_a_whole_one_has_none(
    messages: list[Message], tools: list[ToolDefinition], reason: str
) -> None:
    broken = cache_told(usage(100), usage(150, cached_tokens=5), messages, tools)
    assert broken["cacheBreakReason"] == reason
    whole = cache_told(usage(100), usage(150, cached_tokens=100), messages, tools)
    assert "cacheBreakReason" not in whole


def test_each_request_is_held_against_the_one_before_it() -> None:
    watch = CacheWatch()
    watch.answered(FIRST, TOOLS, usage(100, cached_tokens=0))
    load = watch.answered([*FIRST, ANSWER], [*TOOLS, tool("y")], usage(200, cached_tokens=40))
    after = watch.answered(
        [*FIRST, ANSWER, RESULT], [*TOOLS, tool("y")], usage(260, cached_tokens=205)
    )
    assert load["cacheBreakReason"] == "tools-changed"
    assert _cache_only(after) == {"cacheExpected": 210, "cacheBroken": False}


COUNTS = st.integers(0, 400)
CACHED = st.none() | COUNTS


@given(st.lists(st.tuples(COUNTS, COUNTS, CACHED), max_size=8))
def test_a_run_is_told_what_a_look_at_two_neighbours_tells(
    turns: list[tuple[int, int, int | None]],
) -> None:
    watch = CacheWatch()
    for number, (prompt, completion, cached) in enumerate(turns):
        told = watch.answered(FIRST, TOOLS, usage(prompt, completion, cached_tokens=cached))
        before, answer, served = turns[number - 1] if number else (0, 0, None)
        known = before > 0 and (served or 0) <= before
        assert told.get("cacheExpected") == (before + answer if known else None)
        broken = 10 * cached < 9 * before if known and cached is not None else None
        assert told.get("cacheBroken") is broken
        assert ("cacheBreakReason" in told) is (broken is True)


@pytest.mark.parametrize(
    ("previous", "cached", "share"),
    [
        (100, 80, 0.8),
        (100, 0, 0.0),
        (100, 100, 1.0),
        (100, 130, 1.0),
        (100, None, None),
        (0, 10, None),
    ],
)
def test_a_share_is_of_the_previous_prompt(
    previous: int, cached: int | None, share: float | None
) -> None:
    assert cached_share(previous, cached) == share


@given(st.integers(1, 10_000), st.integers(0, 20_000))
def test_a_share_is_never_above_the_whole(previous: int, cached: int) -> None:
    share = cached_share(previous, cached)
    assert share is not None
    assert share * previous == pytest.approx(min(previous, cached))


def _sized(role: str, chars: int) -> Any:
    """A message that measures so many characters."""
    return {"role": role, "content": "x" * (chars - 25 - len(role))}


def _tools_of(chars: int) -> list[ToolDefinition]:
    empty = tools_tokens([{"type": "function", "function": {"name": ""}}], chars_per_token=1)
    return [{"type": "function", "function": {"name": "x" * (chars - empty)}}]


def test_a_counted_prompt_is_divided_by_characters() -> None:
    messages = [
        _sized("system", 300),
        _sized("user", 100),
        _sized("developer", 100),
        _sized("assistant", 100),
        _sized("tool", 200),
    ]
    assert context_parts(messages, _tools_of(200), prompt_tokens=100) == {
        "system": 40,
        "tools": 20,
        "history": 20,
        "toolResults": 20,
        "total": 100,
    }


def test_a_single_token_goes_to_the_largest_part() -> None:
    messages = [_sized("system", 100), _sized("user", 110), _sized("tool", 100)]
    parts = context_parts(messages, _tools_of(100), prompt_tokens=1)
    assert parts == {"system": 0, "tools": 0, "history": 1, "toolResults": 0, "total": 1}


MESSAGES = st.lists(
    st.builds(
        _sized,
        st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
        st.integers(40, 90),
    ),
    max_size=8,
)


@given(MESSAGES, st.lists(st.sampled_from(["x", "y", "zzzzz"]).map(tool), max_size=3), COUNTS)
def test_parts_add_up_and_stand_near_their_shares(
    messages: list[Message], tools: list[ToolDefinition], prompt: int
) -> None:
    parts = context_parts(messages, tools, prompt_tokens=prompt)
    total = parts.pop("total")
    assert total == (prompt or request_tokens({"messages": messages, "tools": tools}))
    assert sum(parts.values()) == total
    assert min(parts.values()) >= 0
    results = [message for message in messages if message["role"] == "tool"]
    whole = request_tokens({"messages": messages, "tools": tools}, chars_per_token=1)
    if whole:
        own = sum(message_tokens(message, chars_per_token=1) for message in results)
        assert abs(parts["toolResults"] - total * own / whole) < 2.5
    if not prompt:
        assert parts["tools"] == tools_tokens(tools)
