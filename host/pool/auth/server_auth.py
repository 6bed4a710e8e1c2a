"""What lets the requests of one server in: its tokens, renewed as far as nobody need be asked.

A request with a valid token waits for nobody (sdk.md §2.10). Whoever meets a refusal shares one
renewal with all others that do; it runs in the pool's task group, so that a caller who goes away
does not take a token with it that the authorization server has already exchanged.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import httpx2

from host.pool.auth.challenges import Challenge, read_challenge
from host.pool.auth.not_authorised import NotAuthorised
from host.pool.auth.renewal import Renewal

if TYPE_CHECKING:
    from host.pool.auth.credentials import Credentials, Tokens
    from host.pool.auth.person import Person
    from host.pool.auth.token_source import TokenSource

LATCH_SECONDS = 30.0
"""How long a refusal that is final stands, for requests that come at once after it."""


class ServerAuth(httpx2.Auth):
    """Authorises what is sent to one server, on all connections to it."""

    def __init__(self, source: TokenSource, group: anyio.abc.TaskGroup) -> None:
        self._source = source
        self._wallet = source.wallet
        self._group = group
        self._renewal: Renewal | None = None
        self._final: NotAuthorised | None = None
        self._final_until = 0.0

    def __repr__(self) -> str:
        return "ServerAuth()"

    @property
    def is_machine(self) -> bool:
        """Whether no person has to do with its tokens."""
        return self._source.is_machine

    @property
    def is_asking(self) -> bool:
        """Whether a person may be asked now."""
        return self._source.person is not None

    @property
    def held(self) -> Credentials | None:
        """What it lets requests in with; None for nothing."""
        return self._wallet.held

    async def opened(self) -> None:
        """A connection is being opened: look what is stored, and let a new attempt be one."""
        if not self.is_asking:  # who has said no is not asked twice
            self._final = None
        await self._wallet.load()

    async def has_news(self) -> bool:
        """Whether somebody has logged in since the tokens were last looked at."""
        before = self._wallet.held
        await self._wallet.load()
        return self._wallet.held != before

    @contextmanager
    def logging_in(self, person: Person) -> Iterator[None]:
        """Let a person be asked, and tokens of before count for nothing, for a block.

        Raises:
            NotAuthorised: a login is under way.
        """
        if self.is_asking:
            raise NotAuthorised("is being logged in to already")
        self._source.person, self._final = person, None
        try:
            yield
        finally:
            self._source.person = None
            if self._renewal is not None:
                self._renewal.scope.cancel()

    async def ask_at_once(self) -> None:
        """Ask the person though the server has asked for nothing yet.

        Raises:
            NotAuthorised: it did not come to tokens.
            NothingAsked: the server describes no authorisation.
        """
        await self._renewed(Challenge(status=0), None, None)

    async def forget(self) -> tuple[bool, bool | None]:
        """Give the tokens back and forget all.

        Returns:
            Whether there was a login, and whether its tokens were taken back: None where they
            cannot be.
        """
        held = await self._wallet.forget()
        return held is not None, await self._source.revoke(held) if held else None

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send the request with a token, and once more with another one if that was refused.

        Raises:
            NotAuthorised: it was refused, and no other token is to be had.
        """
        version = request.headers.get("mcp-protocol-version")
        tokens = self._valid()
        if tokens is None and self._source.person is None and self._wallet.may_refresh():
            tokens = await self._renewed(None, None, version)
        for is_last in (False, True):
            self._wallet.sign(request, tokens)
            response = yield request
            if self._has_new_nonce(response) and _challenge(response).wants_nonce:
                self._wallet.sign(request, tokens)
                response = yield request
                self._has_new_nonce(response)
            challenge = _challenge(response)
            if not challenge.is_for_tokens:
                return
            if is_last:
                raise await self._source.turned_away(challenge)
            tokens = await self._renewed(challenge, tokens, version)

    def _valid(self) -> Tokens | None:
        """Tokens that may be sent: in a login only those that came of it."""
        person = self._source.person
        return self._wallet.valid() if person is None or person.is_done else None

    def _has_new_nonce(self, response: httpx2.Response) -> bool:
        return self._wallet.key is not None and self._wallet.key.take_nonce(response)

    async def _renewed(
        self, challenge: Challenge | None, refused: Tokens | None, version: str | None
    ) -> Tokens:
        """Tokens that are worth a try after these were refused.

        Raises:
            NotAuthorised: there are none.
        """
        held = self._valid()
        if held is not None and held != refused and not (challenge and challenge.is_step_up):
            return held  # another request was faster
        if self._final is not None and anyio.current_time() < self._final_until:
            raise self._final.again()
        renewal = self._renewal
        if renewal is None:
            renewal = self._renewal = Renewal()
            self._group.start_soon(self._renew, renewal, challenge, refused, version)
        return await renewal.tokens()

    async def _renew(
        self,
        renewal: Renewal,
        challenge: Challenge | None,
        refused: Tokens | None,
        version: str | None,
    ) -> None:
        try:
            with renewal.scope:
                renewal.found = await self._source.obtain(challenge, refused, version)
        except Exception as error:  # noqa: BLE001 - containment: whoever waits raises it again
            renewal.failure = self._source.failure(error)
            if isinstance(renewal.failure, NotAuthorised) and renewal.failure.is_final:
                self._final = renewal.failure
                self._final_until = anyio.current_time() + LATCH_SECONDS
        finally:
            self._renewal = None
            renewal.done.set()


def _challenge(response: httpx2.Response) -> Challenge:
    return read_challenge(response.status_code, response.headers.get("www-authenticate"))
