"""A guided run: asked what is due, what to call and with what, until nothing is left to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from host.catalogue import guided
from host.loop import HOOK_PREFACE, READ_RESULT, RunHooks
from host.loop.big_results import READ_RESULT_DEFINITION
from host.loop.guiding import ANSWER_REQUEST, MAX_FAILURES, MAX_READS, READ_REQUEST
from host.receipt import receipt
from host.records import HookOutcome, Message, Run, ToolFailure, Turn
from host.text.json_text import compact_json
from host.text.tokens import tools_tokens
from tests.fakes.loop_peers import MemoryTool, MemoryToolbox, ScriptedModel, call, calling, saying
from tests.loop.runs import QUESTION, Events, replays, results, run

pytestmark = pytest.mark.anyio

PARAMETERS = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}
ADD = MemoryTool(name="maths__add", body=lambda args: f"{args['n']} more", parameters=PARAMETERS)
NOTE = MemoryTool(name="notes__write", body=lambda args: "noted", parameters=PARAMETERS)


class GuidedModel(ScriptedModel):
    """Answers each kind of question from a list of its own, the last entry ever after.

    Kinds are the schemas' only keys: ``topic``, ``asks_for``, ``group``, ``tool``, ``search``,
    ``answer``, or ``args`` for any other schema; bytes are said as they are. Turns without a
    schema are those of ``said``, as they come.
    """

    def __init__(self, *said: str | Turn, **answers: list[Any]) -> None:
        super().__init__(saying(""))
        self._said = [saying(one) if isinstance(one, str) else one for one in said or ("Done.",)]
        self._answers = {kind: list(entries) for kind, entries in answers.items()}
        self.kinds: list[str] = []

    async def turn(self, *given: Any, **options: Any) -> Turn:
        schema: Mapping[str, Any] | None = options.get("response_schema")
        if schema is None:
            self.kinds.append("free")
            self._script = [self._said.pop(0) if len(self._said) > 1 else self._said[0]]
            return await super().turn(*given, **options)
        await super().turn(*given, **options)
        [kind] = [key for key in schema.get("properties", {}) if key in self._answers] or ["args"]
        self.kinds.append(kind)
        entries = self._answers[kind]
        entry = entries.pop(0) if len(entries) > 1 else entries[0]
        if isinstance(entry, bytes):
            return saying(entry.decode())
        return saying(compact_json(entry if kind == "args" else {kind: entry}))


async def test_a_question_that_needs_no_tool_is_answered_without_any() -> None:
    model = GuidedModel("Hello!", topic=["greeting, thanks or goodbye"])
    done = await run(model, MemoryToolbox(ADD, NOTE), discovery="guided")
    assert model.kinds == ["topic", "free"]
    assert (done.answer, done.used, done.stop_reason) == ("Hello!", (), "completed")
    assert model.requests[-1].tools == ()
    bill = receipt(done)
    assert (bill.requests, bill.asides, bill.eager_tokens) == (2, 1, bill.eager_tokens)


async def test_one_thing_is_done_by_one_call_and_told() -> None:
    events = Events()
    model = GuidedModel(
        topic=["Maths"], tool=["maths__add"], args=[{"n": 2}], asks_for=["one thing"]
    )
    done = await run(model, MemoryToolbox(ADD, NOTE), discovery="guided", on_event=events)
    assert model.kinds == ["topic", "tool", "args", "asks_for", "free"]
    assert [(c.name, c.ok) for c in done.tool_calls] == [("maths__add", True)]
    assert done.loaded == ("maths__add",)
    assert replays(done.messages)
    assert model.requests[-1].tools == (), "what is declared is called again by small models"
    assert [r.purpose for r in done.requests] == ["due", "pick", "turn", "due", "turn"]
    assert [e["text"] for e in events.of("decision")] == ["a tool is due", "picked maths__add"]
    assert "".join(e["text"] for e in events.of("output")) == "Done."


async def test_several_things_are_done_until_a_call_repeats() -> None:
    model = GuidedModel(
        topic=["Maths"],
        tool=["maths__add", "notes__write", "maths__add"],
        args=[{"n": 2}],
        asks_for=["several things"],
    )
    done = await run(model, MemoryToolbox(ADD, NOTE), discovery="guided")
    assert [c.name for c in done.tool_calls] == ["maths__add", "notes__write"]
    assert done.answer == "Done."
    assert model.kinds.count("asks_for") == 1


async def test_a_failed_call_is_tried_again_with_its_failure_in_sight() -> None:
    model = GuidedModel(
        topic=["Maths"],
        tool=["maths__add"],
        args=[{"n": "two"}, {"n": 2}],
        asks_for=["one thing"],
    )
    done = await run(model, MemoryToolbox(ADD, NOTE), discovery="guided")
    assert [c.ok for c in done.tool_calls][:2] == [False, True]
    assert done.used == ("maths__add",)
    assert done.stop_reason == "completed"
    assert "not fit" in str(model.requests[3].messages[-1]["content"])


@pytest.mark.parametrize(
    "answers",
    [
        {"topic": [b"nonsense {"], "tool": ["maths__add"], "args": [{"n": 1}]},
        {"topic": ["Maths"], "tool": ["no__tool"], "args": [{"n": 1}]},
        {"topic": ["Maths"], "tool": ["maths__add"], "args": [b"[1"]},
    ],
)
async def test_an_answer_that_says_nothing_leaves_the_model_to_itself(
    answers: dict[str, list[Any]],
) -> None:
    answers = {"asks_for": ["one thing"], **answers}
    model = GuidedModel("By myself.", **answers)
    done = await run(model, MemoryToolbox(ADD, NOTE), discovery="guided")
    assert done.answer == "By myself."
    assert done.tool_calls == ()


async def test_of_a_long_catalogue_the_server_is_asked_for_first() -> None:
    many = [MemoryTool(name=f"s{number % 3}__t{number}") for number in range(60)]
    model = GuidedModel(
        topic=["S1"], group=["S1"], tool=["s1__t4"], args=[{"n": 1}], asks_for=["one thing"]
    )
    done = await run(model, MemoryToolbox(*many), discovery="guided")
    assert model.kinds[:4] == ["topic", "group", "tool", "args"]
    assert done.used == ("s1__t4",)


async def test_limits_bind_a_guided_run() -> None:
    model = GuidedModel(
        topic=["Maths"],
        tool=["maths__add"],
        args=[{"n": number} for number in range(50)],
        asks_for=["several things"],
    )
    done = await run(model, MemoryToolbox(ADD, NOTE), discovery="guided", max_tool_iterations=4)
    assert done.stop_reason == "backstop"
    assert len(done.tool_calls) == 4
    assert replays(done.messages)


async def test_without_tools_it_is_an_ordinary_run() -> None:
    model = GuidedModel("Plain.", topic=["x"])
    done = await run(model, MemoryToolbox(), discovery="guided")
    assert (model.kinds, done.answer) == (["free"], "Plain.")


async def test_a_last_turn_that_only_repeats_the_call_is_asked_for_again_in_words() -> None:
    events = Events()
    again = '{"name": "maths__add", "arguments": {"n": 2}}'
    model = GuidedModel(
        again,
        topic=["Maths"],
        tool=["maths__add"],
        args=[{"n": 2}],
        asks_for=["one thing"],
        answer=["It is 2 more."],
    )
    done = await run(model, MemoryToolbox(ADD, NOTE), discovery="guided", on_event=events)
    assert model.kinds[-2:] == ["free", "answer"]
    assert done.answer == "It is 2 more."
    assert done.messages[-1]["content"] == "It is 2 more."
    assert [call.name for call in done.tool_calls] == ["maths__add"]
    assert events.of("output")[-1]["text"] == "It is 2 more."
    assert "Result: 2 more" in str(model.requests[-1].messages[-1]["content"])
    assert receipt(done).requests == len(model.requests)


@pytest.mark.parametrize("answer", [[b"nothing that is JSON"], [" "]])
async def test_a_model_that_has_no_other_words_is_taken_at_its_first(answer: list[Any]) -> None:
    again = '{"name": "maths__add", "arguments": {"n": 2}}'
    model = GuidedModel(
        again,
        topic=["Maths"],
        tool=["maths__add"],
        args=[{"n": 2}],
        asks_for=["one thing"],
        answer=answer,
    )
    done = await run(model, MemoryToolbox(ADD, NOTE), discovery="guided")
    assert (done.answer, done.stop_reason) == (again, "completed")


async def test_a_step_that_makes_a_call_counts_no_tool_as_shown() -> None:
    model = GuidedModel(
        topic=["Maths"], tool=["maths__add"], args=[{"n": 2}], asks_for=["one thing"]
    )
    done = await run(model, MemoryToolbox(ADD, NOTE), discovery="guided")
    assert {request.tools for request in done.requests} == {()}
    assert {request.schema_tokens for request in done.requests} == {0}


BEFORE: list[Message] = [
    {"role": "user", "content": "Add 2."},
    {"role": "assistant", "content": "It is 2 more."},
]


@pytest.mark.parametrize(
    ("topics", "kinds"),
    [
        (["Maths"], ["topic", "tool"]),
        (["general knowledge", "Maths"], ["topic", "topic", "tool"]),
        (["general knowledge", "general knowledge"], ["topic", "topic", "free"]),
        (["greeting, thanks or goodbye"], ["topic", "free"]),
    ],
)
async def test_a_message_that_follows_others_is_looked_at_with_what_was_said_before_it(
    topics: list[str], kinds: list[str]
) -> None:
    model = GuidedModel(topic=topics, tool=["maths__add"], args=[{"n": 3}], asks_for=["one thing"])
    follow_up: Message = {"role": "user", "content": "And 3?"}
    done = await run(model, MemoryToolbox(ADD, NOTE), [*BEFORE, follow_up], discovery="guided")
    assert model.kinds[: len(kinds)] == kinds
    asked = [str(request.messages[-1]["content"]) for request in model.requests]
    assert "Add 2." not in asked[0]
    if "tool" in kinds:
        assert all("Add 2." in text and "And 3?" in text for text in asked[1 : len(kinds) + 1])
    assert done.used == (("maths__add",) if "tool" in kinds else ())


async def test_the_first_message_of_a_conversation_is_asked_about_once() -> None:
    model = GuidedModel("Hm.", topic=["general knowledge"])
    await run(model, MemoryToolbox(ADD, NOTE), discovery="guided")
    assert model.kinds == ["topic", "free"]


# Failed and denied calls


def failing(*fails: bool) -> MemoryTool:
    """A tool that fails as told, call by call; the last entry holds ever after."""
    left = list(fails)

    def body(args: dict[str, Any]) -> Any:
        fails_now = left.pop(0) if len(left) > 1 else left[0]
        return ToolFailure(code="broken", message="it broke") if fails_now else "fine"

    return MemoryTool(name="a__x", body=body)


def eager_for_more(asks_for: str) -> GuidedModel:
    """A model that always has another call to make."""
    args = [{"n": number} for number in range(50)]
    return GuidedModel(topic=["A"], tool=["a__x"], args=args, asks_for=[asks_for])


@pytest.mark.parametrize(
    ("fails", "calls"),
    [
        ([False], 1),
        ([True, False], 2),
        ([True, True, False], 3),
        ([True], MAX_FAILURES + 1),
    ],
)
async def test_one_thing_is_tried_until_it_is_done_or_has_failed_too_often(
    fails: list[bool], calls: int
) -> None:
    toolbox = MemoryToolbox(failing(*fails))
    model = eager_for_more("one thing")
    done = await run(model, toolbox, discovery="guided")
    assert (len(toolbox.calls), done.stop_reason) == (calls, "completed")
    assert model.kinds.count("asks_for") == 1


async def test_failures_count_in_a_row_and_not_over_the_run() -> None:
    toolbox = MemoryToolbox(failing(*[True, False] * 4, True))
    model = eager_for_more("several things")
    done = await run(model, toolbox, discovery="guided")
    oks = [outcome.ok for outcome in done.tool_calls]
    assert oks[:8] == [False, True] * 4, "each failure is tried again, however many there were"
    assert oks[8:] == [False] * (MAX_FAILURES + 2), "a thing is given up, then the next one"
    assert done.stop_reason == "completed"


@pytest.mark.parametrize(
    ("asks_for", "calls"), [("one thing", 1), ("several things", MAX_FAILURES + 2)]
)
async def test_a_denied_call_is_not_tried_again(asks_for: str, calls: int) -> None:
    toolbox = MemoryToolbox("a__x")
    model = eager_for_more(asks_for)
    done = await run(
        model, toolbox, discovery="guided", approve=lambda request: ("deny", "No, thank you.")
    )
    assert (toolbox.calls, len(done.tool_calls)) == ([], calls)
    assert model.kinds[3] == "asks_for", "at once, and nothing else first"
    assert done.stop_reason == "completed"


# What stands around the questions

CONTEXT = "It is  Monday.\n\n  In Oslo, too."


async def monday(event: str, context: object) -> list[HookOutcome]:
    """A hook that has something to say."""
    return [
        HookOutcome(
            server_id="s",
            label="S",
            hook_id="h",
            event="beforeTurn",
            ok=True,
            text=CONTEXT,
            inject=True,
            max_tokens=100,
        )
    ]


def everything_asked() -> GuidedModel:
    """A model that is asked each kind of question, the answer included."""
    return GuidedModel(
        '{"name": "s1__t4", "arguments": {"n": 1}}',
        topic=["general knowledge", "S1"],
        group=["S1"],
        tool=["s1__t4"],
        args=[{"n": 1}],
        asks_for=["one thing"],
        answer=["It is done."],
    )


MANY = [MemoryTool(name=f"s{number % 3}__t{number}") for number in range(60)]
ASKED = ["topic", "topic", "group", "tool", "args", "asks_for", "free", "answer"]


@pytest.mark.parametrize("preface", [HOOK_PREFACE, "", "Beside it:"])
async def test_what_hooks_say_stands_byte_for_byte_before_each_question(preface: str) -> None:
    model, plain = everything_asked(), everything_asked()
    history: list[Message] = [*BEFORE, QUESTION]
    hooks = RunHooks(run=monday, preface=preface)
    done = await run(model, MemoryToolbox(*MANY), history, discovery="guided", hooks=hooks)
    await run(plain, MemoryToolbox(*MANY), history, discovery="guided")
    assert model.kinds == plain.kinds == ASKED
    lead = f"{preface}\n\n{done.context}\n\n" if preface else f"{done.context}\n\n"
    assert CONTEXT in done.context
    for kind, request, without in zip(ASKED, model.requests, plain.requests, strict=True):
        at = 2 if kind == "free" else -1
        assert request.messages[at]["content"] == f"{lead}{without.messages[at]['content']}"
        assert request.messages[:at] == without.messages[:at]


async def test_the_callers_prompt_stands_before_what_is_said_and_not_what_is_chosen() -> None:
    own = "The user lives in Oslo."
    model, plain = everything_asked(), everything_asked()
    history: list[Message] = [*BEFORE, QUESTION]
    await run(model, MemoryToolbox(*MANY), history, discovery="guided", system=own)
    await run(plain, MemoryToolbox(*MANY), history, discovery="guided")
    systems = dict(zip(ASKED, (request.system for request in model.requests), strict=True))
    without = dict(zip(ASKED, (request.system for request in plain.requests), strict=True))
    assert systems.pop("free") == own
    assert systems.pop("answer") == f"{own}\n\n{without['answer']}"
    assert systems.items() <= without.items()


async def test_without_hooks_and_prompt_the_questions_are_asked_as_they_were_measured() -> None:
    model = everything_asked()
    toolbox = MemoryToolbox(*MANY)
    await run(model, toolbox, [*BEFORE, QUESTION], discovery="guided")
    catalogue = toolbox.catalogue()
    before = guided.Exchange(question="Add 2.", answer="It is 2 more.")
    asked = guided.pick_question([catalogue[1]], "Where is it?", (), before)
    [request] = [r for kind, r in zip(model.kinds, model.requests, strict=True) if kind == "tool"]
    assert request.messages == (
        {"role": "system", "content": asked.system},
        {"role": "user", "content": asked.user},
    )


# What a run costs


@pytest.mark.parametrize("limit", range(1, len(ASKED) + 1))
async def test_the_cost_limit_binds_between_any_two_requests(limit: int) -> None:
    model = everything_asked()
    done = await run(
        model,
        MemoryToolbox(*MANY),
        [*BEFORE, QUESTION],
        discovery="guided",
        max_cost=limit,
        price=lambda usage: 1.0,
    )
    assert model.kinds == ASKED[:limit]
    # The turn that spoke is the answer, though nothing is left to put it better.
    spoke = limit >= ASKED.index("free") + 1
    assert done.stop_reason == ("completed" if spoke else "budget")
    assert replays(done.messages)


@pytest.mark.parametrize(
    ("asks_for", "args"),
    [
        ("several things", [{"n": 2}]),
        ("one thing", [b"[1]"]),
        ("one thing", [{"n": 2}]),
    ],
)
async def test_an_eager_run_is_charged_no_request_that_it_would_not_have_made(
    asks_for: str, args: list[Any]
) -> None:
    again = '{"name": "maths__add", "arguments": {"n": 2}}'
    model = GuidedModel(
        again,
        topic=["Maths"],
        tool=["maths__add"],
        args=args,
        asks_for=[asks_for],
        answer=["It is 2 more."],
    )
    toolbox = MemoryToolbox(ADD)
    done = await run(model, toolbox, discovery="guided", recover_tool_calls=False)
    [tool] = toolbox.catalogue()[0].tools
    assert receipt(done).eager_tokens == tool.tokens * (len(toolbox.calls) + 1)


# Results that were cut

LINES = "\n".join(f"line {number}" for number in range(2000))
BIG = MemoryTool(name="logs__show", body=lambda args: LINES, description="Shows the log.")


def reader(*said: str | Turn, search: Any = "line 1234") -> GuidedModel:
    return GuidedModel(
        *said,
        topic=["Logs"],
        tool=["logs__show"],
        args=[{}],
        search=[search],
        asks_for=["one thing"],
        answer=["It is there."],
    )


async def reading(model: GuidedModel, **options: Any) -> Run:
    """A guided run that shows little of a result."""
    given: dict[str, Any] = {"max_result_chars": 600, **options}
    return await run(model, MemoryToolbox(BIG, NOTE), discovery="guided", **given)


def page(number: int) -> Turn:
    return calling(call(READ_RESULT, {"id": "r1", "page": number}))


def texted(number: int) -> str:
    return compact_json({"name": READ_RESULT, "arguments": {"id": "r1", "page": number}})


def called(run: Run) -> list[str]:
    return [outcome.name for outcome in run.tool_calls]


async def test_a_cut_result_is_searched_for_what_the_question_is_about() -> None:
    events = Events()
    model = reader("It is line 1234.")
    done = await reading(model, on_event=events)
    assert model.kinds == ["topic", "tool", "args", "search", "asks_for", "free"]
    assert '1 hit for "line 1234"' in results(done.messages)[1]
    assert (done.answer, called(done)) == ("It is line 1234.", ["logs__show", READ_RESULT])
    assert (done.used, done.loaded) == (("logs__show",),) * 2
    assert "looks for line 1234 in r1" in [event["text"] for event in events.of("decision")]
    assert replays(done.messages)


async def test_each_cut_result_is_searched_once() -> None:
    logs = [f"log {number}\n" + LINES for number in range(3)]
    big = MemoryTool(name="logs__show", body=lambda args: logs[args["n"]])
    model = GuidedModel(
        topic=["Logs"],
        tool=["logs__show"],
        args=[{"n": 0}, {"n": 1}, {"n": 2}, {"n": 2}],
        search=["line 7", "line 8", "line 9"],
        asks_for=["several things"],
    )
    done = await run(model, MemoryToolbox(big), discovery="guided", max_result_chars=600)
    assert called(done) == ["logs__show", READ_RESULT] * 3
    assert [text[:3] for text in results(done.messages)[1::2]] == ["[r1", "[r2", "[r3"]
    assert "Done: read_result" in str(model.requests[-2].messages[-1]["content"])


@pytest.mark.parametrize("nothing", ["", b"nonsense", 7, "x" * 101])
async def test_a_model_that_looks_for_nothing_answers_from_what_is_shown(nothing: Any) -> None:
    model = reader("It is long.", search=nothing)
    done = await reading(model)
    assert model.kinds == ["topic", "tool", "args", "search", "asks_for", "free"]
    assert (done.answer, called(done)) == ("It is long.", ["logs__show"])
    tokens = sum(row.tools[0].tokens for row in MemoryToolbox(BIG, NOTE).catalogue())
    reader_tokens = tools_tokens([READ_RESULT_DEFINITION])
    assert receipt(done).eager_tokens == 2 * tokens + reader_tokens, "for the call and the answer"


@pytest.mark.parametrize("said", [page(2), texted(2)])
async def test_the_model_itself_can_read_on_before_it_answers(said: str | Turn) -> None:
    model = reader(said, "Line 99 says it.", search="")
    done = await reading(model)
    assert model.kinds[-2:] == ["free", "free"]
    assert [request.tool_names for request in model.requests] == [[]] * 5 + [[READ_RESULT]] * 2
    assert model.requests[-1].messages[-1]["content"] == f"{ANSWER_REQUEST} {READ_REQUEST}"
    assert results(done.messages)[1].startswith("[r1: page 2 of ")
    assert (done.answer, done.used) == ("Line 99 says it.", ("logs__show",))
    assert replays(done.messages)


async def test_a_result_that_was_not_cut_leaves_nothing_to_be_read() -> None:
    model = reader(page(2))
    done = await reading(model, max_result_chars=None)
    assert [request.tool_names for request in model.requests] == [[]] * len(model.requests)
    assert model.requests[4].messages[-1]["content"] == ANSWER_REQUEST
    assert (done.answer, called(done)) == ("It is there.", ["logs__show"])


async def test_reading_on_is_bounded() -> None:
    model = reader(*(page(number) for number in range(2, 50)))
    done = await reading(model)
    assert called(done) == ["logs__show", *[READ_RESULT] * MAX_READS]
    assert model.requests[-2].tools == (), "what cannot be called any more is not declared"
    assert model.kinds[-1] == "answer"
    assert (done.answer, done.stop_reason) == ("It is there.", "completed")


async def test_reading_the_same_again_is_asked_for_the_answer_instead() -> None:
    done = await reading(reader(page(2)), stuck_after=2)
    assert called(done) == ["logs__show", READ_RESULT, READ_RESULT]
    assert (done.answer, done.stop_reason) == ("It is there.", "completed")


async def test_other_calls_do_not_count_once_all_are_made() -> None:
    both = calling(call("notes__write", {"n": 1}), call(READ_RESULT, {"id": "r1", "page": 2}))
    words = calling(call("notes__write", {"n": 1}), text="The log is long.")
    done = await reading(reader(both, words, search=""))
    assert called(done) == ["logs__show", READ_RESULT]
    assert (done.answer, done.used) == ("The log is long.", ("logs__show",))
    assert replays(done.messages)


async def test_text_is_no_reading_where_calls_are_not_read_from_text() -> None:
    done = await reading(reader(texted(2), search=""), recover_tool_calls=False)
    assert (called(done), done.answer) == (["logs__show"], "It is there.")


# Transcripts that others rewrite


async def test_a_question_that_is_rewritten_is_the_question_and_begins_anew() -> None:
    earlier = await run(
        GuidedModel(topic=["Maths"], tool=["maths__add"], args=[{"n": 1}], asks_for=["one thing"]),
        MemoryToolbox(ADD, NOTE),
        [{"role": "user", "content": "Add 1."}],
        discovery="guided",
    )
    model = GuidedModel(
        topic=["Maths"], tool=["maths__add"], args=[{"n": 2}], asks_for=["one thing"]
    )
    asked: Message = {"role": "user", "content": "Add 2."}
    dated: Message = {"role": "user", "content": "Add 2. (Today is Monday.)"}
    done = await run(
        model,
        MemoryToolbox(ADD, NOTE),
        [*earlier.messages, asked],
        discovery="guided",
        hooks=RunHooks(run=monday),
        before_step=lambda messages, step, window: (
            [dated if message == asked else message for message in messages]
        ),
    )
    assert model.kinds == ["topic", "tool", "args", "asks_for", "free"]
    asked_args = str(model.requests[2].messages[-1]["content"])
    assert "Request: Add 2. (Today is Monday.)" in asked_args
    assert "Before: Add 1." in asked_args
    assert "Done:" not in asked_args, "what was done for another question is not this one's"
    assert any(CONTEXT in str(message["content"]) for message in model.requests[-1].messages)
    assert [c.name for c in done.tool_calls] == ["maths__add"]


@pytest.mark.parametrize(
    "left",
    [
        [QUESTION],
        [{"role": "user", "content": "Go on."}],
        [{"role": "assistant", "content": "So far, so good."}],
        [*BEFORE, {"role": "assistant", "content": "So far, so good."}],
    ],
)
async def test_calls_that_the_transcript_no_longer_shows_are_not_made_again(
    left: list[Message],
) -> None:
    model = GuidedModel(
        topic=["Maths"],
        tool=["maths__add", "notes__write", "notes__write", "maths__add"],
        args=[{"n": 1}, {"n": 2}, {"n": 3}, {"n": 1}],
        asks_for=["several things"],
    )
    toolbox = MemoryToolbox(ADD, NOTE)
    done = await run(
        model,
        toolbox,
        [*BEFORE, QUESTION],
        discovery="guided",
        before_step=lambda messages, step, window: left if step == 2 else None,
    )
    assert [(c.name, c.args["n"]) for c in toolbox.calls] == [
        ("maths__add", 1),
        ("notes__write", 2),
        ("notes__write", 3),
    ]
    assert model.kinds.count("topic") == model.kinds.count("asks_for") == 1
    assert model.kinds[-2:] == ["args", "free"]
    assert str(model.requests[-2].messages[-1]["content"]).count("Done: ") >= 2
    assert (done.answer, done.stop_reason) == ("Done.", "completed")


async def test_a_transcript_without_any_call_does_not_begin_the_run_again() -> None:
    model = eager_for_more("one thing")
    toolbox = MemoryToolbox("a__x")
    await run(
        model,
        toolbox,
        discovery="guided",
        before_step=lambda messages, step, window: [QUESTION],
    )
    assert len(toolbox.calls) == 1
    assert model.kinds == ["topic", "tool", "args", "asks_for", "free"]


# What the caller hears


@pytest.mark.parametrize(
    ("answers", "heard"),
    [
        ({"topic": ["general knowledge"]}, ["free"]),
        ({"args": [{"n": 2}]}, ["args", "free"]),
        ({"args": [b"[1]"]}, ["free"]),
        ({"args": [{"n": 2}], "asks_for": ["several things"]}, ["args", "free"]),
        ({"said": '{"name": "maths__add", "arguments": {"n": 2}}'}, ["args", "free"]),
    ],
)
async def test_each_step_tells_the_request_that_made_its_turn(
    answers: dict[str, Any], heard: list[str]
) -> None:
    told: list[tuple[int, tuple[Message, ...]]] = []
    rest = {
        "topic": ["Maths"],
        "tool": ["maths__add"],
        "args": [{"n": 2}],
        "asks_for": ["one thing"],
        "answer": ["It is 2 more."],
    }
    model = GuidedModel(answers.pop("said", "Done."), **{**rest, **answers})
    await run(
        model,
        MemoryToolbox(ADD, NOTE),
        discovery="guided",
        on_request=lambda request, step: told.append((step, request.messages)),
    )
    sent = [request.messages for request in model.requests]
    assert [(step, model.kinds[sent.index(messages)]) for step, messages in told] == list(
        enumerate(heard)
    )


# Tools as they come


@pytest.mark.parametrize(
    "parameters", [True, [], {}, {"type": "array"}, {"properties": {"a": {"$ref": "#/gone"}}}]
)
async def test_a_tool_with_an_odd_schema_does_not_end_the_run(parameters: Any) -> None:
    tool = MemoryTool(name="a__x", parameters=parameters, body=lambda args: "fine")
    model = GuidedModel(topic=["A"], tool=["a__x"], args=[{}], asks_for=["one thing"])
    done = await run(model, MemoryToolbox(tool), discovery="guided")
    assert (done.stop_reason, [c.name for c in done.tool_calls[:1]]) == ("completed", ["a__x"])


async def test_of_a_crowd_of_tools_a_request_holds_few() -> None:
    crowd = [f"a__tool_{number}" for number in range(3000)]
    model = GuidedModel(topic=["A"], tool=["a__wash_car"], args=[{"n": 1}], asks_for=["one thing"])
    question: Message = {"role": "user", "content": "Wash my car."}
    done = await run(model, MemoryToolbox(*crowd, "a__wash_car"), [question], discovery="guided")
    assert done.used == ("a__wash_car",)
    sizes = [sum(len(str(m["content"])) for m in r.messages) for r in model.requests]
    assert max(sizes) < 10_000
    assert "a__wash_car" in model.requests[1].system


@pytest.mark.parametrize("name", ["load_tools", "b__y", "x", READ_RESULT])
async def test_a_pick_of_what_is_not_offered_is_none(name: str) -> None:
    model = GuidedModel("By myself.", topic=["A"], tool=[name], args=[{}], asks_for=["one thing"])
    toolbox = MemoryToolbox("a__x", "b__x", undefined=["a__x"])
    done = await run(model, toolbox, discovery="guided")
    assert (model.kinds, done.answer) == (["topic", "tool", "free"], "By myself.")
    assert toolbox.calls == []
