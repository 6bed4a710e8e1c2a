"""What is said to authorization servers: bounded, with proofs where tokens are to be bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import httpx2

from host.pool.auth.not_authorised import NotAuthorised
from host.pool.auth.token_forms import form_secrets, read_refusal

if TYPE_CHECKING:
    from host.pool.auth.dpop import ProofKey
    from host.pool.row_secrets import LearntSecrets

MAX_BODY_BYTES = 1 << 20
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class TokenRefused(Exception):
    """A token endpoint said no.

    Attributes:
        code: RFC 6749's word for it.
        words: it, with the endpoint's explanation.
    """

    def __init__(self, code: str, words: str) -> None:
        self.code = code
        self.words = words
        super().__init__(words)


class TokenClient:
    """Speaks to the authorization servers that one MCP server names. Open for a block.

    Args:
        http: makes a client; redirects are not followed.
        server_url: the MCP server; one that is reached safely may name no unsafe address.
        learnt: is told every secret that is sent or comes.
    """

    def __init__(
        self, http: Callable[[], httpx2.AsyncClient], server_url: str, learnt: LearntSecrets
    ) -> None:
        self._http = http()
        self._is_safe = httpx2.URL(server_url).scheme == "https"
        self._learnt = learnt

    async def __aenter__(self) -> TokenClient:
        """Open the client."""
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        """Close it."""
        await self._http.__aexit__(*exc)

    def check(self, url: httpx2.URL) -> None:
        """Refuse an address that lays open what is sent to it.

        Raises:
            NotAuthorised: it is not encrypted, though the server itself is.
        """
        if self._is_safe and url.scheme != "https" and url.host not in _LOOPBACK:
            shown = f"{url.scheme}://{url.host}"
            words = f"names an address for authorisation that is not encrypted ({shown})"
            raise NotAuthorised(words, is_final=True)

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, read whole, but no more of it than ``MAX_BODY_BYTES``.

        Raises:
            httpx2.HTTPError: there is none, or it is too big.
        """
        self.check(request.url)
        response = await self._http.send(request, stream=True)
        body, chunks = b"", response.aiter_bytes()
        try:
            async for chunk in chunks:
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    break
        finally:
            await response.aclose()
        if len(body) > MAX_BODY_BYTES:
            with suppress(Exception):  # the generators inside one another end on a closed socket
                await anext(chunks, None)
            raise httpx2.ReadError("the answer is too long", request=request)
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name.lower() not in ("content-encoding", "content-length", "transfer-encoding")
        ]
        whole = httpx2.Response(
            response.status_code, headers=headers, content=body, request=request
        )
        whole.next_request = response.next_request
        return whole

    async def post(
        self,
        url: str,
        fields: Mapping[str, str],
        headers: Mapping[str, str],
        key: ProofKey | None = None,
    ) -> httpx2.Response:
        """The answer to a form; see ``exchange``."""
        request = httpx2.Request("POST", url, data=dict(fields), headers=dict(headers))
        return await self.exchange(request, key)

    async def exchange(self, request: httpx2.Request, key: ProofKey | None) -> httpx2.Response:
        """The answer of a token endpoint to a form, asked again where it wants its nonce proved."""
        self._learnt.learn(*form_secrets(dict(parse_qsl(request.content.decode()))))
        request.headers["Accept"] = "application/json"  # GitHub answers with a form otherwise
        if key is None:
            return await self.send(request)
        key.prove(request)
        response = await self.send(request)
        if key.take_nonce(response) and response.status_code in (400, 401):
            key.prove(request)
            response = await self.send(request)
            key.take_nonce(response)
        return response

    def answer(self, response: httpx2.Response) -> dict[str, Any]:
        """What the token endpoint gave.

        Raises:
            TokenRefused: it said no.
            NotAuthorised: it is out of order.
        """
        if response.status_code not in (200, 201):
            refusal = read_refusal(response.text)
            if refusal is not None:
                raise TokenRefused(refusal.code, refusal.words)
            raise NotAuthorised(f"got no token: HTTP {response.status_code} from its endpoint")
        try:
            said = response.json()
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise NotAuthorised("got no token: the endpoint's answer is no JSON object")
        tokens = (said.get(name) for name in ("access_token", "refresh_token", "id_token"))
        self._learnt.learn(*(token for token in tokens if isinstance(token, str)))
        return said
