"""The agent loop: steps, transcripts, discovery, events, failures."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from host.catalogue import LOAD_TOOLS, carry_over
from host.errors import (
    ContextOverflow,
    EndpointUnavailable,
    IterationLimit,
    RunFailed,
    RunOverflow,
    failed_run,
)
from host.event_bus import EventBus
from host.loop.transcript import (
    NO_RESULT_TEXT,
    assistant_message,
    tool_call,
    tool_message,
)
from host.records import Message, Run, ToolCallOutcome, ToolFailure, ToolSuccess, Turn, TurnUsage
from tests.fakes.loop_peers import (
    MemoryTool,
    MemoryToolbox,
    Request,
    ScriptedModel,
    call,
    calling,
    saying,
)
from tests.loop.runs import QUESTION, Events, replays, results, roles, run

ECHO = MemoryTool(
    name="disk__read",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    },
)


def fail(args: dict[str, Any]) -> str:
    raise RuntimeError("the disk is gone")


# Steps and transcripts


async def test_a_question_without_tools_is_one_request() -> None:
    model = ScriptedModel(saying("Here."))
    done = await run(model, system="Be brief.")
    assert done.answer == "Here."
    assert (done.stop_reason, done.messages) == (
        "completed",
        (QUESTION, {"role": "assistant", "content": "Here."}),
    )
    assert model.requests[0].messages == ({"role": "system", "content": "Be brief."}, QUESTION)
    assert model.requests[0].tools == ()
    assert done.raise_for_stop() is done


@pytest.mark.parametrize("discovery", ["names", "eager"])
async def test_without_a_system_prompt_and_tools_there_is_no_system_message(discovery: str) -> None:
    model = ScriptedModel(saying("x"))
    await run(model, discovery=discovery)
    assert model.requests[0].messages == (QUESTION,)


@pytest.mark.parametrize("parallel", [True, False])
async def test_a_failing_call_is_a_result_the_model_reads(parallel: bool) -> None:
    toolbox = MemoryToolbox("a__ok", MemoryTool(name="a__bad", body=fail))
    model = ScriptedModel(calling(call("a__ok"), call("a__bad")), saying("Done."))
    events = Events()
    done = await run(model, toolbox, parallel=parallel, on_event=events)
    assert roles(done.messages) == ["user", "assistant", "tool", "tool", "assistant"]
    assert results(done.messages) == ["{}", "the disk is gone"]
    assert [(c.name, c.ok, c.id) for c in done.tool_calls] == [
        ("a__ok", True, "c0"),
        ("a__bad", False, "c1"),
    ]
    assert done.used == ("a__ok", "a__bad")
    if not parallel:
        assert events.kinds == [
            "turn",
            "usage",
            *["tool-call", "tool-result"] * 2,
            "turn",
            "output",
            "usage",
        ]
    assert sorted(events.kinds) == sorted(
        ["turn", "usage", *["tool-call", "tool-result"] * 2, "turn", "output", "usage"]
    )


async def test_the_callers_messages_are_not_changed() -> None:
    messages: list[Message] = [QUESTION]
    model = ScriptedModel(calling(call("a__b")), saying("x"))
    done = await run(model, MemoryToolbox("a__b"), messages)
    assert messages == [QUESTION]
    assert len(done.messages) == 4


async def test_a_run_can_be_handed_back_as_history() -> None:
    toolbox = MemoryToolbox("a__b")
    first = await run(ScriptedModel(calling(call("a__b")), saying("x")), toolbox)
    again: list[Message] = [*first.messages, {"role": "user", "content": "And now?"}]
    second = await run(ScriptedModel(calling(call("a__b")), saying("y")), toolbox, again)
    assert second.messages[: len(again)] == tuple(again)
    assert replays(second.messages)
    assert [c.id for c in second.tool_calls] == ["c0_2"]


async def test_unreadable_arguments_are_answered_and_replayed_as_an_empty_object() -> None:
    toolbox = MemoryToolbox("a__b")
    model = ScriptedModel(calling(call("a__b", "{'k': True,}"), call("a__b", "{bad")), saying("x"))
    done = await run(model, toolbox)
    (request,) = toolbox.calls
    assert (request.args, request.raw, request.id) == ({"k": True}, "{'k': True,}", "c0")
    assistant = done.messages[1]
    assert assistant["role"] == "assistant"
    assert [c["function"]["arguments"] for c in assistant["tool_calls"]] == ['{"k":true}', "{}"]
    assert "{bad" in results(done.messages)[1]
    assert [outcome.ok for outcome in done.tool_calls] == [True, False]
    assert replays(done.messages)


async def test_a_call_cut_off_at_the_ceiling_tells_the_model_and_the_watcher() -> None:
    cut = Turn(tool_calls=(call("a__b", '{"q": "lo', "c"),), finish_reason="length")
    events = Events()
    done = await run(ScriptedModel(cut, saying("x")), MemoryToolbox("a__b"), on_event=events)
    assert "maxTokens" in results(done.messages)[0]
    assert "max_tokens" in events.of("notice")[0]["text"]
    assert done.stop_reason == "completed"


async def test_a_nameless_call_is_dropped_and_the_turn_is_the_answer() -> None:
    done = await run(ScriptedModel(calling(call(""), text="Hm.")), MemoryToolbox("a__b"))
    assert (done.answer, done.stop_reason, done.tool_calls) == ("Hm.", "completed", ())


async def test_an_unknown_name_is_answered_by_the_toolbox() -> None:
    toolbox = MemoryToolbox("a__b")
    done = await run(ScriptedModel(calling(call("nope")), saying("x")), toolbox)
    assert toolbox.called == ["nope"]
    assert results(done.messages) == ["no tool is named nope"]


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ("text", "text"),
        ("", ""),
        ({"n": 1.0}, '{"n":1}'),
        (None, "null"),
        ({1, 2}, "{1, 2}"),
        (ToolSuccess(result=[1]), "[1]"),
        (ToolFailure(code="x", message="no"), "no"),
        (ToolFailure(code="x", message=""), "x"),
    ],
)
async def test_what_the_model_reads_of_a_result(result: Any, shown: str) -> None:
    toolbox = MemoryToolbox(MemoryTool(name="a__b", body=lambda args: result))
    done = await run(ScriptedModel(calling(call("a__b")), saying("x")), toolbox)
    assert results(done.messages) == [shown]


# Calls side by side, and shared


async def test_calls_of_a_step_run_side_by_side_and_are_written_in_asked_order() -> None:
    async def slow(args: dict[str, Any]) -> str:
        await anyio.sleep(args["s"])
        return str(args["s"])

    toolbox = MemoryToolbox(MemoryTool(name="a__b", body=slow))
    turn = calling(*(call("a__b", {"s": s}) for s in (100, 50, 75)))
    for parallel, seconds in ((True, 100), (False, 225)):
        done = await run(ScriptedModel(turn, saying("x")), toolbox, parallel=parallel)
        assert results(done.messages) == ["100", "50", "75"]
        assert done.seconds == pytest.approx(seconds, rel=0.1)
        assert [c.seconds for c in done.tool_calls] == pytest.approx([100, 50, 75], rel=0.1)


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("hint", ["readOnlyHint", "idempotentHint"])
async def test_identical_calls_are_shared_only_where_a_tool_allows_it(
    parallel: bool, hint: str
) -> None:
    toolbox = MemoryToolbox(
        MemoryTool(name="a__look", annotations={hint: True}), MemoryTool(name="a__append")
    )
    turn = calling(
        call("a__look", {"x": 1, "y": 2}),
        call("a__append"),
        call("a__look", {"y": 2, "x": 1}),
        call("a__append"),
    )
    done = await run(ScriptedModel(turn, saying("x")), toolbox, parallel=parallel)
    assert sorted(toolbox.called) == ["a__append", "a__append", "a__look"]
    assert len(results(done.messages)) == len(done.tool_calls) == 4
    assert replays(done.messages)


async def test_sharing_ends_with_the_step() -> None:
    toolbox = MemoryToolbox(MemoryTool(name="a__look", annotations={"readOnlyHint": True}))
    turn = calling(call("a__look"))
    await run(ScriptedModel(turn, turn, saying("x")), toolbox)
    assert toolbox.called == ["a__look", "a__look"]


# Discovery by names


async def test_a_loaded_tool_is_declared_from_the_next_request_on() -> None:
    model = ScriptedModel(
        calling(call(LOAD_TOOLS, {"names": ["disk__read"]})),
        calling(call("disk__read", {"path": "a"})),
        saying("x"),
    )
    toolbox = MemoryToolbox(ECHO, "disk__write", "mail__send")
    done = await run(model, toolbox, discovery="names", system="Own.")
    assert [request.tool_names for request in model.requests] == [
        [LOAD_TOOLS],
        [LOAD_TOOLS, "disk__read"],
        [LOAD_TOOLS, "disk__read"],
    ]
    systems = {request.system for request in model.requests}
    assert len(systems) == 1
    assert systems.pop().startswith("Own.\n\n")
    assert (done.loaded, done.used) == (("disk__read",), ("disk__read",))
    assert [(c.name, c.ok) for c in done.tool_calls] == [(LOAD_TOOLS, True), ("disk__read", True)]
    assert "disk__read" in results(done.messages)[0]


async def test_tools_are_declared_in_load_order() -> None:
    model = ScriptedModel(
        calling(call(LOAD_TOOLS, {"names": ["b__z"]})),
        calling(call(LOAD_TOOLS, {"names": ["a__y", "b__z", "a__x"]})),
        saying("x"),
    )
    done = await run(
        model, MemoryToolbox("a__x", "a__y", "b__z", "c__w"), discovery="names", loaded=["c__w"]
    )
    assert model.requests[2].tool_names == [LOAD_TOOLS, "c__w", "b__z", "a__y", "a__x"]
    assert done.loaded == ("c__w", "b__z", "a__y", "a__x")


async def test_a_blind_call_that_fits_runs_at_once_and_is_declared_next() -> None:
    model = ScriptedModel(calling(call("disk__read", {"path": "a"})), saying("x"))
    toolbox = MemoryToolbox(ECHO, "disk__write")
    done = await run(model, toolbox, discovery="names")
    assert results(done.messages) == ['{"path":"a"}']
    assert model.requests[1].tool_names == [LOAD_TOOLS, "disk__read"]
    assert (done.loaded, done.used) == (("disk__read",), ("disk__read",))


async def test_a_blind_call_that_does_not_fit_reads_the_schema_and_what_was_wrong() -> None:
    model = ScriptedModel(
        calling(call("disk__read", {"file": "a"})),
        calling(call("disk__read", {"path": "a"})),
        saying("x"),
    )
    toolbox = MemoryToolbox(ECHO, "disk__write")
    done = await run(model, toolbox, discovery="names")
    first, second = results(done.messages)
    assert '"required":["path"]' in first
    assert "'path' is a required property" in first
    assert second == '{"path":"a"}'
    assert toolbox.called == ["disk__read"]
    assert [c.ok for c in done.tool_calls] == [False, True]
    assert model.requests[1].tool_names == [LOAD_TOOLS, "disk__read"]


async def test_a_call_in_the_same_step_as_its_load_is_blind() -> None:
    turn = calling(call(LOAD_TOOLS, {"names": ["disk__read"]}), call("disk__read", {"file": "a"}))
    toolbox = MemoryToolbox(ECHO)
    done = await run(ScriptedModel(turn, saying("x")), toolbox, discovery="names")
    assert '"required":["path"]' in results(done.messages)[1]
    assert toolbox.called == []


async def test_unreadable_arguments_of_a_known_tool_are_told_without_its_schema() -> None:
    model = ScriptedModel(calling(call("disk__read", "{oops")), saying("x"))
    done = await run(model, MemoryToolbox(ECHO), discovery="names", loaded=["disk__read"])
    (told,) = results(done.messages)
    assert "{oops" in told
    assert '"required"' not in told


@pytest.mark.parametrize("asks", [True, False])
async def test_unanswered_calls_of_the_history_are_answered_and_not_made(asks: bool) -> None:
    asked = assistant_message("", [tool_call("z", "a__b", {}), tool_call("y", "a__b", {})])
    history: list[Message] = [QUESTION, asked, tool_message("z", "r")]
    if asks:
        history.append({"role": "user", "content": "Go on."})
    given_messages = list(history)
    model, toolbox = ScriptedModel(saying("Done.")), MemoryToolbox("a__b")
    told: list[Message] = []
    done = await run(model, toolbox, history, on_message=lambda message, step: told.append(message))
    answer = tool_message("y", NO_RESULT_TEXT)
    assert done.messages[:4] == (*history[:3], answer)
    assert model.requests[0].messages == done.messages[:-1]
    assert replays(done.messages)
    assert history == given_messages
    assert toolbox.called == []
    assert told == [answer, done.messages[-1]]


async def test_a_run_that_asks_nothing_answers_the_calls_of_its_history_too() -> None:
    asked = assistant_message("", [tool_call("z", "a__b", {})])
    done = await run(ScriptedModel(), None, [QUESTION, asked, QUESTION], max_tool_iterations=0)
    assert replays(done.messages)
    assert roles(done.messages) == ["user", "assistant", "tool", "user"]


async def test_a_declared_tools_arguments_are_the_toolboxs_affair() -> None:
    toolbox = MemoryToolbox(ECHO)
    model = ScriptedModel(calling(call("disk__read", {"file": "a"})), saying("x"))
    await run(model, toolbox, discovery="names", loaded=["disk__read"])
    assert toolbox.called == ["disk__read"]


async def test_unreadable_arguments_load_the_tool_and_show_its_schema() -> None:
    model = ScriptedModel(calling(call("disk__read", "{oops")), saying("x"))
    toolbox = MemoryToolbox(ECHO)
    done = await run(model, toolbox, discovery="names")
    (told,) = results(done.messages)
    assert "{oops" in told
    assert '"required":["path"]' in told
    assert toolbox.called == []
    assert done.loaded == ("disk__read",)
    assert done.used == ()


async def test_a_catalogued_tool_without_a_definition_is_the_toolboxs_to_refuse() -> None:
    toolbox = MemoryToolbox(ECHO, undefined=["disk__read"])
    model = ScriptedModel(calling(call("disk__read", {})), saying("x"))
    done = await run(model, toolbox, discovery="names")
    assert (toolbox.called, done.loaded) == (["disk__read"], ())


async def test_load_tools_is_no_tool_of_an_eager_run() -> None:
    toolbox = MemoryToolbox("a__b")
    done = await run(ScriptedModel(calling(call(LOAD_TOOLS, {})), saying("x")), toolbox)
    assert toolbox.called == [LOAD_TOOLS]
    assert done.loaded == ()


async def test_a_check_that_raises_is_the_calls_result() -> None:
    class Faulty(MemoryToolbox):
        def check(self, name: str, args: dict[str, Any]) -> list[str]:
            raise RecursionError("schema")

    done = await run(
        ScriptedModel(calling(call("disk__read", {})), saying("x")),
        Faulty(ECHO),
        discovery="names",
    )
    assert results(done.messages) == ["schema"]


async def test_loaded_tools_are_carried_over_from_run_to_run() -> None:
    toolbox = MemoryToolbox("a__x", "a__y")
    first = await run(
        ScriptedModel(calling(call(LOAD_TOOLS, {"names": ["a__*"]})), saying("x")),
        toolbox,
        discovery="names",
    )
    model = ScriptedModel(saying("x"))
    await run(model, toolbox, discovery="names", loaded=carry_over(first.loaded, first.used))
    assert model.requests[0].tool_names == [LOAD_TOOLS, "a__x", "a__y"]


# Calls written as text

TEXT_CALL = 'Ok.<tool_call>{"name":"a__b","arguments":{"d":1}}</tool_call>'
BARE_CALL = '{"name":"a__b","arguments":{"d":1}}'


@pytest.mark.parametrize("discovery", ["names", "eager"])
@pytest.mark.parametrize(("reply", "left"), [(TEXT_CALL, "Ok."), (BARE_CALL, None)])
async def test_a_call_written_as_text_is_made(discovery: str, reply: str, left: str | None) -> None:
    events, toolbox = Events(), MemoryToolbox("a__b")
    done = await run(
        ScriptedModel(saying(reply), saying("x")), toolbox, discovery=discovery, on_event=events
    )
    assert [(request.id, request.args) for request in toolbox.calls] == [
        ("call_recovered_0", {"d": 1})
    ]
    assert done.messages[1]["content"] == left
    assert len(events.of("notice")) == 1
    assert replays(done.messages)


async def test_recovered_calls_have_ids_of_their_own_in_every_step() -> None:
    done = await run(
        ScriptedModel(saying(TEXT_CALL), saying(TEXT_CALL), saying("x")), MemoryToolbox("a__b")
    )
    assert [c.id for c in done.tool_calls] == ["call_recovered_0", "call_recovered_0_2"]


async def test_load_tools_may_be_written_as_text() -> None:
    reply = '{"name":"load_tools","arguments":{"names":["a__b"]}}'
    done = await run(
        ScriptedModel(saying(reply), saying("x")), MemoryToolbox("a__b"), discovery="names"
    )
    assert done.loaded == ("a__b",)


@pytest.mark.parametrize(
    ("toolbox", "options"),
    [(MemoryToolbox("a__b"), {"recover_tool_calls": False}), (MemoryToolbox(), {})],
)
async def test_without_recovery_or_tools_the_reply_stands(
    toolbox: MemoryToolbox, options: dict[str, Any]
) -> None:
    done = await run(ScriptedModel(saying(TEXT_CALL)), toolbox, **options)
    assert (done.answer, done.stop_reason) == (TEXT_CALL, "completed")


# Figures


async def test_usage_is_summed_and_told_with_every_turn() -> None:
    events = Events()
    first = calling(call("a__b"))
    second = saying("x", usage=TurnUsage(prompt_tokens=20, total_tokens=20, cached_tokens=8))
    done = await run(ScriptedModel(first, second), MemoryToolbox("a__b"), on_event=events)
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (30, 2)
    assert done.usage.cached_tokens == 8
    told = [event["usage"] for event in events.of("usage")]
    assert [usage["promptTokens"] for usage in told] == [10, 30]
    assert [usage["turn"]["promptTokens"] for usage in told] == [10, 20]
    assert [usage.get("cachedTokens") for usage in told] == [None, 8]


async def test_every_request_leaves_a_trace() -> None:
    async def slow(request: Request) -> Turn:
        await anyio.sleep(20)
        return saying("x")

    model = ScriptedModel(calling(call(LOAD_TOOLS, {"names": ["a__x"]})), slow)
    done = await run(model, MemoryToolbox("a__x", "a__y"), discovery="names")
    assert [(trace.step, trace.tools) for trace in done.requests] == [
        (0, (LOAD_TOOLS,)),
        (1, (LOAD_TOOLS, "a__x")),
    ]
    assert [trace.seconds for trace in done.requests] == pytest.approx([0, 20], abs=1)
    assert done.requests[0].catalogue_tokens == done.requests[1].catalogue_tokens > 0
    assert done.requests[1].schema_tokens > done.requests[0].schema_tokens
    assert done.requests[0].usage.prompt_tokens == 10
    assert done.max_tool_iterations == 20


async def test_the_bus_takes_a_runs_events() -> None:
    bus = EventBus()
    model = ScriptedModel(calling(call("a__b")), saying("x", reasoning="hm"))
    await run(model, MemoryToolbox("a__b"), on_event=partial(bus.emit, "r1"))
    history = bus.history("r1")
    assert [event.seq for event in history] == list(range(1, len(history) + 1))
    assert {event.step for event in history} == {"0", "1"}
    assert [event.text for event in history if event.kind in ("thinking", "output")] == ["hm", "x"]


# Callbacks


async def test_messages_and_turns_are_told_in_transcript_order() -> None:
    told: list[tuple[Message, int]] = []
    turns: list[tuple[Turn, int]] = []

    async def on_message(message: Message, step: int) -> None:
        await anyio.lowlevel.checkpoint()
        told.append((message, step))

    model = ScriptedModel(calling(call("a__b"), call("a__b", {"n": 1})), saying("x"))
    done = await run(
        model,
        MemoryToolbox("a__b"),
        on_message=on_message,
        on_turn=lambda turn, step: turns.append((turn, step)),
    )
    assert tuple(message for message, _ in told) == done.messages[1:]
    assert [step for _, step in told] == [0, 0, 0, 1]
    assert [step for _, step in turns] == [0, 1]
    assert turns[-1][0] == done.turn


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("at", [0, 1, 2, 3])
async def test_a_message_callback_that_raises_ends_the_run_and_is_not_called_again(
    parallel: bool, at: int
) -> None:
    told: list[Message] = []

    def on_message(message: Message, step: int) -> None:
        told.append(message)
        if len(told) == at + 1:
            raise OSError("disk full")

    model = ScriptedModel(calling(call("a__b"), call("a__c")), saying("x"))
    with pytest.raises(RunFailed, match="disk full") as caught:
        await run(model, MemoryToolbox("a__b", "a__c"), on_message=on_message, parallel=parallel)
    assert isinstance(caught.value.__cause__, OSError)
    assert len(told) == at + 1
    partly = caught.value.run
    assert replays(partly.messages)
    assert len(partly.tool_calls) == (0 if at == 0 else 2 if parallel or at > 1 else 1)


async def test_a_step_may_begin_with_another_transcript() -> None:
    seen: list[tuple[int, int]] = []

    async def fold(messages: list[Message], step: int, _: object) -> list[Message] | None:
        await anyio.lowlevel.checkpoint()
        seen.append((step, len(messages)))
        note: Message = {"role": "assistant", "content": "Earlier: nothing."}
        return [note, *messages] if step == 1 else None

    model = ScriptedModel(calling(call("a__b")), saying("x"))
    done = await run(model, MemoryToolbox("a__b"), before_step=fold)
    assert seen == [(0, 1), (1, 3)]
    assert model.requests[1].messages[0]["content"] == "Earlier: nothing."
    assert roles(done.messages) == ["assistant", "user", "assistant", "tool", "assistant"]


# Approval


@pytest.mark.parametrize("parallel", [True, False])
async def test_a_denied_call_is_not_made_and_the_model_reads_why(parallel: bool) -> None:
    events, toolbox = Events(), MemoryToolbox("a__ok", "a__rm")

    async def approve(request: Any) -> Any:
        await anyio.sleep(30)
        return "allow" if request.name == "a__ok" else ("deny", "not today")

    model = ScriptedModel(calling(call("a__ok"), call("a__rm")), saying("x"))
    done = await run(model, toolbox, approve=approve, on_event=events, parallel=parallel)
    assert toolbox.called == list(done.used) == ["a__ok"]
    assert results(done.messages) == ["{}", "not today"]
    assert [c.seconds for c in done.tool_calls] == pytest.approx([0, 0], abs=1)
    decisions = {event["name"]: (event["ok"], event["text"]) for event in events.of("decision")}
    assert decisions == {"a__ok": (True, ""), "a__rm": (False, "not today")}


@pytest.mark.parametrize(
    ("answer", "said"),
    [(("deny", ""), "not allow"), ("yes", "could not be approved"), (None, "could not")],
)
async def test_anything_but_leave_is_a_refusal(answer: Any, said: str) -> None:
    toolbox = MemoryToolbox("a__rm")
    model = ScriptedModel(calling(call("a__rm")), saying("x"))
    done = await run(model, toolbox, approve=lambda request: answer)
    assert toolbox.called == []
    assert said in results(done.messages)[0]


async def test_an_approver_that_raises_refuses() -> None:
    def approve(request: Any) -> Any:
        raise OSError("no terminal")

    toolbox = MemoryToolbox("a__rm")
    done = await run(ScriptedModel(calling(call("a__rm")), saying("x")), toolbox, approve=approve)
    assert toolbox.called == []
    assert "no terminal" in results(done.messages)[0]


# Failures


async def test_a_model_that_fails_ends_the_run_with_what_it_had_done() -> None:
    cause = EndpointUnavailable(3, 503)
    model = ScriptedModel(calling(call("a__b")), cause)
    with pytest.raises(RunFailed) as caught:
        await run(model, MemoryToolbox("a__b"))
    assert caught.value.__cause__ is cause
    partly = failed_run(caught.value)
    assert partly is not None
    assert roles(partly.messages) == ["user", "assistant", "tool"]
    assert partly.tool_calls == (
        ToolCallOutcome(name="a__b", ok=True, id="c0", seconds=partly.tool_calls[0].seconds),
    )
    assert (partly.stop_reason, len(partly.requests)) == ("stopped", 1)


async def test_an_overflow_is_both_a_failed_run_and_an_overflow() -> None:
    model = ScriptedModel(calling(call(LOAD_TOOLS, {"names": ["a__b"]})), ContextOverflow(9, 1, 8))
    with pytest.raises(RunOverflow) as caught:
        await run(model, MemoryToolbox("a__b"), discovery="names")
    assert isinstance(caught.value, ContextOverflow)
    assert (caught.value.needed_tokens, caught.value.run.loaded) == (9, ("a__b",))


async def test_a_toolbox_without_a_catalogue_fails_the_run() -> None:
    class Broken(MemoryToolbox):
        def catalogue(self) -> list[Any]:
            raise OSError("no list")

    with pytest.raises(RunFailed, match="no list") as caught:
        await run(ScriptedModel(saying("x")), Broken())
    assert caught.value.run.messages == (QUESTION,)


@pytest.mark.parametrize("option", ["on_turn", "on_request", "before_step", "price"])
async def test_what_a_callback_raises_fails_the_run(option: str) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError

    options: dict[str, Any] = {option: broken}
    if option == "price":
        options["max_cost"] = 1
    with pytest.raises(RunFailed, match="KeyError"):
        await run(ScriptedModel(saying("x")), **options)


async def test_a_run_is_returned_even_when_its_watcher_raises() -> None:
    def broken(**fields: Any) -> None:
        raise ZeroDivisionError

    done: Run = await run(ScriptedModel(saying("x")), on_event=broken)
    assert done.answer == "x"


async def test_the_backstop_is_an_exception_only_when_asked_for() -> None:
    model = ScriptedModel(calling(call("a__b")))
    done = await run(model, MemoryToolbox("a__b"), max_tool_iterations=2)
    with pytest.raises(IterationLimit, match="2"):
        done.raise_for_stop()
