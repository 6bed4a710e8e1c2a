"""Deltas joined into the blocks that a person reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from host.records import RunEvent
from host.text.json_copy import json_copy

_JOINED = ("thinking", "output")


def fold(events: Iterable[RunEvent]) -> list[RunEvent]:
    """The events, with neighbouring ``thinking`` or ``output`` deltas of one step made one block.

    A block has the joined text and, for the rest, the fields of its last delta. Everything else
    passes as it is, its ``usage`` copied, so that nothing done to the answer reaches a history.
    Linear in the length of the events (agent-core §13).
    """
    blocks: list[RunEvent] = []
    pieces: list[str] = []
    last: RunEvent | None = None
    for event in events:
        if last is not None and not _continues(last, event):
            blocks.append(_block(last, pieces))
            pieces = []
        pieces.append(event.text)
        last = event
    if last is not None:
        blocks.append(_block(last, pieces))
    return blocks


def _continues(last: RunEvent, event: RunEvent) -> bool:
    return (
        event.kind in _JOINED
        and event.kind == last.kind
        and event.step == last.step
        and event.run_id == last.run_id
    )


def _block(last: RunEvent, pieces: list[str]) -> RunEvent:
    return replace(last, text="".join(pieces), usage=json_copy(last.usage))
