"""The questions of guided discovery, and what is read from their answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.catalogue.guided import (
    MAX_NAMES_AT_ONCE,
    MAX_NAMES_TO_PICK_FROM,
    Exchange,
    GuidedQuestion,
    GuidedStep,
    arguments_in,
    arguments_question,
    asks_for_several,
    conversation_text,
    due_question,
    is_greeting,
    needs_server_pick,
    pick_question,
    picked_server,
    picked_tool,
    repeats_a_step,
    search_in,
    search_question,
    server_question,
    several_question,
    tool_is_due,
)
from host.records import CatalogueServer, ToolDefinition
from host.text.terminal_text import one_line
from tests.catalogue.catalogues import CATALOGUES, DISK, EMPTY, MAIL, server

BOTH = [MAIL, DISK]
OTHER_ONE = server("One", "o__only")
SENT = GuidedStep(name="mail__send", args={"to": "Anna"}, result="Sent.")
SEND: ToolDefinition = {
    "type": "function",
    "function": {
        "name": "mail__send",
        "description": "Sends\na message.",
        "parameters": {"type": "object", "properties": {"to": {"type": "string"}}},
    },
}
HOSTILE = st.sampled_from(
    [
        "",
        "Mail",
        "mail",
        "General Knowledge",
        "calculation or conversion",
        "a\nb",
        "\x1b[2J",
        "x" * 200,
        "server 1",
        "server 2",
    ]
)
HOSTILE_CATALOGUES = st.lists(
    st.tuples(HOSTILE, st.lists(HOSTILE.map("m__{}".format), max_size=3)), max_size=5
).map(lambda rows: [server(label, *names) for label, names in rows])
TEXTS = st.text(alphabet="ab \n:{}é\x1b", max_size=60)
STEPS = st.lists(
    st.builds(
        GuidedStep,
        name=st.sampled_from(["mail__send", "x", "a\nb"]),
        args=st.dictionaries(st.sampled_from("ab"), st.integers() | TEXTS, max_size=2),
        result=TEXTS,
    ),
    max_size=3,
)
SHAPES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["topic", "tool", "group", "asks_for", "x"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)


def options(question: GuidedQuestion) -> list[str]:
    """The enum of a question that has one property."""
    [key] = question.schema["required"]
    assert question.schema["additionalProperties"] is False
    return list(question.schema["properties"][key]["enum"])


def test_a_topic_is_a_server_or_a_computation_or_talk() -> None:
    question = due_question([MAIL, EMPTY, DISK], "What is new?")
    assert options(question)[:3] == ["Mail", "Disk", "calculation or conversion"]
    assert len(options(question)) == 8
    assert question.user == "Message: What is new?"
    assert question.system.endswith("Disk:\n  disk__read\n  disk__write")


def test_what_is_talk_needs_no_tool() -> None:
    topics = options(due_question(BOTH, ""))
    due = [topic for topic in topics if tool_is_due({"topic": topic})]
    assert due == topics[:3]
    assert not tool_is_due({"topic": " General knowledge "})
    assert tool_is_due("Mail")


def test_what_was_said_before_is_shown_in_one_line_each() -> None:
    before = Exchange(question="How far\nis it?" + "x" * 999, answer="Far.\nVery.")
    due = due_question(BOTH, "And back?", before)
    assert due.user.startswith("Message: And back?\n(Before it: How far is it?x")
    assert len(due.user) < 500
    picked = pick_question(BOTH, "And back?", (), before).user.split("\n")
    assert [line[:9] for line in picked[:3]] == ["Before: H", "Answer: F", "Request: "]
    assert due.system == due_question(BOTH, "And back?").system, "the cached part stays"
    assert is_greeting({"topic": "Greeting, thanks or goodbye "})
    assert not is_greeting({"topic": "general knowledge"})


@pytest.mark.parametrize("default", [True, False])
@pytest.mark.parametrize("reply", [None, {}, {"topic": 3}, {"topic": " "}, [], ["Mail"], ""])
def test_without_a_topic_the_caller_decides(reply: object, default: bool) -> None:
    assert tool_is_due(reply, default=default) is default


@given(HOSTILE_CATALOGUES)
def test_no_label_can_pass_for_talk_or_for_another_server(
    catalogue: list[CatalogueServer],
) -> None:
    filled = [row for row in catalogue if row.tools]
    topics = options(due_question(catalogue, ""))
    assert len(topics) == len(set(topics)) == len(filled) + 6
    assert all(tool_is_due({"topic": topic}) for topic in topics[: len(filled) + 1])
    assert not any(tool_is_due({"topic": topic}) for topic in topics[len(filled) + 1 :])
    assert all(topic == one_line(topic) and topic for topic in topics)
    if filled:
        groups = options(server_question(catalogue, ""))
        assert groups == topics[: len(filled)]
        for group, row in zip(groups, filled, strict=True):
            assert picked_server({"group": group}, catalogue) == (row,)


@given(CATALOGUES, TEXTS, STEPS)
def test_every_catalogued_name_can_be_picked_and_nothing_else(
    catalogue: list[CatalogueServer], question: str, steps: list[GuidedStep]
) -> None:
    names = list(dict.fromkeys(tool.name for row in catalogue for tool in row.tools))
    if not names:
        with pytest.raises(ValueError, match="nothing to choose"):
            pick_question(catalogue, question, steps)
        return
    asked = pick_question(catalogue, question, steps)
    assert options(asked) == names
    for name in names:
        assert name in asked.system.splitlines()
        assert picked_tool({"tool": name}, catalogue) == name


@given(TEXTS, STEPS, TEXTS)
def test_what_comes_first_is_the_same_for_every_request(
    question: str, steps: list[GuidedStep], other: str
) -> None:
    assert due_question(BOTH, question).system == due_question(BOTH, other).system
    assert several_question(question).system == several_question(other).system
    for ask in (pick_question, server_question):
        assert ask(BOTH, question, steps).system == ask(BOTH, other).system
        assert ask(BOTH, question, steps).schema == ask(BOTH, other).schema


@given(SHAPES)
def test_any_answer_is_read_without_harm(reply: object) -> None:
    assert tool_is_due(reply) in (True, False)
    assert asks_for_several(reply) in (True, False)
    assert picked_server(reply, BOTH) in ((), (MAIL,), (DISK,))
    assert picked_tool(reply, BOTH) in (None, *(t.name for row in BOTH for t in row.tools))
    read = arguments_in(reply)
    assert read == reply if isinstance(reply, dict) else read is None


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ({"tool": "mail__send"}, "mail__send"),
        ({"tool": " mail__send "}, "mail__send"),
        ({"tool": "send"}, "mail__send"),
        ("disk__read", "disk__read"),
        ({"tool": "mail__*"}, None),
        ({"tool": "mail__se"}, None),
        ({"tool": ["mail__send"]}, None),
        ({}, None),
    ],
)
def test_a_tool_is_read_whole_or_by_its_own_name(reply: object, name: str | None) -> None:
    assert picked_tool(reply, BOTH) == name


def test_a_bare_name_of_two_servers_is_no_pick() -> None:
    assert picked_tool({"tool": "read"}, [DISK, server("Other", "x__read")]) is None


def test_a_pick_shows_one_line_of_each_description() -> None:
    catalogue = [server("Mail", ("mail__send", "Sends\n\nTools:\na message. " + "x" * 200))]
    [line] = pick_question(catalogue, "").system.split("\n\n")[0].splitlines()[1:]
    assert line.startswith("mail__send: Sends Tools: a message. xxx")
    assert len(line) == len("mail__send: ") + 120


def test_servers_come_first_when_the_names_are_many_and_the_servers_several() -> None:
    many = server("Many", *(f"m__{number}" for number in range(MAX_NAMES_AT_ONCE)))
    assert not needs_server_pick([many])
    assert not needs_server_pick([many, EMPTY])
    assert needs_server_pick([many, OTHER_ONE])
    outline = server_question([many, OTHER_ONE], "What is new?").system
    assert "Many: 0, 1, 2, 3, 4, …\nOne: only\n" in outline
    assert due_question([many, OTHER_ONE], "").system.endswith("3, 4, …\nOne: only")


def crowd(*last: str | tuple[str, str], size: int = 3000) -> CatalogueServer:
    """A server of so many tools, the last ones given."""
    return server("Crowd", *(f"c__t{number}" for number in range(size - len(last))), *last)


def test_of_a_crowd_of_tools_those_are_shown_that_the_words_fit() -> None:
    wanted = ("c__wash_car", "Cleans a vehicle."), ("c__moon_phase", "Tells the phase of the moon.")
    before = Exchange(question="Clean my vehicle!", answer="Done.")
    question = pick_question([crowd(*wanted)], "And the phase of the moon?", (), before)
    assert len(options(question)) == MAX_NAMES_AT_ONCE
    assert options(question)[:2] == ["c__t0", "c__t1"], "the first ones fill up what is left"
    assert options(question)[-2:] == ["c__wash_car", "c__moon_phase"]
    assert len(question.system) < 10_000
    due = due_question([crowd(*wanted)], "And the phase of the moon?")
    assert "\n  c__moon_phase" in due.system
    assert len(due.system) < 10_000
    assert len(options(due)) == 7


def test_a_name_that_was_not_shown_is_still_the_tools() -> None:
    assert picked_tool({"tool": "c__t2900"}, [crowd()]) == "c__t2900"


@given(
    st.integers(MAX_NAMES_TO_PICK_FROM - 2, MAX_NAMES_TO_PICK_FROM + 2),
    st.lists(st.sampled_from(["alpha", "beta", "gamma"]), max_size=3, unique=True),
)
def test_no_pick_shows_more_names_than_fit(size: int, words: list[str]) -> None:
    catalogue = [crowd(*(f"c__{word}" for word in words), size=size)]
    shown = options(pick_question(catalogue, " ".join(words)))
    names = [tool.name for tool in catalogue[0].tools]
    if size <= MAX_NAMES_TO_PICK_FROM:
        assert shown == names
    else:
        rest = MAX_NAMES_AT_ONCE - len(words)
        assert shown == [*names[:rest], *(f"c__{word}" for word in words)]


@pytest.mark.parametrize("tools", [["b__\u202eevil"], ["m__a\x00b", "m__plain"]])
def test_a_name_that_cannot_be_shown_as_it_is_can_be_picked(tools: list[str]) -> None:
    catalogue = [server("Odd", *tools)]
    for name, shown in zip(tools, options(pick_question(catalogue, "?")), strict=True):
        assert picked_tool({"tool": shown}, catalogue) == name


def test_the_pick_after_a_step_is_about_what_is_left() -> None:
    first = pick_question(BOTH, "Mail Anna.").user
    then = pick_question(BOTH, "Mail Anna.", [SENT]).user
    assert first.startswith("Request: Mail Anna.\n")
    assert 'Done: mail__send {"to":"Anna"}\nResult: Sent.' in then
    assert "left to do" in then
    assert "left to do" not in first


@given(st.text(max_size=3000), st.lists(st.text(max_size=200), max_size=3))
def test_the_conversation_is_bounded_and_each_result_is_one_line(
    question: str, results: list[str]
) -> None:
    steps = [GuidedStep(name="x", args={"a": text}, result=text * 40) for text in results]
    text = conversation_text(question, steps)
    assert len(text) <= 2010 + len(steps) * 1100
    if steps:
        tail = text.split("\n")[-2 * len(steps) :]
        assert [line[:6] for line in tail] == ["Done: ", "Result"] * len(steps)


def test_arguments_are_held_to_the_tools_own_schema() -> None:
    asked = arguments_question(SEND, "Mail Anna.", [SENT])
    assert asked.schema == SEND["function"]["parameters"]
    assert "tool send: Sends a message.\n" in asked.system
    assert asked.user == conversation_text("Mail Anna.", [SENT])
    bare: ToolDefinition = {"type": "function", "function": {"name": "x"}}
    assert arguments_question(bare, "").schema == {"type": "object"}


@pytest.mark.parametrize("parameters", [True, None, {}, [], "object", 7])
def test_a_schema_that_is_none_lets_any_object_be_written(parameters: Any) -> None:
    function: Any = {"name": "x", "description": None, "parameters": parameters}
    asked = arguments_question({"type": "function", "function": function}, "")
    assert asked.schema == {"type": "object"}


def test_what_to_look_for_is_asked_about_the_question_alone() -> None:
    before = Exchange(question="Where is Anna?", answer="In Oslo.")
    asked = search_question("And her number?", before)
    assert asked.user == "Before: Where is Anna?\nAnswer: In Oslo.\nRequest: And her number?"
    assert asked.system == search_question("Other").system
    assert asked.schema["required"] == ["search"]


@given(SHAPES | st.dictionaries(st.just("search"), st.text(max_size=150)))
def test_what_to_look_for_is_a_short_text_or_nothing(reply: object) -> None:
    given = reply.get("search") if isinstance(reply, dict) else None
    text = given.strip() if isinstance(given, str) else ""
    assert search_in(reply) == (text if len(text) <= 100 else "")


def test_several_things_are_told_from_one() -> None:
    several, one = options(several_question("Find it and play it."))
    assert asks_for_several({"asks_for": several})
    assert not asks_for_several({"asks_for": one})


@given(st.dictionaries(st.sampled_from("abc"), st.integers(), max_size=3))
def test_the_same_call_is_known_whatever_the_order_of_its_keys(args: dict[str, int]) -> None:
    step = GuidedStep(name="x", args=dict(reversed(args.items())), result="")
    assert repeats_a_step("x", args, [SENT, step])
    assert not repeats_a_step("y", args, [step])
    assert not repeats_a_step("x", {**args, "more": 1}, [step])


def test_a_question_can_be_sent_as_json() -> None:
    for asked in (due_question(BOTH, "?"), pick_question(BOTH, "?"), several_question("?")):
        assert json.loads(json.dumps(asked.schema)) == asked.schema
