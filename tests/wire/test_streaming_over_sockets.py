"""Streams over real loopback sockets: they close promptly and leave nothing open."""

from __future__ import annotations

import gc
from typing import Any

import anyio
import httpx2
import pytest

from host.errors import EndpointSilent, EndpointUnavailable, StreamBroken, WireError
from host.wire.client_pool import HttpClientFactory
from host.wire.clients import Endpoints
from host.wire.settings import EndpointSettings
from host.wire.streaming import stream_turn
from tests.fakes.endpoint import (
    DONE,
    Break,
    Mute,
    Reply,
    answer,
    error_event,
    finish,
    streamed,
    text,
)
from tests.fakes.loopback_endpoint import LoopbackEndpoint

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
PROMPTLY = 2


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


async def _content(endpoints: Endpoints, endpoint: LoopbackEndpoint, **options: Any) -> str:
    client = endpoints.client(EndpointSettings(base_url=endpoint.base_url))
    return (await stream_turn(client, BODY, **options)).content


@pytest.mark.parametrize(("open_http", "connections"), [(httpx2.AsyncClient, 1), (None, 3)])
async def test_answers_read_to_their_end_leave_their_connection_usable(
    open_http: HttpClientFactory | None, connections: int
) -> None:
    with anyio.fail_after(20):
        async with (
            LoopbackEndpoint(*[answer("x")] * 3) as endpoint,
            Endpoints(open_http=open_http) as endpoints,
        ):
            assert [await _content(endpoints, endpoint) for _ in range(3)] == ["x"] * 3
            assert endpoint.connections == connections
    gc.collect()


async def test_a_server_that_hangs_up_after_each_answer_loses_no_request() -> None:
    with anyio.fail_after(20):
        script = [answer("x")] * 3
        async with LoopbackEndpoint(*script, hangs_up=True) as endpoint, Endpoints() as endpoints:
            assert [await _content(endpoints, endpoint) for _ in range(3)] == ["x"] * 3
    gc.collect()


async def test_a_client_stopped_in_mid_stream_hangs_up_promptly() -> None:
    with anyio.fail_after(20):
        async with (
            LoopbackEndpoint(streamed(text("half"), Mute())) as endpoint,
            Endpoints() as endpoints,
            anyio.create_task_group() as group,
        ):
            group.start_soon(_content, endpoints, endpoint)
            await endpoint.answering.wait()
            group.cancel_scope.cancel()
            with anyio.fail_after(PROMPTLY, shield=True):
                await endpoint.hung_up.wait()
    gc.collect()


@pytest.mark.parametrize("reply", [streamed(Mute()), streamed(before_seconds=60)])
async def test_a_stop_before_the_answer_hangs_up_as_well(reply: Reply) -> None:
    with anyio.fail_after(20):
        async with LoopbackEndpoint(reply) as endpoint, Endpoints() as endpoints:
            with anyio.move_on_after(0.3) as scope:
                await _content(endpoints, endpoint)
            assert scope.cancelled_caught
            with anyio.fail_after(PROMPTLY):
                await endpoint.hung_up.wait()
    gc.collect()


async def test_silence_ends_the_stream_and_hangs_up() -> None:
    with anyio.fail_after(20):
        script = streamed(text("half"), Mute())
        async with LoopbackEndpoint(script) as endpoint, Endpoints() as endpoints:
            with pytest.raises(EndpointSilent):
                await _content(endpoints, endpoint, idle_seconds=0.3)
            with anyio.fail_after(PROMPTLY):
                await endpoint.hung_up.wait()
    gc.collect()


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (streamed(text("half"), Break()), StreamBroken),
        (streamed(Break()), StreamBroken),
        (streamed(error_event("no", code=500), Mute()), EndpointUnavailable),
        (streamed("data: junk\n\n", Mute()), StreamBroken),
    ],
)
async def test_a_stream_that_fails_leaves_nothing_open(reply: Reply, kind: type[WireError]) -> None:
    with anyio.fail_after(20):
        async with LoopbackEndpoint(reply, answer("x")) as endpoint, Endpoints() as endpoints:
            with pytest.raises(kind):
                await _content(endpoints, endpoint)
            assert await _content(endpoints, endpoint) == "x"
    gc.collect()


async def test_a_server_that_stays_on_the_line_after_done_is_left() -> None:
    with anyio.fail_after(20):
        script = streamed(text("x"), finish(), DONE, Mute())
        async with LoopbackEndpoint(script) as endpoint, Endpoints() as endpoints:
            assert await _content(endpoints, endpoint) == "x"
            with anyio.fail_after(PROMPTLY):
                await endpoint.hung_up.wait()
    gc.collect()


async def test_a_listener_that_raises_leaves_nothing_open() -> None:
    def fail(_: str) -> None:
        raise LookupError

    with anyio.fail_after(20):
        script = streamed(text("x"), text("y"), Mute())
        async with LoopbackEndpoint(script) as endpoint, Endpoints() as endpoints:
            with pytest.raises(LookupError):
                await _content(endpoints, endpoint, on_output=fail)
            with anyio.fail_after(PROMPTLY):
                await endpoint.hung_up.wait()
    gc.collect()


async def test_a_closed_port_is_unavailable_by_its_address() -> None:
    async with LoopbackEndpoint() as endpoint:
        pass
    async with Endpoints() as endpoints:
        with pytest.raises(EndpointUnavailable, match=r"127\.0\.0\.1") as caught:
            await _content(endpoints, endpoint)
    assert caught.value.status is None
    gc.collect()
