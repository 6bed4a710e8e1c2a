"""What came of logging in and out: facts to show, no secrets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What a login came to.

    Attributes:
        issuer: who gave the tokens; None where the server asks for no authorisation.
        scope: what was granted; None when nobody said.
        expires_at: of the access token, aware; None when nobody said.
        renews: it is renewed without anybody being asked.
        stored_in: where it is kept, in words that follow "in"; "" for nowhere.
    """

    server_id: str
    issuer: str | None = None
    scope: str | None = None
    expires_at: datetime | None = None
    renews: bool = False
    stored_in: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logout:
    """What a logout came to.

    Attributes:
        was_logged_in: there was something to forget.
        revoked: whether the authorization server took the tokens back; None where it cannot.
    """

    server_id: str
    was_logged_in: bool
    revoked: bool | None = None
