"""The browser is waited for on this machine only, and whatever else it asks for is no answer."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlsplit

import anyio
import anyio.abc
import httpx2
import pytest

from host.pool.auth.redirect_listener import PortTaken, RedirectListener


async def test_the_answer_comes_through_whatever_else_the_browser_does() -> None:
    pages: list[httpx2.Response] = []
    async with RedirectListener() as listener:
        parts = urlsplit(listener.uri)
        assert (parts.hostname, parts.path) == ("127.0.0.1", "/callback")
        assert parts.port is not None
        silent = await anyio.connect_tcp("127.0.0.1", parts.port)

        async def send() -> None:
            async with httpx2.AsyncClient() as browser:
                pages.append(await browser.get(listener.uri.replace("/callback", "/favicon.ico")))
                pages.append(await browser.get(f"{listener.uri}?code=c%3C&state=s&iss=i"))

        with anyio.fail_after(10):
            found = await listener.answer("s", send)
        await silent.aclose()
    assert (found.code, found.state, found.issuer, found.problem) == ("c<", "s", "i", "")
    assert [page.status_code for page in pages][:1] == [404]


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("code=<b>c&state=s", 200, "went through"),
        ("code=<b>c&state=<b>", 400, "did not succeed"),
        ("error=<b>no&state=s", 400, "did not succeed"),
    ],
)
async def test_a_page_says_how_it_went_and_repeats_nothing(
    query: str, status: int, words: str
) -> None:
    shown: list[httpx2.Response] = []

    async def get(listener: RedirectListener) -> None:
        async with httpx2.AsyncClient() as browser:
            shown.append(await browser.get(f"{listener.uri}?{query}"))

    with anyio.fail_after(10):
        async with RedirectListener() as listener, anyio.create_task_group() as tasks:

            async def send() -> None:
                tasks.start_soon(get, listener)

            await listener.answer("s", send)
    assert shown[0].status_code == status
    assert words in shown[0].text
    assert "<b>" not in shown[0].text


async def test_a_port_that_is_in_use_is_told() -> None:
    async with RedirectListener() as listener:
        port = urlsplit(listener.uri).port
        assert port is not None
        with pytest.raises(PortTaken):
            await RedirectListener(port).__aenter__()


async def test_a_request_without_end_is_read_no_further() -> None:
    async with RedirectListener() as listener:
        port = urlsplit(listener.uri).port
        assert port is not None

        async def send() -> None:
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                with suppress(anyio.BrokenResourceError):
                    await stream.send(b"GET /" + b"x" * 100_000)
                    assert (await stream.receive()).startswith(b"HTTP/1.1 404")
            async with httpx2.AsyncClient() as browser:
                await browser.get(f"{listener.uri}?code=c&state=s")

        with anyio.fail_after(10):
            assert (await listener.answer("s", send)).code == "c"
