"""Whatever a network does, a request is answered; a note says what happened and to whom."""

from __future__ import annotations

import gzip
import ssl
from collections.abc import AsyncGenerator
from itertools import pairwise
from typing import Any

import anyio
import httpx2
import pytest

from host.pool.exchange_note import noting_exchanges
from host.pool.http_containment import SoftClient, soft_client


class Broken(httpx2.AsyncByteStream):
    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        yield b"half"
        raise httpx2.ReadError("cut")


class Text(httpx2.AsyncByteStream):
    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        yield rb"\ud83d"


def client(answer: Any, lost: list[str] | None = None) -> SoftClient:
    told = [] if lost is None else lost
    return SoftClient(
        transport=httpx2.MockTransport(answer),
        on_session_lost=lambda: told.append("lost"),
        on_post_failed=lambda: told.append("failed"),
    )


def raising(_request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("refused")


async def test_a_request_that_fails_is_answered_with_an_error_of_the_protocol() -> None:
    told: list[str] = []
    async with client(raising, told) as soft:
        with noting_exchanges() as note:
            response = await soft.post("http://server.test/")
    assert response.status_code == 503
    assert response.json() == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32000, "message": "ConnectError: refused"},
    }
    assert (note.failure, note.status) == ("ConnectError: refused", None)
    assert told == ["failed"]


async def test_a_failure_without_words_tells_what_caused_it() -> None:
    def failing(_request: httpx2.Request) -> httpx2.Response:
        try:
            try:
                raise ssl.SSLError("not trusted")
            except ssl.SSLError as inner:
                raise OSError from inner
        except OSError as middle:
            raise httpx2.ConnectError("") from middle

    async with client(failing) as soft:
        with noting_exchanges() as note:
            await soft.post("http://server.test/")
    assert note.failure == "ConnectError: ('not trusted',)"


async def test_a_failed_get_is_answered_and_ends_nothing() -> None:
    told: list[str] = []
    async with client(raising, told) as soft:
        assert (await soft.get("http://server.test/")).status_code == 503
    assert told == []


async def test_a_body_that_breaks_off_ends_where_it_broke() -> None:
    async with client(lambda _: httpx2.Response(200, stream=Broken())) as soft:
        with noting_exchanges() as note:
            async with soft.stream("POST", "http://server.test/") as response:
                assert await response.aread() == b"half"
    assert note.broken_body
    assert note.failure == "ReadError: cut"


@pytest.mark.parametrize(
    ("status", "session", "told"),
    [
        (404, True, ["lost", "failed"]),
        (404, False, ["failed"]),
        (400, True, ["failed"]),
        (401, True, ["failed"]),
        (200, True, []),
    ],
)
async def test_only_a_404_for_a_session_is_a_lost_one(
    status: int, session: bool, told: list[str]
) -> None:
    heard: list[str] = []
    headers = {"mcp-session-id": "s"} if session else {}
    async with client(lambda _: httpx2.Response(status), heard) as soft:
        with noting_exchanges() as note:
            await soft.post("http://server.test/", headers=headers)
    assert heard == told
    assert note.session_lost is ("lost" in told)
    assert note.status == (None if status == 200 else status)


async def test_a_404_for_what_the_pool_asks_by_itself_is_for_the_next_use_to_meet() -> None:
    heard: list[str] = []
    async with client(lambda _: httpx2.Response(404), heard) as soft:
        with noting_exchanges(is_own=True) as note:
            await soft.post("http://server.test/", headers={"mcp-session-id": "s"})
    assert heard == ["failed"]
    assert (note.status, note.session_lost) == (404, False)


async def test_a_404_for_a_notification_is_no_lost_session() -> None:
    heard: list[str] = []
    told = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    async with client(lambda _: httpx2.Response(404), heard) as soft:
        with noting_exchanges() as note:
            await soft.post("http://server.test/", headers={"mcp-session-id": "s"}, json=told)
    assert heard == ["failed"]
    assert not note.session_lost


async def test_a_404_for_the_stream_of_a_session_is_no_lost_session() -> None:
    heard: list[str] = []
    async with client(lambda _: httpx2.Response(404), heard) as soft:
        await soft.get("http://server.test/", headers={"mcp-session-id": "s"})
    assert heard == []


async def test_when_to_come_back_is_noted() -> None:
    answer = httpx2.Response(429, headers={"Retry-After": "30"})
    async with client(lambda _: answer) as soft:
        with noting_exchanges() as note:
            await soft.post("http://server.test/")
    assert (note.status, note.retry_after) == (429, "30")


async def test_a_later_success_makes_an_earlier_refusal_forgotten() -> None:
    answers = iter([httpx2.Response(404), httpx2.Response(200)])
    async with client(lambda _: next(answers)) as soft:
        with noting_exchanges() as note:
            await soft.post("http://server.test/")
            await soft.post("http://server.test/")
    assert note.status is None


async def test_each_call_has_a_note_of_its_own() -> None:
    async with client(lambda request: httpx2.Response(int(request.url.path[1:]))) as soft:
        statuses: dict[int, int | None] = {}

        async def call(status: int) -> None:
            with noting_exchanges() as note:
                async with anyio.create_task_group() as inner:
                    inner.start_soon(soft.post, f"http://server.test/{status}")
                statuses[status] = note.status

        async with anyio.create_task_group() as tasks:
            for status in (401, 404, 500):
                tasks.start_soon(call, status)
    assert statuses == {401: 401, 404: 404, 500: 500}


async def test_a_cancellation_is_no_failure() -> None:
    async def slow(_request: httpx2.Request) -> httpx2.Response:
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    async with client(slow) as soft:
        with anyio.move_on_after(1) as scope, noting_exchanges() as note:
            await soft.post("http://server.test/")
        assert scope.cancelled_caught
        assert note.failure == ""


async def test_a_client_for_a_server_waits_for_answers_and_bounds_the_rest() -> None:
    context = ssl.create_default_context()
    async with soft_client(context, {"X-Key": "k"}, on_session_lost=lambda: None) as soft:
        assert soft.headers["x-key"] == "k"
        assert soft.timeout == httpx2.Timeout(30, read=None)


@pytest.mark.parametrize("encoding", ["", "gzip"])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream; charset=utf-8"])
async def test_half_a_pair_in_a_body_is_marked_wherever_its_pieces_end(
    kind: str, encoding: str
) -> None:
    body = rb'data: {"a":"x\ud83d","b":"\ud83d\ude00"}' + b"\n\n"
    sent = gzip.compress(body) if encoding else body

    class Pieces(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncGenerator[bytes, None]:
            for place in range(len(sent)):
                yield sent[place : place + 1]

    headers = {"content-type": kind, "content-encoding": encoding or "identity"}
    async with (
        client(lambda _: httpx2.Response(200, headers=headers, stream=Pieces())) as soft,
        soft.stream("POST", "http://server.test/") as response,
    ):
        read = await response.aread()
    assert read == rb'data: {"a":"x\ufffd","b":"\ud83d\ude00"}' + b"\n\n"


async def test_a_body_of_another_kind_is_left_alone() -> None:
    headers = {"content-type": "text/plain"}
    async with (
        client(lambda _: httpx2.Response(200, headers=headers, stream=Text())) as soft,
        soft.stream("POST", "http://server.test/") as response,
    ):
        assert await response.aread() == rb"\ud83d"


async def test_a_refusals_body_is_read_for_its_words_and_kept_for_its_message() -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}'
    headers = {"content-type": "application/json", "content-encoding": "gzip", "x-more": "1"}

    def refusing(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(400, headers=headers, content=gzip.compress(body))

    async with client(refusing) as soft:
        with noting_exchanges() as note:
            async with soft.stream("POST", "http://server.test/") as response:
                assert await response.aread() == body
    assert (response.status_code, response.headers["x-more"]) == (400, "1")
    assert (note.status, note.said) == (400, "no session")


async def test_a_refusal_whose_body_never_ends_is_read_for_a_moment() -> None:
    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncGenerator[bytes, None]:
            yield b"come back later\n"
            await anyio.sleep_forever()

    async with client(lambda _: httpx2.Response(503, stream=Endless())) as soft:
        with noting_exchanges() as note, anyio.fail_after(5):
            async with soft.stream("POST", "http://server.test/") as response:
                assert response.status_code == 503
    assert note.said == "come back later"


@pytest.mark.parametrize(
    ("message", "waits"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', True),
        (b'{"jsonrpc":"2.0","id":"1","method":"x","params":{"result":1}}', True),
        (b'{"params":{},"jsonrpc":"2.0","id":1,"method":"notifications/x"}', True),
        (b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"id":1}}', False),
        (b'{"jsonrpc":"2.0","id":7,"result":{"method":"x"}}', False),
        (b'{"jsonrpc":"2.0","id":"7","error":{}}', False),
    ],
)
async def test_only_what_is_no_request_has_to_be_taken_soon(message: bytes, waits: bool) -> None:
    async def slow(_request: httpx2.Request) -> httpx2.Response:
        await anyio.sleep(60)
        return httpx2.Response(202)

    async with client(slow) as soft:
        began = anyio.current_time()
        response = await soft.post("http://server.test/", content=message)
        assert response.status_code == (202 if waits else 503)
        assert (anyio.current_time() - began >= 60) is waits


async def test_what_is_waited_for_is_given_up_when_the_call_is_over() -> None:
    statuses: list[int] = []

    async def slow(_request: httpx2.Request) -> httpx2.Response:
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    async with client(slow) as soft, anyio.create_task_group() as tasks:

        async def post() -> None:
            statuses.append((await soft.post("http://server.test/")).status_code)

        with noting_exchanges():
            tasks.start_soon(post)
            await anyio.sleep(1)
            assert statuses == []
    assert statuses == [503]


async def test_a_body_is_given_up_when_the_call_is_over() -> None:
    class Slow(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncGenerator[bytes, None]:
            yield b"some"
            await anyio.sleep_forever()

    bodies: list[bytes] = []
    async with (
        client(lambda _: httpx2.Response(200, stream=Slow())) as soft,
        anyio.create_task_group() as tasks,
    ):

        async def post() -> None:
            async with soft.stream("POST", "http://server.test/") as response:
                bodies.append(await response.aread())

        with noting_exchanges():
            tasks.start_soon(post)
            await anyio.sleep(1)
            assert bodies == []
    assert bodies == [b"some"]


async def test_a_stream_asked_for_again_and_again_is_held_back_and_not_asked_for_afterwards() -> (
    None
):
    asked: list[float] = []

    def answer(_request: httpx2.Request) -> httpx2.Response:
        asked.append(anyio.current_time())
        return httpx2.Response(200)

    async with client(answer) as soft, anyio.create_task_group() as tasks:
        over = anyio.Event()

        async def later() -> None:
            await over.wait()
            assert (await soft.get("http://server.test/")).status_code == 503

        with noting_exchanges():
            for _ in range(8):
                await soft.get("http://server.test/")
            tasks.start_soon(later)
        over.set()
    assert len(asked) == 8
    pauses = [later - sooner for sooner, later in pairwise(asked)]
    assert all(pause < 0.5 for pause in pauses[:4])
    assert all(pause >= 1 for pause in pauses[4:])
