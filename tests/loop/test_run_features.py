"""What a run does with its options: ways of discovery, long results, approval, folding, figures."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import anyio
import pytest

from host.catalogue import (
    CALL_TOOL,
    LOAD_TOOLS,
    PRESELECT_SCHEMA,
    PROXY_TOOLS,
    catalogue_prompt,
    defined_names,
    holds_definitions,
)
from host.errors import ContextOverflow, RunFailed
from host.loop import READ_RESULT, SUMMARY_LEAD, Compact, Preselect, RunControl, RunHooks
from host.loop.agent_run import EMPTY_REQUEST
from host.loop.approval import NOBODY_ASKED_TEXT
from host.loop.collaborators import RunWindow, StepRequest, TextSink
from host.loop.stored_folds import is_summary
from host.loop.transcript import assistant_message, tool_call, tool_message
from host.receipt import receipt
from host.records import (
    HookContext,
    HookEvent,
    HookOutcome,
    LedgerEntry,
    Message,
    Run,
    ToolCallRequest,
    ToolDefinition,
    Turn,
    TurnUsage,
)
from tests.fakes.loop_peers import (
    USAGE,
    MemoryTool,
    MemoryToolbox,
    Request,
    Script,
    ScriptedModel,
    call,
    calling,
    mute,
    saying,
)
from tests.loop.instantly import now
from tests.loop.runs import QUESTION, Events, replays, results, roles, run

PATH_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
READ = MemoryTool(name="disk__read", parameters=PATH_SCHEMA, description="Reads a file.")
TOOLS: list[MemoryTool | str] = [
    READ,
    MemoryTool(name="disk__write", description="Writes a file."),
    MemoryTool(name="mail__send", description="Sends a letter to somebody."),
    MemoryTool(
        name="clock__now", description="Tells the hour.", annotations={"readOnlyHint": True}
    ),
]
MAIL: Message = {"role": "user", "content": "Please send a letter to Bob."}


def wrapped(name: str, arguments: Any) -> Any:
    return call(CALL_TOOL, {"name": name, "arguments": arguments})


class ChoosingModel(ScriptedModel):
    """A scripted model that also answers side questions, always alike."""

    def __init__(self, choice: object, *script: Script) -> None:
        super().__init__(*script)
        self._choice = choice
        self.asked: list[tuple[str, str, dict[str, Any]]] = []

    async def ask_json(self, system: str, user: str, schema: dict[str, Any]) -> object | None:
        await anyio.lowlevel.checkpoint()
        self.asked.append((system, user, schema))
        if isinstance(self._choice, Exception):
            raise self._choice
        return self._choice


class MuteChooser(ScriptedModel):
    async def ask_json(self, system: str, user: str, schema: dict[str, Any]) -> object | None:
        await anyio.sleep_forever()
        return None


def notices(events: Events) -> list[str]:
    return [event["text"] for event in events.of("notice")]


# Proxied discovery


async def test_a_proxied_run_declares_two_tools_and_nothing_else_ever() -> None:
    model = ScriptedModel(
        calling(call(LOAD_TOOLS, {"names": ["disk__read", "nope"]})),
        calling(wrapped("disk__read", {"path": "a"})),
        saying("x"),
    )
    toolbox, events = MemoryToolbox(*TOOLS), Events()
    done = await run(model, toolbox, discovery="proxied", system="Own.", on_event=events)
    assert [request.tools for request in model.requests] == [PROXY_TOOLS] * 3
    assert len({request.system for request in model.requests}) == 1
    assert model.requests[0].system.startswith("Own.\n\n")
    loaded, result = results(done.messages)
    assert defined_names(loaded) == ["disk__read"]
    assert "nope" in loaded
    assert result == '{"path":"a"}'
    assert (done.loaded, done.used, toolbox.called) == (("disk__read",),) * 2 + (["disk__read"],)
    assert replays(done.messages)


async def test_what_is_called_through_call_tool_is_what_is_told() -> None:
    events, toolbox, judged = Events(), MemoryToolbox(*TOOLS), list[str]()

    def approve(request: ToolCallRequest) -> Any:
        judged.append(request.name)
        return "allow"

    model = ScriptedModel(calling(wrapped("disk__read", '{"path": "a"}')), saying("x"))
    done = await run(model, toolbox, discovery="proxied", on_event=events, approve=approve)
    (told,) = events.of("tool-call")
    assert (told["name"], told["text"]) == ("disk__read", '{"path":"a"}')
    assert [event["name"] for event in events.of("tool-result")] == ["disk__read"]
    assert judged == [outcome.name for outcome in done.tool_calls] == ["disk__read"]
    (request,) = toolbox.calls
    assert (request.name, request.args, request.id) == ("disk__read", {"path": "a"}, "c0")
    assistant = done.messages[1]
    assert assistant["role"] == "assistant"
    assert assistant["tool_calls"][0]["function"]["name"] == CALL_TOOL


@pytest.mark.parametrize(
    ("asked", "made", "said"),
    [
        (call("disk__read", {"path": "a"}), ["disk__read"], '{"path":"a"}'),
        (call("disk__read", {"file": "a"}), [], '"required":["path"]'),
        (wrapped("disk__read", {"file": "a"}), [], '"required":["path"]'),
        (wrapped("disk__reed", {}), [], "disk__read"),
        (call(CALL_TOOL, {"arguments": {}}), [], ""),
        (call(CALL_TOOL, "{bad"), [], "{bad"),
        (call("elsewhere", {}), ["elsewhere"], "no tool is named elsewhere"),
    ],
)
async def test_what_a_proxied_call_comes_to(asked: Any, made: list[str], said: str) -> None:
    toolbox = MemoryToolbox(*TOOLS)
    done = await run(ScriptedModel(calling(asked), saying("x")), toolbox, discovery="proxied")
    assert toolbox.called == made
    assert said in results(done.messages)[0]
    assert [outcome.ok for outcome in done.tool_calls] == [made == ["disk__read"]]
    assert replays(done.messages)


async def test_a_definition_can_still_be_read_after_a_blind_proxied_call() -> None:
    model = ScriptedModel(
        calling(wrapped("disk__read", {"path": "a"})),
        calling(call(LOAD_TOOLS, {"names": ["disk__read"]})),
        saying("x"),
    )
    done = await run(model, MemoryToolbox(*TOOLS), discovery="proxied")
    assert defined_names(results(done.messages)[1]) == ["disk__read"]


async def test_a_stray_call_tool_is_honoured_on_demand() -> None:
    toolbox = MemoryToolbox(*TOOLS)
    model = ScriptedModel(calling(wrapped("disk__read", {"path": "a"})), saying("x"))
    done = await run(model, toolbox, discovery="names")
    assert (toolbox.called, done.used, done.loaded) == (["disk__read"],) + (("disk__read",),) * 2


@pytest.mark.parametrize("parallel", [True, False])
async def test_identical_proxied_calls_of_a_tool_that_only_reads_are_made_once(
    parallel: bool,
) -> None:
    toolbox = MemoryToolbox(*TOOLS)
    turn = calling(*[wrapped("clock__now", {}), call("clock__now"), wrapped("disk__write", {})] * 2)
    done = await run(
        ScriptedModel(turn, saying("x")), toolbox, discovery="proxied", parallel=parallel
    )
    assert sorted(toolbox.called) == ["clock__now", "disk__write", "disk__write"]
    assert replays(done.messages)


@pytest.mark.parametrize("option", ["loaded", "preselected"])
@pytest.mark.parametrize("before", [0, 2])
async def test_names_given_to_a_proxied_run_are_shown_before_it_asks(
    option: str, before: int
) -> None:
    history = [QUESTION, assistant_message("There.")][:before]
    told: list[Message] = []
    model = ScriptedModel(saying("x"))
    done = await run(
        model,
        MemoryToolbox(*TOOLS),
        [*history, QUESTION],
        discovery="proxied",
        on_message=lambda message, step: told.append(message),
        **{option: ["disk__read", "gone", "clock__now"]},
    )
    asked, answer = done.messages[before + 1 : before + 3]
    assert asked["role"] == "assistant"
    assert answer["role"] == "tool"
    (shown,) = asked["tool_calls"]
    assert shown["id"] == answer["tool_call_id"] == f"preselect-{before + 1}"
    assert shown["function"]["name"] == LOAD_TOOLS
    assert defined_names(str(answer["content"])) == ["disk__read", "clock__now"]
    assert model.requests[0].messages[-3:] == (QUESTION, asked, answer)
    assert done.loaded == ("disk__read", "clock__now")
    assert told == [asked, answer, done.messages[-1]]
    assert done.tool_calls == ()
    assert replays(done.messages)


async def test_definitions_in_the_history_count_as_loaded_and_are_not_shown_again() -> None:
    toolbox = MemoryToolbox(*TOOLS)
    first = await run(
        ScriptedModel(saying("x")), toolbox, discovery="proxied", loaded=["disk__read"]
    )
    model = ScriptedModel(
        calling(call(LOAD_TOOLS, {"names": ["disk__read"]})),
        calling(wrapped("disk__read", {"file": "a"})),
        saying("y"),
    )
    again = [*first.messages, QUESTION]
    done = await run(model, toolbox, again, discovery="proxied", loaded=first.loaded)
    assert done.messages[: len(again)] == tuple(again)
    assert model.requests[0].messages[-1] == QUESTION
    reloaded, result = results(done.messages)[-2:]
    assert not holds_definitions(reloaded)
    assert "earlier answer" in reloaded
    assert result == '{"file":"a"}'  # not blind: what fits is the toolbox's affair
    assert done.loaded == ("disk__read",)


async def test_a_rewritten_transcript_takes_its_definitions_along() -> None:
    def forget(messages: list[Message], step: int, _: object) -> list[Message] | None:
        return [QUESTION] if step == 1 else None

    model = ScriptedModel(
        calling(call(LOAD_TOOLS, {"names": ["disk__read"]})),
        calling(wrapped("disk__read", {"file": "a"})),
        calling(call(LOAD_TOOLS, {"names": ["disk__read", "disk__write"]})),
        saying("x"),
    )
    toolbox = MemoryToolbox(*TOOLS)
    done = await run(model, toolbox, discovery="proxied", before_step=forget)
    assert model.requests[1].messages[1:] == (QUESTION,)
    misfit, reloaded = results(done.messages)
    assert '"required":["path"]' in misfit
    assert defined_names(reloaded) == ["disk__read", "disk__write"]
    assert toolbox.called == []


# Tools chosen before the first request

CATALOGUE = catalogue_prompt(MemoryToolbox(*TOOLS).catalogue())


CHOICES: dict[str, dict[str, Any]] = {
    "keywords": {"discovery": "keywords"},
    "asking": {"discovery": "preselect"},
    "given": {"discovery": "names", "preselected": ["mail__send", "gone"]},
    "words first": {"discovery": "preselect", "preselect": Preselect(keywords=True)},
}


@pytest.mark.parametrize(
    ("routing", "first", "lists"),
    [("exclusive", ["mail__send"], False), ("append", [LOAD_TOOLS, "mail__send"], True)],
)
@pytest.mark.parametrize("how", CHOICES)
async def test_the_first_request_has_what_was_chosen(
    how: str, routing: str, first: list[str], lists: bool
) -> None:
    options = CHOICES[how]
    model = ChoosingModel(
        {"tools": ["mail__send", "gone"]}, calling(call("mail__send")), saying("x")
    )
    toolbox, events = MemoryToolbox(*TOOLS), Events()
    done = await run(model, toolbox, [MAIL], preselect_routing=routing, on_event=events, **options)
    assert [request.tool_names for request in model.requests] == [first, [LOAD_TOOLS, "mail__send"]]
    assert [CATALOGUE in request.system for request in model.requests] == [lists, True]
    assert (done.loaded, done.used) == (("mail__send",),) * 2
    assert len(model.asked) == (how == "asking")
    assert "mail__send" in events.of("decision")[0]["text"]
    assert [request.purpose for request in done.requests] == ["select"] * len(model.asked) + [
        "turn"
    ] * 2


async def test_doubtful_words_load_a_few_tools_beside_the_catalogue() -> None:
    toolbox = MemoryToolbox(
        *(MemoryTool(name=f"s{n}__file", description="Does a file.") for n in range(20))
    )
    model = ScriptedModel(saying("x"))
    question: Message = {"role": "user", "content": "What of the file?"}
    done = await run(model, toolbox, [question], discovery="keywords")
    assert model.requests[0].tool_names[0] == LOAD_TOOLS
    assert len(model.requests[0].tools) == 4
    assert len(done.loaded) == 3
    assert model.requests[0].system


@pytest.mark.parametrize("discovery", ["keywords", "preselect"])
async def test_a_question_of_nothing_known_begins_with_the_catalogue_alone(discovery: str) -> None:
    model = ChoosingModel({"tools": []}, saying("x"))
    question: Message = {"role": "user", "content": "Zounds!"}
    done = await run(model, MemoryToolbox(*TOOLS), [question], discovery=discovery)
    assert model.requests[0].tool_names == [LOAD_TOOLS]
    assert done.loaded == ()


async def test_a_select_model_is_asked_in_place_of_the_runs_own() -> None:
    chooser, model = ChoosingModel({"tools": ["mail__send"]}), ChoosingModel(None, saying("x"))
    done = await run(
        model, MemoryToolbox(*TOOLS), [MAIL], discovery="preselect", select_model=chooser
    )
    ((system, user, schema),) = chooser.asked
    assert model.asked == []
    assert schema == PRESELECT_SCHEMA
    assert "mail__send" in user
    assert user.endswith(str(MAIL["content"]))
    assert system
    assert model.requests[0].tool_names == ["mail__send"]
    bill = receipt(done)
    assert (bill.requests, bill.asides) == (2, 1)
    aside = done.requests[0]
    assert (aside.purpose, aside.tools, aside.eager_schema_tokens) == ("select", (), 0)
    assert bill.aside_tokens == aside.usage.total_tokens > 0
    assert bill.prompt_tokens == aside.usage.prompt_tokens + USAGE.prompt_tokens


@pytest.mark.parametrize("reply", [OSError("gone"), None, "mail__send", {"tools": "all"}, []])
@pytest.mark.parametrize("discovery", ["preselect", "proxied"])
async def test_a_choice_that_fails_chooses_nothing(reply: object, discovery: str) -> None:
    model, events = ChoosingModel(reply, saying("x")), Events()
    done = await run(
        model,
        MemoryToolbox(*TOOLS),
        [MAIL],
        discovery=discovery,
        preselect=Preselect(),
        on_event=events,
    )
    assert len(model.asked) == 1
    assert done.stop_reason == "completed"
    assert done.loaded == ()
    assert model.requests[0].tool_names[0] == LOAD_TOOLS
    assert ("gone" in "".join(notices(events))) is isinstance(reply, Exception)


async def test_a_proxied_run_reads_what_was_chosen_for_it() -> None:
    model = ChoosingModel({"tools": ["mail__send"]}, saying("x"))
    done = await run(
        model, MemoryToolbox(*TOOLS), [MAIL], discovery="proxied", preselect=Preselect()
    )
    assert roles(model.requests[0].messages) == ["system", "user", "assistant", "tool"]
    assert done.loaded == ("mail__send",)


@pytest.mark.parametrize(
    ("discovery", "toolbox", "options"),
    [
        ("eager", MemoryToolbox(*TOOLS), {"preselect": Preselect()}),
        ("preselect", MemoryToolbox(), {}),
        ("preselect", MemoryToolbox(*TOOLS), {"preselected": ["disk__read"]}),
    ],
)
async def test_nobody_is_asked_where_there_is_nothing_to_choose(
    discovery: str, toolbox: MemoryToolbox, options: dict[str, Any]
) -> None:
    model = ChoosingModel({"tools": ["mail__send"]}, saying("x"))
    await run(model, toolbox, [MAIL], discovery=discovery, **options)
    assert model.asked == []


@pytest.mark.parametrize("ends", ["stopped", "deadline"])
async def test_a_mute_chooser_is_cut_off_like_anybody(ends: str) -> None:
    control, model = RunControl(), MuteChooser(saying("x"))
    runs: list[Run] = []

    async def play() -> None:
        deadline = now().timestamp() + 30 if ends == "deadline" else None
        runs.append(
            await run(
                model,
                MemoryToolbox(*TOOLS),
                [MAIL],
                discovery="preselect",
                control=control,
                deadline=deadline,
                now=now,
            )
        )

    async with anyio.create_task_group() as group:
        group.start_soon(play)
        await anyio.wait_all_tasks_blocked()
        if ends == "stopped":
            control.stop()
    (done,) = runs
    assert (done.stop_reason, done.messages, model.requests) == (ends, (MAIL,), [])


# Turns that say nothing, or not all


@pytest.mark.parametrize("reasoning", ["", "Hm, hm."])
async def test_an_empty_turn_is_asked_again_and_leaves_no_trace_in_the_transcript(
    reasoning: str,
) -> None:
    events, turns = Events(), list[Turn]()
    empty = Turn(content=" \n", reasoning=reasoning, usage=USAGE)
    model = ScriptedModel(empty, calling(call("a__b")), empty, empty, saying("x"))
    done = await run(
        model,
        MemoryToolbox("a__b"),
        on_event=events,
        on_turn=lambda turn, step: turns.append(turn),
    )
    assert (done.stop_reason, done.answer) == ("completed", "x")
    closing = [request.messages[-1]["content"] for request in model.requests]
    assert [text == EMPTY_REQUEST for text in closing] == [False, True, False, True, True]
    assert roles(done.messages) == ["user", "assistant", "tool", "assistant"]
    assert len(turns) == len(done.requests) == done.usage.prompt_tokens // 10 == 5
    assert notices(events) == ["the reply was empty"] * 3


async def test_without_that_limit_an_empty_turn_is_the_answer() -> None:
    model = ScriptedModel(Turn())
    done = await run(model, MemoryToolbox("a__b"), stuck_empty_after=0)
    assert (done.stop_reason, done.answer, len(model.requests)) == ("completed", "", 1)
    assert roles(done.messages) == ["user", "assistant"]


@pytest.mark.parametrize(
    ("names", "options", "made"),
    [
        (["x", "y"] * 3, {}, 5),
        (["x", "y", "z"] * 3, {}, 9),
        (["x", "y", "x", "y", "y", "x", "y", "x"], {}, 8),
        (["look", "x"] * 4, {}, 5),
        (["look", "x"] * 4, {"stuck_exempts_read_only": True}, 8),
    ],
)
async def test_two_calls_by_turns_are_stuck_the_third_time(
    names: list[str], options: dict[str, Any], made: int
) -> None:
    toolbox = MemoryToolbox(
        *("a__x", "a__y", "a__z"), MemoryTool(name="a__look", annotations={"readOnlyHint": True})
    )
    model = ScriptedModel(*(calling(call(f"a__{name}")) for name in names), saying("x"))
    done = await run(model, toolbox, **options)
    assert len(toolbox.calls) == made
    assert done.stop_reason == ("completed" if made == len(names) else "stuck-loop")


class ContinuingScript(ScriptedModel):
    """Goes on with a cut answer by appending ``more``."""

    def __init__(self, more: str, *script: Script) -> None:
        super().__init__(*script)
        self._more = more
        self.continued: list[int] = []

    async def continue_turn(
        self,
        turn: Turn,
        messages: list[Message],
        tools: list[ToolDefinition],
        *,
        max_continuations: int = 1,
        on_thinking: TextSink | None = None,
        on_output: TextSink | None = None,
        on_notice: TextSink | None = None,
    ) -> Turn:
        await anyio.lowlevel.checkpoint()
        self.continued.append(max_continuations)
        if on_output is not None:
            on_output(self._more)
        usage = replace(turn.usage, prompt_tokens=25, continuations=1)
        content = turn.content + self._more
        return replace(turn, content=content, finish_reason="stop", usage=usage)


async def test_a_cut_reply_is_gone_on_with_if_asked() -> None:
    model = ContinuingScript("lo.", calling(call("a__b")), saying("Hel", finish_reason="length"))
    events = Events()
    done = await run(model, MemoryToolbox("a__b"), max_continuations=3, on_event=events)
    assert done.answer == "Hello."
    assert done.messages[-1]["content"] == "Hello."
    assert model.continued == [3]
    assert [event["text"] for event in events.of("output")] == ["Hel", "lo."]
    assert events.of("usage")[-1]["usage"]["turn"]["continuations"] == 1
    assert (done.usage.prompt_tokens, done.usage.continuations) == (35, 1)
    assert [entry.prompt for entry in done.ledger] == [10, 10]
    assert events.of("notice") == []


@pytest.mark.parametrize("model", [ContinuingScript, ScriptedModel])
async def test_a_cut_reply_otherwise_stands_and_is_told(model: Any) -> None:
    cut = saying("Hel", finish_reason="length")
    scripted = model("lo.", cut) if model is ContinuingScript else model(cut)
    events = Events()
    limit = 0 if model is ContinuingScript else 3
    done = await run(scripted, max_continuations=limit, on_event=events)
    assert done.answer == "Hel"
    assert "max_tokens" in notices(events)[0]


# Results that are too long

LONG = "\n".join(f"line {number}" for number in range(400))


def wordy() -> MemoryToolbox:
    return MemoryToolbox(MemoryTool(name="a__long", body=lambda args: LONG), "a__short")


@pytest.mark.parametrize("discovery", ["names", "eager", "proxied"])
async def test_a_long_result_is_cut_and_can_be_read_on(discovery: str) -> None:
    model = ScriptedModel(
        calling(call("a__short"), call(READ_RESULT, {"id": "r1"})),
        calling(call("a__long", {}, "long")),
        calling(call(READ_RESULT, {"id": "r1", "page": 2}), call(READ_RESULT, {"search": "399"})),
        saying("x"),
    )
    toolbox = wordy()
    done = await run(model, toolbox, discovery=discovery, max_result_chars=600, parallel=False)
    offered = [READ_RESULT in request.tool_names for request in model.requests]
    is_declared = discovery != "proxied"
    assert offered == [False, False, is_declared, is_declared]
    assert (model.requests[2].tool_names[-1] == READ_RESULT) is is_declared
    assert toolbox.called == ["a__short", READ_RESULT, "a__long"]
    _, refused, cut, page, found = results(done.messages)
    assert refused == f"no tool is named {READ_RESULT}"
    assert max(map(len, (cut, page, found))) <= 600
    assert cut.startswith("line 0\n")
    assert cut.endswith("line 399")
    assert "page 2 of" in page
    assert "line 399" in found
    assert done.whole_results == {"long": LONG}
    assert READ_RESULT not in done.used[2:]
    assert [outcome.ok for outcome in done.tool_calls] == [True, False, True, True, True]


async def test_a_proxied_run_reads_on_through_its_second_tool_and_declares_no_third() -> None:
    inner = {"name": READ_RESULT, "arguments": {"id": "r1", "page": 2}}
    events = Events()
    model = ScriptedModel(
        calling(call(CALL_TOOL, inner, "soon")),
        calling(call(CALL_TOOL, {"name": "a__long"}, "long")),
        calling(call(CALL_TOOL, inner, "on"), call(CALL_TOOL, {**inner, "arguments": "{bad"})),
        saying(f"<tool_call>{json.dumps({'name': CALL_TOOL, 'arguments': inner})}</tool_call>"),
        saying("x"),
    )
    done = await run(
        model, wordy(), discovery="proxied", max_result_chars=600, stuck_after=0, on_event=events
    )
    assert {tuple(request.tool_names) for request in model.requests} == {(LOAD_TOOLS, CALL_TOOL)}
    assert len({request.system for request in model.requests}) == 1
    soon, cut, page, bad, again = results(done.messages)
    assert f"no tool named {READ_RESULT}" in soon
    assert f"To read on call {CALL_TOOL}: {json.dumps(inner)} or " in cut
    assert page == again
    assert "page 2 of" in page
    assert "{bad" in bad
    named = [event["name"] for event in events.of("tool-call")]
    assert named == [CALL_TOOL, "a__long", READ_RESULT, CALL_TOOL, READ_RESULT]
    assert (done.answer, done.used) == ("x", ("a__long",))


async def test_results_within_their_room_or_without_a_limit_are_whole() -> None:
    for limit in (None, len(LONG)):
        model = ScriptedModel(calling(call("a__long")), saying("x"))
        done = await run(model, wordy(), max_result_chars=limit)
        assert results(done.messages) == [LONG]
        assert done.whole_results == {}
        assert model.requests[1].tool_names == ["a__long", "a__short"]


@pytest.mark.parametrize("parallel", [True, False])
async def test_every_call_that_shared_a_long_result_has_its_whole(parallel: bool) -> None:
    hints = {"readOnlyHint": True}
    toolbox = MemoryToolbox(MemoryTool(name="a__l", body=lambda args: LONG, annotations=hints))
    model = ScriptedModel(calling(call("a__l"), call("a__l")), saying("x"))
    done = await run(model, toolbox, max_result_chars=600, parallel=parallel)
    assert len(toolbox.calls) == 1
    assert len(set(results(done.messages))) == 1
    assert done.whole_results == {"c0": LONG, "c1": LONG}


async def test_cut_results_of_an_earlier_run_keep_their_numbers() -> None:
    turn = calling(call("a__long"))
    first = await run(ScriptedModel(turn, saying("x")), wordy(), max_result_chars=600)
    model = ScriptedModel(
        calling(call(READ_RESULT, {"id": "r1"})),
        turn,
        calling(call(READ_RESULT, {"id": "r1"})),
        saying("y"),
    )
    again = [*first.messages, QUESTION]
    done = await run(model, wordy(), again, max_result_chars=600)
    unknown, second, gone = results(done.messages)[1:]
    assert unknown == f"no tool is named {READ_RESULT}"
    assert '"id": "r2"' in second
    assert "no longer kept" in gone
    assert list(done.whole_results.values()) == [LONG]


async def test_a_failed_run_still_has_its_whole_results() -> None:
    model = ScriptedModel(calling(call("a__long")), OSError("gone"))
    with pytest.raises(RunFailed) as caught:
        await run(model, wordy(), max_result_chars=600)
    assert caught.value.run.whole_results == {"c0": LONG}


@pytest.mark.parametrize("discovery", ["names", "eager", "proxied"])
async def test_a_read_result_call_written_as_text_is_read_back_like_any(discovery: str) -> None:
    written = '{"name":"read_result","arguments":{"id":"r1","page":2}}'
    model = ScriptedModel(calling(call("a__long")), saying(written), saying("x"))
    done = await run(model, wordy(), discovery=discovery, max_result_chars=600)
    assert done.answer == "x"
    assert "page 2 of" in results(done.messages)[-1]


def bottomless(args: dict[str, Any]) -> Any:
    """Nested deeper than anything can be written."""
    nested: list[Any] = []
    for _ in range(50_000):
        nested = [nested]
    return nested


class Unspeakable:
    def __str__(self) -> str:
        raise LookupError("no words")


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("body", [bottomless, lambda args: Unspeakable()])
async def test_a_result_that_cannot_be_written_is_a_failed_call(body: Any, parallel: bool) -> None:
    toolbox = MemoryToolbox(MemoryTool(name="a__odd", body=body), "a__ok")
    model = ScriptedModel(calling(call("a__odd"), call("a__ok")), saying("x"))
    done = await run(model, toolbox, parallel=parallel)
    assert done.stop_reason == "completed"
    assert [outcome.ok for outcome in done.tool_calls] == [False, True]
    assert results(done.messages)[1] == "{}"


# Asking a person


def always_ask(request: ToolCallRequest) -> Any:
    return "ask"


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize(
    ("word", "made", "said"),
    [("allow", 2, "{}"), (("deny", "Not today."), 0, "Not today."), (None, 0, NOBODY_ASKED_TEXT)],
)
async def test_a_person_has_the_last_word_where_the_policy_asks(
    word: Any, made: int, said: str, parallel: bool
) -> None:
    async def person(request: ToolCallRequest) -> Any:
        await anyio.sleep(1)
        return word

    toolbox, events = MemoryToolbox("a__b", "a__c"), Events()
    done = await run(
        ScriptedModel(calling(call("a__b"), call("a__c")), saying("x")),
        toolbox,
        approve=always_ask,
        ask_person=person if word else None,
        parallel=parallel,
        on_event=events,
    )
    assert results(done.messages) == [said, said]
    assert len(toolbox.calls) == made
    assert {event["ok"] for event in events.of("decision")} == {bool(made)}


@pytest.mark.parametrize(
    ("pace", "reason"), [(4, "completed"), (6, "deadline")], ids=["in time", "too slow"]
)
async def test_no_time_runs_out_while_a_person_is_asked(pace: float, reason: str) -> None:
    async def person(request: ToolCallRequest) -> Any:
        await anyio.sleep(1000)
        return "allow"

    async def slowly(request: Request) -> Turn:
        await anyio.sleep(pace)
        return saying("x") if len(request.messages) > 1 else calling(call("a__b"))

    deadline = now().timestamp() + 10
    done = await run(
        ScriptedModel(slowly),
        MemoryToolbox("a__b"),
        approve=always_ask,
        ask_person=person,
        deadline=deadline,
        now=now,
    )
    assert done.stop_reason == reason
    assert done.seconds == pytest.approx(1000 + min(2 * pace, 10), abs=1)


async def test_a_stop_does_not_wait_for_a_person() -> None:
    control, asked = RunControl(), anyio.Event()

    async def person(request: ToolCallRequest) -> Any:
        asked.set()
        await anyio.sleep_forever()

    async def stop() -> None:
        await asked.wait()
        control.stop()

    async with anyio.create_task_group() as group:
        group.start_soon(stop)
        done = await run(
            ScriptedModel(calling(call("a__b"))),
            MemoryToolbox("a__b"),
            approve=always_ask,
            ask_person=person,
            control=control,
        )
    assert (done.stop_reason, done.used) == ("stopped", ())
    assert done.seconds < 1
    assert replays(done.messages)


# Folding


def talk(questions: int, chars: int) -> list[Message]:
    """So many questions and answers, each so long."""
    messages: list[Message] = []
    for number in range(questions):
        messages.append({"role": "user", "content": f"Q{number} " + "q" * chars})
        messages.append({"role": "assistant", "content": f"A{number} " + "a" * chars})
    return messages


def read_before(results: int, chars: int) -> list[Message]:
    """An old question for which so many long results were read."""
    messages: list[Message] = [QUESTION]
    for number in range(results):
        call_id = f"old{number}"
        messages.append(assistant_message("", [tool_call(call_id, "disk__read", {})]))
        messages.append(tool_message(call_id, "r" * chars))
    return [*messages, {"role": "assistant", "content": "There."}]


def silent_about_usage(*turns: Turn) -> list[Turn]:
    return [replace(turn, usage=TurnUsage()) for turn in turns]


FOLDING: dict[str, Any] = {"compact": True, "context_length": 2_000}
TALK: list[Message] = [*talk(8, 400), QUESTION]
"""About 1,700 tokens: over three quarters of that window."""


async def test_clearing_old_results_comes_first_and_may_be_enough() -> None:
    model, events = ScriptedModel(saying("x", usage=TurnUsage())), Events()
    history = [*read_before(8, 900), QUESTION]
    done = await run(
        model,
        MemoryToolbox(*TOOLS),
        history,
        on_event=events,
        compact=True,
        context_length=2_600,
    )
    assert len(model.requests) == 1
    assert [text.startswith("[result cleared") for text in results(done.messages)] == [
        *[True] * 3,
        *[False] * 5,
    ]
    (said,) = notices(events)
    assert "cleared" in said
    assert model.requests[0].messages == done.messages[:-1]
    assert replays(done.messages)


@pytest.mark.parametrize("own", [True, False])
async def test_a_talk_that_fills_the_window_is_folded_into_a_summary(own: bool) -> None:
    summary = saying("They talked.", usage=TurnUsage(prompt_tokens=7, completion_tokens=3))
    answer = saying("x", usage=TurnUsage(prompt_tokens=50))
    model = ScriptedModel(*([summary] if own else []), answer)
    other, events = ScriptedModel(summary), Events()
    done = await run(
        model,
        MemoryToolbox(*TOOLS),
        TALK,
        summary_model=None if own else other,
        on_event=events,
        **FOLDING,
    )
    first = done.messages[0]
    assert is_summary(first)
    assert first["content"] == f"{SUMMARY_LEAD}They talked."
    assert done.messages[1] in TALK
    assert done.messages[-2:] == (QUESTION, {"role": "assistant", "content": "x"})
    assert model.requests[-1].messages == done.messages[:-1]
    assert len(other.requests) == (not own)
    assert [request.purpose for request in done.requests] == ["summary", "turn"]
    bill = receipt(done)
    assert (bill.requests, bill.asides, bill.aside_tokens) == (2, 1, 10)
    assert (bill.prompt_tokens, bill.completion_tokens) == (57, 3)
    assert "were folded into a summary" in notices(events)[-1]


@pytest.mark.parametrize(
    ("summary", "said"), [(OSError("gone"), "failed: gone"), (saying("  "), "")]
)
async def test_without_a_summary_nothing_is_folded(summary: Script, said: str) -> None:
    events = Events()
    done = await run(
        ScriptedModel(saying("x")),
        MemoryToolbox(*TOOLS),
        TALK,
        summary_model=ScriptedModel(summary),
        on_event=events,
        **FOLDING,
    )
    assert done.messages[:-1] == tuple(TALK)
    assert done.stop_reason == "completed"
    assert said in "".join(notices(events))


async def test_what_cannot_be_folded_is_said_once() -> None:
    question: Message = {"role": "user", "content": "q" * 8_000}
    turns = [calling(call("disk__write", {"n": n})) for n in range(4)]
    events = Events()
    done = await run(
        ScriptedModel(*turns, saying("x")),
        MemoryToolbox(*TOOLS),
        [question],
        on_event=events,
        **FOLDING,
    )
    assert done.stop_reason == "completed"
    (said,) = notices(events)
    assert "cannot be folded" in said


async def test_definitions_that_were_folded_are_shown_again() -> None:
    toolbox = MemoryToolbox(*TOOLS)
    first = await run(
        ScriptedModel(saying("x")), toolbox, discovery="proxied", loaded=["disk__read"]
    )
    model = ScriptedModel(*silent_about_usage(saying("Notes."), saying("y")))
    done = await run(model, toolbox, [*first.messages, *TALK], discovery="proxied", **FOLDING)
    assert is_summary(done.messages[0])
    shown = [message for message in done.messages if message["role"] == "tool"]
    assert [defined_names(str(message["content"])) for message in shown] == [["disk__read"]]
    assert model.requests[-1].messages[-1] == shown[-1]
    assert done.loaded == ("disk__read",)
    assert replays(done.messages)


async def test_loaded_tools_of_a_run_by_names_outlive_a_fold() -> None:
    model = ScriptedModel(*silent_about_usage(saying("Notes."), saying("y")))
    done = await run(
        model,
        MemoryToolbox(*TOOLS),
        TALK,
        discovery="names",
        loaded=["disk__read"],
        **FOLDING,
    )
    assert is_summary(done.messages[0])
    assert model.requests[-1].tool_names == [LOAD_TOOLS, "disk__read"]
    assert done.loaded == ("disk__read",)


@pytest.mark.parametrize("honoured", [True, False])
async def test_a_veto_of_the_hooks_counts_where_it_is_honoured(honoured: bool) -> None:
    asked: list[HookContext] = []

    async def hooks(event: HookEvent, context: HookContext) -> list[HookOutcome]:
        await anyio.lowlevel.checkpoint()
        if event != "beforeCompact":
            return []
        asked.append(context)
        vetoes = HookOutcome(
            server_id="a", label="A", hook_id="h", event=event, ok=True, veto=True, text="Keep it."
        )
        return [vetoes]

    summariser, events = ScriptedModel(saying("Notes.")), Events()
    done = await run(
        ScriptedModel(saying("x")),
        MemoryToolbox(*TOOLS),
        TALK,
        hooks=RunHooks(run=hooks, context={"session": {"id": "s"}}),
        compact=Compact(honour_veto=honoured),
        context_length=2_000,
        summary_model=summariser,
        on_event=events,
    )
    assert len(asked) == 1
    assert asked[0]["compacting"][0]["text"].startswith("Q0 ")
    assert is_summary(done.messages[0]) is not honoured
    assert len(summariser.requests) == (not honoured)
    assert ("Keep it." in "".join(notices(events))) is honoured


async def test_a_mute_summariser_is_cut_off_by_the_hour_and_nothing_is_lost() -> None:
    done = await run(
        ScriptedModel(saying("x")),
        MemoryToolbox(*TOOLS),
        TALK,
        summary_model=ScriptedModel(mute),
        deadline=now().timestamp() + 30,
        now=now,
        **FOLDING,
    )
    assert (done.stop_reason, done.messages, done.turn) == ("deadline", tuple(TALK), None)


# What the endpoint counted, handed from run to run


def counted(turn: Turn, prompt: int, cached: int | None = None) -> Turn:
    return replace(turn, usage=TurnUsage(prompt_tokens=prompt, cached_tokens=cached))


async def test_a_ledger_goes_from_run_to_run() -> None:
    toolbox = MemoryToolbox("a__b")
    model = ScriptedModel(counted(calling(call("a__b")), 100), counted(saying("x"), 130))
    first = await run(model, toolbox)
    assert first.ledger == (
        LedgerEntry(through=0, prompt=100),
        LedgerEntry(through=2, prompt=130),
    )
    again = [*first.messages, QUESTION]
    done = await run(ScriptedModel(counted(saying("y"), 160)), toolbox, again, ledger=first.ledger)
    assert done.ledger == (*first.ledger, LedgerEntry(through=4, prompt=160, epoch=1))


async def test_a_ledger_moves_with_answers_put_into_its_history() -> None:
    asked = assistant_message("", [tool_call("z", "a__b", {})])
    history: list[Message] = [QUESTION, asked, QUESTION]
    ledger = (LedgerEntry(through=0, prompt=100), LedgerEntry(through=2, prompt=150))
    done = await run(
        ScriptedModel(counted(saying("y"), 200)), MemoryToolbox("a__b"), history, ledger=ledger
    )
    assert [(entry.through, entry.prompt) for entry in done.ledger] == [
        (0, 100),
        (3, 150),
        (3, 200),
    ]


# What is told of each turn


def turn_fields(events: Events) -> list[dict[str, Any]]:
    return [event["usage"]["turn"] for event in events.of("usage")]


async def test_every_turn_tells_what_its_request_was_made_of() -> None:
    events = Events()
    model = ScriptedModel(
        counted(calling(call(LOAD_TOOLS, {"names": ["disk__read"]})), 400),
        counted(saying("x"), 500),
    )
    done = await run(
        model, MemoryToolbox(*TOOLS), discovery="names", system="Own.", on_event=events
    )
    first, second = turn_fields(events)
    assert [first["toolsDeclared"], second["toolsDeclared"]] == [1, 2]
    assert [first["toolSchemaTokens"], second["toolSchemaTokens"]] == [
        request.schema_tokens for request in done.requests
    ]
    assert set(first["context"]) == {"system", "tools", "history", "toolResults", "total"}
    assert [first["context"]["total"], second["context"]["total"]] == [400, 500]
    assert (first["context"]["toolResults"], second["context"]["toolResults"] > 0) == (0, True)
    assert "cacheExpected" not in first
    assert second["cacheExpected"] == 400
    assert "cacheBroken" not in second


def reworded(messages: list[Message], step: int, _: object) -> list[Message] | None:
    """Another question from the second request on."""
    return [{"role": "user", "content": "And where now?"}, *messages[1:]] if step else None


LOADING = call(LOAD_TOOLS, {"names": ["disk__read"]})
WRITING = call("disk__write")


@pytest.mark.parametrize(
    ("options", "asked", "cached", "reason"),
    [
        ({"discovery": "eager"}, WRITING, 400, None),
        ({"discovery": "eager"}, WRITING, 360, None),
        ({"discovery": "eager"}, WRITING, 359, "none-known"),
        ({"discovery": "names"}, LOADING, 10, "tools-changed"),
        ({"discovery": "proxied"}, LOADING, 400, None),
        ({"discovery": "proxied"}, LOADING, 0, "none-known"),
        ({"discovery": "names", "preselected": ["disk__write"]}, WRITING, 0, "tools-changed"),
        ({"discovery": "eager", "before_step": reworded}, WRITING, 0, "history-rewritten"),
    ],
)
async def test_every_turn_tells_what_became_of_the_cache(
    options: dict[str, Any], asked: Any, cached: int, reason: str | None
) -> None:
    events = Events()
    model = ScriptedModel(counted(calling(asked), 400, 0), counted(saying("x"), 500, cached))
    await run(model, MemoryToolbox(*TOOLS), on_event=events, **options)
    _, second = turn_fields(events)
    assert second["cacheExpected"] == 400
    assert second["cacheBroken"] is (reason is not None)
    assert second.get("cacheBreakReason") == reason


# The bill


async def test_a_bill_tells_loads_that_came_to_nothing() -> None:
    toolbox = MemoryToolbox(*TOOLS)
    model = ScriptedModel(
        calling(call(LOAD_TOOLS, {"names": ["disk__write"]})),
        calling(call(LOAD_TOOLS, {"names": ["disk__write"]}), call(LOAD_TOOLS, {"names": ["no"]})),
        calling(call(LOAD_TOOLS, {"names": ["mail__send"]})),
        calling(call(LOAD_TOOLS, {"names": ["disk__read"]}), call("mail__send")),
        saying("x"),
    )
    done = await run(model, toolbox, discovery="names")
    assert [request.loaded for request in done.requests] == [
        ("disk__write",),
        (),
        ("mail__send",),
        None,
        None,
    ]
    assert {request.purpose for request in done.requests} == {"turn"}
    bill = receipt(done)
    assert bill.wasted_round_trips == 2
    assert (bill.loads, bill.tool_calls, bill.failed_calls) == (5, 1, 1)
    every_tool = sum(tool.tokens for server in toolbox.catalogue() for tool in server.tools)
    assert bill.eager_tokens == 2 * every_tool


@pytest.mark.parametrize(
    "finish",
    [
        "stop",
        "summarise",
    ],
)
@pytest.mark.parametrize(
    "called",
    [
        "disk__write",
        LOAD_TOOLS,
    ],
)
async def test_an_eager_run_saves_nothing_over_itself(called: str, finish: str) -> None:
    model = ScriptedModel(calling(call(called, {"n": 1})))
    done = await run(model, MemoryToolbox(*TOOLS), finish=finish, max_tool_iterations=2)
    bill = receipt(done)
    assert bill.schema_tokens == bill.eager_tokens
    assert bill.saved_share == 0


@pytest.mark.parametrize("spent_on", ["a choice", "a summary"])
async def test_nothing_is_asked_any_more_once_the_money_is_spent_beside_the_run(
    spent_on: str,
) -> None:
    model = ChoosingModel({"tools": ["mail__send"]}, saying("x"))
    options: dict[str, Any] = {"discovery": "preselect"}
    if spent_on == "a summary":
        options = {"summary_model": ScriptedModel(saying("Notes.")), **FOLDING}
    done = await run(
        model,
        MemoryToolbox(*TOOLS),
        TALK,
        max_cost=1,
        price=lambda usage: float(usage.prompt_tokens),
        **options,
    )
    assert len(done.requests) == 1
    assert (done.stop_reason, model.requests) == ("budget", [])


async def test_every_call_is_told_whole_in_the_order_of_its_answer() -> None:
    told: list[tuple[Any, ...]] = []
    events = Events()
    long = "x" * 5000
    toolbox = MemoryToolbox(MemoryTool(name="a__long", body=lambda args: long))
    model = ScriptedModel(
        calling(call(LOAD_TOOLS, {"names": ["a__long"]})),
        calling(call("a__long", {"q": long}, "c1"), call("a__long", "{broken", "c2")),
        saying("done"),
    )
    await run(
        model,
        toolbox,
        discovery="names",
        parallel=False,
        on_event=events,
        on_tool_call=lambda call, step: told.append((step, call.name, call.args)),
        on_tool_result=lambda result, step: told.append((step, result.id, result.ok, result.text)),
    )
    assert [entry[:2] for entry in told] == [
        (0, LOAD_TOOLS),
        (0, "c0"),
        (1, "a__long"),
        (1, "c1"),
        (1, "a__long"),
        (1, "c2"),
    ]
    assert told[2][2] == {"q": long}
    assert told[3][2:] == (True, long)
    assert (told[4][2], told[5][2]) == ({}, False), "an unreadable call has no arguments"
    assert [kind for kind in events.kinds if kind.startswith("tool-")] == [
        "tool-call",
        "tool-result",
    ] * 3


async def test_each_step_tells_its_request_once_and_as_first_built() -> None:
    asked: list[tuple[int, list[str], int]] = []

    def hear(request: StepRequest, step: int) -> None:
        names = [tool["function"]["name"] for tool in request.tools]
        asked.append((step, names, len(request.messages)))

    overflow = ContextOverflow(needed_tokens=9000, reserved_tokens=0, limit_tokens=8000)
    model = ScriptedModel(
        calling(call(LOAD_TOOLS, {"names": ["a__b"]})),
        overflow,
        saying("a summary"),
        saying("done"),
    )
    history: list[Message] = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "2"},
        QUESTION,
    ]
    await run(
        model,
        MemoryToolbox("a__b"),
        history,
        discovery="names",
        on_request=hear,
        compact=True,
        context_length=8000,
    )
    assert asked == [(0, [LOAD_TOOLS], 6), (1, [LOAD_TOOLS, "a__b"], 8)]


async def test_a_summary_that_spent_the_last_of_the_money_is_no_ground_to_ask_again() -> None:
    overflow = ContextOverflow(needed_tokens=9000, reserved_tokens=0, limit_tokens=8000)
    model = ScriptedModel(overflow, saying("a summary"), saying("done"))
    history = [QUESTION, assistant_message("1"), QUESTION, assistant_message("2"), MAIL]
    done = await run(
        model,
        MemoryToolbox("a__b"),
        history,
        compact=True,
        context_length=8000,
        max_cost=1,
        price=lambda usage: 1.0,
    )
    assert (len(model.requests), done.stop_reason) == (2, "budget")
    assert replays(done.messages)


async def test_a_step_begins_with_a_look_at_the_window() -> None:
    seen: list[RunWindow] = []
    usage = TurnUsage(prompt_tokens=700, completion_tokens=9, total_tokens=709)
    model = ScriptedModel(replace(calling(call("a__b")), usage=usage), saying("done"))

    async def length() -> int:
        return 4000

    await run(
        model,
        MemoryToolbox("a__b"),
        before_step=lambda messages, step, window: seen.append(window),
        context_length=length,
    )
    first, second = seen
    assert (first.used, first.limit, first.ledger) == (None, 4000, ())
    assert second.used is not None
    assert second.used > 700
    assert second.ledger[-1].prompt == 700
