from __future__ import annotations

import contextlib
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.abc
import httpx2
import pytest

from host.demo.loopback import HttpReply, HttpRequest, LoopbackServer


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


async def respond(request: HttpRequest, reply: HttpReply) -> None:
    """An echo; ``/v1/events`` streams, ``/v1/half`` stops in the middle of a stream."""
    if request.path == "/v1/events":
        await reply.begin_events()
        for payload in ("one", "two\nlines", ""):
            await reply.send_event(payload)
        await reply.end()
    elif request.path == "/v1/half":
        await reply.begin_events()
        await reply.send_event("one")
    elif request.path == "/v1/error":
        await reply.error(409, "not so", "conflict")
    else:
        await reply.json(200, [request.method, request.path, request.body.decode()])


def port_of(server: LoopbackServer) -> int:
    port = urlsplit(server.base_url).port
    assert port is not None
    return port


async def raw(server: LoopbackServer, content: bytes) -> bytes:
    """Everything the server sends back before it closes the connection."""
    received = b""
    async with await anyio.connect_tcp("127.0.0.1", port_of(server)) as stream:
        await stream.send(content)
        with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            while True:
                received += await stream.receive()
    return received


async def test_requests_are_read_whole_and_connections_kept() -> None:
    with anyio.fail_after(20):
        async with LoopbackServer(respond) as server, httpx2.AsyncClient() as client:
            for body in ("", "x" * 300_000, "é"):
                answer = await client.post(f"{server.base_url}/echo?a=b", content=body)
                assert answer.json() == ["POST", "/v1/echo", body]
                assert "connection" not in answer.headers


async def test_events_are_streamed_in_their_frames() -> None:
    with anyio.fail_after(20):
        async with LoopbackServer(respond) as server, httpx2.AsyncClient() as client:
            answer = await client.get(f"{server.base_url}/events")
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.text == "data: one\n\ndata: two\ndata: lines\n\ndata: \n\n"


async def test_an_error_has_the_shape_of_openais() -> None:
    with anyio.fail_after(20):
        async with LoopbackServer(respond) as server, httpx2.AsyncClient() as client:
            answer = await client.get(f"{server.base_url}/error")
    assert answer.status_code == 409
    assert answer.json() == {
        "error": {"message": "not so", "type": "conflict", "param": None, "code": "conflict"}
    }


async def test_an_unfinished_reply_breaks_off() -> None:
    with anyio.fail_after(20):
        async with LoopbackServer(respond) as server, httpx2.AsyncClient() as client:
            with pytest.raises(httpx2.RemoteProtocolError):
                await client.get(f"{server.base_url}/half")
            assert (await client.get(f"{server.base_url}/")).status_code == 200


@pytest.mark.parametrize("content", [b"\x00\xff garbage\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"])
async def test_a_client_that_babbles_is_hung_up_on_and_others_are_served(content: bytes) -> None:
    with anyio.fail_after(20):
        async with LoopbackServer(respond) as server, httpx2.AsyncClient() as client:
            assert await raw(server, content) == b""
            assert (await client.get(f"{server.base_url}/")).status_code == 200


async def test_a_client_that_leaves_in_the_middle_of_its_request_disturbs_nobody() -> None:
    with anyio.fail_after(20):
        async with LoopbackServer(respond) as server, httpx2.AsyncClient() as client:
            async with await anyio.connect_tcp("127.0.0.1", port_of(server)) as stream:
                await stream.send(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nab")
            assert (await client.get(f"{server.base_url}/")).status_code == 200


async def test_a_client_that_waits_to_be_asked_for_its_body_is_asked() -> None:
    with anyio.fail_after(20):
        async with (
            LoopbackServer(respond) as server,
            await anyio.connect_tcp("127.0.0.1", port_of(server)) as stream,
        ):
            head = b"POST /v1/x HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n"
            await stream.send(head + b"expect: 100-continue\r\n\r\n")
            assert (await stream.receive()).startswith(b"HTTP/1.1 100 ")
            await stream.send(b"ab")
            assert b'"ab"' in await stream.receive()


async def test_the_bodys_own_error_passes_as_it_is() -> None:
    with anyio.fail_after(20), pytest.raises(LookupError, match="mine"):
        async with LoopbackServer(respond):
            raise LookupError("mine")


async def _is_closed(server: LoopbackServer) -> None:
    with pytest.raises(OSError, match=r"."):
        await anyio.connect_tcp("127.0.0.1", port_of(server))


async def test_leaving_closes_the_port_and_open_connections() -> None:
    with anyio.fail_after(20):
        async with LoopbackServer(respond) as server:
            idle = await anyio.connect_tcp("127.0.0.1", port_of(server))
            await anyio.wait_all_tasks_blocked()
        async with idle:
            with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                await idle.receive()
        await _is_closed(server)


async def test_leaving_by_cancellation_ends_the_server_too() -> None:
    with anyio.fail_after(20):
        with anyio.CancelScope() as scope:
            async with LoopbackServer(respond) as server:
                scope.cancel()
                await anyio.sleep_forever()
        assert scope.cancelled_caught
        await _is_closed(server)
