"""``host.wire`` as a library against real llama.cpp servers, one question at a time.

What is asserted is what the wire does; whether the model is right is its own affair.
"""

from __future__ import annotations

import gc
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import anyio
import httpx2
import jsonschema
import pytest

from host.errors import ContextOverflow, EndpointRefused
from host.records import Message, ToolDefinition, Turn
from host.text.tool_call_recovery import recover_tool_calls
from host.wire import (
    Capabilities,
    EndpointModel,
    Endpoints,
    EndpointSettings,
    ModelCapabilities,
    ModelParams,
    RetryPolicy,
    ask_json,
    build_body,
    continue_turn,
    is_grammar_error,
    run_turn,
    stream_turn,
)
from host.wire.failure import words_of
from tests.journeys.model_servers import ENGINES, ModelServer, model_server

pytestmark = pytest.mark.slow

WINDOW = 8192
ANSWER_SECONDS = 180
"""For one request: a busy machine reads some ten tokens a second."""
PROMPTLY_SECONDS = 30
"""For one token after a stopped answer of minutes."""

QUESTION = "Count from one to twenty in words."
LONG_QUESTION = "Count from one to thirty in words, one line, separated by commas."
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "enum": ["Paris", "Oslo"]},
        "population": {"type": "integer", "minimum": 0, "maximum": 99_999_999},
    },
    "required": ["city", "population"],
    "additionalProperties": False,
}
CALLS = (
    "What time is it in Tokyo?",
    "Call get_time with tz Asia/Tokyo.",
    "Use the tool get_time for the zone Asia/Tokyo.",
)
BLIND_CALLS = (
    "Call get_weather with city Oslo.",
    'Answer with exactly this: {"name": "get_weather", "arguments": {"city": "Oslo"}}',
    "Use the tool get_weather for the city Oslo.",
)
"""Of a tool that is not declared."""


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


@pytest.fixture(scope="module", params=ENGINES)
def server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    with model_server(request.param, "--ctx", str(WINDOW)) as running:
        yield running


@pytest.fixture
async def endpoints() -> AsyncIterator[Endpoints]:
    async with Endpoints() as opened:
        yield opened
    gc.collect()  # whatever was left open would warn now, and a warning is an error


def at(server: ModelServer) -> EndpointSettings:
    return EndpointSettings(base_url=server.base_url)


def user(text: str) -> list[Message]:
    return [{"role": "user", "content": text}]


def tool(parameters: dict[str, Any], name: str = "get_time") -> ToolDefinition:
    function = {"name": name, "description": "The time in a zone.", "parameters": parameters}
    return cast("ToolDefinition", {"type": "function", "function": function})


ZONE = {"type": "object", "properties": {"tz": {"type": "string"}}, "required": ["tz"]}
HOSTILE = {"type": "object", "properties": {"tz": {"type": "str"}}, "required": ["tz"]}


def model(
    endpoints: Endpoints,
    server: ModelServer,
    *,
    max_tokens: int = 24,
    extra_body: dict[str, Any] | None = None,
    **options: Any,
) -> EndpointModel:
    params = ModelParams(
        model=server.model, max_tokens=max_tokens, temperature=0, extra_body=extra_body or {}
    )
    return EndpointModel(endpoints, at(server), params, **options)


async def test_a_plain_turn_is_answered_and_counted(
    endpoints: Endpoints, server: ModelServer
) -> None:
    with anyio.fail_after(ANSWER_SECONDS):
        turn = await model(endpoints, server).turn(user("Who wrote Hamlet?"), [])
    assert turn.content
    assert turn.finish_reason in ("stop", "length")
    assert turn.usage.prompt_tokens > turn.usage.completion_tokens > 1
    assert turn.usage.tokens_per_second is not None, "llama.cpp sends timings"


async def test_pieces_arrive_before_the_answer_ends(
    endpoints: Endpoints, server: ModelServer
) -> None:
    pieces: list[tuple[float, str]] = []
    with anyio.fail_after(ANSWER_SECONDS):
        turn = await model(endpoints, server).turn(
            user(QUESTION),
            [],
            on_output=lambda piece: pieces.append((anyio.current_time(), piece)),
        )
        ended = anyio.current_time()
    assert len(pieces) > 5
    assert "".join(piece for _, piece in pieces) == turn.content
    assert pieces[0][0] < pieces[-1][0] <= ended
    assert turn.usage.first_token_seconds is not None
    assert turn.usage.wall_seconds is not None
    assert turn.usage.first_token_seconds < turn.usage.wall_seconds


async def test_a_declared_tool_is_called_with_readable_arguments(
    endpoints: Endpoints, server: ModelServer
) -> None:
    asked = model(endpoints, server, max_tokens=64)
    turn = Turn()
    with anyio.fail_after(len(CALLS) * ANSWER_SECONDS):
        for question in CALLS:
            if not turn.tool_calls:
                turn = await asked.turn(user(question), [tool(ZONE)])
    call, *_ = turn.tool_calls
    assert call["function"]["name"] == "get_time"
    assert isinstance(json.loads(call["function"]["arguments"])["tz"], str)
    assert call["id"]
    assert turn.finish_reason == "tool_calls"


async def test_an_answer_under_a_schema_fits_it(endpoints: Endpoints, server: ModelServer) -> None:
    with anyio.fail_after(2 * ANSWER_SECONDS):
        turn = await model(endpoints, server, max_tokens=64).turn(
            user("Say hello."), [], response_schema=CITY
        )
        aside = await ask_json(
            endpoints, at(server), server.model, "Answer shortly.", "A big city?", CITY
        )
    jsonschema.validate(json.loads(turn.content), CITY)
    jsonschema.validate(aside, CITY)
    assert endpoints.capabilities(at(server)).for_model(server.model).structured_output


async def test_a_schema_refused_raw_is_sent_in_a_form_that_is_taken(
    endpoints: Endpoints, server: ModelServer
) -> None:
    notices: list[str] = []
    params = ModelParams(model=server.model, max_tokens=8)
    raw = {**build_body(params, Capabilities(), None, user("hi")), "tools": [tool(HOSTILE)]}
    with anyio.fail_after(2 * ANSWER_SECONDS):
        with pytest.raises(EndpointRefused) as refused:
            await stream_turn(endpoints.client(at(server)), raw)
        turn = await model(endpoints, server, max_tokens=8, on_notice=notices.append).turn(
            user("hi"), [tool(HOSTILE)]
        )
    assert refused.value.status == 400
    assert is_grammar_error(words_of(refused.value))
    assert turn.usage.completion_tokens > 0
    assert len(notices) == 1
    assert "grammar" in notices[0]
    assert not endpoints.capabilities(at(server)).strict_schemas


async def test_a_request_beyond_the_window_is_told_before_and_after_it_is_sent(
    endpoints: Endpoints, server: ModelServer
) -> None:
    long = user("word " * 2 * WINDOW)
    with anyio.fail_after(ANSWER_SECONDS):
        limit = await endpoints.context_limit(at(server), server.model)
        with pytest.raises(ContextOverflow) as unsent:
            await model(endpoints, server, context_limit=limit).turn(long, [])
        with pytest.raises(ContextOverflow) as refused:
            await model(endpoints, server).turn(long, [])
    assert limit == WINDOW
    assert unsent.value.reserved_tokens == 24, "found by us: the server knows no reserve"
    assert refused.value.reserved_tokens == 0
    for overflow in (unsent.value, refused.value):
        assert overflow.needed_tokens > overflow.limit_tokens == WINDOW


async def test_a_field_the_server_does_not_know_costs_nothing(
    endpoints: Endpoints, server: ModelServer
) -> None:
    notices: list[str] = []
    asked = model(
        endpoints, server, extra_body={"no_such_field": 1, "min_p": 0.1}, on_notice=notices.append
    )
    with anyio.fail_after(ANSWER_SECONDS):
        turn = await asked.turn(user("hi"), [])
    assert turn.content
    assert notices == []


async def test_the_tools_a_server_cannot_read_are_found_among_many_and_remembered(
    endpoints: Endpoints, server: ModelServer
) -> None:
    notices: list[str] = []
    tools = [tool(ZONE, name=f"get_time_{number}") for number in range(25)]
    tools[7]["type"] = cast("Any", "retrieval")
    tools[19]["function"]["description"] = cast("Any", ["not", "a", "text"])
    asked = model(endpoints, server, max_tokens=8, on_notice=notices.append)
    with anyio.fail_after(2 * ANSWER_SECONDS):
        for _ in range(2):
            turn = await asked.turn(user("hi"), tools)
            assert turn.usage.completion_tokens > 0
    [notice] = notices
    assert "get_time_7" in notice
    assert "get_time_19" in notice
    refused = endpoints.capabilities(at(server)).for_model(server.model).refused_tools
    assert sorted(refused.values()) == ["bare", "out"]


async def test_a_call_that_the_server_cannot_read_comes_as_text(
    endpoints: Endpoints, server: ModelServer
) -> None:
    notices: list[str] = []
    asked = model(endpoints, server, max_tokens=64, on_notice=notices.append)
    turn = Turn()
    with anyio.fail_after(len(BLIND_CALLS) * 2 * ANSWER_SECONDS):
        for question in BLIND_CALLS:
            if not notices:
                turn = await asked.turn(user(question), [tool(ZONE)])
    [notice] = notices
    assert "cannot read" in notice
    [call] = recover_tool_calls(turn.content, names=["get_weather"]).tool_calls
    assert call["function"]["name"] == "get_weather"


async def test_an_answer_cut_at_its_ceiling_is_gone_on_with(
    endpoints: Endpoints, server: ModelServer
) -> None:
    heard: list[str] = []
    client, capabilities = endpoints.client(at(server)), endpoints.capabilities(at(server))
    params = ModelParams(model=server.model, max_tokens=12, temperature=0)

    def request(known: Capabilities, refused: ModelCapabilities | None) -> dict[str, Any]:
        return build_body(params, known, refused, user(LONG_QUESTION))

    with anyio.fail_after(4 * ANSWER_SECONDS):
        cut = await run_turn(client, capabilities, request, on_output=heard.append)
        assert cut.finish_reason == "length"
        whole = await continue_turn(
            client,
            capabilities,
            request,
            cut,
            model=server.model,
            max_continuations=3,
            on_output=heard.append,
        )
    assert whole.content.startswith(cut.content)
    assert whole.content == "".join(heard)
    assert (whole.usage.continuations or 0) > 1
    assert whole.content.lower().count("one") == 1, "it went on and did not begin anew"
    assert capabilities.for_model(server.model).assistant_prefill


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_model_that_loads_is_waited_for(endpoints: Endpoints, engine: str) -> None:
    notices: list[str] = []
    with model_server(engine, "--ctx", "512", ready=False) as loading:
        with anyio.fail_after(2 * ANSWER_SECONDS):
            await until_it_listens(loading)
            turn = await model(
                endpoints,
                loading,
                max_tokens=4,
                retry=RetryPolicy(loading_timeout_seconds=ANSWER_SECONDS),
                on_notice=notices.append,
            ).turn(user("hi"), [])
    assert turn.usage.completion_tokens > 0
    assert turn.usage.retries == 0, "waiting spends no attempt"
    assert len(notices) == 1
    assert "still loading" in notices[0]


async def until_it_listens(loading: ModelServer) -> None:
    """Returns as soon as the server says that it is loading."""
    async with httpx2.AsyncClient() as client:
        while True:
            try:
                health = await client.get(loading.base_url.removesuffix("/v1") + "/health")
            except httpx2.TransportError:
                await anyio.sleep(0.01)
                continue
            assert health.status_code == 503, "it had loaded before anybody could ask"
            return


async def test_a_stop_in_mid_stream_frees_the_server_for_the_next_question(
    endpoints: Endpoints, server: ModelServer
) -> None:
    stopped = await stopped_after_a_piece(endpoints, server)
    assert stopped is None
    with anyio.fail_after(PROMPTLY_SECONDS):
        turn = await model(endpoints, server, max_tokens=1).turn(user(QUESTION), [])
    assert turn.usage.completion_tokens == 1


async def stopped_after_a_piece(endpoints: Endpoints, server: ModelServer) -> Turn | None:
    """Asks for an answer of minutes and stops at its first piece; None, unless it came whole."""
    turn = None
    with anyio.fail_after(ANSWER_SECONDS), anyio.CancelScope() as scope:
        turn = await run_turn(
            endpoints.client(at(server)),
            endpoints.capabilities(at(server)),
            lambda capabilities, refused: build_body(
                ModelParams(
                    model=server.model,
                    max_tokens=4000,
                    extra_body={"ignore_eos": True, "temperature": 0},
                ),
                capabilities,
                refused,
                user(QUESTION),
            ),
            on_output=lambda _: scope.cancel(),
        )
    assert scope.cancelled_caught
    return turn
