"""Running lifecycle hooks: gathering context, notifying, asking for leave.

A hook that fails is an outcome and a runner that raises is a note: neither ever ends a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import anyio

from host.loop.collaborators import HookRunner
from host.loop.own_task import in_own_task
from host.loop.tool_batch import error_message
from host.records import HookContext, HookEvent, HookNote, HookOutcome
from host.text.context_blocks import HOOK_CONTEXT_TOKENS, context_blocks

NoteSink: TypeAlias = Callable[[HookNote], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What the hooks of some events gave: blocks for the question, and notes on each hook."""

    context: str
    notes: tuple[HookNote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consulted:
    """What hooks said of a step that asks for leave; failures never veto."""

    vetoed: bool
    notes: tuple[HookNote, ...]


async def gather(
    run: HookRunner,
    events: Sequence[HookEvent],
    context: HookContext,
    *,
    on_note: NoteSink | None = None,
    max_tokens: float | None = None,
) -> Gathered:
    """Runs the hooks of the events side by side and returns their context blocks.

    Blocks and notes are in the order of the events. A runner that raises costs its own event's
    context and leaves one note without a source (agent-core §12).

    Args:
        max_tokens: the budget that all blocks share; anything but a positive number means 2,000.
    """
    outcomes: dict[int, list[HookOutcome]] = {}

    async def collect(position: int, event: HookEvent) -> None:
        outcomes[position] = await _outcomes(run, event, context)

    async with anyio.create_task_group() as group:
        for position, event in enumerate(events):
            group.start_soon(collect, position, event)
    blocks = context_blocks(
        [outcome for position in range(len(events)) for outcome in outcomes[position]],
        max_tokens=_budget(max_tokens),
    )
    return Gathered(context=blocks.text, notes=_told(blocks.notes, on_note))


async def notify(
    run: HookRunner,
    event: HookEvent,
    context: HookContext,
    *,
    on_note: NoteSink | None = None,
) -> tuple[HookNote, ...]:
    """Runs the hooks of an event that adds nothing; returns a note per failure."""
    outcomes = await _outcomes(run, event, context)
    return _told([_failure(outcome) for outcome in outcomes if not outcome.ok], on_note)


async def consult(
    run: HookRunner,
    event: HookEvent,
    context: HookContext,
    *,
    on_note: NoteSink | None = None,
) -> Consulted:
    """Runs the hooks of an event and returns whether one of them vetoed it.

    Only a hook that succeeded can veto. Failures and vetoes are noted in order.
    """
    notes: list[HookNote] = []
    vetoed = False
    for outcome in await _outcomes(run, event, context):
        if not outcome.ok:
            notes.append(_failure(outcome))
        elif outcome.veto:
            vetoed = True
            notes.append(
                HookNote(
                    event=outcome.event,
                    source=outcome.label,
                    hook_id=outcome.hook_id,
                    text=outcome.text,
                    veto=True,
                )
            )
    return Consulted(vetoed=vetoed, notes=_told(notes, on_note))


async def _outcomes(run: HookRunner, event: HookEvent, context: HookContext) -> list[HookOutcome]:
    try:
        return list(await in_own_task(partial(run, event, context)))
    except Exception as error:  # noqa: BLE001  # a hook runner's fault is a note, not the run's end
        return [
            HookOutcome(
                server_id="",
                label="",
                hook_id="",
                event=event,
                ok=False,
                error=error_message(error),
            )
        ]


def _budget(max_tokens: float | None) -> float:
    given = isinstance(max_tokens, int | float) and not isinstance(max_tokens, bool)
    if max_tokens is None or not given or math.isnan(max_tokens) or max_tokens <= 0:
        return HOOK_CONTEXT_TOKENS
    return max_tokens


def _failure(outcome: HookOutcome) -> HookNote:
    return HookNote(
        event=outcome.event,
        source=outcome.label,
        hook_id=outcome.hook_id,
        error=outcome.error or "failed",
    )


def _told(notes: Sequence[HookNote], on_note: NoteSink | None) -> tuple[HookNote, ...]:
    if on_note is not None:
        for note in notes:
            on_note(note)
    return tuple(notes)
