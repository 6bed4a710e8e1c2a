"""Refusals that teach something, and those that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from host.errors import ContextOverflow, EndpointRefused, WireError
from host.wire.capabilities import Capabilities, ModelCapabilities, latch_state
from host.wire.endpoint import run_turn
from host.wire.negotiation import Produced, negotiate
from host.wire.streaming import stream_turn
from tests.fakes.endpoint import FakeEndpoint, answer, error_event, refused, role, streamed

GRAMMAR = "Failed to initialize samplers: failed to parse grammar"
NO_USAGE = "Unknown field: stream_options"


class _Endpoint:
    """Refuses with the given words, one per send, then answers."""

    def __init__(self, *refusals: str | BaseException) -> None:
        self.refusals = list(refusals)
        self.seen: list[tuple[Capabilities, Produced, ModelCapabilities | None]] = []

    async def send(
        self, capabilities: Capabilities, produced: Produced, model: ModelCapabilities | None
    ) -> str:
        self.seen.append((capabilities, produced, model))
        await anyio.lowlevel.checkpoint()
        if not self.refusals:
            return "answered"
        refusal = self.refusals.pop(0)
        raise EndpointRefused(400, refusal) if isinstance(refusal, str) else refusal

    @property
    def sends(self) -> int:
        return len(self.seen)


async def test_a_request_that_is_taken_is_sent_once() -> None:
    endpoint, notices = _Endpoint(), list[str]()
    assert await negotiate(Capabilities(), endpoint.send, on_notice=notices.append) == "answered"
    assert (endpoint.sends, notices) == (1, [])
    assert endpoint.seen[0][2] is None


@pytest.mark.parametrize(
    ("refusal", "is_off", "opens_with"),
    [
        (GRAMMAR, lambda known: not known.strict_schemas, "server "),
        (NO_USAGE, lambda known: not known.usage_in_stream, "server "),
        (
            "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
            lambda known: not known.models["m"].reasoning_effort,
            "m ",
        ),
        (
            "This model does not support reasoning_effort",
            lambda known: not known.models["m"].reasoning_effort,
            "m ",
        ),
        (
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead."
            ),
            lambda known: not known.models["m"].legacy_token_limit,
            "m ",
        ),
        (
            (
                "Unsupported value: 'temperature' does not support 0.4 with this model. "
                "Only the default (1) value is supported."
            ),
            lambda known: not known.models["m"].chosen_temperature,
            "m ",
        ),
        (
            "response_format is not available here",
            lambda known: not known.models["m"].structured_output,
            "m ",
        ),
        (
            "Unrecognized request argument supplied: top_k",
            lambda known: known.models["m"].refused_fields == {"top_k"},
            "m ",
        ),
    ],
)
async def test_a_refusal_that_teaches_is_sent_again_with_one_notice(
    refusal: str, is_off: Callable[[Capabilities], bool], opens_with: str
) -> None:
    known, endpoint, notices = Capabilities(), _Endpoint(refusal), list[str]()
    result = await negotiate(
        known, endpoint.send, on_notice=notices.append, model="m", droppable=("top_k",)
    )
    assert (result, endpoint.sends) == ("answered", 2)
    assert is_off(known)
    assert [notice.startswith(opens_with) for notice in notices] == [True]


@pytest.mark.parametrize(
    "refusal",
    [
        "no such model",
        "max_tokens is too large: 900000",
        "Invalid value: 'temperature' does not support 7. Supported values are between 0 and 2",
        "'top_p' does not support 3. Only the default is supported. Adjust temperature",
        "Invalid schema for response_format 'answer'",
        "Unrecognized request argument supplied: b",
    ],
)
async def test_a_refusal_that_teaches_nothing_is_raised_itself_after_one_send(refusal: str) -> None:
    error = EndpointRefused(400, refusal)
    endpoint = _Endpoint(error)
    with pytest.raises(EndpointRefused) as caught:
        await negotiate(Capabilities(), endpoint.send, model="m", droppable=("a",))
    assert caught.value is error
    assert endpoint.sends == 1


async def test_the_same_refusal_twice_is_raised_after_two_sends() -> None:
    endpoint = _Endpoint(GRAMMAR, GRAMMAR)
    with pytest.raises(EndpointRefused):
        await negotiate(Capabilities(), endpoint.send)
    assert endpoint.sends == 2


async def test_a_server_that_keeps_complaining_about_a_field_is_believed_once() -> None:
    endpoint = _Endpoint(*["Unknown parameter: 'a.b'."] * 2)
    with pytest.raises(EndpointRefused):
        await negotiate(Capabilities(), endpoint.send, model="m", droppable=("a",))
    assert endpoint.sends == 2


async def test_several_unknown_fields_are_dropped_together_with_one_notice() -> None:
    endpoint, notices = _Endpoint("Unrecognized request arguments supplied: a, b"), list[str]()
    await negotiate(
        Capabilities(), endpoint.send, on_notice=notices.append, model="m", droppable=("a", "b")
    )
    assert endpoint.sends == 2
    assert len(notices) == 1
    assert "fields a, b" in notices[0]


@pytest.mark.parametrize(
    "refusal",
    ["This model does not support reasoning_effort", "Unknown parameter: 'a'."],
)
async def test_without_a_model_only_the_endpoint_can_learn(refusal: str) -> None:
    endpoint = _Endpoint(refusal)
    with pytest.raises(EndpointRefused):
        await negotiate(Capabilities(), endpoint.send, droppable=("a",))
    assert endpoint.sends == 1


async def test_two_refusals_in_a_row_take_three_sends_of_one_call() -> None:
    endpoint = _Endpoint(GRAMMAR, NO_USAGE)
    assert await negotiate(Capabilities(), endpoint.send) == "answered"
    assert endpoint.sends == 3


async def test_two_runs_refused_at_once_on_a_new_endpoint_both_succeed() -> None:
    known, notices, results = Capabilities(), list[str](), list[str]()
    both = anyio.Event()
    waiting = 0

    async def send(seen: Capabilities, *_: Any) -> str:
        nonlocal waiting
        if not seen.strict_schemas:
            return "answered"
        waiting += 1
        if waiting == 2:
            both.set()
        await both.wait()
        raise EndpointRefused(400, GRAMMAR)

    async def run() -> None:
        results.append(await negotiate(known, send, on_notice=notices.append))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            group.start_soon(run)
    assert results == ["answered", "answered"]
    assert len(notices) == 1


async def test_an_answer_that_has_begun_is_not_asked_for_again() -> None:
    produced = Produced()

    async def send(_: Capabilities, seen: Produced, __: object) -> str:
        assert seen is produced
        seen.any = True
        raise EndpointRefused(400, GRAMMAR)

    known = Capabilities()
    with pytest.raises(EndpointRefused):
        await negotiate(known, send, produced=produced)
    assert known.strict_schemas
    assert produced.any


async def test_cancellation_is_no_refusal() -> None:
    async def send(*_: Any) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    with anyio.move_on_after(1) as scope:
        await negotiate(Capabilities(), send)
    assert scope.cancelled_caught


async def test_a_refusal_in_plain_words_without_any_status_is_judged_too() -> None:
    endpoint = _Endpoint(RuntimeError(GRAMMAR))
    assert await negotiate(Capabilities(), endpoint.send) == "answered"


# --- words that are not about the request -----------------------------------------------------

TOOL = {
    "type": "function",
    "function": {
        "name": "check_grammar",
        "parameters": {"type": "object", "properties": {"on": {"type": "string"}}},
    },
}
ANSWER = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
WRITTEN = [
    '<tool_call>{"name": "check_grammar", "arguments": {"text": "mind your grammar"}}',
    "set stream_options for counts",
    "use response_format or json_schema {",
    "rename max_tokens to max_completion_tokens {",
    "reasoning_effort {",
    "the context window is 8k tokens {",
    "`temperature` is fine, only the default",
    "Unknown parameter: 'top_k'",
]
CUTS = [
    (500, "Failed to parse input at pos 21: {}"),
    (502, "InternalServerError: Failed to parse input at pos 0: {}"),
    (400, "Tool call validation failed: attempted to call tool '{}'"),
    (500, "Failed to parse messages: Missing 'role'; messages = [{{'content': '{}'}}]"),
    (400, "{{'msg': 'Field required', 'input': {{'content': '{}'}}}}"),
]


def _body(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True, **fields}


async def _negotiated(
    endpoint: FakeEndpoint, known: Capabilities, notices: list[str], **fields: Any
) -> str:
    """Negotiates over the real client, without anything else that a turn does."""
    async with endpoint.client() as client:

        async def send(_: Capabilities, produced: Produced, __: object) -> str:
            turn = await stream_turn(client, _body(**fields), produced=produced)
            return turn.content

        return await negotiate(
            known, send, model="m", droppable=("top_k",), on_notice=notices.append
        )


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize(("status", "said"), CUTS)
async def test_what_a_model_wrote_teaches_nothing_when_a_server_quotes_it(
    status: int, said: str, written: str
) -> None:
    known, notices = Capabilities(), list[str]()
    before = latch_state(known, "m")
    endpoint = FakeEndpoint(refused(status, said.format(written)))
    with pytest.raises(WireError) as caught:
        await _negotiated(endpoint, known, notices, tools=[TOOL])
    assert not isinstance(caught.value, ContextOverflow)
    assert written in str(caught.value)
    assert (latch_state(known, "m"), notices, endpoint.sends) == (before, [], 1)


@pytest.mark.parametrize("written", WRITTEN)
async def test_a_quoted_answer_is_asked_for_otherwise_and_nothing_is_learned(written: str) -> None:
    said = f"Failed to parse input at pos 21: {written}"
    for first in (refused(500, said), streamed(role(), error_event(said, code=500))):
        known, notices = Capabilities(), list[str]()
        before = latch_state(known, "m")
        endpoint = FakeEndpoint(first, answer("ok"))
        async with endpoint.client() as client:
            turn = await run_turn(
                client,
                known,
                lambda *_: _body(tools=[TOOL]),
                model="m",
                droppable=("top_k",),
                on_notice=notices.append,
            )
        assert turn.content == "ok"
        assert latch_state(known, "m") == before
        assert [body.get("tool_choice") for body in endpoint.bodies] == [None, "none"]
        assert len(notices) == 1


@pytest.mark.parametrize(
    ("status", "said", "fields"),
    [
        (404, "The model `grammarly/coedit-large` does not exist", {"tools": [TOOL]}),
        (404, "no such model: grammar", {"tools": [TOOL]}),
        (429, "failed to parse grammar: too many requests", {"tools": [TOOL]}),
        (401, "the key does not allow a grammar", {"response_format": ANSWER}),
        (400, "failed to parse grammar", {}),
        (400, "No messages about `response_format` and grammar, please", {}),
    ],
)
async def test_a_refusal_that_cannot_be_about_schemas_is_raised_after_one_send(
    status: int, said: str, fields: dict[str, Any]
) -> None:
    known, notices = Capabilities(), list[str]()
    known.for_model("m").structured_output = False
    endpoint = FakeEndpoint(refused(status, said))
    with pytest.raises(WireError):
        await _negotiated(endpoint, known, notices, **fields)
    assert known.strict_schemas
    assert (endpoint.sends, notices) == (1, [])


@pytest.mark.parametrize(
    "said",
    ["Missing tool result for call_1 (check_grammar)", "no result of grammar-check", "Grammarian"],
)
async def test_a_name_with_grammar_in_it_is_no_grammar(said: str) -> None:
    known, endpoint = Capabilities(), _Endpoint(said)
    with pytest.raises(EndpointRefused):
        await negotiate(known, endpoint.send, model="m")
    assert known.strict_schemas
    assert endpoint.sends == 1


@pytest.mark.parametrize(
    "said",
    [
        GRAMMAR,
        "Grammars of this size are not built",
        "The provided JSON schema contains features not supported by xgrammar.",
        "Unrecognized schema: true in check_grammar",
        "JSON schema conversion failed:\nUnsupported ref: #",
    ],
)
@pytest.mark.parametrize("fields", [{"tools": [TOOL]}, {"response_format": ANSWER}])
@pytest.mark.parametrize("status", [400, 422, 500])
async def test_a_schema_that_is_no_grammar_is_sent_relaxed(
    status: int, fields: dict[str, Any], said: str
) -> None:
    known, notices = Capabilities(), list[str]()
    endpoint = FakeEndpoint(refused(status, said), answer("ok"))
    assert await _negotiated(endpoint, known, notices, **fields) == "ok"
    assert not known.strict_schemas
    assert len(notices) == 1


async def test_a_refusal_inside_an_answer_is_judged_by_its_words_alone() -> None:
    known = Capabilities()
    endpoint = FakeEndpoint(streamed(role(), error_event(GRAMMAR, code=400)), answer("ok"))
    assert await _negotiated(endpoint, known, []) == "ok"
    assert not known.strict_schemas


async def test_another_rule_is_tried_where_schemas_are_not_at_fault() -> None:
    known, endpoint = Capabilities(), _Endpoint("stream_options: no such thing as check_grammar")
    assert await negotiate(known, endpoint.send) == "answered"
    assert (known.strict_schemas, known.usage_in_stream) == (True, False)
