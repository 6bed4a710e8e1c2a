"""Errors inside answers, in every form that servers and gateways were seen to send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from host.errors import ContextOverflow, EndpointRefused, EndpointUnavailable
from host.text.redaction import Redactor
from host.wire.answer_errors import failure_in_answer
from host.wire.exchange import exchange
from host.wire.failure import words_of
from host.wire.streaming import stream_turn
from tests.fakes.endpoint import (
    DONE,
    KEY,
    FakeEndpoint,
    Piece,
    as_json,
    role,
    streamed,
    text,
    usage,
)

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
SAID = "upstream exploded"

ERRORS: list[tuple[Any, int | None]] = [
    ({"message": SAID}, None),
    ({"type": "error", "message": SAID}, None),
    ({"msg": SAID}, None),
    ({"detail": SAID}, None),
    ({"detail": {"message": SAID}}, None),
    ({"code": "InternalError", "message": SAID}, 500),
    ({"code": "OddKind", "message": SAID}, None),
    ({"code": 1302, "message": SAID}, None),
    ({"code": 503, "msg": SAID}, 503),
    ({"errors": [{"message": SAID}], "success": False}, None),
    ({"errors": [{"message": SAID, "code": 429}]}, 429),
    ({"errors": [SAID]}, None),
    ({"errors": SAID}, None),
    ({"error": SAID}, None),
    ({"error": [{"message": SAID, "code": 503}]}, 503),
    ({"error": SAID, "code": 503}, 503),
    ({"error": True, "message": SAID, "status": 500}, 500),
    ({"error": "Internal Server Error", "message": SAID, "status": 500}, 500),
    ({"error": {"error": {"message": SAID, "code": 503}}}, 503),
    ({"error": {"errors": [{"message": SAID}]}}, None),
    ({"error": {"message": SAID, "errors": [{"message": "else", "code": 404}]}}, None),
    ({"error": {"message": SAID}, "choices": [], "usage": {"prompt_tokens": 1}}, None),
    ([{"error": {"code": 503, "message": SAID, "status": "UNAVAILABLE"}}], 503),
    ([{"error": SAID}], None),
    ({"message": SAID, "choices": None, "usage": None}, None),
    ({"object": "error", "message": SAID, "code": 400}, 400),
    ({"type": "error", "error": {"type": "overloaded_error", "message": SAID}}, 529),
]

ANSWERS: list[Any] = [
    {"choices": []},
    {"choices": [], "message": "prompt filtered"},
    {"usage": {"prompt_tokens": 1}, "message": "counted"},
    {"type": "ping"},
    {"error": None, "choices": []},
    {"error": ""},
    {"errors": []},
    {"message": "", "detail": None},
    {"message": {"role": "assistant", "content": "Hello"}},
    {"data": []},
    [],
    [{"message": "one of a list"}],
    [{"error": SAID}, {"id": "second"}],
    "text",
    None,
    7,
]


@pytest.mark.parametrize(("value", "status"), ERRORS)
def test_every_form_of_error_is_read_with_its_words_and_its_code(
    value: Any, status: int | None
) -> None:
    failure = failure_in_answer(value, Redactor())
    assert isinstance(failure, EndpointRefused | EndpointUnavailable)
    assert (words_of(failure), failure.status) == (SAID, status)


@pytest.mark.parametrize("value", ANSWERS)
def test_what_is_no_error_is_none(value: Any) -> None:
    assert failure_in_answer(value, Redactor()) is None


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "x", "error"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "errors", "message", "msg", "detail", "code", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@example([{}])
@given(_values)
def test_any_value_is_read_and_with_choices_only_an_error_by_its_name_counts(value: Any) -> None:
    failure_in_answer(value, Redactor())
    if isinstance(value, dict) and not value.get("error"):
        chunk = {**value, "choices": [{"delta": {"content": "x"}}]}
        assert failure_in_answer(chunk, Redactor()) is None
    if value:
        assert failure_in_answer({"error": value}, Redactor()) is not None


def test_wrappers_without_end_are_given_up() -> None:
    value: Any = SAID
    for _ in range(50):
        value = {"error": [value]}
    assert failure_in_answer(value, Redactor()) is not None


def test_the_words_tell_no_secret_and_an_overflow_is_one() -> None:
    failure = failure_in_answer({"detail": f"no credit for {KEY}"}, Redactor([KEY]))
    assert KEY not in str(failure)
    said = "This model's maximum context length is 4096 tokens; the prompt exceeds the maximum"
    assert isinstance(failure_in_answer({"message": said}, Redactor()), ContextOverflow)


# --- through the client -------------------------------------------------------------------------


def _named(value: object) -> str:
    return f"event: error\ndata: {json.dumps(value)}\n\n"


@pytest.mark.parametrize(
    "event",
    [
        *({**value} for value, status in ERRORS if isinstance(value, dict) and status is None),
        _named({"message": SAID}),
        _named({"error": {"message": SAID}}),
        _named({"type": "error", "reason": SAID}),
        _named([SAID]),
        f"event: error\ndata: {SAID}\n\n",
    ],
)
@pytest.mark.parametrize("begun", [(), (role(),), (text("half"),)])
@pytest.mark.parametrize("end", [(), (usage(1, 1), DONE)])
async def test_an_error_event_ends_a_stream_with_its_words(
    event: Piece, begun: tuple[Piece, ...], end: tuple[Piece, ...]
) -> None:
    async with FakeEndpoint(streamed(*begun, event, *end)).client() as client:
        with pytest.raises(EndpointRefused, match=SAID) as caught:
            await stream_turn(client, BODY)
    assert caught.value.status is None


async def test_an_error_event_without_words_is_one_all_the_same() -> None:
    pieces = (text("half"), "event: error\ndata:\n\n", DONE)
    async with FakeEndpoint(streamed(*pieces)).client() as client:
        with pytest.raises(EndpointRefused, match="no reason given"):
            await stream_turn(client, BODY)


@pytest.mark.parametrize(("value", "status"), ERRORS)
async def test_an_error_in_place_of_an_answer_is_one_streamed_or_not(
    value: Any, status: int | None
) -> None:
    async with FakeEndpoint(as_json(value), as_json(value)).client() as client:
        for ask in (stream_turn(client, BODY), exchange(client, "/chat/completions", BODY)):
            with pytest.raises((EndpointRefused, EndpointUnavailable), match=SAID) as caught:
                await ask
            assert getattr(caught.value, "status", "none at all") == status


async def test_another_reply_of_an_endpoint_may_hold_any_field() -> None:
    listing = {"data": [], "message": "no models yet"}
    endpoint = FakeEndpoint(routes={"/v1/models": [as_json(listing)]})
    async with endpoint.client() as client:
        assert await exchange(client, "/models") == listing
