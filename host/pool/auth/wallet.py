"""The tokens of one server as they are held now, in step with what is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from host.pool.auth.credentials import Credentials, Registration, Tokens
from host.pool.auth.stores import MEMORY_ONLY, CredentialStore, credentials_name

if TYPE_CHECKING:
    import httpx2

    from host.pool.auth.dpop import ProofKey
    from host.pool.row_secrets import LearntSecrets
    from host.pool.rows import AuthRow, HttpServerRow


class Wallet:
    """Holds a server's credentials, and signs requests with them.

    Args:
        store: None keeps nothing beyond this process.
        now: the wall clock, in seconds since the epoch.
        learnt: is told every secret that is held.

    Attributes:
        held: None before the first login; of another client or issuer than the row's, none are.
        dead: a refresh token that was refused.
    """

    def __init__(
        self,
        row: HttpServerRow,
        auth: AuthRow,
        store: CredentialStore | None,
        now: Callable[[], float],
        learnt: LearntSecrets,
    ) -> None:
        self.held: Credentials | None = None
        self.dead: str | None = None
        self._auth = auth
        self._store = store
        self._name = credentials_name(row.id, row.url)
        self._now = now
        self._learnt = learnt
        self._key: ProofKey | None = None
        self._is_ahead = False

    @property
    def tokens(self) -> Tokens | None:
        """The tokens held, good or not."""
        return self.held.tokens if self.held else None

    @property
    def key(self) -> ProofKey | None:
        """The key that tokens are bound to; None while there is none."""
        return self._key

    def valid(self) -> Tokens | None:
        """Tokens that have not run out; None for none."""
        tokens = self.tokens
        return tokens if tokens and tokens.is_valid(self._now()) else None

    def may_refresh(self) -> bool:
        """Whether there is a refresh token that nobody has refused, and a client to use it."""
        tokens = self.tokens
        if self.held is None or tokens is None or tokens.refresh in (None, self.dead):
            return False
        return self.held.registration.is_usable(self._now())

    def client(self, held: Credentials) -> Registration:
        """The client with its secret; the row's own secret is kept nowhere else."""
        client = held.registration
        return client if client.is_dynamic else replace(client, secret=self._auth.client_secret)

    def sign(self, request: httpx2.Request, tokens: Tokens | None) -> None:
        """Put the tokens on a request, or take off what it had."""
        if tokens is None:
            request.headers.pop("Authorization", None)
        elif tokens.is_bound and self._key is not None:
            self._key.prove(request, tokens.access)
        else:
            request.headers["Authorization"] = f"Bearer {tokens.access}"

    async def load(self) -> None:
        """Take over what is stored, if it fits the row and is no older than what is held."""
        stored = None
        if self._store and not self._is_ahead:
            stored = await self._store.load(self._name)
        if stored is not None and self._fits(stored):
            self.hold(stored)

    async def save(self, credentials: Credentials) -> str:
        """Hold and store these; where they are stored, in words that follow "in"."""
        client = credentials.registration
        if not client.is_dynamic:
            credentials = replace(credentials, registration=replace(client, secret=None))
        self.hold(credentials)
        where = await self._store.save(self._name, credentials) if self._store else MEMORY_ONLY
        self._is_ahead = where == MEMORY_ONLY
        return where

    async def forget(self) -> Credentials | None:
        """Hold and store nothing any more; what was held."""
        await self.load()
        held, self.held, self._key = self.held, None, None
        self._is_ahead = False
        if self._store:
            await self._store.forget(self._name)
        return held

    def hold(self, credentials: Credentials) -> None:
        """Use these from now on."""
        if credentials == self.held:
            return
        self.held = credentials
        self._learnt.learn(credentials.registration.secret)
        if tokens := credentials.tokens:
            self._learnt.learn(tokens.refresh, tokens.access)
        pem = credentials.dpop_key
        if pem and (self._key is None or self._key.pem != pem):
            from host.pool.auth.dpop import ProofKey

            self._key = ProofKey(pem, self._now)

    def _fits(self, stored: Credentials) -> bool:
        """Whether the credentials are of the client and the issuer that the row wants."""
        client, issuer = stored.registration, self._auth.issuer
        if client.is_dynamic:
            is_client = self._auth.client_id is None
        else:
            is_client = client.client_id == self._auth.client_id
        is_issuer = issuer is None or stored.authority.issuer.rstrip("/") == issuer.rstrip("/")
        return is_client and is_issuer
