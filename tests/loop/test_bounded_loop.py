"""The streamed bounded loop: what is yielded, in which order, and leaving early."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import anyio
import pytest

from host.loop import Capped, LoopHooks, RawEvent, ToolResultEvent, TurnCall, stream_tool_loop
from host.loop.wall_clock import utc_now
from host.records import Message, ToolCallRequest, ToolFailure, ToolSuccess
from tests.loop.streams import Executor, StreamScript, always, call, fine, text


@dataclass(frozen=True)
class Chunk:
    """A provider's own event: text and call in one."""

    words: str = ""
    call: ToolCallRequest | None = None


def chunk(event: object) -> Chunk:
    return Chunk(call=event.call) if isinstance(event, TurnCall) else Chunk(words="t")


class ChunkScript(StreamScript):
    """The same scripts, as chunks."""

    def chunks(self, messages: list[Message]) -> AsyncGenerator[Chunk, None]:
        return self._chunks(messages)

    async def _chunks(self, messages: list[Message]) -> AsyncGenerator[Chunk, None]:
        async with aclosing(self(messages)) as events:
            async for event in events:
                yield chunk(event)


Yielded = RawEvent[Chunk] | ToolResultEvent | Capped


def stream(
    script: ChunkScript, executor: Executor | None = None, **options: Any
) -> AsyncGenerator[Yielded, None]:
    settings: dict[str, Any] = {
        "stream_turn": script.chunks,
        "extract_text": lambda raw: raw.words,
        "extract_tool_call": lambda raw: raw.call,
        "system_prompt": "S",
        "user_message": "U",
        "execute_tool_call": executor or fine(),
        "is_executable_tool": always,
    }
    return stream_tool_loop(**{**settings, **options})


async def all_of(events: AsyncGenerator[Yielded, None]) -> list[Yielded]:
    with anyio.fail_after(3600):
        async with aclosing(events):
            return [event async for event in events]


@pytest.mark.parametrize("outcome", [ToolSuccess(result=1), ToolFailure(code="x", message="y")])
async def test_raw_events_and_results_are_yielded_and_nothing_else(
    outcome: ToolSuccess | ToolFailure,
) -> None:
    script = ChunkScript([text("a"), call("f", "c1")], [text("b")])
    assert await all_of(stream(script, Executor(outcome), label_for=lambda c: "L")) == [
        RawEvent(event=Chunk(words="t")),
        RawEvent(event=Chunk(call=ToolCallRequest(id="c1", name="f"))),
        ToolResultEvent(tool_name="f", tool_call_id="c1", label="L", outcome=outcome),
        RawEvent(event=Chunk(words="t")),
    ]


async def test_a_chunk_may_hold_text_and_a_call() -> None:
    both = Chunk(words="Look. ", call=ToolCallRequest(id="", name="f"))
    asked: list[list[Message]] = []

    async def chunks(messages: list[Message]) -> AsyncGenerator[Chunk, None]:
        asked.append(messages)
        yield both if len(asked) == 1 else Chunk(words="Done.")

    events = stream(ChunkScript([]), stream_turn=chunks)
    assert [type(event) for event in await all_of(events)] == [RawEvent, ToolResultEvent, RawEvent]
    assert asked[1][2]["content"] == "Look."


async def test_a_call_that_may_not_be_executed_is_still_yielded_raw() -> None:
    events = await all_of(
        stream(ChunkScript([call("hidden")]), is_executable_tool=lambda name: False)
    )
    assert events == [RawEvent(event=Chunk(call=ToolCallRequest(id="", name="hidden")))]


@pytest.mark.parametrize(
    ("script", "options", "capped"),
    [
        (
            [[call(n=1)], [call(n=2)], [call(n=3), call(n=4)]],
            {"max_tool_turns": 2},
            (2, "backstop"),
        ),
        ([[call(), call(), call(), call()]], {}, (4, "stuck-loop")),
        ([[call()], [call()], [call(), call(n=9)]], {}, (2, "stuck-loop")),
        (
            [[call(n=1), call(n=2), call(n=3)]],
            {"max_cost_usd": 2, "cost_of": lambda request, outcome: 1},
            (3, "budget"),
        ),
        ([[call(n=1)]], {"deadline": 0}, (0, "deadline")),
    ],
)
async def test_a_limit_is_yielded_once_and_last_with_the_size_of_the_batch(
    script: list[Any], options: dict[str, Any], capped: tuple[int, Any]
) -> None:
    events = await all_of(stream(ChunkScript(*script), **options))
    found = [event for event in events if isinstance(event, Capped)]
    assert found == [events[-1]] == [Capped(pending=capped[0], stop_reason=capped[1])]


async def test_a_deadline_in_the_middle_leaves_nothing_pending() -> None:
    class Slow(Executor):
        async def __call__(self, request: ToolCallRequest) -> ToolSuccess | ToolFailure:
            await anyio.sleep(60)
            return await super().__call__(request)

    events = await all_of(
        stream(
            ChunkScript([call(n=1), call(n=2)]),
            Slow(ToolSuccess(result="")),
            deadline=utc_now() + timedelta(seconds=30),
        )
    )
    assert events[-1] == Capped(pending=0, stop_reason="deadline")
    assert sum(isinstance(event, ToolResultEvent) for event in events) == 2


async def test_the_budget_yields_the_result_that_reached_it() -> None:
    events = await all_of(
        stream(
            ChunkScript([call(n=1), call(n=2)]), max_cost_usd=1, cost_of=lambda request, outcome: 1
        )
    )
    assert sum(isinstance(event, ToolResultEvent) for event in events) == 1


async def test_a_result_is_yielded_before_it_is_rendered_appended_or_reported() -> None:
    told: list[str] = []

    def render(label: str, outcome: object) -> str:
        told.append("rendered")
        return label

    hooks = LoopHooks(on_event=lambda event, context: told.append(event.id))
    script = ChunkScript([call()], [text("x")])
    async with aclosing(stream(script, hooks=hooks, render_result=render, run_id="r")) as events:
        async for event in events:
            if isinstance(event, ToolResultEvent):
                break
    assert told == ["r:agent.run:before", "r:agent.run:0", "r:agent.run:0:tool-call:0"]
    assert len(script.asked) == 1


async def test_leaving_early_closes_the_models_stream() -> None:
    script = ChunkScript([text("a"), text("b"), text("c")])
    async with aclosing(stream(script)) as events:
        async for _ in events:
            break
        assert script.closed == 0
    assert script.closed == 1


async def test_streams_end_before_the_tools_run() -> None:
    script = ChunkScript([call(n=1)], [text("x")])
    closed: list[int] = []

    def look(request: ToolCallRequest) -> ToolSuccess:
        closed.append(script.closed)
        return ToolSuccess(result="")

    await all_of(stream(script, Executor(look)))
    assert closed == [1]


async def test_a_stream_without_a_way_to_close_it_will_do() -> None:
    class Bare:
        def __init__(self) -> None:
            self.left = [Chunk(words="x")]

        def __aiter__(self) -> Bare:
            return self

        async def __anext__(self) -> Chunk:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop()

    events = await all_of(stream(ChunkScript([]), stream_turn=lambda messages: Bare()))
    assert events == [RawEvent(event=Chunk(words="x"))]


async def test_streamed_runs_end_for_observers_without_counts_of_text_and_results() -> None:
    payloads: list[Any] = []
    hooks = LoopHooks(on_event=lambda event, context: payloads.append(event.payload))
    await all_of(stream(ChunkScript([text("x")]), hooks=hooks))
    assert payloads[-2:] == [{"pendingToolCalls": 0}, {"turns": 1, "stopReason": "completed"}]


@pytest.mark.parametrize("extractor", ["extract_text", "extract_tool_call"])
async def test_an_extractor_that_raises_escapes_after_the_raw_event(extractor: str) -> None:
    def fail(raw: Chunk) -> Any:
        raise ZeroDivisionError

    script = ChunkScript([text("x")])
    options: dict[str, Any] = {extractor: fail}
    async with aclosing(stream(script, **options)) as events:
        assert await anext(events) == RawEvent(event=Chunk(words="t"))
        with pytest.raises(ZeroDivisionError):
            await anext(events)
    assert script.closed == 1
