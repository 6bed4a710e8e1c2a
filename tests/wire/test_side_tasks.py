"""Questions beside the run: their hints, their fall-backs, their answers."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from host.errors import ContextOverflow, EndpointRefused, EndpointSilent, WireError
from host.wire.capabilities import ModelCapabilities
from host.wire.clients import Endpoints
from host.wire.efforts import EFFORT_LADDER
from host.wire.settings import EndpointSettings
from host.wire.side_tasks import ask, ask_json, try_ask
from tests.fakes.endpoint import FakeEndpoint, Reply, as_json, lost, refused, whole

SETTINGS = EndpointSettings(base_url="http://endpoint.test/v1", api_key="sk-secret")
NO_HINTS = {"chat_template_kwargs": {"enable_thinking": False}}
SCHEMA = {
    "type": "object",
    "properties": {"day": {"type": "string", "pattern": "^\\d+$"}},
    "required": ["day"],
}
BARE = refused(400, "Bad Request")


class _Tasks:
    """Side tasks over a scripted endpoint, and what they left behind."""

    def __init__(self, *script: Reply, settings: EndpointSettings = SETTINGS) -> None:
        self.endpoint = FakeEndpoint(*script)
        self.endpoints = Endpoints(open_http=self.endpoint.http)
        self.settings = settings
        self.notices: list[str] = []

    async def ask(self, model: str = "m", **options: Any) -> str:
        return await ask(
            self.endpoints,
            self.settings,
            model,
            "be brief",
            "why?",
            on_notice=self.notices.append,
            **options,
        )

    async def ask_json(self, model: str = "m", **options: Any) -> object:
        value: object = await ask_json(
            self.endpoints,
            self.settings,
            model,
            "be brief",
            "when?",
            SCHEMA,
            on_notice=self.notices.append,
            **options,
        )
        return value

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return self.endpoint.bodies

    def known(self, model: str = "m") -> ModelCapabilities:
        return self.endpoints.capabilities(self.settings).for_model(model)


async def test_a_question_is_one_whole_request_with_hints_against_thinking() -> None:
    tasks = _Tasks(whole("  because\n"))
    assert await tasks.ask() == "because"
    assert tasks.bodies == [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "why?"},
            ],
            "max_tokens": 512,
            "temperature": 0.3,
            "reasoning_effort": "none",
            **NO_HINTS,
        }
    ]
    assert tasks.notices == []


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (whole("a<think>b</think>c"), "ac"),
        (whole("x</think> y"), "y"),
        (whole("<thinking>x</thinking>y"), "y"),
        (whole("<think>x"), ""),
        (whole("", reasoning_content="z"), "z"),
        (whole("x", reasoning_content="z"), "x"),
        (whole(None, reasoning_content="<think>b</think> z "), "z"),
        (whole("", reasoning_content=7), ""),
        (whole("", reasoning="z"), "z"),
        (whole(None, refusal="I will not"), "I will not"),
        (whole([{"type": "thinking", "thinking": [{"type": "text", "text": "z"}]}]), "z"),  # type: ignore[arg-type]  # Mistral answers so
        (whole([{"type": "text", "text": "par"}, {"type": "text", "text": "ts"}]), "parts"),  # type: ignore[arg-type]  # some servers answer so
        (as_json({"choices": []}), ""),
        (as_json({}), ""),
    ],
)
async def test_the_answer_is_the_text_without_its_thinking(reply: Reply, answer: str) -> None:
    assert await _Tasks(reply).ask() == answer


async def test_a_level_of_thinking_replaces_the_hints() -> None:
    tasks = _Tasks(whole("x"), whole("x"))
    await tasks.ask(reasoning_effort="low", max_tokens=0, temperature=None)
    await tasks.ask(reasoning_effort="off")
    first, second = tasks.bodies
    assert first["reasoning_effort"] == "low"
    assert not first.keys() & {"chat_template_kwargs", "max_tokens", "temperature"}
    assert second["chat_template_kwargs"] == {"enable_thinking": False}


async def test_a_refused_ceiling_is_learned_for_every_later_request() -> None:
    said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    tasks = _Tasks(refused(400, said), whole("x"))
    assert await tasks.ask() == "x"
    assert tasks.bodies[1]["max_completion_tokens"] == 512
    assert not tasks.known().legacy_token_limit


async def test_a_refused_temperature_is_left_out() -> None:
    said = "'temperature' does not support 0.3. Only the default (1) value is supported."
    tasks = _Tasks(refused(400, said), whole("x"))
    await tasks.ask()
    assert "temperature" not in tasks.bodies[1]


async def test_a_refused_effort_leaves_the_other_hint() -> None:
    tasks = _Tasks(refused(400, "reasoning_effort is not supported"), whole("x"))
    await tasks.ask()
    assert "reasoning_effort" not in tasks.bodies[1]
    assert tasks.bodies[1]["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize("status", [400, 422])
async def test_a_bare_refusal_is_retried_without_hints_and_remembered(status: int) -> None:
    tasks = _Tasks(refused(status, "Bad Request"), whole("x"), whole("y"))
    assert [await tasks.ask(), await tasks.ask()] == ["x", "y"]
    _, retried, later = tasks.bodies
    assert not retried.keys() & {"chat_template_kwargs", "reasoning_effort"}
    assert "chat_template_kwargs" not in later
    assert later["reasoning_effort"] == "none"
    assert len(tasks.notices) == 1
    assert tasks.notices[0].startswith("m ")


async def test_nobody_has_to_listen_to_notices() -> None:
    tasks = _Tasks(BARE, whole("x"))
    assert await ask(tasks.endpoints, SETTINGS, "m", "be brief", "why?") == "x"


async def test_without_the_template_hint_it_is_the_effort_that_is_remembered() -> None:
    tasks = _Tasks(BARE, whole("x"), whole("y"))
    tasks.known().thinking_hints = False
    await tasks.ask()
    await tasks.ask()
    assert not tasks.known().reasoning_effort
    assert "reasoning_effort" not in tasks.bodies[2]


async def test_refused_twice_nothing_is_remembered() -> None:
    tasks = _Tasks(BARE, BARE, whole("x"))
    with pytest.raises(EndpointRefused):
        await tasks.ask()
    assert tasks.known() == ModelCapabilities()
    await tasks.ask()
    assert tasks.bodies[2].items() >= NO_HINTS.items()


@pytest.mark.parametrize(
    "reply",
    [
        refused(401, "no"),
        refused(404, "no"),
        refused(429, "no"),
        refused(503, "no"),
        lost(),
        refused(400, "prompt is too long: 9000 tokens > 8192 maximum"),
    ],
)
async def test_what_hints_cannot_have_caused_is_raised_after_one_send(reply: Reply) -> None:
    tasks = _Tasks(reply)
    with pytest.raises(WireError) as caught:
        await tasks.ask()
    assert tasks.endpoint.sends == 1
    assert tasks.known() == ModelCapabilities()
    assert isinstance(caught.value, ContextOverflow) == ("too long" in str(caught.value))


async def test_without_any_hint_a_bare_refusal_is_raised() -> None:
    tasks = _Tasks(BARE)
    tasks.known().thinking_hints = tasks.known().reasoning_effort = False
    with pytest.raises(EndpointRefused):
        await tasks.ask()
    assert tasks.endpoint.sends == 1


VLLM = (
    "[{'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': "
    "\"Input should be 'low', 'medium' or 'high'\", 'input': 'none', "
    "'ctx': {'expected': \"'low', 'medium' or 'high'\"}}]"
)
SGLANG = {"object": "error", "message": f"1 validation error:\n  {VLLM}", "code": 400}
FASTAPI = {
    "detail": [
        {
            "type": "literal_error",
            "loc": ["body", "reasoning_effort"],
            "msg": "Input should be 'low', 'medium' or 'high'",
            "input": "none",
        }
    ]
}


@pytest.mark.parametrize(
    "refusal",
    [
        as_json({"error": {"message": VLLM, "type": "Bad Request", "code": 400}}, 400),
        as_json(SGLANG, 400),
        as_json(FASTAPI, 422),
        refused(400, "`reasoning_effort` must be one of `low`, `medium`, or `high`"),
        refused(400, "Invalid 'reasoning_effort': 'none' is not one of ['low','medium','high']"),
        refused(
            400,
            "Validation error for `reasoning_effort`: expected one of `'low' | 'medium' | 'high'`, "
            "received `'none'`.",
        ),
    ],
)
async def test_an_effort_that_is_no_value_here_is_stepped_and_others_choose_theirs(
    refusal: Reply,
) -> None:
    tasks = _Tasks(refusal, whole("x"), whole("y"), whole("z"))
    assert await tasks.ask() == "x"
    assert await tasks.ask(reasoning_effort="high") == "y"
    assert await tasks.ask() == "z"
    assert [body["reasoning_effort"] for body in tasks.bodies] == ["none", "low", "high", "low"]
    assert tasks.known().reasoning_effort
    assert tasks.known().thinking_hints
    assert len(tasks.notices) == 1


@pytest.mark.parametrize(
    "words",
    [
        "`reasoning_effort` must be one of `none` or `default`",
        "Invalid value: 'none'. Supported values are: 'low', 'medium', and 'high'.",
    ],
)
async def test_a_refused_hint_that_cannot_be_stepped_costs_nobody_the_field(words: str) -> None:
    tasks = _Tasks(refused(400, words), whole("x"), whole("y"), whole("z"))
    tasks.known().thinking_hints = False
    await tasks.ask()
    await tasks.ask(reasoning_effort="high")
    await tasks.ask()
    _, retried, other, later = tasks.bodies
    assert "reasoning_effort" not in retried
    assert other["reasoning_effort"] == "high"
    assert later.get("reasoning_effort") != "none"
    assert tasks.known().reasoning_effort


async def test_a_model_that_takes_no_value_of_the_hint_is_not_asked_for_any() -> None:
    tasks = _Tasks(whole("x"))
    tasks.known().refused_efforts.update(EFFORT_LADDER)
    await tasks.ask()
    assert "reasoning_effort" not in tasks.bodies[0]


async def test_a_value_that_is_refused_beside_the_template_hint_leaves_that_hint() -> None:
    tasks = _Tasks(refused(400, "Invalid value: 'reasoning_effort'"), whole("x"))
    await tasks.ask()
    assert tasks.known() == ModelCapabilities(refused_efforts={"none"})


async def test_a_model_that_knows_no_temperature_is_asked_without() -> None:
    said = "Unsupported parameter: 'temperature' is not supported with this model."
    tasks = _Tasks(refused(400, said), whole("x"), whole("y"))
    assert [await tasks.ask(), await tasks.ask()] == ["x", "y"]
    assert ["temperature" in body for body in tasks.bodies] == [True, False, False]


async def test_a_mute_endpoint_is_waited_for_as_long_as_for_a_first_token() -> None:
    settings = EndpointSettings(base_url=SETTINGS.base_url, request_timeout_seconds=10)
    tasks = _Tasks(Reply(before_seconds=10**6), settings=settings)
    with pytest.raises(EndpointSilent, match="50 s"):
        await tasks.ask()


async def test_without_a_limit_it_is_waited_for_ever() -> None:
    reply = whole("x")
    reply.before_seconds = 5000
    assert await _Tasks(reply).ask() == "x"


# --- JSON -------------------------------------------------------------------------------------


async def test_json_is_asked_for_in_words_and_by_schema() -> None:
    tasks = _Tasks(whole('{"day": "1"}'))
    assert await tasks.ask_json(name="date", strict=False) == {"day": "1"}
    body = tasks.bodies[0]
    system = body["messages"][0]["content"]
    assert system.startswith("be brief\n\n")
    assert json.dumps(SCHEMA, separators=(",", ":")) in system
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "date", "strict": False, "schema": SCHEMA},
    }
    assert body.items() >= NO_HINTS.items()


@pytest.mark.parametrize(
    ("text", "value"),
    [("no JSON at all", None), ('Sure:\n```json\n{"day": "1"}\n```', {"day": "1"}), ("", None)],
)
async def test_the_value_is_whatever_json_the_reply_holds(text: str, value: object) -> None:
    assert await _Tasks(whole(text)).ask_json() == value


async def test_a_model_without_response_format_is_asked_in_words_and_only_that_model() -> None:
    tasks = _Tasks(refused(400, "response_format is unknown here"), *[whole("{}")] * 3)
    await tasks.ask_json()
    await tasks.ask_json()
    await tasks.ask_json("n")
    assert ["response_format" in body for body in tasks.bodies] == [True, False, False, True]
    assert not tasks.known().structured_output


async def test_an_endpoint_without_strict_schemas_gets_a_relaxed_one() -> None:
    tasks = _Tasks(refused(400, "failed to parse grammar"), whole("{}"))
    await tasks.ask_json()
    shapes = [body["response_format"]["json_schema"]["schema"] for body in tasks.bodies]
    assert ["pattern" in shape["properties"]["day"] for shape in shapes] == [True, False]


@pytest.mark.parametrize(
    "refusal",
    [
        refused(
            400,
            "Unable to generate parser for this template. Automatic parser generation failed: "
            "JSON schema error at #/properties/x: unsupported $ref #",
        ),
        refused(400, "Failed to initialize samplers: failed to parse grammar"),
        refused(
            500, "The model produced output that does not match the expected peg-native format"
        ),
    ],
)
async def test_a_shape_no_grammar_can_hold_is_asked_for_in_words(refusal: Reply) -> None:
    tasks = _Tasks(refusal, whole('{"day": "1"}'), whole('{"day": "2"}'))
    tasks.endpoints.capabilities(SETTINGS).strict_schemas = False
    assert await tasks.ask_json() == {"day": "1"}
    assert await tasks.ask_json() == {"day": "2"}
    assert ["response_format" in body for body in tasks.bodies] == [True, False, True]
    assert tasks.bodies[1].items() >= NO_HINTS.items()
    assert tasks.known() == ModelCapabilities()
    assert len(tasks.notices) == 1


OPEN_SCHEMA = refused(
    400,
    "Invalid schema for response_format 'answer': In context=(), 'additionalProperties' is "
    "required to be supplied and to be false.",
    param="response_format",
)
UNKNOWN_HINT = refused(400, "Unrecognized request argument supplied: chat_template_kwargs")


def _forms(bodies: list[dict[str, Any]]) -> list[bool | None]:
    shapes = [body.get("response_format", {}).get("json_schema", {}) for body in bodies]
    return [shape.get("strict") for shape in shapes]


async def test_a_schema_that_is_not_closed_is_asked_for_as_one_that_is_not_strict() -> None:
    tasks = _Tasks(OPEN_SCHEMA, whole('{"day": "1"}'))
    assert await tasks.ask_json() == {"day": "1"}
    assert _forms(tasks.bodies) == [True, False]
    assert all(body.items() >= NO_HINTS.items() for body in tasks.bodies)
    assert tasks.known() == ModelCapabilities()
    assert len(tasks.notices) == 1


@pytest.mark.parametrize("second", [OPEN_SCHEMA, BARE])
async def test_a_schema_refused_in_both_forms_is_told_in_words(second: Reply) -> None:
    tasks = _Tasks(OPEN_SCHEMA, second, whole('{"day": "1"}'))
    assert await tasks.ask_json() == {"day": "1"}
    assert _forms(tasks.bodies) == [True, False, None]
    assert tasks.bodies[2].items() >= NO_HINTS.items()
    assert tasks.known() == ModelCapabilities()


async def test_a_loose_schema_that_is_refused_is_told_in_words_at_once() -> None:
    tasks = _Tasks(OPEN_SCHEMA, whole('{"day": "1"}'))
    assert await tasks.ask_json(strict=False) == {"day": "1"}
    assert _forms(tasks.bodies) == [False, None]


async def test_the_schema_may_be_refused_after_the_hints() -> None:
    tasks = _Tasks(UNKNOWN_HINT, OPEN_SCHEMA, whole('{"day": "1"}'))
    assert await tasks.ask_json() == {"day": "1"}
    assert _forms(tasks.bodies) == [True, True, False]
    assert tasks.known() == ModelCapabilities(thinking_hints=False)


async def test_in_words_a_refusal_of_the_hints_is_still_answered() -> None:
    tasks = _Tasks(refused(400, "failed to parse grammar"), BARE, whole('{"day": "1"}'))
    tasks.endpoints.capabilities(SETTINGS).strict_schemas = False
    assert await tasks.ask_json() == {"day": "1"}
    assert not tasks.bodies[2].keys() & {"response_format", "chat_template_kwargs"}


# --- what may fail ----------------------------------------------------------------------------


async def test_what_may_fail_gives_its_result() -> None:
    tasks = _Tasks(whole("x"))
    assert await try_ask("title", tasks.ask) == "x"


async def test_a_failure_is_a_notice_and_no_result() -> None:
    notices: list[str] = []

    async def fail() -> str:
        raise LookupError("gone\nfor good")

    assert await try_ask("title", fail, on_notice=notices.append) is None
    assert notices == ["title: gone for good"]
    assert await try_ask("title", fail) is None


async def test_what_an_endpoint_says_steers_nobodys_terminal() -> None:
    notices: list[str] = []
    tasks = _Tasks(*[refused(400, "bad \x1b]0;owned\x07 \x1b[2J \u202e end")] * 2)
    assert await try_ask("title", tasks.ask, on_notice=notices.append) is None
    assert notices[0].endswith("bad end")
    assert notices[0].isprintable()


async def test_a_stop_is_no_failure_and_wins_over_one() -> None:
    notices: list[str] = []

    async def stopped() -> None:
        scope.cancel()
        await anyio.sleep_forever()

    async def failed() -> None:
        scope.cancel()
        raise LookupError

    for run in (stopped, failed):
        with anyio.CancelScope() as scope:
            await try_ask("title", run, on_notice=notices.append)
            raise AssertionError("a stop passes")
        assert scope.cancelled_caught
    assert notices == []
