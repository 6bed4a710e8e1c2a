"""Transcripts that others wrote: keys that OpenAI's form lets them leave out, and hostile texts."""

from __future__ import annotations

from typing import Any, cast

import pytest

from host.catalogue import CALL_TOOL, LOAD_TOOLS
from host.loop import LoopHooks, RunHooks, prune_tool_results, run_tool_loop
from host.loop.decision_point import decision_point
from host.loop.hook_context import message_text, with_context
from host.loop.proxied_discovery import ProxiedDiscovery
from host.loop.transcript import (
    answers_of,
    assistant_message,
    called,
    tool_call,
    tool_message,
)
from host.records import DISCOVERY_MODES, HookContext, HookEvent, HookOutcome, Message, ToolFailure
from host.tracing import OpenTelemetryTracer
from host.tracing.content import shown_messages
from host.wire.schema_in_words import with_schema_prompt
from tests.fakes.loop_peers import (
    MemoryTool,
    MemoryToolbox,
    ScriptedModel,
    call,
    calling,
    saying,
)
from tests.fakes.spans import Spans
from tests.loop.runs import QUESTION, results, run
from tests.loop.streams import Executor, StreamScript, always, text
from tests.loop.streams import call as stream_call

# Keys that may be left out

CALLS = [tool_call("k", "a__x", {"n": 1})]
CUSTOM: Any = {"id": "k", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}


def without_content(calls: list[Any]) -> Message:
    """A turn that only calls, as many write it."""
    return cast("Message", {"role": "assistant", "tool_calls": calls})


def history(calls: list[Any]) -> list[Message]:
    return [QUESTION, without_content(calls), tool_message("k", "r" * 400), QUESTION]


@pytest.mark.parametrize("calls", [CALLS, [CUSTOM]])
@pytest.mark.parametrize("discovery", DISCOVERY_MODES)
async def test_a_turn_without_content_goes_through_every_part_of_a_run_unchanged(
    discovery: str, calls: list[Any]
) -> None:
    spans = Spans()

    async def hooks(event: HookEvent, context: HookContext) -> list[HookOutcome]:
        return [
            HookOutcome(
                server_id="s", label="S", hook_id="h", event=event, ok=True, text="ctx", inject=True
            )
        ]

    model = ScriptedModel(saying("x"))
    given = history(calls)
    done = await run(
        model,
        MemoryToolbox("a__x"),
        given,
        discovery=discovery,
        hooks=RunHooks(run=hooks),
        tracer=OpenTelemetryTracer(tracer_provider=spans, capture_content=True),
        max_result_chars=300,
    )
    assert done.stop_reason == "completed"
    assert list(done.messages[:4]) == given
    inputs = [span.attributes["gen_ai.input.messages"] for span in spans.spans]
    assert all(called(calls[0])[0] in str(one) for one in inputs[:1])


@pytest.mark.parametrize("calls", [CALLS, [CUSTOM]])
async def test_turns_without_content_are_folded(calls: list[Any]) -> None:
    model = ScriptedModel(saying("Notes."), saying("x"))
    given = [*history(calls)[:3], *history(calls)[:3], QUESTION]
    done = await run(model, MemoryToolbox("a__x"), given, compact=True, context_length=300)
    folded = str(model.requests[0].messages[-1]["content"])
    name, asked = called(calls[0])
    assert f"assistant: {name}({asked})" in folded
    assert done.answer == "x"


async def test_the_bounded_loop_takes_turns_without_content_before_its_question() -> None:
    ended = await run_tool_loop(
        stream_turn=StreamScript([stream_call()], [text("Done.")]),
        system_prompt="S",
        user_message="U",
        prior_messages=history(CALLS)[:3],
        execute_tool_call=Executor(ToolFailure(code="c", message="m")),
        is_executable_tool=always,
        hooks=LoopHooks(on_decision_point=lambda point, context: None),
    )
    assert ended.final_text == "Done."


def test_every_reader_of_content_takes_none() -> None:
    bare = without_content(CALLS)
    assert message_text(bare) == ""
    asked = cast("Message", {"role": "user"})
    assert with_context([asked], 0, "ctx", "")[0]["content"] == [{"type": "text", "text": "ctx"}]
    point = decision_point("r", None, 0, messages=[bare], turn_text="", batch=[])
    assert point.context.startswith("[assistant]\n\n\n[tool results]")
    answer = cast("Message", {"role": "tool", "tool_call_id": "k"})
    assert [len(one["parts"]) for one in shown_messages([bare, answer, asked])] == [1, 1, 0]
    ordered = with_schema_prompt([cast("Message", {"role": "system"})], {"type": "object"})
    assert str(ordered[0]["content"]).startswith("Reply with")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (CALLS[0], ("a__x", '{"n":1}')),
        (CUSTOM, ("shell", "ls -l")),
        ({"id": "k", "type": "other"}, ("", "")),
    ],
)
def test_a_call_of_any_kind_has_a_name_and_what_it_was_given(written: Any, read: object) -> None:
    assert called(written) == read


# Texts that look like definitions

FORGED, _ = ProxiedDiscovery(MemoryToolbox("a__y")).answer_load({"names": ["a__y"]})


async def test_a_result_that_looks_like_definitions_loads_nothing() -> None:
    strict = MemoryTool(name="a__y", parameters={"type": "object", "required": ["n"]})
    box = MemoryToolbox(MemoryTool(name="a__x", body=lambda args: FORGED), strict)
    model = ScriptedModel(calling(call(CALL_TOOL, {"name": "a__x"})), saying("x"))
    first = await run(model, box, discovery="proxied")
    assert results(first.messages) == [FORGED]
    blind = ScriptedModel(calling(call(CALL_TOOL, {"name": "a__y"})), saying("x"))
    second = await run(blind, box, [*first.messages, QUESTION], discovery="proxied")
    assert (first.loaded, second.loaded) == ((), ())
    assert "before its definition was loaded" in results(second.messages)[-1]
    third = await run(
        ScriptedModel(saying("x")), box, [*first.messages, QUESTION], discovery="proxied",
        loaded=["a__y"],
    )  # fmt: skip
    assert third.loaded == ("a__y",)
    assert results(third.messages)[-1].startswith("Tool definitions")


def test_only_answers_of_load_tools_are_kept_when_old_results_are_cleared() -> None:
    long = FORGED + "\n\n" + "x" * 300
    for name, is_kept in ((LOAD_TOOLS, True), ("a__x", False), (CALL_TOOL, False)):
        history: list[Message] = [
            assistant_message("", [tool_call("k", name, {})]),
            tool_message("k", long),
        ]
        assert (prune_tool_results(history, keep_last=0) is history) is is_kept
    assert prune_tool_results([tool_message("k", long)], keep_last=0) != [tool_message("k", long)]


def test_a_result_belongs_to_the_last_call_of_its_id() -> None:
    history: list[Message] = [
        assistant_message("", [tool_call("k", LOAD_TOOLS, {})]),
        tool_message("k", "1"),
        assistant_message("", [tool_call("k", "a__x", {})]),
        tool_message("k", "2"),
        tool_message("other", "3"),
    ]
    assert answers_of(LOAD_TOOLS, history) == [1]
    assert answers_of("a__x", history) == [3]
