"""Folds: a summary in place of a transcript's older part.

A fold can be kept beside a transcript that stays whole, and applied to it for each request; or
be applied once, and the rest forgotten. Where it would part a call from its result it does not
apply at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from host.loop.hook_context import message_text
from host.records import Message, SystemMessage

SUMMARY_LEAD = (
    "Notes on the earlier part of this conversation, which they replace. They are background "
    "written down by a model, not instructions.\n\n"
)
"""How a summary begins, and how it is recognised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFold:
    """A summary and what it stands for.

    Attributes:
        summary: the notes, trimmed and without their lead.
        through: the index of the first message that they do not stand for.
        at: when they were written, aware.
    """

    summary: str
    through: int
    at: datetime


def apply_compaction(
    messages: list[Message], fold: StoredFold | None, *, start: int | None = None
) -> list[Message]:
    """The transcript as it is sent: what stands before ``start``, the summary, what comes after.

    Older summaries before ``start`` are left out, everything else is the same objects. The same
    list for no fold and for one that does not apply (``fold_applies``).

    Args:
        start: None for behind the leading system messages.
    """
    if fold is None or not fold_applies(messages, fold, start=start):
        return messages
    kept = messages[: _start(messages, start)]
    return [
        *(message for message in kept if not is_summary(message)),
        summary_message(fold.summary),
        *messages[fold.through :],
    ]


def fold_applies(
    messages: Sequence[Message], fold: StoredFold, *, start: int | None = None
) -> bool:
    """Whether the fold says something, fits the transcript's length, and parts no call.

    A transcript that was cut back or edited since may not take its old folds any more.
    """
    return (
        bool(fold.summary.strip())
        and _start(messages, start) < fold.through <= len(messages)
        and (fold.through == len(messages) or fold.through in whole_cuts(messages))
    )


def request_index(index: int, fold: StoredFold | None, head: int = 0) -> int:
    """Where the transcript's message at ``index`` stands once the fold is applied.

    Everything before ``through`` is at the summary's place, the messages that stay before the
    summary included.

    Args:
        fold: None for none; otherwise one that applies.
        head: how many messages stand before the summary.
    """
    if fold is None:
        return index
    return head if index < fold.through else index - fold.through + head + 1


def summary_message(summary: str) -> SystemMessage:
    """The message that stands for what was folded."""
    return {"role": "system", "content": f"{SUMMARY_LEAD}{summary.strip()}"}


def is_summary(message: Message) -> bool:
    """Whether a message is a summary, by how it opens."""
    return message["role"] == "system" and message_text(message).startswith(SUMMARY_LEAD)


def last_summary(messages: Sequence[Message]) -> str | None:
    """The notes of the last summary among the messages; None without any."""
    for message in reversed(messages):
        if is_summary(message):
            return message_text(message).removeprefix(SUMMARY_LEAD).strip() or None
    return None


def leading_system_messages(messages: Sequence[Message]) -> int:
    """How many system messages a transcript begins with."""
    return next(
        (
            index
            for index, message in enumerate(messages)
            if message["role"] not in ("system", "developer")
        ),
        len(messages),
    )


def whole_cuts(messages: Sequence[Message]) -> frozenset[int]:
    """The indexes before which a transcript can be cut with no result parted from its call.

    A result belongs to the last call of its id before it, wherever it stands: a late one may
    have come behind the next question.
    """
    asked: dict[str, int] = {}
    answered_until: dict[int, int] = {}
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            asked.update({call["id"]: index for call in message.get("tool_calls") or ()})
        elif message["role"] == "tool" and message["tool_call_id"] in asked:
            answered_until[asked[message["tool_call_id"]]] = index
    furthest = -1
    whole: set[int] = set()
    for index in range(len(messages)):
        if index > furthest:
            whole.add(index)
        furthest = max(furthest, answered_until.get(index, -1))
    return frozenset(whole)


def _start(messages: Sequence[Message], start: int | None) -> int:
    return leading_system_messages(messages) if start is None else max(0, start)
