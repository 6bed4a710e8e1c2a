"""Content goes into a trace whole, in the form of the conventions."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from host.records import AssistantMessage, Message, ToolCall, Turn
from host.tracing.content import content_text, shown_messages, shown_tools, shown_turn
from tests.fakes.loop_peers import MemoryTool, call

texts = st.text("abc{}\"'é ", max_size=8)
arguments = st.dictionaries(texts, st.integers() | texts | st.booleans(), max_size=3)
calls = st.builds(lambda args: call("a__b", args, call_id="c1"), arguments)


def _texts(messages: list[dict[str, Any]], kind: str, field: str) -> list[Any]:
    return [part[field] for one in messages for part in one["parts"] if part["type"] == kind]


@given(texts, st.lists(calls, max_size=2), texts)
def test_texts_and_calls_are_all_there_and_in_order(
    text: str, made: list[ToolCall], result: str
) -> None:
    messages: list[Message] = [
        {"role": "system", "content": "rules"},
        AssistantMessage(role="assistant", content=text, tool_calls=made),
        {"role": "tool", "content": result, "tool_call_id": "c1"},
    ]
    shown = shown_messages(messages)
    assert [one["role"] for one in shown] == ["system", "assistant", "tool"]
    assert _texts(shown, "text", "content") == ["rules", *([text] if text else [])]
    assert _texts(shown, "tool_call", "arguments") == [
        json.loads(one["function"]["arguments"]) for one in made
    ]
    assert _texts(shown, "tool_call_response", "response") == [result]


@given(texts, st.lists(calls, max_size=2).map(tuple), texts)
def test_an_answer_is_its_thoughts_its_text_and_its_calls(
    text: str, made: tuple[ToolCall, ...], thought: str
) -> None:
    turn = Turn(content=text, tool_calls=made, reasoning=thought, finish_reason="stop")
    shown = shown_turn(turn)
    kinds = ["reasoning"] * bool(thought) + ["text"] * bool(text) + ["tool_call"] * len(made)
    assert [part["type"] for part in shown["parts"]] == kinds
    assert (shown["role"], shown["finish_reason"]) == ("assistant", "stop")


def test_arguments_that_are_no_json_are_shown_as_written() -> None:
    turn = Turn(tool_calls=(call("a__b", '{"a": ', call_id="c1"),))
    (part,) = shown_turn(turn)["parts"]
    assert part == {"type": "tool_call", "id": "c1", "name": "a__b", "arguments": '{"a": '}


def test_a_picture_is_named_and_not_copied() -> None:
    picture: dict[str, Any] = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,AAAA"},
    }
    content = [{"type": "text", "text": "What is this?"}, picture]
    message: Message = {"role": "user", "content": content}
    (shown,) = shown_messages([message])
    assert shown["parts"] == [{"type": "text", "content": "What is this?"}, {"type": "image_url"}]


def test_a_turn_that_says_nothing_has_no_parts() -> None:
    assert shown_messages([{"role": "assistant", "content": None}])[0]["parts"] == []


def test_definitions_are_flat() -> None:
    (shown,) = shown_tools([MemoryTool(name="a__b", description="Does.").definition])
    assert shown == {
        "type": "function",
        "name": "a__b",
        "description": "Does.",
        "parameters": {"type": "object"},
    }


def test_what_json_has_no_form_for_is_still_told() -> None:
    assert content_text("as it is") == "as it is"
    assert content_text({"a": [1, "é"]}) == '{"a":[1,"é"]}'
    assert content_text(math.nan) == "nan"
    assert content_text({1}) == "{1}"
