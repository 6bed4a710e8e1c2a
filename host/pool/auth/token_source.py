"""How tokens for one server are got: by a refresh, by a grant of the client's own, or a person."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import httpx2

from host.pool.auth.challenges import Challenge
from host.pool.auth.credentials import (
    Credentials,
    Registration,
    Tokens,
    tokens_from_answer,
    union_of_scopes,
)
from host.pool.auth.not_authorised import NotAuthorised, NothingAsked
from host.pool.auth.person import Person, listening
from host.pool.auth.refusal_words import login_command, needs_login, not_taken, short
from host.pool.auth.token_client import TokenClient, TokenRefused
from host.pool.auth.token_forms import authenticated, refresh_fields, revocation_fields
from host.pool.auth.wallet import Wallet
from host.pool.row_secrets import LearntSecrets, LiveRedactor, row_secrets
from host.pool.rows import AuthRow, HttpServerRow

if TYPE_CHECKING:
    from mcp.shared.auth import AuthorizationCodeResult

    from host.pool.auth.sdk_flow import Ask, Obtained
    from host.pool.auth.stores import CredentialStore

REFRESH_SECONDS = 30.0
_GONE = ("invalid_client", "unauthorized_client")
"""What an authorization server says that does not know the client any more."""


class TokenSource:
    """Gets tokens for one server.

    Attributes:
        person: who may be asked; None while nobody may.
        wallet: where the tokens go.
    """

    def __init__(
        self,
        row: HttpServerRow,
        *,
        store: CredentialStore,
        http: Callable[[], httpx2.AsyncClient],
        now: Callable[[], float],
        learnt: LearntSecrets,
        client_name: str,
    ) -> None:
        auth = row.auth or AuthRow()
        self.person: Person | None = None
        self.is_machine = auth.grant != "authorization_code"
        self.wallet = Wallet(row, auth, None if self.is_machine else store, now, learnt)
        self._row = row
        self._auth = auth
        self._http = http
        self._now = now
        self._learnt = learnt
        self._redactor = LiveRedactor(row_secrets(row), learnt)
        self._client_name = client_name

    async def turned_away(self, challenge: Challenge) -> NotAuthorised:
        """What a request ends with that was refused with new tokens."""
        await self._remember(challenge)
        if challenge.is_step_up and not self.is_machine:
            return needs_login(self._row.id, challenge, has_login=True)
        return not_taken(self._row.id, challenge.status, is_machine=self.is_machine)

    def failure(self, error: Exception) -> NotAuthorised | NothingAsked:
        """What an attempt ends with that raised this, in words of ours."""
        if isinstance(error, NothingAsked):
            return error
        is_final = self.person is not None or isinstance(error, TokenRefused)
        if isinstance(error, NotAuthorised):
            if self.person is None:
                return error
            words = error.words
        elif isinstance(error, TokenRefused):
            words = f"was refused a token: {error.words}"
        elif isinstance(error, httpx2.HTTPError | TimeoutError):
            words = f"cannot be authorised: {type(error).__name__} at its authorization server"
        elif type(error).__name__ == "OAuthRegistrationError":
            words = f"registers no client of ours; name one in its row (auth.clientId): {error}"
        else:
            words = f"cannot be authorised: {error} ({type(error).__name__})"
        words = short(self._redactor.redact(words))
        if self.person is not None:
            words += f"; to try again, run `{login_command(self._row.id)}`"
        return NotAuthorised(words, needs_person=self.person is not None, is_final=is_final)

    async def obtain(
        self, challenge: Challenge | None, refused: Tokens | None, version: str | None
    ) -> Tokens:
        """Get tokens in place of those refused.

        Args:
            challenge: what they were refused with; None when they have run out by the clock.
            version: the protocol version of the request.

        Raises:
            NotAuthorised: there are none to be had.
            NothingAsked: see ``run_flow``.
            Exception: what went wrong on the way; ``failure`` words it.
        """
        seen = challenge or Challenge(status=401)
        if self.is_machine:
            obtained = await self._flow(seen, version)
            self.wallet.hold(self._credentials(obtained))
            return obtained.tokens
        if self.person is not None:
            return await self._given(seen, self.person, version)
        tokens = None if seen.is_step_up else await self._refreshed(refused)
        if tokens is not None:
            return tokens
        await self._remember(seen)
        raise needs_login(self._row.id, seen, has_login=self.wallet.held is not None)

    async def revoke(self, held: Credentials) -> bool | None:
        """Give tokens back; whether that was taken, None where there is no way to."""
        url, tokens = held.authority.revocation_url, held.tokens
        if url is None or tokens is None:
            return None
        fields = revocation_fields(tokens.access, "access_token")
        if tokens.refresh is not None:  # the access token goes with it
            fields = revocation_fields(tokens.refresh, "refresh_token")
        try:
            async with self._client() as client:
                with anyio.fail_after(REFRESH_SECONDS):
                    form = authenticated(fields, self.wallet.client(held))
                    answer = await client.post(url, *form)
        except (httpx2.HTTPError, NotAuthorised, TimeoutError):
            return False
        return answer.status_code == 200

    def _client(self) -> TokenClient:
        return TokenClient(self._http, self._row.url, self._learnt)

    async def _refreshed(self, refused: Tokens | None) -> Tokens | None:
        """Tokens by the refresh token, or by another process of ours; None where neither helps."""
        wallet = self.wallet
        await wallet.load()
        if (tokens := wallet.valid()) is not None and tokens != refused:
            return tokens
        held = wallet.held
        if held is None or not wallet.may_refresh():
            return None
        try:
            renewed = await self._exchanged(held)
        except TokenRefused as error:
            return await self._after_refusal(held, error.code)
        await wallet.save(replace(held, tokens=renewed))
        return renewed

    async def _exchanged(self, held: Credentials) -> Tokens:
        tokens = held.tokens
        form = authenticated(refresh_fields(held), self.wallet.client(held))
        key = self.wallet.key if tokens and tokens.is_bound else None
        async with self._client() as client:
            with anyio.fail_after(REFRESH_SECONDS):
                response = await client.post(held.authority.token_url, *form, key)
            return tokens_from_answer(
                client.answer(response), now=self._now(), asked_scope=None, before=tokens
            )

    async def _after_refusal(self, held: Credentials, code: str) -> Tokens | None:
        """What is left of a login whose refresh token was refused; none of it is thrown away.

        Another process may have renewed it in the same moment, which makes ours worthless.
        """
        wallet = self.wallet
        await wallet.load()
        if wallet.held != held:
            return wallet.valid()
        wallet.dead = held.tokens.refresh if held.tokens else None
        if code in _GONE and held.registration.is_dynamic:
            client = replace(held.registration, secret_expires_at=0.0)  # the next login renews it
            await wallet.save(replace(held, registration=client))
        return None

    async def _remember(self, challenge: Challenge) -> None:
        """Keep what the server wants beyond what was granted, for the next login."""
        held = self.wallet.held
        if not challenge.is_step_up or held is None or held.tokens is None:
            return
        wanted = union_of_scopes(held.tokens.scope, held.wanted_scope, challenge.scope)
        if wanted != held.wanted_scope:
            await self.wallet.save(replace(held, wanted_scope=wanted))

    async def _given(self, challenge: Challenge, person: Person, version: str | None) -> Tokens:
        """Tokens that a person has let us have."""
        known = self.wallet.held.registration if self.wallet.held else None
        usual = urlsplit((known.redirect_uri if known else None) or "").port
        async with AsyncExitStack() as opened:
            listener = await listening(opened, self._auth.redirect_port, usual or 0)

            async def ask(address: str) -> AuthorizationCodeResult:
                from mcp.shared.auth import AuthorizationCodeResult

                answer = await person.ask(address, listener)
                self._learnt.learn(answer.code, answer.state)
                return AuthorizationCodeResult(
                    code=answer.code, state=answer.state, iss=answer.issuer
                )

            obtained = await self._flow(challenge, version, ask=ask, redirect_uri=listener.uri)
        person.stored_in = await self.wallet.save(self._credentials(obtained))
        person.is_done = True
        return obtained.tokens

    def _credentials(self, obtained: Obtained) -> Credentials:
        held = self.wallet.held
        return Credentials(
            authority=obtained.authority,
            registration=obtained.registration,
            tokens=obtained.tokens,
            dpop_key=obtained.dpop_key,
            wanted_scope=held.wanted_scope if held else None,
        )

    async def _flow(
        self,
        challenge: Challenge,
        version: str | None,
        *,
        ask: Ask | None = None,
        redirect_uri: str | None = None,
    ) -> Obtained:
        from host.pool.auth.sdk_flow import FlowSettings, run_flow

        settings = FlowSettings(
            server_url=self._row.url,
            auth=self._auth,
            client_name=self._client_name,
            now=self._now,
            registration=self._registration(redirect_uri),
            issuer=self._issuer(),
            redirect_uri=redirect_uri,
            ask=ask,
        )
        async with self._client() as client:
            return await run_flow(
                settings,
                challenge,
                self._scope(challenge),
                client,
                protocol_version=version,
            )

    def _registration(self, redirect_uri: str | None) -> Registration | None:
        """The client to be: the row's, or one that was registered for this redirect."""
        if self._auth.client_id is not None:
            return Registration(
                client_id=self._auth.client_id,
                secret=self._auth.client_secret,
                redirect_uri=redirect_uri,
                is_dynamic=False,
            )
        held = self.wallet.held
        if held is None or self._auth.client_metadata_url is not None:
            return None
        known = held.registration
        is_same = known.is_usable(self._now()) and known.redirect_uri == redirect_uri
        return known if is_same else None

    def _issuer(self) -> str | None:
        """Who alone may be asked: whom the row names, or who knows the row's client already."""
        held = self.wallet.held
        if self._auth.issuer is None and held is not None and not held.registration.is_dynamic:
            return held.authority.issuer
        return self._auth.issuer

    def _scope(self, challenge: Challenge) -> str | None:
        held = self.wallet.held
        wanted = [self._auth.scope or challenge.scope, held.wanted_scope if held else None]
        if challenge.is_step_up:
            wanted += [held.tokens.scope if held and held.tokens else None, challenge.scope]
        return union_of_scopes(*wanted)
