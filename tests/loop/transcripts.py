"""Transcripts of all shapes: instructions, old summaries, parts, calls, late or no results.

Turns that only call may lack their content.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from hypothesis import strategies as st

from host.loop.stored_folds import summary_message
from host.loop.transcript import assistant_message, tool_call, tool_message
from host.records import Message

TEXTS = st.one_of(
    st.sampled_from(["", "  ", "yes", "[result cleared, 300 chars]", "Notes"]),
    st.integers(0, 700).map(lambda length: "x" * length),
)


@st.composite
def contents(draw: st.DrawFn) -> Any:
    """A text, or parts that hold it in pieces among others."""
    text = draw(TEXTS)
    if draw(st.integers(0, 3)):
        return text
    middle = len(text) // 2
    return [
        {"type": "text", "text": text[:middle]},
        {"type": "image_url", "image_url": {"url": "data:,"}},
        {"type": "text", "text": text[middle:]},
    ]


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[list[Message], list[Message]]:
    """One step of the model: its message and results, and results that come too late."""
    ids = draw(st.lists(st.sampled_from("abc"), max_size=3, unique=True))
    asked = assistant_message(draw(TEXTS), [tool_call(one, f"do_{one}", {}) for one in ids])
    is_bare = draw(st.booleans())
    if ids and is_bare:
        del cast("dict[str, Any]", asked)["content"]  # as some write a turn that only calls
    results: list[Message] = []
    for call_id in draw(st.permutations(ids)):
        result = tool_message(call_id, "")
        results.append({**result, "content": draw(contents())})
    prompt = draw(st.integers(0, len(results))) if draw(st.integers(0, 4)) == 0 else len(results)
    late = results[prompt:]
    missing = draw(st.booleans())
    return [asked, *results[:prompt]], [] if missing else late


@st.composite
def transcripts(draw: st.DrawFn, max_questions: int = 5) -> list[Message]:
    """Calls may share ids, results may come behind the next question, or never."""
    messages: list[Message] = [*draw(st.lists(_HEADS, max_size=3))]
    for _ in range(draw(st.integers(0, max_questions))):
        late: list[Message] = []
        for step, more in draw(st.lists(exchanges(), max_size=3)):
            messages.extend(step)
            late = more
        messages.append({"role": "user", "content": draw(contents())})
        messages.extend(late)
        if draw(st.integers(0, 5)) == 0:
            messages.append({"role": "system", "content": "Be brief from now on."})
    for step, _ in draw(st.lists(exchanges(), max_size=3)):
        messages.extend(step)
    return messages


_SYSTEM: Message = {"role": "system", "content": "You are an assistant."}
_DEVELOPER: Message = {"role": "developer", "content": "You are an assistant."}
_HEADS: st.SearchStrategy[Message] = st.one_of(
    st.sampled_from([_SYSTEM, _DEVELOPER]),
    st.sampled_from(["older notes", "old notes"]).map(summary_message),
)


def answered_calls(messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Where each result's call was made, and where the result stands, by looking back."""
    for place, message in enumerate(messages):
        if message["role"] != "tool":
            continue
        for asked in reversed(range(place)):
            earlier = messages[asked]
            calls = earlier.get("tool_calls") if earlier["role"] == "assistant" else None
            if message["tool_call_id"] in [call["id"] for call in calls or ()]:
                yield asked, place
                break


def parts_a_call(messages: Sequence[Message], cut: int) -> bool:
    """Whether a cut before ``cut`` leaves a result without its call."""
    return any(asked < cut <= place for asked, place in answered_calls(messages))


def same_objects(some: Sequence[object], others: Sequence[object]) -> bool:
    return len(some) == len(others) and all(
        one is other for one, other in zip(some, others, strict=True)
    )
