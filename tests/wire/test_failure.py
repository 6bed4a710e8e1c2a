"""Foreign failures turned into ours; the ones met in streams stand in test_streaming."""

from __future__ import annotations

import json
import traceback
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import (
    ContextOverflow,
    EndpointRefused,
    EndpointSilent,
    EndpointUnavailable,
    StreamBroken,
    WireError,
)
from host.text.redaction import Redactor
from host.wire.failure import (
    MAX_BODY_CHARS,
    ForeignFailures,
    failure_in_stream,
    failure_of,
    redactor_of,
    retry_after_seconds,
    words_of,
)
from host.wire.retry import is_model_loading, is_transient_status
from host.wire.settings import NO_KEY
from tests.fakes.endpoint import FakeEndpoint

KEY = "sk-very-secret-0001"
REQUEST = httpx2.Request("POST", "http://someone:pass-word@endpoint.test/v1/chat/completions")
NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)


def _status_error(status: int, body: object, **headers: str) -> openai.APIStatusError:
    """The error as the SDK raises it for a real response."""
    text = body if isinstance(body, str) else json.dumps(body)
    transport = httpx2.MockTransport(lambda _: httpx2.Response(status, text=text, headers=headers))
    with (
        httpx2.Client(transport=transport) as http,
        openai.OpenAI(
            api_key=KEY, base_url="http://endpoint.test/v1", max_retries=0, http_client=http
        ) as client,
        pytest.raises(openai.APIStatusError) as caught,
    ):
        client.get("/models", cast_to=object)
    return caught.value


def _failure(error: Exception) -> WireError:
    return failure_of(error, Redactor([KEY]), now=NOW.timestamp)


@given(st.integers(400, 599), st.sampled_from(["no", "slow down", f"key {KEY} is unknown"]))
def test_a_status_decides_between_no_and_not_now_and_keeps_the_words(
    status: int, message: str
) -> None:
    failure = _failure(_status_error(status, {"error": {"message": message}}))
    kind = EndpointUnavailable if is_transient_status(status) else EndpointRefused
    assert isinstance(failure, kind)
    assert getattr(failure, "status", None) == status
    assert words_of(failure) == message.replace(KEY, "***")


def test_a_long_body_is_cut() -> None:
    failure = _failure(_status_error(400, "x" * 50_000))
    assert isinstance(failure, EndpointRefused)
    assert len(failure.body) <= MAX_BODY_CHARS


@pytest.mark.parametrize("mark", ["context_length_exceeded", "exceed_context_size_error"])
@pytest.mark.parametrize("field", ["code", "type"])
def test_a_code_alone_says_overflow(field: str, mark: str) -> None:
    failure = _failure(_status_error(400, {"error": {"message": "zu lang", field: mark}}))
    assert isinstance(failure, ContextOverflow)
    assert str(failure) == "zu lang"


def test_a_rate_limit_that_speaks_of_tokens_is_no_overflow() -> None:
    said = "Request too large for m on tokens per min (TPM): limit 10000"
    assert isinstance(
        _failure(_status_error(429, {"error": {"message": said}})), EndpointUnavailable
    )


@pytest.mark.parametrize("status", [401, 402, 403, 429])
@pytest.mark.parametrize(
    "said",
    [
        "This request exceeds the available token budget",
        "prompt exceeds the available token credits",
        "Your plan does not include a context window above 200k",
        "maximum context length is 8192 tokens (context_length_exceeded)",
    ],
)
def test_key_money_and_rate_are_no_matter_of_size_unless_the_code_says_so(
    said: str, status: int
) -> None:
    kind = EndpointUnavailable if status == 429 else EndpointRefused
    assert isinstance(_failure(_status_error(status, {"error": {"message": said}})), kind)
    inside = failure_in_stream({"error": {"message": said, "code": status}}, Redactor())
    assert isinstance(inside, kind)
    body = {"error": {"message": said, "code": "context_length_exceeded", "status": status}}
    assert isinstance(_failure(_status_error(status, body)), ContextOverflow)
    assert isinstance(failure_in_stream(body, Redactor()), ContextOverflow)


def test_a_loading_model_is_recognised_by_its_type_alone() -> None:
    body = {"error": {"message": "please wait", "type": "unavailable_error", "code": 503}}
    assert is_model_loading(_failure(_status_error(503, body)))


# --- waits ------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(-3600, 10**6))
def test_a_wait_reads_the_same_in_every_spelling(seconds: int, from_now: int) -> None:
    assert retry_after_seconds({"retry-after": str(seconds)}) == seconds
    assert retry_after_seconds({"retry-after-ms": str(seconds * 1000)}) == seconds
    date = format_datetime(datetime.fromtimestamp(NOW.timestamp() + from_now, UTC), usegmt=True)
    assert retry_after_seconds({"retry-after": date}, now=NOW.timestamp) == max(0, from_now)


def test_of_two_waits_the_finer_one_counts() -> None:
    assert retry_after_seconds({"retry-after": "2", "retry-after-ms": "1500"}) == 1.5


@pytest.mark.parametrize("text", ["", "soon", "-3", "nan", "inf", "Mon, 99 Foo 2026"])
def test_an_unreadable_wait_is_none(text: str) -> None:
    assert retry_after_seconds({"retry-after": text, "retry-after-ms": text}) is None
    assert retry_after_seconds({}) is None


def test_a_date_without_a_zone_is_universal_time() -> None:
    date = "Mon, 04 May 2026 03:02:31 -0000"
    assert retry_after_seconds({"retry-after": date}, now=NOW.timestamp) == 30


def test_a_wait_travels_on_the_error() -> None:
    failure = _failure(_status_error(429, "slow down", **{"Retry-After": "7"}))
    assert isinstance(failure, EndpointUnavailable)
    assert failure.retry_after_seconds == 7


# --- connections ------------------------------------------------------------------------------


def _while_sending(cause: httpx2.RequestError) -> openai.APIConnectionError:
    error = openai.APIConnectionError(request=REQUEST)
    error.__cause__ = cause
    return error


def test_a_refused_connection_names_the_address_without_its_credentials() -> None:
    failure = _failure(_while_sending(httpx2.ConnectError("no route", request=REQUEST)))
    assert isinstance(failure, EndpointUnavailable)
    assert failure.status is None
    assert "endpoint.test" in failure.detail
    assert "no route" in failure.detail
    assert "pass-word" not in str(failure)


def test_a_refused_connection_does_not_tell_a_key_that_its_path_or_its_words_hold() -> None:
    error = openai.APIConnectionError(request=httpx2.Request("POST", f"http://e.test/{KEY}/v1"))
    error.__cause__ = httpx2.ConnectError(f"no route for {KEY}")
    failure = _failure(error)
    assert isinstance(failure, EndpointUnavailable)
    assert failure.detail == "http://e.test/***/v1: no route for ***"


def test_the_clients_own_read_limit_is_silence_and_its_connect_limit_is_not() -> None:
    request = httpx2.Request("POST", "http://e/", extensions={"timeout": {"read": 9.0}})
    silent = _failure(_while_sending(httpx2.ReadTimeout("", request=request)))
    assert isinstance(silent, EndpointSilent)
    assert (silent.seconds, silent.before_first) == (9, True)
    assert isinstance(_failure(httpx2.ReadTimeout("late", request=REQUEST)), StreamBroken)
    midway = _failure(httpx2.ReadTimeout("", request=request))
    assert isinstance(midway, EndpointSilent)
    assert (midway.seconds, midway.before_first) == (9, False)
    unreached = _failure(_while_sending(httpx2.ConnectTimeout("", request=request)))
    assert isinstance(unreached, EndpointUnavailable)


def test_a_connection_lost_while_reading_breaks_the_stream() -> None:
    lost = httpx2.RemoteProtocolError("incomplete chunked read", request=REQUEST)
    failure = _failure(lost)
    assert isinstance(failure, StreamBroken)
    assert "incomplete chunked read" in failure.detail


# --- in streams -------------------------------------------------------------------------------


@given(
    st.dictionaries(
        st.sampled_from(["id", "choices", "usage", "object", "message", "code"]),
        st.sampled_from([None, [], "chat.completion.chunk", 3, {"a": 1}]),
    )
)
def test_an_ordinary_chunk_is_no_failure(chunk: dict[str, Any]) -> None:
    assert failure_in_stream(chunk, Redactor()) is None
    assert failure_in_stream({**chunk, "error": None}, Redactor()) is None


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"message": "no", "code": 502}, 502),
        ({"message": "no", "code": "502"}, 502),
        ({"message": "no", "status": 400, "code": "x"}, 400),
        ({"message": "no", "code": True}, None),
        ({"message": "no", "type": "overloaded_error"}, 529),
        ({"message": "no", "code": "rate_limit_exceeded", "type": "tokens"}, 429),
        ({"message": "no", "code": 502, "type": "server_error"}, 502),
        ({"message": "no", "code": "server_error"}, 500),
        ({"message": "no", "code": None, "type": "invalid_request_error"}, None),
        ({"message": "no", "code": 399}, None),
        ({"message": "no", "code": 599}, 599),
        ({"message": "no", "code": 600}, None),
        ({"message": "no", "code": 40301}, None),
        ({"message": "no", "code": "9" * 5000}, None),
        ("no", None),
    ],
)
def test_the_status_of_an_error_event_is_its_code_if_that_is_one(
    error: object, status: int | None
) -> None:
    failure = failure_in_stream({"error": error}, Redactor())
    assert isinstance(failure, EndpointRefused | EndpointUnavailable)
    assert failure.status == status
    assert words_of(failure) == "no"
    assert ("inside its answer" in str(failure)) is (status is not None)


@pytest.mark.parametrize(
    "event",
    [
        {"choices": [{"delta": {}, "finish_reason": "error", "error": {"message": "no"}}]},
        {"choices": [{"error": {"message": "no", "code": 502}}]},
        {"message": "no", "code": 500},
        {"detail": "no", "status": 503},
        {"message": "no", "type": "server_error"},
    ],
)
def test_an_error_counts_wherever_an_event_holds_it(event: dict[str, Any]) -> None:
    failure = failure_in_stream(event, Redactor())
    assert failure is not None
    assert words_of(failure) == "no"


@pytest.mark.parametrize("code", [400, 429, 500, None])
def test_the_words_of_an_error_event_stay_within_bounds(code: int | None) -> None:
    failure = failure_in_stream({"error": {"message": "x" * 50_000, "code": code}}, Redactor())
    assert failure is not None
    assert MAX_BODY_CHARS - 100 < len(str(failure)) <= MAX_BODY_CHARS + 100


def test_a_refused_status_is_not_said_to_stand_inside_an_answer() -> None:
    for status in (400, 500):
        said = str(_failure(_status_error(status, {"error": {"message": "no"}})))
        assert "inside its answer" not in said
        assert f" {status}" in said


# --- secrets ----------------------------------------------------------------------------------


def test_the_foreign_error_stays_as_cause_without_the_key_in_its_words() -> None:
    foreign = _status_error(401, {"error": {"message": f"Incorrect API key: {KEY}"}})
    with pytest.raises(EndpointRefused) as caught, ForeignFailures(Redactor([KEY])):
        raise foreign
    assert caught.value.__cause__ is foreign
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert KEY not in foreign.message
    assert KEY not in repr(vars(foreign))
    assert KEY not in foreign.response.text


def test_a_complaint_of_the_sdk_itself_is_a_refusal() -> None:
    failure = _failure(openai.OpenAIError(f"cannot use {KEY}"))
    assert isinstance(failure, EndpointRefused)
    assert (failure.status, failure.body) == (None, "cannot use ***")


def test_our_own_errors_and_strangers_pass_as_they_are() -> None:
    for error in (StreamBroken("x"), KeyError("y")):
        with pytest.raises(type(error)) as caught, ForeignFailures(Redactor()):
            raise error
        assert caught.value is error


def test_the_placeholder_for_no_key_is_no_secret() -> None:
    client = FakeEndpoint().client(key=NO_KEY)
    assert redactor_of(client).redact(f"send {NO_KEY}") == f"send {NO_KEY}"


def test_credentials_of_the_base_url_are_secrets() -> None:
    client = FakeEndpoint().client(base_url="http://someone:pass-word@endpoint.test/v1")
    assert "pass-word" not in redactor_of(client).redact("the pass-word is wrong")
