"""Foreign errors without the secrets that they carried."""

from __future__ import annotations

import gzip
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import EndpointRefused, EndpointUnavailable, StreamBroken, WireError
from host.text.redaction import MIN_SECRET_CHARS, Redactor
from host.wire.clients import Endpoints
from host.wire.exchange import exchange
from host.wire.scrubbing import carried_schemas, cleaned, scrub
from host.wire.settings import EndpointSettings
from host.wire.side_tasks import ask
from host.wire.streaming import stream_turn

KEY = "sk-very-secret-0001"
REDACTOR = Redactor([KEY, "pass-word"])
ADDRESS = "http://someone:pass-word@endpoint.test/v1?token=pass-word"
TEXTS = st.sampled_from(["", "plain", KEY, f"bad key {KEY}."])
MAX_LEVELS = 8
BODIES = st.recursive(
    st.one_of(TEXTS, st.none(), st.integers(), st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inner), default=0) if isinstance(value, dict | list) else 0


@given(BODIES)
def test_a_body_keeps_its_shape_and_loses_its_secrets(body: Any) -> None:
    left = cleaned(body, REDACTOR)
    assert KEY not in json.dumps(left)
    if _depth(body) <= MAX_LEVELS:
        assert left == json.loads(json.dumps(body).replace(KEY, "***"))


def test_a_body_is_kept_to_a_depth() -> None:
    body = json.loads("[" * 900 + "]" * 900)
    assert cleaned(body, REDACTOR, 2) == [[None]]
    assert _depth(cleaned(body, REDACTOR)) == MAX_LEVELS


def _response(status: int = 401) -> httpx2.Response:
    request = httpx2.Request(
        "POST", ADDRESS, headers={"Authorization": f"Bearer {KEY}"}, content=f"with {KEY}"
    )
    packed = gzip.compress(json.dumps({"error": {"message": f"bad {KEY}"}}).encode())
    headers = {"content-encoding": "gzip", "x-request-id": "r7", "x-seen": KEY}
    return httpx2.Response(status, headers=headers, content=packed, request=request)


def _told(error: BaseException) -> str:
    """Everything an error reporter could read from it."""
    response, request = getattr(error, "response", None), getattr(error, "request", None)
    parts = [str(error), repr(error), repr(vars(error))]
    if isinstance(response, httpx2.Response):
        parts += [response.text, repr(response.headers.raw), str(response.request.url)]
        parts += [repr(response.request.headers.raw), repr(response.request.content)]
    if isinstance(request, httpx2.Request):
        parts += [str(request.url), repr(request.headers.raw), repr(request.content)]
    return "\n".join(parts)


def test_an_answered_error_keeps_status_words_and_headers_and_no_secret() -> None:
    response = _response()
    error = openai.AuthenticationError(
        f"bad {KEY}", response=response, body={"message": f"bad {KEY}", "code": KEY}
    )
    error.add_note(f"while using {KEY}")
    assert KEY in _told(error)
    scrub(error, REDACTOR)
    assert KEY not in _told(error)
    assert "pass-word" not in _told(error)
    assert (error.status_code, error.body) == (401, {"message": "bad ***", "code": "***"})
    assert (error.request_id, error.response.headers["x-request-id"]) == ("r7", "r7")
    assert error.response.json() == {"error": {"message": "bad ***"}}
    assert str(error.request.url) == "http://endpoint.test/v1"


def test_what_an_error_came_from_is_scrubbed_and_the_callers_own_is_not() -> None:
    callers_own = KeyError(KEY)
    response = _response()
    status = httpx2.HTTPStatusError(KEY, request=response.request, response=response)
    status.__context__ = callers_own
    low = OSError(f"cannot send {KEY}")
    connection = openai.APIConnectionError(request=response.request)
    connection.__cause__, connection.__context__ = low, status
    low.__cause__ = connection  # a circle ends
    scrub(connection, REDACTOR)
    for error in (connection, status, low):
        assert KEY not in _told(error)
    assert callers_own.args == (KEY,)


def test_an_unread_answer_and_one_without_a_request_have_an_outline_too() -> None:
    unread = httpx2.Response(500, stream=httpx2.ByteStream(KEY.encode()))
    outline = cleaned(unread, REDACTOR)
    assert (outline.status_code, outline.text) == (500, "")
    with pytest.raises(RuntimeError):
        _ = outline.request


def test_an_address_that_holds_the_secret_in_its_path_is_dropped() -> None:
    request = httpx2.Request("GET", f"http://endpoint.test/{KEY}/models")
    assert str(cleaned(request, REDACTOR).url) == ""


def _client(text: str) -> openai.AsyncOpenAI:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, text=text))
    return openai.AsyncOpenAI(
        api_key=KEY,
        base_url="http://endpoint.test/v1",
        max_retries=0,
        http_client=httpx2.AsyncClient(transport=transport),
    )


@pytest.mark.parametrize("text", [f"data: {{{KEY}\n\n", f"<html>{KEY}</html>", f"{{{KEY}"])
async def test_an_unreadable_answer_leaves_no_secret_behind_the_error(text: str) -> None:
    async with _client(text) as client:
        asks: list[Callable[[], Awaitable[object]]] = [
            partial(stream_turn, client, {"model": "m", "messages": []}),
            partial(exchange, client, "/models"),
        ]
        for ask in asks:
            with anyio.fail_after(5), pytest.raises(WireError) as caught:
                await ask()
            assert isinstance(caught.value, EndpointRefused | StreamBroken)
            assert caught.value.__cause__ is None
            assert caught.value.__context__ is None
            assert KEY not in _told(caught.value)


# --- odd headers ------------------------------------------------------------------------------

ODD_HEADERS: list[tuple[bytes, bytes]] = [
    (b"x-msg", "模型".encode()),
    (b"x-msg", b"caf\xe9"),
    (b"set-cookie", b"a=\xff"),
    ("x-größe".encode(), b"1"),
    (b"content-type", b"text/html; charset=bogus-8"),
]


def _odd(status: int, *headers: tuple[bytes, bytes]) -> openai.AsyncOpenAI:
    def answered(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers=headers, content=b'{"error":{"message":"no"}}')

    return openai.AsyncOpenAI(
        api_key=KEY,
        base_url="http://endpoint.test/v1",
        max_retries=0,
        http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(answered)),
    )


@pytest.mark.parametrize("status", [400, 404, 503])
@pytest.mark.parametrize("header", ODD_HEADERS)
async def test_an_odd_header_does_not_take_the_place_of_the_error(
    header: tuple[bytes, bytes], status: int
) -> None:
    async with _odd(status, header, (b"x-seen", KEY.encode())) as client:
        for ask in (
            partial(stream_turn, client, {"model": "m", "messages": []}),
            partial(exchange, client, "/models"),
        ):
            with pytest.raises((EndpointRefused, EndpointUnavailable), match="no") as caught:
                await ask()
            cause = caught.value.__cause__
            assert isinstance(cause, openai.APIStatusError)
            assert header in cause.response.headers.raw
            assert (b"x-seen", b"***") in cause.response.headers.raw


@pytest.mark.parametrize("header", [*ODD_HEADERS[:2], *ODD_HEADERS[3:]])
async def test_every_way_to_an_endpoint_survives_an_odd_header(header: tuple[bytes, bytes]) -> None:
    def open_http() -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=httpx2.MockTransport(
                lambda _: httpx2.Response(404, headers=[header], content=b'{"error":"no"}')
            )
        )

    settings = EndpointSettings(base_url="http://endpoint.test/v1", api_key=KEY)
    async with Endpoints(open_http=open_http) as endpoints:
        assert await endpoints.context_limit(settings, "m") == 0
        with pytest.raises(EndpointRefused, match="no"):
            await endpoints.list_models(settings)
        with pytest.raises(EndpointRefused, match="no"):
            await ask(endpoints, settings, "m", "s", "u")


SECRETS = st.text(min_size=MIN_SECRET_CHARS).map(str.strip)


@given(
    SECRETS.filter(lambda text: len(text) >= MIN_SECRET_CHARS),
    st.sampled_from(["utf-8", "latin-1"]),
    st.binary(),
)
def test_a_secret_leaves_a_header_in_either_charset(secret: str, charset: str, rest: bytes) -> None:
    try:
        value = secret.encode(charset)
    except UnicodeEncodeError:
        return
    response = httpx2.Response(400, headers=[(b"x-a", b"<" + value + b">"), (b"x-b", rest)])
    outline = cleaned(response, Redactor([secret]))
    told = dict(outline.headers.raw)[b"x-a"]
    assert value not in told or secret in "***"
    if secret.encode("utf-8", "replace") not in rest and value not in rest:
        assert dict(outline.headers.raw)[b"x-b"] == rest


class _Unable(Redactor):
    """Fails at a text that holds a certain word."""

    def redact(self, text: str) -> str:
        if "odd" in text:
            raise ValueError(text)
        return super().redact(text)


@pytest.mark.parametrize("odd", ["header", "body", "message", "address"])
def test_what_cannot_be_cleaned_is_dropped_and_the_error_stays(odd: str) -> None:
    words = {name: f"{KEY} odd" if name == odd else KEY for name in ("header", "body", "message")}
    request = httpx2.Request("GET", f"http://endpoint.test/{'odd' if odd == 'address' else ''}")
    response = httpx2.Response(
        400, headers={"x-seen": words["header"]}, json={"a": words["body"]}, request=request
    )
    error = openai.BadRequestError(
        words["message"], response=response, body={"message": words["body"]}
    )
    scrub(error, _Unable([KEY]))
    assert KEY not in _told(error)
    assert (error.status_code, error.response.status_code) == (400, 400)
    assert error.request.method == "GET"


@pytest.mark.parametrize(
    ("body", "held"),
    [
        ({"tools": []}, True),
        ({"response_format": {"type": "json_object"}}, True),
        ({"messages": [{"content": '{"tools":[],"response_format":1}'}]}, False),
    ],
)
async def test_the_outline_of_a_request_says_whether_it_held_schemas(
    body: dict[str, Any], held: bool
) -> None:
    async with _odd(400) as client:
        with pytest.raises(EndpointRefused) as caught:
            await stream_turn(client, {"model": "m", **body})
    assert carried_schemas(caught.value.__cause__) is held
    assert carried_schemas(caught.value) is None
