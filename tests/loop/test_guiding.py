"""A guided run: asked what is due, what to call and with what, until nothing is left to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from host.receipt import receipt
from host.records import Message, Turn
from host.text.json_text import compact_json
from tests.fakes.loop_peers import MemoryTool, MemoryToolbox, ScriptedModel, saying
from tests.loop.runs import Events, replays, run

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

    Kinds are the schemas' only keys: ``topic``, ``asks_for``, ``group``, ``tool``, ``answer``, or
    ``args`` for any other schema; bytes are said as they are. A turn without a schema says
    ``said``.
    """

    def __init__(self, said: str = "Done.", /, **answers: list[Any]) -> None:
        super().__init__(saying(said))
        self._answers = {kind: list(entries) for kind, entries in answers.items()}
        self.kinds: list[str] = []

    async def turn(self, *given: Any, **options: Any) -> Turn:
        schema: Mapping[str, Any] | None = options.get("response_schema")
        plain = await super().turn(*given, **options)
        if schema is None:
            self.kinds.append("free")
            return plain
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
