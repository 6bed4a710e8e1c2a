"""Authorization servers are spoken to within bounds, and never in the clear for a safe server."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest

from host.pool.auth.dpop import MAX_NONCES, ProofKey
from host.pool.auth.not_authorised import NotAuthorised
from host.pool.auth.token_client import TokenClient, TokenRefused
from host.pool.row_secrets import LearntSecrets

SAFE = "https://web.example/mcp"


def client(answer: Any, server_url: str = SAFE, learnt: LearntSecrets | None = None) -> TokenClient:
    """A client whose authorization servers are this function."""
    return TokenClient(
        lambda: httpx2.AsyncClient(transport=httpx2.MockTransport(answer)),
        server_url,
        learnt or LearntSecrets(),
    )


@pytest.mark.parametrize(
    ("server_url", "url", "is_taken"),
    [
        (SAFE, "https://as.example/token", True),
        (SAFE, "http://as.example/token", False),
        (SAFE, "http://127.0.0.1:8080/token", True),
        (SAFE, "http://localhost/token", True),
        ("http://web.example/mcp", "http://as.example/token", True),
    ],
)
def test_a_server_that_is_safe_names_no_unsafe_address(
    server_url: str, url: str, is_taken: bool
) -> None:
    speaker = client(None, server_url)
    if is_taken:
        speaker.check(httpx2.URL(url))
        return
    with pytest.raises(NotAuthorised, match="not encrypted") as error:
        speaker.check(httpx2.URL(url))
    assert error.value.is_final
    assert "token" not in error.value.words


async def test_an_answer_without_end_is_read_no_further() -> None:
    read: list[int] = []

    class Endless(httpx2.AsyncByteStream):
        is_open = True

        async def __aiter__(self) -> AsyncGenerator[bytes, None]:
            while self.is_open:
                read.append(1)
                yield b"x" * 100_000

        async def aclose(self) -> None:
            self.is_open = False

    async with client(lambda _: httpx2.Response(200, stream=Endless())) as speaker:
        with pytest.raises(httpx2.ReadError, match="too long"):
            await speaker.send(httpx2.Request("GET", "https://as.example/"))
    assert len(read) < 20


async def test_an_answer_is_handed_on_with_its_headers_and_its_redirect() -> None:
    said = httpx2.Response(307, headers={"Location": "/there", "X-Own": "yes"}, content=b"gone")
    async with client(lambda _: said) as speaker:
        response = await speaker.send(httpx2.Request("GET", "https://as.example/here"))
    assert (response.status_code, response.content, response.headers["x-own"]) == (
        307,
        b"gone",
        "yes",
    )
    assert response.next_request is not None
    assert str(response.next_request.url) == "https://as.example/there"


async def test_what_is_sent_and_what_comes_is_known_as_secret() -> None:
    learnt = LearntSecrets()
    given = {
        "access_token": "access!",
        "refresh_token": "refresh!",
        "id_token": "id!",
        "scope": "s",
    }

    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.headers["accept"] == "application/json"
        return httpx2.Response(200, json=given)

    async with client(answer, learnt=learnt) as speaker:
        fields = {"code": "code!", "client_secret": "secret!", "client_id": "me"}
        response = await speaker.post("https://as.example/token", fields, {})
        assert speaker.answer(response) == given
    assert set(learnt.values) == {"access!", "refresh!", "id!", "code!", "secret!"}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": "invalid_grant"}, TokenRefused),
        (401, {"error": "invalid_client"}, TokenRefused),
        (500, {"error": "server_error"}, NotAuthorised),
        (400, {}, NotAuthorised),
        (302, {}, NotAuthorised),
        (200, [], NotAuthorised),
    ],
)
async def test_a_refusal_is_told_from_a_fault(
    status: int, body: Any, kind: type[Exception]
) -> None:
    async with client(lambda _: httpx2.Response(status, json=body)) as speaker:
        response = await speaker.post("https://as.example/token", {}, {})
        with pytest.raises(kind):
            speaker.answer(response)


@pytest.mark.parametrize("tells", [True, False])
async def test_a_nonce_is_proved_once_more_and_not_for_ever(tells: bool) -> None:
    proofs: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        proofs.append(request.headers["dpop"])
        nonce = {"DPoP-Nonce": "one"} if tells else {}
        return httpx2.Response(400, json={"error": "use_dpop_nonce"}, headers=nonce)

    key = ProofKey(None, lambda: 1.0)
    async with client(answer) as speaker:
        for _ in range(2):
            await speaker.post("https://as.example/token", {}, {}, key)
    assert len(proofs) == (3 if tells else 2)  # the second time it is known
    assert len(set(proofs)) == len(proofs)


def test_a_key_remembers_the_nonces_of_the_newest_servers_only() -> None:
    key = ProofKey(None, lambda: 1.0)
    for number in range(MAX_NONCES + 1):
        request = httpx2.Request("GET", f"https://as-{number}.example/")
        response = httpx2.Response(200, headers={"DPoP-Nonce": "n"}, request=request)
        assert key.take_nonce(response)
        assert not key.take_nonce(response)
    first = httpx2.Request("GET", "https://as-0.example/")
    assert key.take_nonce(httpx2.Response(200, headers={"DPoP-Nonce": "n"}, request=first))
    assert "PRIVATE" not in repr(key) + json.dumps(repr(vars(key)["_nonces"]))
