"""Running hooks: side by side, in order, and never the end of anything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from host.loop import consult, gather, notify
from host.records import HookContext, HookEvent, HookNote, HookOutcome


def outcome(event: HookEvent, text: str | None = None, **fields: Any) -> HookOutcome:
    return HookOutcome(
        **{
            "server_id": "s",
            "label": "Notes",
            "hook_id": "h",
            "event": event,
            "ok": True,
            "text": text,
            "inject": True,
            **fields,
        }
    )


class Runner:
    """Answers each event with the outcomes given, or raises them."""

    def __init__(self, **answers: list[HookOutcome] | Exception) -> None:
        self._answers = answers
        self.ran: list[tuple[HookEvent, HookContext]] = []

    async def __call__(self, event: HookEvent, context: HookContext) -> Sequence[HookOutcome]:
        self.ran.append((event, context))
        await anyio.lowlevel.checkpoint()
        answer = self._answers[event]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_blocks_and_notes_are_in_the_order_of_the_events() -> None:
    class Slow(Runner):
        async def __call__(self, event: HookEvent, context: HookContext) -> Sequence[HookOutcome]:
            await anyio.sleep(100 if event == "sessionStart" else 0)
            return await super().__call__(event, context)

    runner = Slow(
        sessionStart=[outcome("sessionStart", "first")],
        beforeTurn=[outcome("beforeTurn", "second")],
    )
    heard: list[HookNote] = []
    began = anyio.current_time()
    gathered = await gather(
        runner, ["sessionStart", "beforeTurn"], {"host": "h"}, on_note=heard.append
    )
    assert anyio.current_time() - began < 150
    assert [event for event, _ in runner.ran] == ["beforeTurn", "sessionStart"]
    assert gathered.context == (
        '<context source="Notes">\nfirst\n</context>\n\n'
        '<context source="Notes">\nsecond\n</context>'
    )
    assert [note.event for note in gathered.notes] == ["sessionStart", "beforeTurn"]
    assert tuple(heard) == gathered.notes


async def test_a_runner_that_raises_costs_only_its_own_event() -> None:
    runner = Runner(sessionStart=ValueError("down"), beforeTurn=[outcome("beforeTurn", "kept")])
    gathered = await gather(runner, ["sessionStart", "beforeTurn"], {})
    assert "kept" in gathered.context
    assert gathered.notes[0] == HookNote(event="sessionStart", source="", hook_id="", error="down")


async def test_a_runner_that_raises_before_awaiting_is_contained_too() -> None:
    def raise_now(event: HookEvent, context: HookContext, /) -> Any:
        raise RuntimeError

    gathered = await gather(raise_now, ["beforeTurn"], {})
    assert gathered.context == ""
    assert [note.error for note in gathered.notes] == ["RuntimeError"]
    assert [note.error for note in await notify(raise_now, "afterTurn", {})] == ["RuntimeError"]


@pytest.mark.parametrize("budget", [None, 0, -1, math.nan, True, "900"])
async def test_a_budget_that_is_no_positive_number_is_two_thousand(budget: Any) -> None:
    outcomes = [outcome("beforeTurn", "x" * 6000, max_tokens=1200) for _ in range(3)]
    gathered = await gather(Runner(beforeTurn=outcomes), ["beforeTurn"], {}, max_tokens=budget)
    assert [note.tokens for note in gathered.notes] == [1200, 800]


async def test_a_budget_may_be_infinite_or_small() -> None:
    outcomes = [outcome("beforeTurn", "x" * 6000, max_tokens=1200) for _ in range(3)]
    everything = await gather(Runner(beforeTurn=outcomes), ["beforeTurn"], {}, max_tokens=math.inf)
    assert [note.tokens for note in everything.notes] == [1200, 1200, 1200]
    little = await gather(Runner(beforeTurn=outcomes), ["beforeTurn"], {}, max_tokens=100)
    assert [note.tokens for note in little.notes] == [100]


async def test_only_injecting_events_inject() -> None:
    gathered = await gather(Runner(afterTurn=[outcome("afterTurn", "x")]), ["afterTurn"], {})
    assert (gathered.context, gathered.notes) == ("", ())


async def test_a_notice_reports_failures_only() -> None:
    heard: list[HookNote] = []
    runner = Runner(
        afterTurn=[
            outcome("afterTurn", "ignored"),
            outcome("afterTurn", ok=False, error="slow"),
            outcome("afterTurn", ok=False, skipped=True),
        ]
    )
    notes = await notify(runner, "afterTurn", {"reply": "r"}, on_note=heard.append)
    assert [note.error for note in notes] == ["slow", "failed"]
    assert tuple(heard) == notes
    assert runner.ran == [("afterTurn", {"reply": "r"})]


async def test_only_a_hook_that_succeeded_can_veto() -> None:
    failed = outcome("beforeCompact", ok=False, veto=True, error="broken")
    quiet = outcome("beforeCompact", "just text")
    vetoing = outcome("beforeCompact", "not now", veto=True)
    refused = await consult(Runner(beforeCompact=[failed, quiet, vetoing]), "beforeCompact", {})
    assert refused.vetoed
    assert [(note.error, note.text, note.veto) for note in refused.notes] == [
        ("broken", None, False),
        (None, "not now", True),
    ]
    allowed = await consult(Runner(beforeCompact=[failed, quiet]), "beforeCompact", {})
    assert not allowed.vetoed


async def test_cancelling_passes_through_hooks() -> None:
    async def forever(event: HookEvent, context: HookContext, /) -> Sequence[HookOutcome]:
        await anyio.sleep_forever()
        return []

    with anyio.move_on_after(1) as scope:
        await gather(forever, ["sessionStart", "beforeTurn"], {})
    assert scope.cancelled_caught
