"""One request, one JSON value."""

from __future__ import annotations

import anyio
import pytest

from host.errors import EndpointRefused, EndpointSilent, EndpointUnavailable, WireError
from host.wire.exchange import exchange
from tests.fakes.endpoint import FakeEndpoint, Reply, as_json, lost, refused, whole


async def test_a_body_is_posted_and_its_answer_decoded() -> None:
    endpoint = FakeEndpoint(whole("x"))
    async with endpoint.client() as client:
        value = await exchange(client, "/chat/completions", {"model": "m", "temperature": 1.0})
    assert isinstance(value, dict)
    assert value["choices"][0]["message"]["content"] == "x"
    assert endpoint.requests[0].method == "POST"
    assert endpoint.requests[0].headers["content-type"] == "application/json"
    assert endpoint.requests[0].content == b'{"model":"m","temperature":1}'


async def test_without_a_body_an_address_is_asked_for_relative_or_absolute() -> None:
    endpoint = FakeEndpoint(routes={"/v1/models": [as_json([1])], "/props": [as_json([2])]})
    async with endpoint.client() as client:
        assert await exchange(client, "/models") == [1]
        assert await exchange(client, "http://endpoint.test/props?model=m") == [2]
    assert [request.method for request in endpoint.requests] == ["GET", "GET"]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (refused(403, "no"), EndpointRefused),
        (refused(502, "no"), EndpointUnavailable),
        (lost(), EndpointUnavailable),
        (as_json({"error": {"message": "no"}}), EndpointRefused),
        (Reply(pieces=("<html>",)), EndpointRefused),
        (Reply(), EndpointRefused),
    ],
)
async def test_every_failure_is_one_of_ours(reply: Reply, kind: type[WireError]) -> None:
    async with FakeEndpoint(reply).client() as client:
        with pytest.raises(kind):
            await exchange(client, "/chat/completions", {})


async def test_the_whole_exchange_is_limited_and_a_stop_is_none_of_its_limits() -> None:
    mute = Reply(before_seconds=10**6)
    async with FakeEndpoint(mute, mute).client() as client:
        with pytest.raises(EndpointSilent, match="9 s before"):
            await exchange(client, "/chat/completions", {}, limit_seconds=9)
        with anyio.CancelScope() as scope:
            scope.deadline = anyio.current_time() + 9
            await exchange(client, "/chat/completions", {}, limit_seconds=9)
        assert scope.cancelled_caught


async def test_no_limit_of_the_client_itself_cuts_an_exchange_short() -> None:
    endpoint = FakeEndpoint(whole("x"), routes={"/v1/models": [as_json([])]})
    async with endpoint.client() as client:
        impatient = client.with_options(timeout=3)
        await exchange(impatient, "/chat/completions", {}, limit_seconds=60)
        await exchange(impatient, "/models", limit_seconds=60)
    limits = [request.extensions["timeout"]["read"] for request in endpoint.requests]
    assert limits == [None, None]
