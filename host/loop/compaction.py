"""Folding a transcript: the summary is written, hooks hear of it, and it takes its place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio

from host.loop.collaborators import HookRunner, Model, Now
from host.loop.compaction_plan import SUMMARY_TOKENS, CompactionPlan
from host.loop.hook_context import turn_messages
from host.loop.hooks import NoteSink, consult, notify
from host.loop.stored_folds import StoredFold, apply_compaction
from host.loop.summary_request import (
    SUMMARY_PROMPT,
    summary_input,
    summary_messages,
    summary_of,
)
from host.loop.wall_clock import utc_now
from host.records import HookContext, HookNote, Message

Summarise: TypeAlias = Callable[[str], Awaitable[str]]
"""Writes notes on a text; blank for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionHooks:
    """The ``beforeCompact`` hooks of a fold; they run once for it, whichever way.

    Attributes:
        run: runs them.
        context: what they are told; the messages that go are added as ``compacting``, their
            place as ``range``. ``session.id`` names the session in message uuids.
        on_note: hears of failures and vetoes.
        honour_veto: run them before the summary is asked for, and give up on the fold if one
            vetoes. Otherwise they run beside the summary, and a veto is nothing.
    """

    run: HookRunner
    context: HookContext = field(default_factory=HookContext)
    on_note: NoteSink | None = None
    honour_veto: bool = False


async def compact_transcript(
    messages: list[Message],
    plan: CompactionPlan,
    summarise: Summarise,
    *,
    hooks: CompactionHooks | None = None,
    forced: bool = False,
    now: Now = utc_now,
) -> list[Message]:
    """Folds what the plan says and returns the shorter transcript.

    It holds what stands before ``plan.start`` without older summaries, the new one, and the
    messages from ``plan.cut`` on, the same objects. The same list after a veto or a blank
    summary. What ``summarise`` raises is raised. To fold a transcript beside a stored fold, use
    ``run_compaction``: what that fold stands for is before ``plan.start``, and would come back.

    Args:
        messages: the transcript that was planned for, or one pruned since.
        forced: fold over any veto; for a transcript that does not fit any more.
    """
    fold = await run_compaction(messages, plan, summarise, hooks=hooks, forced=forced, now=now)
    return apply_compaction(messages, fold, start=plan.start)


async def run_compaction(
    messages: list[Message],
    plan: CompactionPlan,
    summarise: Summarise,
    *,
    hooks: CompactionHooks | None = None,
    forced: bool = False,
    now: Now = utc_now,
) -> StoredFold | None:
    """Writes the summary and returns it as a fold; None after a veto or a blank summary.

    What ``summarise`` raises is raised, once hooks that run beside it have ended; it does not
    cut them off, nor they it.
    """
    text = summary_input(plan)
    if hooks is None:
        summary = await summarise(text)
    elif hooks.honour_veto and not forced:
        context = _compact_context(hooks, messages, plan)
        said = await consult(hooks.run, "beforeCompact", context, on_note=hooks.on_note)
        summary = "" if said.vetoed else await summarise(text)
    else:
        summary = await _beside(hooks, _compact_context(hooks, messages, plan), summarise, text)
    summary = summary.strip()
    return StoredFold(summary=summary, through=plan.cut, at=now()) if summary else None


def summariser(
    model: Model, *, system: str = SUMMARY_PROMPT, max_tokens: int = SUMMARY_TOKENS
) -> Summarise:
    """Returns a function that has the model write notes on a text, in one turn without tools.

    Args:
        max_tokens: the ceiling of the notes; what goes beyond four characters a token is cut.
    """

    async def summarise(text: str) -> str:
        turn = await model.turn(summary_messages(text, system=system), [])
        return summary_of(turn.content, max_tokens=max_tokens)

    return summarise


async def _beside(
    hooks: CompactionHooks, context: HookContext, summarise: Summarise, text: str
) -> str:
    """Has the summary written while the hooks hear of it."""
    summary, failure = "", None
    notes: list[HookNote] = []

    async def tell_hooks() -> None:
        notes.extend(await notify(hooks.run, "beforeCompact", context))

    async with anyio.create_task_group() as group:
        group.start_soon(tell_hooks)
        try:
            summary = await summarise(text)
        except Exception as error:  # noqa: BLE001  # raised below, out of no group, hooks done
            failure = error
    if hooks.on_note is not None:
        for note in notes:
            hooks.on_note(note)
    if failure is not None:
        raise failure
    return summary


def _compact_context(
    hooks: CompactionHooks, messages: list[Message], plan: CompactionPlan
) -> HookContext:
    session_id = str(hooks.context.get("session", {}).get("id", ""))
    return {
        **hooks.context,
        "compacting": turn_messages(session_id, messages, plan.start, plan.cut),
        "range": {"from": plan.start, "through": plan.cut},
    }
