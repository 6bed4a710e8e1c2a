"""openai clients: which are shared, which are opened, and that all are closed."""

from __future__ import annotations

import math
import traceback

import anyio
import httpx2
import openai
import pytest

from host.errors import ConfigError
from host.wire.client_pool import CLOSE_SECONDS, MAX_CLIENTS, ClientPool
from host.wire.settings import NO_KEY, EndpointSettings
from tests.fakes.endpoint import FakeEndpoint, as_json


class _SlowToClose(httpx2.AsyncBaseTransport):
    """A transport that takes its time when it is closed."""

    def __init__(self, seconds: float = 1) -> None:
        self._seconds = seconds
        self.is_closed = False

    async def aclose(self) -> None:
        await anyio.sleep(self._seconds)
        self.is_closed = True


def _settings(name: str, **fields: object) -> EndpointSettings:
    return EndpointSettings(**{"base_url": f"http://{name}.test/v1", **fields})  # type: ignore[arg-type]  # fields of one test each


async def test_one_endpoint_key_and_limit_share_one_client() -> None:
    async with ClientPool(open_http=FakeEndpoint().http) as pool:
        first = pool.client(_settings("a"))
        assert pool.client(_settings("a", api_key="", first_token_seconds=3)) is first
        others = [
            pool.client(_settings("a", api_key="k")),
            pool.client(_settings("a", request_timeout_seconds=3)),
            pool.client(_settings("b")),
        ]
        assert len({id(client) for client in (first, *others)}) == 4


async def test_a_client_retries_nothing_and_waits_as_long_as_its_settings_say() -> None:
    async with ClientPool(open_http=FakeEndpoint().http) as pool:
        patient, limited = (
            pool.client(_settings("a")),
            pool.client(_settings("a", request_timeout_seconds=3)),
        )
        assert (patient.max_retries, patient.timeout, patient.api_key) == (0, None, NO_KEY)
        assert limited.timeout == 3


@pytest.mark.parametrize("key", ["sk-one\nsk-two", "sk-ключ", "sk-\x7f"])
async def test_a_key_that_no_header_can_hold_is_a_problem_that_does_not_show_it(key: str) -> None:
    async with ClientPool(open_http=FakeEndpoint().http) as pool:
        with pytest.raises(ConfigError, match="API key") as caught:
            pool.client(_settings("a", api_key=key))
    assert "sk-" not in "".join(traceback.format_exception(caught.value))


async def test_space_around_a_key_is_none_of_it() -> None:
    async with ClientPool(open_http=FakeEndpoint().http) as pool:
        client = pool.client(_settings("a", api_key=" sk-one\n"))
        assert client.api_key == "sk-one"
        assert pool.client(_settings("a", api_key="sk-one")) is client
        assert pool.client(_settings("a", api_key=" ")).api_key == NO_KEY


async def test_the_client_asked_for_longest_ago_leaves_a_full_pool() -> None:
    async with ClientPool(open_http=FakeEndpoint().http) as pool:
        clients = [pool.client(_settings(f"e{i}")) for i in range(MAX_CLIENTS)]
        assert pool.client(_settings("e0")) is clients[0]
        pool.client(_settings("one-more"))
        assert pool.client(_settings("e0")) is clients[0]
        assert pool.client(_settings("e2")) is clients[2]
        assert pool.client(_settings("e1")) is not clients[1]


async def test_leaving_closes_every_client_also_those_pushed_out_and_reset() -> None:
    async with ClientPool(max_clients=1, open_http=FakeEndpoint().http) as pool:
        clients = [pool.client(_settings(name)) for name in "abc"]
        pool.retire()
        clients.append(pool.client(_settings("a")))
        assert not any(client.is_closed() for client in clients)
    assert all(client.is_closed() for client in clients)


async def test_clients_close_to_their_end_also_for_somebody_who_was_stopped() -> None:
    transport = _SlowToClose()
    with anyio.CancelScope() as scope:
        async with ClientPool(open_http=lambda: httpx2.AsyncClient(transport=transport)) as pool:
            pool.client(_settings("a"))
            scope.cancel()
    assert transport.is_closed


async def test_a_client_that_does_not_close_holds_nobody_up_for_long() -> None:
    transport = _SlowToClose(seconds=math.inf)
    with anyio.fail_after(2 * CLOSE_SECONDS):
        async with ClientPool(open_http=lambda: httpx2.AsyncClient(transport=transport)) as pool:
            pool.client(_settings("a"))
    assert not transport.is_closed


async def test_nothing_of_the_environment_reaches_an_endpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-someone-else")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-someone-else")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-of-someone-else")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.test/v1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer of-someone-else")
    endpoint = FakeEndpoint(routes={"/v1/models": [as_json({"data": []})]})
    async with ClientPool(open_http=endpoint.http) as pool:
        await pool.client(_settings("a")).get("/models", cast_to=httpx2.Response)
    request = endpoint.requests[0]
    assert request.url.host == "a.test"
    assert request.headers["authorization"] == f"Bearer {NO_KEY}"
    assert "someone-else" not in repr(request.headers.multi_items())


@pytest.mark.parametrize(
    "base_url",
    [
        "http://me:pass-word@[::1/v1",
        "",
        "localhost:8080/v1",
        "ftp://me:pass-word@a/v1",
        "http:///v1",
        "http://me:pass-word/x@a.test:80/v1",
        "http://me:pass-word?x@a.test/v1",
        "http://me:pass-word\x01@a.test/v1",
        "http://a.test:80\x00/v1?key=pass-word",
    ],
)
async def test_a_base_url_that_is_none_is_a_mistake_of_the_user_and_keeps_its_secret(
    base_url: str,
) -> None:
    async with ClientPool(open_http=FakeEndpoint().http) as pool:
        with pytest.raises(ConfigError, match="http://localhost") as caught:
            pool.client(EndpointSettings(base_url=base_url))
    assert "pass-word" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is caught.value.__context__ is None


async def test_a_query_of_the_base_url_goes_with_every_path() -> None:
    endpoint = FakeEndpoint(routes={"/v1/models": [as_json({"data": []})] * 2})
    settings = EndpointSettings(base_url="http://a.test/v1?api-version=2024-10-21&x=a%26b#top")
    async with ClientPool(open_http=endpoint.http) as pool:
        client = pool.client(settings)
        await client.get("/models", cast_to=httpx2.Response)
        await client.get("http://a.test/v1/models?model=m", cast_to=httpx2.Response)
        assert str(client.base_url) == "http://a.test/v1/"
    own = {"api-version": "2024-10-21", "x": "a&b"}
    sent = [dict(request.url.params) for request in endpoint.requests]
    assert sent == [own, {**own, "model": "m"}]
    assert [request.url.path for request in endpoint.requests] == ["/v1/models"] * 2


async def test_spaces_around_a_base_url_do_no_harm() -> None:
    async with ClientPool(open_http=FakeEndpoint().http) as pool:
        client = pool.client(EndpointSettings(base_url=" http://a.test/v1/ "))
        assert str(client.base_url) == "http://a.test/v1/"


async def test_without_a_factory_clients_are_real_and_share_their_certificates() -> None:
    async with ClientPool() as pool:
        clients = [pool.client(_settings(name)) for name in "ab"]
        clients.append(pool.client(EndpointSettings(base_url="https://a.test/v1")))
        assert all(isinstance(client, openai.AsyncOpenAI) for client in clients)
    assert all(client.is_closed() for client in clients)


async def test_a_cookie_that_no_header_can_carry_is_not_kept() -> None:
    asked: list[httpx2.Headers] = []

    def serve(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers)
        cookies = [(b"set-cookie", b"odd=\xff"), (b"set-cookie", b"node=a1")]
        return httpx2.Response(200, headers=httpx2.Headers(cookies), json={"data": []})

    def http() -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(serve))

    async with ClientPool(open_http=http) as pool:
        client = pool.client(EndpointSettings(base_url="http://endpoint.test/v1"))
        for _ in range(2):
            await client.get("/models", cast_to=httpx2.Response)
    assert [headers.get("cookie") for headers in asked] == [None, "node=a1"]
