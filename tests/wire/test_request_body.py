"""Bodies of chat requests."""

from __future__ import annotations

import json
from copy import deepcopy
from itertools import combinations
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.records import Message, ToolDefinition
from host.wire.capabilities import Capabilities, ModelCapabilities
from host.wire.request_body import build_body
from host.wire.settings import ModelParams

ASK: list[Message] = [{"role": "user", "content": "hi"}]
TOOL = cast(
    "ToolDefinition",
    {
        "type": "function",
        "function": {
            "name": "t",
            "parameters": {
                "type": "object",
                "properties": {"u": {"type": ["string", "null"], "format": "uri"}},
            },
        },
    },
)


def body_of(params: ModelParams, refused: ModelCapabilities | None = None) -> dict[str, Any]:
    return build_body(params, Capabilities(), refused, ASK)


def test_a_plain_body_holds_model_messages_and_stream_options() -> None:
    assert body_of(ModelParams(model="m", reasoning_effort="off")) == {
        "model": "m",
        "messages": ASK,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_everything_asked_for_is_in_the_body() -> None:
    params = ModelParams(
        model="m",
        max_tokens=9,
        temperature=0.0,
        reasoning_effort="low",
        extra_body={"top_k": 3},
    )
    body = build_body(params, Capabilities(usage_in_stream=False), ModelCapabilities(), ASK, [TOOL])
    properties = body.pop("tools")[0]["function"]["parameters"]["properties"]
    assert properties == {"u": {"type": "string", "nullable": True, "format": "uri"}}
    assert body == {
        "model": "m",
        "messages": ASK,
        "stream": True,
        "max_tokens": 9,
        "temperature": 0.0,
        "reasoning_effort": "low",
        "top_k": 3,
    }


def test_the_messages_are_the_same_list() -> None:
    assert body_of(ModelParams(model="m"))["messages"] is ASK


def test_tools_are_relaxed_once_the_endpoint_builds_no_grammar() -> None:
    body = build_body(ModelParams(model="m"), Capabilities(strict_schemas=False), None, ASK, [TOOL])
    properties = body["tools"][0]["function"]["parameters"]["properties"]
    assert properties == {"u": {"type": "string", "nullable": True}}


def test_extra_fields_override_the_temperature_and_never_a_reserved_field() -> None:
    extra = {"temperature": 0.9, **dict.fromkeys(("model", "messages", "stream", "tools"), "mine")}
    body = body_of(ModelParams(model="m", temperature=0.1, extra_body=extra))
    assert body["temperature"] == 0.9
    assert body["model"] == "m"
    assert body["messages"] is ASK
    assert body["stream"] is True
    assert "tools" not in body


def test_refused_fields_are_left_out() -> None:
    refused = ModelCapabilities(refused_fields={"top_k"}, reasoning_effort=False)
    params = ModelParams(model="m", reasoning_effort="high", extra_body={"top_k": 1, "min_p": 2})
    body = body_of(params, refused)
    assert "top_k" not in body
    assert "reasoning_effort" not in body
    assert body["min_p"] == 2


def test_a_model_nobody_knows_gets_the_older_name_of_the_ceiling() -> None:
    assert body_of(ModelParams(model="m", max_tokens=5))["max_tokens"] == 5


def test_what_a_model_does_not_take_is_left_out_of_the_callers_own_fields_too() -> None:
    refused = ModelCapabilities(
        reasoning_effort=False, chosen_temperature=False, structured_output=False
    )
    extra = {
        "temperature": 0.9,
        "reasoning_effort": "high",
        "stream_options": {"include_usage": True},
        "response_format": {"type": "json_schema", "json_schema": {}},
        "seed": 1,
    }
    params = ModelParams(model="m", extra_body=extra)
    body = build_body(params, Capabilities(usage_in_stream=False), refused, ASK)
    assert body == {"model": "m", "messages": ASK, "stream": True, "seed": 1}


def test_json_of_any_shape_is_asked_for_although_none_by_schema_is_taken() -> None:
    extra = {"response_format": {"type": "json_object"}}
    params = ModelParams(model="m", extra_body=extra)
    assert body_of(params, ModelCapabilities(structured_output=False)).items() >= extra.items()


@pytest.mark.parametrize(
    ("extra", "ceiling"),
    [
        ({}, 5),
        ({"max_tokens": 9}, 9),
        ({"max_completion_tokens": 7}, 7),
        ({"max_tokens": 9, "max_completion_tokens": 7}, 7),
    ],
)
def test_a_ceiling_goes_by_the_name_the_model_takes_wherever_it_was_set(
    extra: dict[str, int], ceiling: int
) -> None:
    refused = ModelCapabilities(legacy_token_limit=False, refused_fields={"max_tokens"})
    body = body_of(ModelParams(model="m", max_tokens=5, extra_body=extra), refused)
    assert body["max_completion_tokens"] == ceiling
    assert "max_tokens" not in body


@pytest.mark.parametrize(
    ("asked", "sent"),
    [("none", "low"), ("high", "high"), ("xhigh", "xhigh"), ("off", "off"), (None, None)],
)
def test_an_effort_of_the_callers_own_is_stepped_as_any_other(asked: object, sent: object) -> None:
    refused = ModelCapabilities(
        refused_efforts={"none"}, supported_efforts=("low", "medium", "high")
    )
    extra = {"reasoning_effort": asked}
    body = body_of(ModelParams(model="m", extra_body=extra), refused)
    assert body["reasoning_effort"] == sent


def test_fields_that_only_go_with_tools_go_only_with_tools() -> None:
    extra = {"parallel_tool_calls": False, "tool_choice": "auto"}
    params = ModelParams(model="m", extra_body=extra)
    assert not body_of(params).keys() & extra.keys()
    with_tools = build_body(params, Capabilities(), None, ASK, [TOOL])
    assert with_tools.items() >= extra.items()


EXTRA_BODIES = st.dictionaries(
    st.sampled_from(
        [
            "temperature",
            "reasoning_effort",
            "stream_options",
            "max_tokens",
            "top_k",
            "tool_choice",
            "model",
        ]
    ),
    st.sampled_from([1, "low", {"type": "json_schema"}, None]),
)


@given(
    EXTRA_BODIES,
    st.booleans(),
    st.booleans(),
    st.builds(
        ModelCapabilities,
        reasoning_effort=st.booleans(),
        legacy_token_limit=st.booleans(),
        chosen_temperature=st.booleans(),
        refused_fields=st.sets(st.just("top_k")),
    ),
)
def test_nothing_that_is_latched_off_is_ever_sent(
    extra: dict[str, Any], usage: bool, has_tools: bool, refused: ModelCapabilities
) -> None:
    params = ModelParams(
        model="m", max_tokens=5, temperature=0.5, reasoning_effort="low", extra_body=extra
    )
    capabilities = Capabilities(usage_in_stream=usage)
    body = build_body(params, capabilities, refused, ASK, [TOOL] if has_tools else [])
    assert ("stream_options" in body) == usage
    assert ("temperature" in body) == refused.chosen_temperature
    assert ("reasoning_effort" in body) == refused.reasoning_effort
    assert ("max_tokens" in body) == refused.legacy_token_limit
    assert ("max_completion_tokens" in body) != refused.legacy_token_limit
    assert ("tool_choice" in body) == (has_tools and "tool_choice" in extra)
    assert not body.keys() & refused.refused_fields
    assert body["model"] == "m"


LATCHES = st.builds(
    ModelCapabilities,
    reasoning_effort=st.booleans(),
    legacy_token_limit=st.booleans(),
    chosen_temperature=st.booleans(),
    refused_fields=st.sets(st.sampled_from(["top_k", "min_p"])),
)
EXTRAS = ["top_k", "min_p", "temperature", "max_completion_tokens", "seed", "stream_options"]


@given(
    st.lists(LATCHES | st.none(), min_size=2, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.lists(st.sampled_from(EXTRAS), unique=True),
)
def test_two_keys_never_change_their_order_whatever_is_latched(
    latches: list[ModelCapabilities | None], usage: list[bool], extras: list[str]
) -> None:
    params = ModelParams(
        model="m",
        max_tokens=5,
        temperature=0.5,
        reasoning_effort="low",
        extra_body=dict.fromkeys(extras, 1),
    )
    bodies = [
        list(build_body(params, Capabilities(usage_in_stream=counts), refused, ASK, [TOOL]))
        for refused, counts in zip(latches, usage, strict=False)
    ]
    for one, other in combinations(bodies, 2):
        shared = set(one) & set(other)
        assert [key for key in one if key in shared] == [key for key in other if key in shared]
        assert one[-1] == "tools"


def history(*arguments: object) -> list[Message]:
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": "t", "arguments": one}}
        for at, one in enumerate(arguments)
    ]
    call: Any = {"role": "assistant", "content": None, "tool_calls": calls}
    return [*ASK, call, {"role": "tool", "tool_call_id": "c0", "content": "ok"}]


def sent_arguments(messages: list[Message]) -> list[Any]:
    body = build_body(ModelParams(model="m"), Capabilities(), None, messages)
    return [call["function"]["arguments"] for call in body["messages"][1]["tool_calls"]]


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ('{"a": 1}', '{"a": 1}'),
        (' {"a":1}\n', ' {"a":1}\n'),
        ("", "{}"),
        ("  ", "{}"),
        (None, "{}"),
        ('{"tz": Asia', "{}"),
        ("[3]", "{}"),
        ("7", "{}"),
        ('"text"', "{}"),
        ('{"a": NaN}', "{}"),
        ("[" * 100_000, "{}"),
        ("{'k': True,}", '{"k":true}'),
        ('"{\\"n\\":3}"', '{"n":3}'),
        ({"n": 3}, '{"n":3}'),
        ({"n": float("nan")}, "{}"),
    ],
)
def test_arguments_in_history_are_sent_as_json_objects(written: object, sent: str) -> None:
    assert sent_arguments(history(written)) == [sent]


def test_mending_one_call_leaves_the_given_history_and_the_other_messages_alone() -> None:
    messages = history('{"a":1}', "")
    before = deepcopy(messages)
    body = build_body(ModelParams(model="m"), Capabilities(), None, messages)
    assert messages == before
    assert body["messages"] is not messages
    assert body["messages"][0] is messages[0]
    assert body["messages"][2] is messages[2]


def test_history_with_readable_arguments_is_sent_as_it_is() -> None:
    messages = history('{"a":1}', "{}")
    assert (
        build_body(ModelParams(model="m"), Capabilities(), None, messages)["messages"] is messages
    )


@pytest.mark.parametrize("calls", [None, "none", [None, "x", {"function": None}, {"id": "c"}]])
def test_calls_of_a_shape_we_do_not_know_pass_as_they_are(calls: object) -> None:
    message = cast("Message", {"role": "assistant", "content": "x", "tool_calls": calls})
    body = build_body(ModelParams(model="m"), Capabilities(), None, [message])
    assert body["messages"] == [message]


PIECES = st.sampled_from(['{"a"', ": ", "1", "}", "{", "[", '"', "'", ",", "True", "{}", " ", "\\"])


@given(st.lists(st.lists(PIECES).map("".join), max_size=4))
def test_whatever_a_model_wrote_every_call_goes_out_as_a_json_object(written: list[str]) -> None:
    for arguments, sent in zip(written, sent_arguments(history(*written)), strict=True):
        assert isinstance(json.loads(sent), dict)
        assert sent == arguments or not _is_object(arguments)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
