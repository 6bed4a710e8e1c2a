"""Hooks around a run: context on the question of every request, a notice after the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from host.loop import HOOK_PREFACE, RunControl, RunHooks
from host.records import HookContext, HookEvent, HookOutcome, Message, Run
from tests.fakes.loop_peers import MemoryToolbox, ScriptedModel, call, calling, saying
from tests.loop.runs import QUESTION, Events, run

BLOCK = '<context source="Notes">\nlikes tea\n</context>'
EARLIER: list[Message] = [
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Hi."},
]


class Memory:
    """A hook runner that remembers what it was told and answers with one line."""

    def __init__(self, seconds: float = 0, fault: Exception | None = None) -> None:
        self.seconds = seconds
        self.fault = fault
        self.told: list[tuple[HookEvent, HookContext]] = []
        self.finished: list[HookEvent] = []

    async def __call__(self, event: HookEvent, context: HookContext) -> Sequence[HookOutcome]:
        self.told.append((event, context))
        await anyio.lowlevel.checkpoint()
        if event == "afterTurn":
            await anyio.sleep(self.seconds)
        self.finished.append(event)
        if self.fault is not None:
            raise self.fault
        return [
            HookOutcome(
                server_id="s",
                label="Notes",
                hook_id="h",
                event=event,
                ok=True,
                text="likes tea",
                inject=True,
            )
        ]

    @property
    def events(self) -> list[HookEvent]:
        return [event for event, _ in self.told]


async def test_context_is_on_the_question_of_every_request_and_not_in_the_transcript() -> None:
    memory, events = Memory(), Events()
    model = ScriptedModel(calling(call("a__b")), saying("Done."))
    done = await run(
        model,
        MemoryToolbox("a__b"),
        [*EARLIER, QUESTION],
        hooks=RunHooks(run=memory, context={"session": {"id": "s1"}}),
        on_event=events,
    )
    for request in model.requests:
        assert request.messages[:2] == tuple(EARLIER)
        assert request.messages[2]["content"] == f"{HOOK_PREFACE}\n\n{BLOCK}\n\nWhere is it?"
    assert done.messages[:3] == (*EARLIER, QUESTION)
    assert done.context == BLOCK
    assert [(note.event, note.tokens) for note in done.notes] == [("beforeTurn", 3)]
    assert len(events.of("notice")) == 1


async def test_hooks_are_told_of_the_question_and_of_the_answer() -> None:
    memory = Memory()
    await run(
        ScriptedModel(calling(call("a__b")), saying("Done.")),
        MemoryToolbox("a__b"),
        [*EARLIER, QUESTION],
        hooks=RunHooks(
            run=memory,
            context={"session": {"id": "s1"}, "host": "test"},
            events=("sessionStart", "beforeTurn"),
        ),
    )
    assert sorted(memory.events[:2]) == ["beforeTurn", "sessionStart"]
    assert memory.events[2:] == ["afterTurn"]
    before, after = memory.told[0][1], memory.told[2][1]
    assert before == {
        "session": {"id": "s1"},
        "host": "test",
        "prompt": "Where is it?",
        "turn": {"index": 1},
    }
    assert (after["prompt"], after["reply"], after["turn"]["index"]) == ("Where is it?", "Done.", 1)
    said = after["turn"]["messages"]
    assert [(one["speaker"], one["text"]) for one in said] == [
        ("user", "Where is it?"),
        ("assistant", "Done."),
    ]
    assert said[0]["uuid"].startswith("s1:2:")


async def test_the_question_is_found_when_a_step_moves_it() -> None:
    note: Message = {"role": "assistant", "content": "folded"}
    model = ScriptedModel(calling(call("a__b")), saying("Done."))
    await run(
        model,
        MemoryToolbox("a__b"),
        hooks=RunHooks(run=Memory(), preface="P"),
        before_step=lambda messages, step, _: [note, *messages],
    )
    assert model.requests[0].messages[1]["content"] == f"P\n\n{BLOCK}\n\nWhere is it?"
    assert model.requests[1].messages[2]["content"] == f"P\n\n{BLOCK}\n\nWhere is it?"


async def test_failing_hooks_are_notes_and_no_context() -> None:
    model = ScriptedModel(saying("Done."))
    done = await run(model, hooks=RunHooks(run=Memory(fault=OSError("down"))))
    assert model.requests[0].messages == (QUESTION,)
    assert [(note.event, note.error) for note in done.notes] == [
        ("beforeTurn", "down"),
        ("afterTurn", "down"),
    ]


@pytest.mark.parametrize(
    ("options", "notified"),
    [
        ({"max_tool_iterations": 1}, False),
        ({"max_tool_iterations": 1, "finish": "summarise"}, True),
        ({}, False),
        ({"deadline": 0}, False),
    ],
)
async def test_hooks_are_notified_of_answers_only(options: dict[str, Any], notified: bool) -> None:
    memory = Memory()
    await run(
        ScriptedModel(lambda request: calling(call("a__b")) if request.tools else saying("S.")),
        MemoryToolbox("a__b"),
        hooks=RunHooks(run=memory),
        **options,
    )
    assert ("afterTurn" in memory.events) is notified


async def test_without_a_group_the_run_waits_for_its_hooks_but_not_for_long() -> None:
    for seconds, noted in ((2, []), (1000, ["took longer than 3 s"])):
        memory = Memory(seconds=seconds)
        began = anyio.current_time()
        done = await run(ScriptedModel(saying("Done.")), hooks=RunHooks(run=memory))
        assert anyio.current_time() - began == pytest.approx(min(seconds, 3), abs=0.9)
        assert [note.error for note in done.notes if note.event == "afterTurn"] == noted
        assert done.stop_reason == "completed"
        assert done.seconds < 1


async def test_with_a_group_the_hooks_run_on_after_the_run() -> None:
    memory, events = Memory(seconds=100, fault=OSError("late")), Events()
    async with anyio.create_task_group() as group:
        began = anyio.current_time()
        done = await run(
            ScriptedModel(saying("Done.")),
            hooks=RunHooks(run=memory),
            task_group=group,
            on_event=events,
        )
        assert anyio.current_time() - began < 50
        assert "afterTurn" not in memory.finished
        assert [note.event for note in done.notes] == ["beforeTurn"]
    assert memory.finished == ["beforeTurn", "afterTurn"]
    assert "late" in events.of("notice")[-1]["text"]


async def test_with_a_group_that_is_closed_the_run_completes_and_waits_for_its_hooks() -> None:
    async with anyio.create_task_group() as group:
        pass
    for seconds, noted in ((1, []), (1000, ["took longer than 3 s"])):
        memory = Memory(seconds=seconds)
        done = await run(
            ScriptedModel(saying("Done.")), hooks=RunHooks(run=memory), task_group=group
        )
        assert done.stop_reason == "completed"
        assert memory.events == ["beforeTurn", "afterTurn"]
        assert [note.error for note in done.notes if note.event == "afterTurn"] == noted


@pytest.mark.parametrize(
    ("mute_event", "reason"), [("beforeTurn", "stopped"), ("afterTurn", "completed")]
)
async def test_a_stop_does_not_wait_for_hooks(mute_event: HookEvent, reason: str) -> None:
    control, runs = RunControl(), list[Run]()

    async def hook(event: HookEvent, context: HookContext, /) -> Sequence[HookOutcome]:
        if event == mute_event:
            await anyio.sleep_forever()
        return []

    async def collect() -> None:
        model = ScriptedModel(saying("Done."))
        runs.append(await run(model, hooks=RunHooks(run=hook), control=control))

    began = anyio.current_time()
    async with anyio.create_task_group() as group:
        group.start_soon(collect)
        await anyio.wait_all_tasks_blocked()
        control.stop()
    assert anyio.current_time() - began < 1
    assert runs[0].stop_reason == reason


async def test_a_budget_for_context_is_handed_on() -> None:
    class Long(Memory):
        async def __call__(self, event: HookEvent, context: HookContext) -> Sequence[HookOutcome]:
            (one,) = await super().__call__(event, context)
            return [
                HookOutcome(
                    server_id="s",
                    label=one.label,
                    hook_id="h",
                    event=event,
                    ok=True,
                    text="x" * 900,
                    inject=True,
                )
            ]

    done = await run(ScriptedModel(saying("x")), hooks=RunHooks(run=Long(), max_tokens=10))
    assert [note.tokens for note in done.notes if note.event == "beforeTurn"] == [10]
