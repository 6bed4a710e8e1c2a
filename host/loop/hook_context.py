"""What hooks are told of a conversation, and how what they say is put on the question.

Context goes on the question of a request, byte for byte, and never into the transcript or the
system prompt (agent-core §12).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, cast

from host.records import HookContext, HookMessage, Message

HOOK_PREFACE = (
    "The context blocks below were added by the application as background. The user did not write "
    "them; the user's own message follows after the last one."
)
"""Said above the context blocks of a question."""

_UUID_HEX_CHARS = 12


def with_context(
    history: list[Message], index: int, context: str, preface: str = HOOK_PREFACE
) -> list[Message]:
    """The history with the context on the question at ``index``; the same list if there is none.

    The question is a copy: preface, context and its own text with blank lines between, or one
    more text part in front of its parts. An empty preface leaves no blank line on top.
    """
    lead = context_lead(context, preface)
    if not lead or not 0 <= index < len(history) or history[index]["role"] != "user":
        return history
    content = history[index].get("content")
    changed: Any
    if isinstance(content, str):
        changed = f"{lead}\n\n{content}"
    else:
        changed = [{"type": "text", "text": lead}, *(content or ())]
    question = cast("Message", {**history[index], "content": changed})
    return [*history[:index], question, *history[index + 1 :]]


def context_lead(context: str, preface: str = HOOK_PREFACE) -> str:
    """What is put in front of a question: the preface and the context; "" without context."""
    return f"{preface}\n\n{context}" if preface and context else context


def turn_messages(
    session_id: str,
    messages: Sequence[Message],
    start: int,
    end: int | None = None,
    *,
    offset: int = 0,
) -> list[HookMessage]:
    """What was said between ``start`` and ``end`` (exclusive), as hooks are told.

    User and assistant text only, trimmed; messages without any are left out. The uuid names the
    session, the place and the text, so that a retry gives the same.

    Args:
        end: None for the end of the list. Both ends are clamped to it.
        offset: how many messages of the session come before this list.
    """
    said: list[HookMessage] = []
    for index in range(max(0, start), len(messages) if end is None else min(end, len(messages))):
        message = messages[index]
        if message["role"] not in ("user", "assistant"):
            continue
        speaker: Any = message["role"]
        text = message_text(message).strip()
        if text:
            place = f"{session_id}:{index + offset}"
            said.append(
                {"speaker": speaker, "text": text, "uuid": f"{place}:{_digest(speaker, text)}"}
            )
    return said


def turn_index(messages: Sequence[Message], before: int | None = None, *, offset: int = 0) -> int:
    """How many user messages come before position ``before`` (None: in all), plus ``offset``."""
    end = len(messages) if before is None else max(0, before)
    return offset + sum(message["role"] == "user" for message in messages[:end])


def message_text(message: Message) -> str:
    """A message's text: its content, or its text parts with nothing between them; "" for none.

    A message that only calls tools may have no content at all, not even None.
    """
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    texts = [part.get("text") for part in content if part.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


def question_context(context: HookContext, messages: Sequence[Message], index: int) -> HookContext:
    """The context with the question's text as ``prompt`` and its number as ``turn.index``.

    What the context says already stays; without a question at ``index`` (-1) nothing is added.
    """
    if index < 0:
        return context
    turn = {"index": turn_index(messages, index), **context.get("turn", {})}
    return {"prompt": message_text(messages[index]), **context, "turn": turn}


def answer_context(
    context: HookContext, messages: Sequence[Message], index: int, reply: str
) -> HookContext:
    """The question's context with the ``reply``, and as ``turn.messages`` all said since."""
    asked = question_context(context, messages, index)
    answered: HookContext = {**asked, "reply": reply}
    if index >= 0:
        session_id = str(context.get("session", {}).get("id", ""))
        said = turn_messages(session_id, messages, index)
        answered["turn"] = {**asked.get("turn", {}), "messages": said}
    return answered


def question_index(messages: Sequence[Message], question: Message | None) -> int:
    """Where the question stands: the same object, else its last equal, else -1."""
    if question is None:
        return -1
    for index in reversed(range(len(messages))):
        if messages[index] is question:
            return index
    return next((i for i in reversed(range(len(messages))) if messages[i] == question), -1)


def question_after(
    before: Sequence[Message], after: Sequence[Message], question: Message | None
) -> Message | None:
    """The question of a transcript that somebody rewrote: the same where it is still there.

    Else the last user message if it is new; where there is no such thing, the question was
    dropped and not written anew, and it stays what it was.
    """
    if question_index(after, question) >= 0:
        return question
    last = last_question(after)
    return question if last is None or last in before else last


def last_question(messages: Sequence[Message]) -> Message | None:
    """The last user message; None without one."""
    return next((message for message in reversed(messages) if message["role"] == "user"), None)


def _digest(role: str, text: str) -> str:
    spoken = f"{role}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(spoken).hexdigest()[:_UUID_HEX_CHARS]
