"""Logging in to a server of a pool, and out again: the only time that a person is asked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from host.errors import PoolError
from host.pool.auth.not_authorised import NotAuthorised, NothingAsked
from host.pool.auth.records import Login, Logout
from host.pool.commons import Commons
from host.pool.direct_use import DirectUse
from host.pool.entry import Entry
from host.pool.fleet import Fleet
from host.pool.settings import PoolSettings
from host.pool.tool_finder import is_up

if TYPE_CHECKING:
    from host.pool.auth.person import Person
    from host.pool.auth.server_auth import ServerAuth


class PoolLogins:
    """The part of ``ServerPool`` that asks people."""

    _settings: PoolSettings
    _commons: Commons
    _fleet: Fleet
    _direct: DirectUse

    if TYPE_CHECKING:

        def _check_open(self) -> None: ...

    async def login(self, server_id: str) -> Login:
        """Have a person let us in to a server, and connect it anew with what that gives.

        ``PoolSettings.on_authorize`` shows the address; the browser comes back to a port of this
        machine. Earlier tokens are replaced when that has succeeded, and not before.

        Raises:
            PoolError: ``unknown-server``, ``disabled``, or ``connect-failed``: there is no login
                for this server, it was refused, or not done in time.
        """
        self._check_open()
        entry = self._direct.known(server_id)
        auth = self._auth(entry)
        if self._settings.on_authorize is None:
            raise _error(entry, "cannot be logged in to: nothing here can show a person an address")
        from host.pool.auth.person import Person

        seconds = self._settings.login_timeout_seconds
        person = Person(self._settings.on_authorize, server_id, timeout_seconds=seconds)
        try:
            with auth.logging_in(person):
                await self._dial_anew(entry)
                if is_up(entry) and not person.is_done:
                    await auth.ask_at_once()
                    await self._dial_anew(entry)
        except NothingAsked:
            return Login(server_id=server_id)
        except NotAuthorised as error:
            raise _error(entry, error.words) from None
        if not is_up(entry):
            why = entry.failure.text if entry.failure else "was stopped meanwhile"
            raise _error(entry, f"was logged in to, but {why}" if person.is_done else why)
        return _login(server_id, auth, person)

    async def logout(self, server_id: str) -> Logout:
        """Close a server, give its tokens back where that can be done, and forget its login.

        Raises:
            PoolError: ``unknown-server``; ``connect-failed`` for one that has no login.
        """
        self._check_open()
        entry = self._fleet.entries.get(server_id) or self._direct.known(server_id)
        auth = self._auth(entry)
        connection = self._fleet.park(entry, "stop")
        if connection is not None:
            await connection.ended.wait()
        was_logged_in, revoked = await auth.forget()
        return Logout(server_id=server_id, was_logged_in=was_logged_in, revoked=revoked)

    def _auth(self, entry: Entry) -> ServerAuth:
        auth = self._commons.authorities.of(entry.row)
        if auth is None:
            why = "its row has an Authorization header, or a user in its url"
            if entry.row.transport == "stdio":
                why = "it is a program started here; give it what it needs in its row's env"
            raise _error(entry, f"has no login: {why}")
        if auth.is_machine:
            raise _error(entry, "has no login: its row's auth.grant needs no person")
        return auth

    async def _dial_anew(self, entry: Entry) -> None:
        self._fleet.park(entry, "reconnect")
        self._fleet.begin_dial(entry)
        await entry.settled.wait()


def _login(server_id: str, auth: ServerAuth, person: Person) -> Login:
    held = auth.held
    tokens = held.tokens if held else None
    if held is None or tokens is None:
        return Login(server_id=server_id)
    expires_at = tokens.expires_at
    return Login(
        server_id=server_id,
        issuer=held.authority.issuer,
        scope=tokens.scope,
        expires_at=None if expires_at is None else datetime.fromtimestamp(expires_at, UTC),
        renews=tokens.refresh is not None,
        stored_in=person.stored_in,
    )


def _error(entry: Entry, words: str) -> PoolError:
    text = f'server "{entry.row.effective_label}" {words}'
    return PoolError("connect-failed", text, server_id=entry.id)
