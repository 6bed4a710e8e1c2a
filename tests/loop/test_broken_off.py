"""Runs that a cancellation or an error ends in the middle: what they hand out, and call ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from host.catalogue import CALL_TOOL
from host.errors import RunFailed
from host.loop import RunControl
from host.loop.run_tracing import NO_TRACING, CallSpan
from host.loop.transcript import (
    NO_RESULT_TEXT,
    STOPPED_TEXT,
    assistant_message,
    tool_call,
    tool_message,
)
from host.records import Message, Run, ToolCallRequest
from tests.fakes.loop_peers import (
    MemoryTool,
    MemoryToolbox,
    ScriptedModel,
    call,
    calling,
    mute,
    saying,
)
from tests.loop.runs import QUESTION, replays, results, run

THREE = calling(call("a__quick"), call("a__slow"), call("a__bad"))


def toolbox() -> MemoryToolbox:
    """A tool that answers at once, one that never does, and one that only fails."""

    def bad(args: dict[str, Any]) -> str:
        raise ValueError("bad")

    async def slow(args: dict[str, Any]) -> None:
        await anyio.sleep_forever()

    return MemoryToolbox(
        "a__quick", MemoryTool(name="a__slow", body=slow), MemoryTool(name="a__bad", body=bad)
    )


async def cancelled(model: ScriptedModel, **options: Any) -> Run:
    """What a run hands out when it is cancelled after a second."""
    told: list[Run] = []
    with anyio.move_on_after(1) as scope:
        await run(model, toolbox(), on_cancel=told.append, **options)
    assert scope.cancelled_caught
    (so_far,) = told
    return so_far


@pytest.mark.parametrize("parallel", [True, False])
async def test_a_cancelled_run_hands_out_what_it_had_done_and_can_be_gone_on_with(
    parallel: bool,
) -> None:
    script = ScriptedModel(calling(call("a__quick", {"n": 1}), text="First."), THREE)
    so_far = await cancelled(script, parallel=parallel)
    assert so_far.stop_reason == "stopped"
    assert replays(so_far.messages)
    first, quick, slow, third = results(so_far.messages)
    assert (first, quick, slow) == ('{"n":1}', "{}", STOPPED_TEXT)
    assert third == "bad" if parallel else "never made" in third
    assert [one.name for one in so_far.tool_calls if one.ok] == ["a__quick", "a__quick"]
    assert so_far.used == ("a__quick", "a__slow", *(["a__bad"] if parallel else []))
    assert so_far.seconds == pytest.approx(1, abs=0.5)
    again = await run(ScriptedModel(saying("Done.")), toolbox(), so_far.messages)
    assert again.messages[: len(so_far.messages)] == so_far.messages


async def test_a_run_that_is_cancelled_while_its_model_speaks_hands_out_the_steps_before() -> None:
    so_far = await cancelled(ScriptedModel(calling(call("a__quick")), mute), discovery="names")
    assert results(so_far.messages) == ["{}"]
    assert so_far.loaded == ("a__quick",)


async def test_whoever_hears_of_a_cancelled_run_cannot_hold_it_up() -> None:
    def fail(so_far: Run) -> None:
        raise ValueError("not now")

    with anyio.move_on_after(1) as scope:
        await run(ScriptedModel(mute), on_cancel=fail)
    assert scope.cancelled_caught


@pytest.mark.parametrize("ends", ["completed", "stopped", "failed"])
async def test_a_run_that_ends_in_any_other_way_is_handed_out_in_that_way_alone(ends: str) -> None:
    told: list[Run] = []
    control = RunControl()
    if ends == "stopped":
        control.stop()
    model = ScriptedModel(OSError("gone") if ends == "failed" else saying("Done."))
    try:
        done = await run(model, on_cancel=told.append, control=control)
    except RunFailed as error:
        done = error.run
    assert (told, done.stop_reason == "completed") == ([], ends == "completed")


class FaultyTracer:
    """A tracer that breaks at the third call, once the first is answered."""

    run = NO_TRACING.run
    request = NO_TRACING.request

    @contextmanager
    def call(self, step: int, request: ToolCallRequest) -> Iterator[CallSpan]:
        if request.name == "a__bad":
            raise OSError("no trace")
        with NO_TRACING.call(step, request) as span:
            yield span


async def test_an_error_in_the_middle_of_a_batch_calls_nothing_unmade_that_was_made() -> None:
    with pytest.raises(RunFailed) as caught:
        await run(ScriptedModel(THREE), toolbox(), tracer=FaultyTracer())
    so_far = caught.value.run
    quick, slow, bad = results(so_far.messages)
    assert quick in ("{}", STOPPED_TEXT)  # whether it was there before the error is chance
    assert (slow, bad) == (STOPPED_TEXT, STOPPED_TEXT)
    assert [one.id for one in so_far.tool_calls] == ["c0", "c1", "c2"]
    assert replays(so_far.messages)


# Answers that the given messages lacked


async def test_answers_that_the_given_messages_lacked_are_told_in_their_order() -> None:
    told: list[tuple[Message, int]] = []
    twice = assistant_message("", [tool_call("k", "a__quick", {})] * 2)
    history: list[Message] = [QUESTION, twice, QUESTION, twice, tool_message("k", "r"), QUESTION]
    done = await run(
        ScriptedModel(saying("Done.")),
        toolbox(),
        history,
        on_message=lambda message, step: told.append((message, step)),
    )
    lacking = tool_message("k", NO_RESULT_TEXT)
    assert list(done.messages[:-1]) == [
        QUESTION,
        twice,
        lacking,
        lacking,
        QUESTION,
        twice,
        tool_message("k", "r"),
        lacking,
        QUESTION,
    ]
    assert told == [(lacking, 0), (lacking, 0), (lacking, 0), (done.messages[-1], 0)]


async def test_what_hearing_of_such_an_answer_raises_ends_the_run() -> None:
    def fail(message: Message, step: int) -> None:
        raise ValueError("full")

    asked = assistant_message("", [tool_call("k", "a__quick", {})])
    model = ScriptedModel(saying("Done."))
    with pytest.raises(RunFailed, match="full"):
        await run(model, toolbox(), [QUESTION, asked], on_message=fail)
    assert model.requests == []


# Ids of calls


def only_question(messages: Sequence[Message], step: int, window: object) -> list[Message]:
    """A ``before_step`` that forgets all that was said since."""
    return [QUESTION]


@pytest.mark.parametrize("discovery", ["eager", "names", "proxied"])
async def test_a_call_has_an_id_of_its_own_in_the_run_though_the_transcript_forgot_the_other(
    discovery: str,
) -> None:
    texts = iter(["A" * 900, "B" * 900, "C" * 900])
    box = MemoryToolbox(MemoryTool(name="a__x", body=lambda args: next(texts)))
    asked = call("a__x") if discovery != "proxied" else call(CALL_TOOL, {"name": "a__x"})
    script = [calling({**asked, "id": "same"})] * 3
    done = await run(
        ScriptedModel(*script, saying("Done.")),
        box,
        discovery=discovery,
        before_step=only_question,
        max_result_chars=400,
        stuck_after=0,
    )
    assert [one.id for one in done.tool_calls] == ["same", "same_2", "same_3"]
    assert [done.whole_results[one.id][0] for one in done.tool_calls] == ["A", "B", "C"]
