"""The authorisation of all servers of a pool, and what takes its secrets out of texts."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio.abc

from host.pool.row_secrets import LearntSecrets, RowRedactor
from host.pool.rows import HttpServerRow, ServerRow

if TYPE_CHECKING:
    import httpx2

    from host.pool.auth.server_auth import ServerAuth
    from host.pool.auth.stores import CredentialStore
    from host.pool.settings import PoolSettings

EXCHANGE_SECONDS = 30.0
"""For each step of one exchange with an authorization server."""


class Authorities:
    """One ``ServerAuth`` for each server over HTTP, shared by its connections.

    Attributes:
        on_notice: hears level and text of what happens to the store.
    """

    def __init__(
        self,
        settings: PoolSettings,
        group: anyio.abc.TaskGroup,
        ssl_context: Callable[[], ssl.SSLContext],
    ) -> None:
        self.on_notice: Callable[[str, str], None] = lambda _, __: None
        self._settings = settings
        self._group = group
        self._ssl_context = ssl_context
        self._learnt: dict[object, LearntSecrets] = {}
        self._known: dict[object, ServerAuth] = {}
        self._store: CredentialStore | None = settings.credentials

    def redactor(self, row: ServerRow) -> RowRedactor:
        """What takes the row's secrets out of texts, and those that come up later."""
        return RowRedactor(row, self._learnt_of(row) if _may_authorise(row) else None)

    def of(self, row: ServerRow) -> ServerAuth | None:
        """What authorises requests to a server; None where that is the row's own doing."""
        if not _may_authorise(row):
            return None
        assert isinstance(row, HttpServerRow)
        if _key(row) not in self._known:
            self._known[_key(row)] = self._made(row)
        return self._known[_key(row)]

    def asked_seconds(self, row: ServerRow) -> float:
        """How much longer a dial may take, since a person is being asked."""
        auth = self._known.get(_key(row)) if isinstance(row, HttpServerRow) else None
        return self._settings.login_timeout_seconds if auth and auth.is_asking else 0.0

    def _made(self, row: HttpServerRow) -> ServerAuth:
        from host.pool.auth.server_auth import ServerAuth
        from host.pool.auth.token_source import TokenSource

        source = TokenSource(
            row,
            store=self._shared_store(),
            http=self._client,
            now=lambda: self._settings.now().timestamp(),
            learnt=self._learnt_of(row),
            client_name=self._settings.client_name,
        )
        return ServerAuth(source, self._group)

    def _client(self) -> httpx2.AsyncClient:
        import httpx2

        return httpx2.AsyncClient(verify=self._ssl_context(), timeout=EXCHANGE_SECONDS)

    def _shared_store(self) -> CredentialStore:
        if self._store is None:
            from host.pool.auth.stores import UserStore

            self._store = UserStore(on_notice=self.on_notice)
        return self._store

    def _learnt_of(self, row: ServerRow) -> LearntSecrets:
        assert isinstance(row, HttpServerRow)
        return self._learnt.setdefault((row.id, row.url), LearntSecrets())


def _key(row: HttpServerRow) -> object:
    return row.id, row.url, row.auth


def _may_authorise(row: ServerRow) -> bool:
    return isinstance(row, HttpServerRow) and not row.has_own_authorization
