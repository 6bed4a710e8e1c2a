"""A model as a run uses it."""

from __future__ import annotations

from typing import Any

import pytest

from host.errors import ContextOverflow, EndpointSilent, EndpointUnavailable
from host.records import Message, ToolDefinition
from host.wire.clients import Endpoints
from host.wire.model import EndpointModel
from host.wire.settings import EndpointSettings, ModelParams, RetryPolicy
from tests.fakes.endpoint import (
    DONE,
    FakeEndpoint,
    Mute,
    Reply,
    answer,
    delta,
    finish,
    lost,
    refused,
    streamed,
    text,
    tool_call,
    usage,
    whole,
)

SETTINGS = EndpointSettings(base_url="http://endpoint.test/v1")
HELLO: list[Message] = [{"role": "user", "content": "hi"}]
TOOL: ToolDefinition = {
    "type": "function",
    "function": {"name": "time__now", "parameters": {"type": "object", "properties": {}}},
}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"day": {"type": "string"}}}


class _Model:
    """A model over a scripted endpoint."""

    def __init__(
        self, *script: Reply, settings: EndpointSettings = SETTINGS, **options: Any
    ) -> None:
        self.endpoint = FakeEndpoint(*script)
        self.endpoints = Endpoints(open_http=self.endpoint.http)
        self.notices: list[str] = []
        params = options.pop("params", ModelParams(model="m", max_tokens=100))
        self.model = EndpointModel(
            self.endpoints,
            settings,
            params,
            on_notice=self.notices.append,
            jitter=lambda: 1.0,
            **options,
        )


async def test_a_turn_asks_with_the_models_parameters_and_the_tools() -> None:
    fake = _Model(streamed(tool_call("time__now", "{}"), finish("tool_calls"), DONE))
    turn = await fake.model.turn(HELLO, [TOOL])
    assert [call["function"]["name"] for call in turn.tool_calls] == ["time__now"]
    body = fake.endpoint.bodies[0]
    assert (body["model"], body["max_tokens"], body["stream"]) == ("m", 100, True)
    assert body["messages"] == HELLO
    assert body["tools"][0]["function"]["name"] == "time__now"


async def test_a_cut_turn_is_gone_on_with_by_the_same_request() -> None:
    cut = streamed(text("Hel"), finish("length"), DONE)
    fake = _Model(cut, lost(), answer("lo"), answer("x"), retry=RetryPolicy(max_retries=1))
    heard: list[str] = []
    first = await fake.model.turn(HELLO, [TOOL], response_schema=SCHEMA)
    turn = await fake.model.continue_turn(
        first, HELLO, [TOOL], response_schema=SCHEMA, on_output=heard.append
    )
    assert (turn.content, heard, turn.usage.continuations) == ("Hello", ["lo"], 1)
    asked, _, again = fake.endpoint.bodies
    assert again.pop("messages") == [
        *asked.pop("messages"),
        {"role": "assistant", "content": "Hel"},
    ]
    assert again == asked
    assert await fake.model.continue_turn(turn, HELLO, []) is turn
    assert len(fake.notices) == 1


async def test_a_model_that_does_not_go_on_is_known_to_the_registry() -> None:
    fake = _Model(streamed(text("Hel"), finish("length"), DONE), refused(400, "no prefill"))
    first = await fake.model.turn(HELLO, [])
    assert await fake.model.continue_turn(first, HELLO, [], max_continuations=3) is first
    assert not fake.endpoints.capabilities(SETTINGS).for_model("m").assistant_prefill
    assert len(fake.notices) == 1


async def test_a_turn_without_tools_declares_none() -> None:
    fake = _Model(answer("x"))
    await fake.model.turn(HELLO, [])
    assert "tools" not in fake.endpoint.bodies[0]


async def test_listeners_hear_thinking_and_answer_apart() -> None:
    fake = _Model(streamed(delta(reasoning_content="hm"), text("Hi"), finish(), DONE))
    heard: list[tuple[str, str]] = []
    await fake.model.turn(
        HELLO,
        [],
        on_thinking=lambda piece: heard.append(("thinking", piece)),
        on_output=lambda piece: heard.append(("output", piece)),
    )
    assert heard == [("thinking", "hm"), ("output", "Hi")]


async def test_the_retry_policy_and_the_settings_reach_the_turn() -> None:
    settings = EndpointSettings(
        base_url=SETTINGS.base_url, request_timeout_seconds=10, first_token_seconds=20
    )
    fake = _Model(lost(), streamed(Mute()), settings=settings, retry=RetryPolicy(max_retries=1))
    with pytest.raises(EndpointSilent, match="20 s before"):
        await fake.model.turn(HELLO, [])
    assert fake.endpoint.sends == 2
    assert len(fake.notices) == 1
    fake = _Model(refused(503, "Loading model"), retry=RetryPolicy(loading_timeout_seconds=0))
    with pytest.raises(EndpointUnavailable):
        await fake.model.turn(HELLO, [])


async def test_a_listener_of_the_call_hears_notices_in_place_of_the_models() -> None:
    fake, heard = _Model(lost(), answer("x"), retry=RetryPolicy(max_retries=1)), list[str]()
    await fake.model.turn(HELLO, [], on_notice=heard.append)
    assert (len(heard), fake.notices) == (1, [])


async def test_a_refused_extra_field_stays_out_of_later_turns() -> None:
    params = ModelParams(model="m", extra_body={"top_k": 3})
    fake = _Model(
        refused(400, "Unknown parameter: 'top_k'."), answer("x"), answer("y"), params=params
    )
    await fake.model.turn(HELLO, [])
    await fake.model.turn(HELLO, [])
    assert ["top_k" in body for body in fake.endpoint.bodies] == [True, False, False]


async def test_a_request_too_large_for_the_window_is_not_sent_by_what_was_measured() -> None:
    long: list[Message] = [{"role": "user", "content": "x" * 20_000}]
    fake = _Model(streamed(text("x"), finish(), usage(10_000, 1), DONE), context_limit=8192)
    with pytest.raises(ContextOverflow):
        await _Model(context_limit=8192, params=ModelParams(model="m", max_tokens=4000)).model.turn(
            long, []
        )
    await fake.model.turn(long, [])
    with pytest.raises(ContextOverflow):
        await fake.model.turn(long, [])
    assert fake.endpoint.sends == 1


async def test_a_shape_is_sent_as_a_field() -> None:
    fake = _Model(answer("{}"))
    await fake.model.turn(HELLO, [], response_schema=SCHEMA)
    body = fake.endpoint.bodies[0]
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert body["messages"] == HELLO


async def test_a_shape_is_told_in_words_to_a_model_without_the_field() -> None:
    fake = _Model(refused(400, "response_format is unknown"), answer("{}"))
    await fake.model.turn(HELLO, [], response_schema=SCHEMA)
    body = fake.endpoint.bodies[1]
    assert "response_format" not in body
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert '"day"' in body["messages"][0]["content"]


async def test_json_is_asked_for_beside_the_run() -> None:
    fake = _Model(whole('{"day":"1"}'), whole("none"))
    assert await fake.model.ask_json("be brief", "when?", SCHEMA) == {"day": "1"}
    assert await fake.model.ask_json("be brief", "when?", SCHEMA) is None
    assert "stream" not in fake.endpoint.bodies[0]
