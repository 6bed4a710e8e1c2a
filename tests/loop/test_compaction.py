"""Folding: the summary replaces what it stands for, and hooks hear of it, or forbid it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import UTC, datetime

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop.compaction import (
    CompactionHooks,
    compact_transcript,
    run_compaction,
    summariser,
)
from host.loop.compaction_plan import CompactionPlan, plan_compaction
from host.loop.hook_context import turn_messages
from host.loop.pruning import prune_tool_results
from host.loop.stored_folds import StoredFold, apply_compaction, is_summary, summary_message
from host.loop.summary_request import SUMMARY_PROMPT, summary_input
from host.loop.transcript import assistant_message, tool_call, tool_message
from host.records import HookContext, HookEvent, HookNote, HookOutcome, Message
from tests.fakes.loop_peers import ScriptedModel, mute, saying
from tests.loop.test_hooks import Runner, outcome
from tests.loop.transcripts import parts_a_call, same_objects, transcripts

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
SYSTEM: Message = {"role": "system", "content": "S"}
TALK: list[Message] = [
    SYSTEM,
    summary_message("old notes"),
    {"role": "user", "content": "one"},
    assistant_message("", [tool_call("a", "f", {})]),
    tool_message("a", "r"),
    assistant_message("done"),
    {"role": "user", "content": "two"},
    assistant_message("", [tool_call("b", "f", {})]),
    tool_message("b", "r"),
]
COMPACT: HookEvent = "beforeCompact"


class Summariser:
    """Answers with its notes, and remembers what it was shown."""

    def __init__(self, notes: str = " new notes\n") -> None:
        self.notes = notes
        self.shown: list[str] = []

    async def __call__(self, text: str) -> str:
        self.shown.append(text)
        await anyio.lowlevel.checkpoint()
        return self.notes


async def failing(text: str) -> str:
    await anyio.lowlevel.checkpoint()
    raise OSError("no summary today")


def plan_of(messages: Sequence[Message] = TALK) -> CompactionPlan:
    plan = plan_compaction(messages, limit=10, target=0.1)
    assert plan is not None
    return plan


def hooks(
    *outcomes: HookOutcome, honour_veto: bool = False
) -> tuple[CompactionHooks, Runner, list[HookNote]]:
    runner, notes = Runner(beforeCompact=list(outcomes)), list[HookNote]()
    context: HookContext = {"session": {"id": "s"}, "host": "h"}
    record = CompactionHooks(
        run=runner, context=context, on_note=notes.append, honour_veto=honour_veto
    )
    return record, runner, notes


async def test_the_new_summary_replaces_the_old_and_the_rest_is_untouched() -> None:
    before, plan, summarise = copy.deepcopy(TALK), plan_of(), Summariser()
    compacted = await compact_transcript(TALK, plan, summarise)
    assert compacted[:2] == [SYSTEM, summary_message("new notes")]
    assert compacted[0] is SYSTEM
    assert same_objects(compacted[2:], TALK[6:])
    assert summarise.shown == [summary_input(plan)]
    assert "old notes" in summarise.shown[0]
    assert before == TALK


async def test_what_stands_before_a_later_start_stays() -> None:
    longer: list[Message] = [*TALK, {"role": "user", "content": "three"}]
    plan = plan_compaction(longer, limit=10, target=0.1, start=6)
    assert plan is not None
    compacted = await compact_transcript(longer, plan, Summariser())
    assert compacted == [SYSTEM, *TALK[2:6], summary_message("new notes"), longer[-1]]


async def test_a_blank_summary_changes_nothing() -> None:
    assert await compact_transcript(TALK, plan_of(), Summariser("\n ")) is TALK
    assert await run_compaction(TALK, plan_of(), Summariser("\n ")) is None


async def test_a_fold_to_be_stored_says_what_it_stands_for_and_when_it_was_made() -> None:
    stored = await run_compaction(TALK, plan_of(), Summariser(), now=lambda: NOW)
    assert stored == StoredFold(summary="new notes", through=6, at=NOW)


async def test_stored_folds_follow_each_other_over_one_whole_transcript() -> None:
    first = await run_compaction(TALK, plan_of(), Summariser("first"), now=lambda: NOW)
    assert first is not None
    longer: list[Message] = [*TALK, assistant_message("ok"), {"role": "user", "content": "three"}]
    plan = plan_compaction(
        longer, limit=10, target=0.1, start=first.through, previous=first.summary
    )
    assert plan is not None
    summarise = Summariser("second")
    second = await run_compaction(longer, plan, summarise, now=lambda: NOW)
    assert "first" in summarise.shown[0]
    assert "one" not in summarise.shown[0]
    assert apply_compaction(longer, second) == [SYSTEM, summary_message("second"), longer[-1]]


async def test_hooks_are_told_what_goes_and_from_where() -> None:
    record, runner, notes = hooks(outcome(COMPACT, "ignored", veto=True))
    plan = plan_of()
    assert await compact_transcript(TALK, plan, Summariser(), hooks=record) is not TALK
    assert runner.ran == [
        (
            COMPACT,
            {
                "session": {"id": "s"},
                "host": "h",
                "compacting": turn_messages("s", TALK, 2, 6),
                "range": {"from": 2, "through": 6},
            },
        )
    ]
    assert notes == []


async def test_the_summary_is_written_while_hooks_run() -> None:
    told, written = anyio.Event(), anyio.Event()

    async def run(event: HookEvent, context: HookContext, /) -> Sequence[HookOutcome]:
        told.set()
        await written.wait()
        return [outcome(COMPACT, ok=False, error="slow")]

    async def summarise(text: str) -> str:
        await told.wait()
        written.set()
        return "notes"

    notes: list[HookNote] = []
    with anyio.fail_after(60):
        stored = await run_compaction(
            TALK, plan_of(), summarise, hooks=CompactionHooks(run=run, on_note=notes.append)
        )
    assert stored is not None
    assert [note.error for note in notes] == ["slow"]


@pytest.mark.parametrize("honour_veto", [False, True])
async def test_a_hook_runner_that_raises_costs_a_note_and_no_summary(honour_veto: bool) -> None:
    notes: list[HookNote] = []
    record = CompactionHooks(
        run=Runner(beforeCompact=ValueError("down")), on_note=notes.append, honour_veto=honour_veto
    )
    compacted = await compact_transcript(TALK, plan_of(), Summariser(), hooks=record)
    assert compacted[1] == summary_message("new notes")
    assert notes == [HookNote(event=COMPACT, source="", hook_id="", error="down")]


@pytest.mark.parametrize("honour_veto", [False, True])
async def test_what_a_summariser_raises_is_raised_as_it_is(honour_veto: bool) -> None:
    record, runner, notes = hooks(
        outcome(COMPACT, ok=False, error="broken"), honour_veto=honour_veto
    )
    with pytest.raises(OSError, match="no summary today"):
        await compact_transcript(TALK, plan_of(), failing, hooks=record)
    with pytest.raises(OSError, match="no summary today"):
        await compact_transcript(TALK, plan_of(), failing)
    assert len(runner.ran) == 1
    assert [note.error for note in notes] == ["broken"]


async def test_a_failing_summary_does_not_cut_off_hooks() -> None:
    remembered = False

    async def run(event: HookEvent, context: HookContext, /) -> Sequence[HookOutcome]:
        nonlocal remembered
        await anyio.sleep(5)
        remembered = True
        return []

    with pytest.raises(OSError, match="no summary"):
        await compact_transcript(TALK, plan_of(), failing, hooks=CompactionHooks(run=run))
    assert remembered


async def test_a_veto_that_is_honoured_leaves_the_transcript_and_asks_for_no_summary() -> None:
    record, runner, notes = hooks(outcome(COMPACT, "not now", veto=True), honour_veto=True)
    summarise = Summariser()
    assert await compact_transcript(TALK, plan_of(), summarise, hooks=record) is TALK
    assert summarise.shown == []
    assert len(runner.ran) == 1
    assert notes == [
        HookNote(event=COMPACT, source="Notes", hook_id="h", text="not now", veto=True)
    ]


async def test_a_hook_that_failed_cannot_veto() -> None:
    failed = outcome(COMPACT, ok=False, veto=True, error="broken")
    record, runner, notes = hooks(failed, honour_veto=True)
    compacted = await compact_transcript(TALK, plan_of(), Summariser(), hooks=record)
    assert compacted[1] == summary_message("new notes")
    assert len(runner.ran) == 1
    assert notes == [HookNote(event=COMPACT, source="Notes", hook_id="h", error="broken")]


async def test_a_forced_fold_is_made_over_any_veto() -> None:
    record, runner, notes = hooks(outcome(COMPACT, "not now", veto=True), honour_veto=True)
    compacted = await compact_transcript(TALK, plan_of(), Summariser(), hooks=record, forced=True)
    assert compacted[1] == summary_message("new notes")
    assert len(runner.ran) == 1
    assert notes == []


async def test_cancelling_ends_the_summary_and_the_hooks() -> None:
    async def forever(event: HookEvent, context: HookContext, /) -> Sequence[HookOutcome]:
        await anyio.sleep_forever()
        return []

    with anyio.move_on_after(1) as scope:
        await compact_transcript(
            TALK, plan_of(), summariser(ScriptedModel(mute)), hooks=CompactionHooks(run=forever)
        )
    assert scope.cancelled_caught


async def test_a_model_writes_the_notes_in_one_turn_without_tools() -> None:
    model = ScriptedModel(saying(f"  {'x' * 50}\n"))
    assert await summariser(model)("T") == "x" * 50
    assert await summariser(model, system="Mine.", max_tokens=10)("T") == "x" * 40
    assert [(request.system, request.tools) for request in model.requests] == [
        (SUMMARY_PROMPT, ()),
        ("Mine.", ()),
    ]
    assert all(
        request.messages[1:] == ({"role": "user", "content": "T"},) for request in model.requests
    )


@given(transcripts(), st.sampled_from([40, 200]), st.booleans())
def test_folding_at_once_is_folding_and_applying(
    messages: list[Message], limit: int, pruned: bool
) -> None:
    plan = plan_compaction(messages, limit=limit, target=0.5)
    if plan is None:
        return
    given_messages = prune_tool_results(messages, keep_last=1) if pruned else messages

    async def both() -> tuple[list[Message], list[Message]]:
        stored = await run_compaction(given_messages, plan, Summariser())
        at_once = await compact_transcript(given_messages, plan, Summariser())
        return apply_compaction(given_messages, stored), at_once

    applied, at_once = anyio.run(both)
    assert applied == at_once
    summaries = [index for index, message in enumerate(at_once) if is_summary(message)]
    assert summaries == [len(at_once) - (len(messages) - plan.cut) - 1]
    assert same_objects(at_once[summaries[0] + 1 :], given_messages[plan.cut :])
    assert not parts_a_call(messages, plan.cut)
