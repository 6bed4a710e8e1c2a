"""Folding in a run: windows that nobody knows, overflows that tell them, blank summaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from host.errors import ContextOverflow, EndpointUnavailable, RunOverflow
from host.loop import Compact
from host.loop.collaborators import RunWindow
from host.loop.folding import UNKNOWN_WINDOW
from host.loop.stored_folds import is_summary
from host.loop.transcript import assistant_message, tool_call, tool_message
from host.records import Message, Turn, TurnUsage
from tests.fakes.loop_peers import MemoryToolbox, Request, ScriptedModel, call, calling, saying
from tests.loop.runs import QUESTION, Events, replays, results, run

LONG = "z" * 1_000
WORDS = "word " * 200


def worked(results: int = 8) -> list[Message]:
    """A conversation with long results in it."""
    messages: list[Message] = [QUESTION]
    for number in range(results):
        messages.append(assistant_message("", [tool_call(f"k{number}", "a__x", {})]))
        messages.append(tool_message(f"k{number}", LONG))
    return [*messages, assistant_message("Fine."), QUESTION]


def talked(turns: int = 10) -> list[Message]:
    """A conversation of long words; each of its messages takes about 250 tokens."""
    said: list[Message] = []
    for _ in range(turns):
        said += [{"role": "user", "content": WORDS}, assistant_message(WORDS)]
    return [*said, QUESTION]


def uncounted(turn: Turn) -> Turn:
    """The turn of an endpoint that counts no tokens."""
    return replace(turn, usage=TurnUsage())


def is_fold(request: Request) -> bool:
    return not request.tools and "notes" in request.system


async def unknown() -> int:
    return 0


async def unreachable() -> int:
    raise EndpointUnavailable(1, 500)


def windows(seen: list[RunWindow]) -> Any:
    """A ``before_step`` that remembers how full the window was."""

    def before_step(messages: Sequence[Message], step: int, window: RunWindow) -> None:
        seen.append(window)

    return before_step


@pytest.mark.parametrize("find", [unknown, unreachable])
async def test_while_the_window_is_unknown_nothing_is_cleared_or_folded_and_that_is_told_once(
    find: Any,
) -> None:
    events, seen = Events(), list[RunWindow]()
    script = [calling(call("a__x", {"n": n})) for n in range(3)]
    model = ScriptedModel(*script, saying("Done."))
    done = await run(
        model,
        MemoryToolbox("a__x"),
        worked(),
        compact=True,
        context_length=find,
        before_step=windows(seen),
        on_event=events,
    )
    assert done.answer == "Done."
    assert len(model.requests) == 4
    assert results(done.messages)[:8] == [LONG] * 8
    told = [event["text"] for event in events.of("notice")]
    assert told[-1] == UNKNOWN_WINDOW
    assert len(told) == (1 if find is unknown else 2)
    assert "status 500" in told[0] or find is unknown
    assert {window.limit for window in seen} == {0}


@pytest.mark.parametrize("find", [unknown, unreachable])
async def test_a_window_that_an_overflow_states_is_folded_to_and_counts_from_then_on(
    find: Any,
) -> None:
    seen, turns = list[RunWindow](), iter(range(10))

    def answer(request: Request) -> Any:
        if is_fold(request):
            return saying("Short.")
        turn = next(turns)
        if turn == 0:
            raise ContextOverflow(5_000, 0, 2_000)
        asked = calling(call("a__x", {"text": "y" * 7_000}))
        return uncounted(asked if turn == 1 else saying("Done."))

    model, events = ScriptedModel(answer), Events()
    done = await run(
        model,
        MemoryToolbox("a__x"),
        talked(),
        compact=Compact(keep_results=0),
        context_length=find,
        before_step=windows(seen),
        on_event=events,
    )
    assert done.answer == "Done."
    assert [window.limit for window in seen] == [0, 2_000]
    assert sum(map(is_summary, done.messages)) == 1
    assert [is_fold(request) for request in model.requests[:3]] == [False, True, False]
    # what the call put in makes the next request too long: seen in time, now that that is known
    assert [text.startswith("[result cleared") for text in results(done.messages)] == [True]
    assert [event["text"] for event in events.of("notice")].count(UNKNOWN_WINDOW) == 1
    assert replays(done.messages)


@pytest.mark.parametrize(
    ("given", "stated", "counts"), [(3_000, 8_000, 3_000), (9_000, 2_000, 2_000)]
)
async def test_of_two_windows_the_smaller_one_counts(given: int, stated: int, counts: int) -> None:
    seen, turns = list[RunWindow](), iter(range(10))

    def answer(request: Request) -> Any:
        if is_fold(request):
            return saying("Short.")
        turn = next(turns)
        if turn == 0:
            raise ContextOverflow(5_000, 0, stated)
        return calling(call("a__x")) if turn == 1 else saying("Done.")

    done = await run(
        ScriptedModel(answer),
        MemoryToolbox("a__x"),
        talked(4),
        compact=True,
        context_length=given,
        before_step=windows(seen),
    )
    assert done.answer == "Done."
    assert [window.limit for window in seen] == [given, counts]


async def test_an_overflow_that_states_nothing_ends_a_run_whose_window_nobody_knows() -> None:
    model, events = ScriptedModel(ContextOverflow(0, 0, 0, detail="too long")), Events()
    with pytest.raises(RunOverflow):
        await run(
            model,
            MemoryToolbox("a__x"),
            talked(),
            compact=True,
            context_length=unknown,
            on_event=events,
        )
    assert "cannot be folded" in events.of("notice")[-1]["text"]


@pytest.mark.parametrize("blanks", [1, 2, 3])
async def test_a_blank_summary_is_told_and_tried_once_more(blanks: int) -> None:
    summaries = iter([*[saying(" \n")] * blanks, *[saying("Notes.")] * 9])
    turns = iter([*(calling(call("a__x", {"n": n})) for n in range(3)), saying("Done.")])

    def answer(request: Request) -> Any:
        return uncounted(next(summaries) if is_fold(request) else next(turns))

    model, events = ScriptedModel(answer), Events()
    done = await run(
        model,
        MemoryToolbox("a__x"),
        talked(),
        compact=True,
        context_length=6_000,
        on_event=events,
    )
    assert done.answer == "Done."
    told = [event["text"] for event in events.of("notice")]
    assert told.count("nothing was folded: the summary is blank") == min(blanks, 2)
    assert sum(map(is_fold, model.requests)) == 2
    assert any(map(is_summary, done.messages)) is (blanks == 1)
