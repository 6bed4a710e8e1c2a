"""A model as a run uses it."""

from __future__ import annotations

from typing import Any

import pytest

from host.errors import ContextOverflow, EndpointRefused, EndpointSilent, EndpointUnavailable
from host.records import Message, ToolDefinition
from host.wire.capabilities import ModelCapabilities
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
    error_event,
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


OPEN_SCHEMA = refused(
    400,
    "Invalid schema for response_format 'answer': In context=(), 'additionalProperties' is "
    "required to be supplied and to be false.",
)
NO_GRAMMAR = refused(400, "Failed to initialize samplers: failed to parse grammar")


def _forms(fake: _Model) -> list[bool | None]:
    shapes = [body.get("response_format", {}) for body in fake.endpoint.bodies]
    return [shape.get("json_schema", {}).get("strict") for shape in shapes]


async def test_a_schema_that_is_refused_as_strict_is_sent_as_one_that_is_not() -> None:
    fake = _Model(OPEN_SCHEMA, answer("{}"), answer("{}"), answer("{}"))
    await fake.model.turn(HELLO, [], response_schema=SCHEMA)
    await fake.model.turn(HELLO, [], response_schema=SCHEMA)
    await fake.model.turn(HELLO, [], response_schema={"type": "object"})
    assert _forms(fake) == [True, False, False, True]
    assert len(fake.notices) == 1
    assert fake.endpoints.capabilities(SETTINGS).for_model("m") == ModelCapabilities()


async def test_a_schema_that_is_refused_in_both_forms_is_told_in_words() -> None:
    fake = _Model(OPEN_SCHEMA, OPEN_SCHEMA, answer("{}"))
    heard: list[str] = []
    await fake.model.turn(HELLO, [], response_schema=SCHEMA, on_notice=heard.append)
    assert _forms(fake) == [True, False, None]
    assert '"day"' in fake.endpoint.bodies[2]["messages"][0]["content"]
    assert (len(heard), fake.notices) == (2, [])


async def test_a_schema_of_which_no_grammar_comes_is_told_in_words() -> None:
    fake = _Model(NO_GRAMMAR, NO_GRAMMAR, answer("{}"))
    await fake.model.turn(HELLO, [], response_schema=SCHEMA)
    assert _forms(fake) == [True, True, None]


async def test_going_on_with_a_turn_asks_in_the_form_it_was_taken_in() -> None:
    cut = streamed(text("Hel"), finish("length"), DONE)
    fake = _Model(OPEN_SCHEMA, cut, answer("lo"))
    first = await fake.model.turn(HELLO, [], response_schema=SCHEMA)
    turn = await fake.model.continue_turn(first, HELLO, [], response_schema=SCHEMA)
    assert turn.content == "Hello"
    assert _forms(fake) == [True, False, False]


@pytest.mark.parametrize("refusal", [refused(400, "no such model"), refused(401, "Invalid schema")])
async def test_another_refusal_is_raised(refusal: Reply) -> None:
    fake = _Model(refusal)
    with pytest.raises(EndpointRefused):
        await fake.model.turn(HELLO, [], response_schema=SCHEMA)
    assert fake.endpoint.sends == 1


async def test_without_a_shape_nothing_is_asked_again() -> None:
    fake = _Model(OPEN_SCHEMA)
    with pytest.raises(EndpointRefused):
        await fake.model.turn(HELLO, [])
    assert fake.endpoint.sends == 1


async def test_nothing_is_asked_again_once_part_of_an_answer_was_told() -> None:
    said = "Invalid schema for response_format 'answer'"
    fake = _Model(streamed(text("Hel"), error_event(said, code=400)))
    heard: list[str] = []
    with pytest.raises(EndpointRefused):
        await fake.model.turn(HELLO, [], response_schema=SCHEMA, on_output=heard.append)
    assert (fake.endpoint.sends, "".join(heard)) == (1, "Hel")


@pytest.mark.parametrize(
    ("extra", "said", "then"),
    [
        (
            {"temperature": 0.2},
            "'temperature' does not support 0.2. Only the default (1) value is supported.",
            {},
        ),
        ({"reasoning_effort": "high"}, "This model does not support reasoning_effort", {}),
        (
            {"reasoning_effort": "minimal"},
            "`reasoning_effort` must be one of `low`, `high`",
            {"reasoning_effort": "low"},
        ),
        (
            {"max_tokens": 7},
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            {"max_completion_tokens": 7},
        ),
        ({"stream_options": {"include_usage": True}}, "stream_options is not supported", {}),
        (
            {"response_format": {"type": "json_object"}},
            "'response_format.type' must be 'json_schema' or 'text'",
            {},
        ),
    ],
)
async def test_what_is_refused_of_the_extra_body_is_refused_once(
    extra: dict[str, Any], said: str, then: dict[str, Any]
) -> None:
    params = ModelParams(model="m", extra_body=extra)
    fake = _Model(refused(400, said), answer("x"), answer("y"), params=params)
    await fake.model.turn(HELLO, [])
    await fake.model.turn(HELLO, [])
    names = extra.keys() | then.keys()
    sent = [{name: body[name] for name in names & body.keys()} for body in fake.endpoint.bodies]
    assert sent == [extra, then, then]
    assert len(fake.notices) == 1


async def test_json_is_asked_for_beside_the_run() -> None:
    fake = _Model(whole('{"day":"1"}'), whole("none"))
    assert await fake.model.ask_json("be brief", "when?", SCHEMA) == {"day": "1"}
    assert await fake.model.ask_json("be brief", "when?", SCHEMA) is None
    assert "stream" not in fake.endpoint.bodies[0]
