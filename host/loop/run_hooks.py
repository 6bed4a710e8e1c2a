"""The hooks around one run: their context before it, their notice after it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio
from anyio.abc import TaskGroup

from host.loop.agent_options import RunHooks
from host.loop.hook_context import answer_context, question_context, question_index
from host.loop.hooks import Gathered, NoteSink, gather, notify
from host.loop.run_control import Interrupted, Interruption, RunControl
from host.loop.stop_reasons import Deadline
from host.records import HookNote, Message

MAX_AFTER_TURN_SECONDS = 3.0
"""How long a run without a task group waits for its ``afterTurn`` hooks (design §6)."""


async def gather_before(
    hooks: RunHooks, messages: Sequence[Message], question: Message | None, on_note: NoteSink
) -> Gathered:
    """Runs the hooks before a run and returns what they put on its question."""
    context = question_context(hooks.context, messages, question_index(messages, question))
    return await gather(
        hooks.run, hooks.events, context, on_note=on_note, max_tokens=hooks.max_tokens
    )


async def notify_after(
    hooks: RunHooks,
    messages: Sequence[Message],
    question: Message | None,
    reply: str,
    on_note: NoteSink,
) -> tuple[HookNote, ...]:
    """Tells the ``afterTurn`` hooks of the answer; returns a note per failure."""
    index = question_index(messages, question)
    context = answer_context(hooks.context, messages, index, reply)
    return await notify(hooks.run, "afterTurn", context, on_note=on_note)


def notify_later(
    group: TaskGroup,
    hooks: RunHooks,
    messages: Sequence[Message],
    question: Message | None,
    reply: str,
    on_note: NoteSink,
) -> bool:
    """Begins ``notify_after`` in the group; False if the group is closed and takes no more.

    A run is done when its hooks are told of it, and its caller's group may be too.
    """
    try:
        group.start_soon(notify_after, hooks, messages, question, reply, on_note)
    except RuntimeError:  # what anyio's groups raise on either backend
        return False
    return True


async def notify_briefly(
    hooks: RunHooks,
    messages: Sequence[Message],
    question: Message | None,
    reply: str,
    on_note: NoteSink,
    *,
    control: RunControl,
) -> tuple[HookNote, ...]:
    """As ``notify_after``, but for three seconds at most, and not beyond a stop."""
    limit = Deadline(at_seconds=anyio.current_time() + MAX_AFTER_TURN_SECONDS)
    told = partial(notify_after, hooks, messages, question, reply, on_note)
    try:
        return await Interruption(control=control, deadline=limit).cut_short(told)
    except Interrupted as stop:
        late = stop.reason == "deadline"
        error = f"took longer than {MAX_AFTER_TURN_SECONDS:g} s" if late else "stopped"
        note = HookNote(event="afterTurn", source="", hook_id="", error=error)
        on_note(note)
        return (note,)
