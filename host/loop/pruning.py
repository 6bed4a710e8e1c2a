"""Clearing old tool results: the cheapest way to make room, and often enough.

A cleared result stays where it is, as one line, so that its call remains answered and indexes of
the transcript remain good. It still changes the prompt from there on, so the endpoint's cache of
it is lost: prune when the window fills, not on every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from host.catalogue import LOAD_TOOLS, holds_definitions
from host.loop.hook_context import message_text
from host.loop.transcript import answers_of
from host.records import Message

_STUB_LEAD = "[result cleared, "


def prune_tool_results(
    messages: list[Message], *, keep_last: int = 5, max_chars: int = 256
) -> list[Message]:
    """The transcript with one line in place of each long tool result but the latest.

    The same list if nothing changed; untouched messages are the same objects. Results that show
    a proxied run its definitions, as ``load_tools`` answered them, stay, since clearing them would
    unload the tools (agent-core §17). Pruning twice is pruning once.

    Args:
        keep_last: how many of the latest results stay as they are; short ones, and ones that
            are cleared already, count among them.
        max_chars: the longest text that is not cleared, parts joined with nothing between them.
    """
    old = _old_results(messages, keep_last)
    loads = frozenset(answers_of(LOAD_TOOLS, messages))
    stubs = {
        index: text
        for index in old
        if _is_worth_clearing(text := message_text(messages[index]), max_chars)
        and not (index in loads and holds_definitions(text))
    }
    if not stubs:
        return messages
    return [
        cast("Message", {**message, "content": _stub(stubs[index])}) if index in stubs else message
        for index, message in enumerate(messages)
    ]


def _old_results(messages: Sequence[Message], keep_last: int) -> list[int]:
    """Where tool messages stand, the latest left out."""
    results = [index for index, message in enumerate(messages) if message["role"] == "tool"]
    return results[: max(0, len(results) - keep_last)]


def _is_worth_clearing(text: str, max_chars: int) -> bool:
    return len(text) > max_chars and not text.startswith(_STUB_LEAD)


def _stub(text: str) -> str:
    return f"{_STUB_LEAD}{len(text):,} chars]"
