"""What a login leaves behind: tokens, the client they were given to, and who gave them.

Points in time are seconds since the epoch, so that they hold across restarts (sdk.md §2.11).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """An access token and what renews it.

    Attributes:
        expires_at: of the access token; None when nobody said.
        scope: what was granted; None when nobody said.
        is_bound: it is good only with proofs of a key (RFC 9449).
    """

    access: str = field(repr=False)
    refresh: str | None = field(default=None, repr=False)
    expires_at: float | None = None
    scope: str | None = None
    is_bound: bool = False

    def is_valid(self, now: float) -> bool:
        """Whether the access token has not run out, as far as is known."""
        return self.expires_at is None or now < self.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A client as an authorization server knows it.

    Attributes:
        secret_expires_at: None for never.
        auth_method: how it proves itself at the token endpoint, as RFC 7591 calls it.
        redirect_uri: where its logins come back to.
        issuer: whom it is registered with; None where that is not known.
        is_dynamic: it was registered by us, not named by the row.
    """

    client_id: str
    secret: str | None = field(default=None, repr=False)
    secret_expires_at: float | None = None
    auth_method: str | None = None
    redirect_uri: str | None = None
    issuer: str | None = None
    is_dynamic: bool = True

    def is_usable(self, now: float) -> bool:
        """Whether its secret, if it has one, has not run out."""
        return self.secret_expires_at is None or now < self.secret_expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """An authorization server.

    Attributes:
        issuer: its name; the origin of ``token_url`` where it has none.
        revocation_url: where tokens are given back; None if nowhere.
        resource: what its tokens are for (RFC 8707); None if it was not told.
    """

    issuer: str
    token_url: str
    revocation_url: str | None = None
    resource: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Everything a login is made of.

    Attributes:
        tokens: None after they were given back, while the client stays registered.
        dpop_key: in PEM, for tokens that are bound; None without such.
        wanted_scope: what the server asked for beyond what was granted.
    """

    authority: Authority
    registration: Registration
    tokens: Tokens | None = None
    dpop_key: str | None = field(default=None, repr=False)
    wanted_scope: str | None = None


_CREDENTIALS: TypeAdapter[Credentials] = TypeAdapter(Credentials)


def credentials_json(credentials: Credentials) -> dict[str, Any]:
    """The credentials as a JSON object, secrets and all."""
    written: dict[str, Any] = _CREDENTIALS.dump_python(credentials, mode="json", exclude_none=True)
    return written


def read_credentials(written: object) -> Credentials | None:
    """The credentials that a JSON object stands for; None for anything else."""
    try:
        return _CREDENTIALS.validate_python(written)
    except ValidationError:
        return None


def tokens_from_answer(
    answer: Mapping[str, Any], *, now: float, asked_scope: str | None, before: Tokens | None = None
) -> Tokens:
    """The tokens in a token endpoint's answer (RFC 6749 §5.1, §6).

    What the answer leaves out stays as it was: the refresh token of ``before``, and the scope
    that was asked for or held.

    Raises:
        ValueError: there is no access token in it.
    """
    access = answer.get("access_token")
    if not isinstance(access, str) or not access:
        raise ValueError("no access token")
    held = before.scope if before else asked_scope
    lifetime = _seconds(answer.get("expires_in"))
    return Tokens(
        access=access,
        refresh=_text(answer.get("refresh_token")) or (before.refresh if before else None),
        expires_at=None if lifetime is None else now + lifetime,
        scope=_text(answer.get("scope")) or held,
        is_bound=str(answer.get("token_type", "")).lower() == "dpop",
    )


def union_of_scopes(*scopes: str | None) -> str | None:
    """Every scope once, in the order of first mention; None for no scope at all."""
    every = dict.fromkeys(scope for text in scopes for scope in (text or "").split())
    return " ".join(every) or None


def _seconds(written: object) -> float | None:
    """A lifetime; some servers write it as text."""
    if isinstance(written, bool) or not isinstance(written, int | float | str):
        return None
    try:
        seconds = float(written)
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) else None


def _text(written: object) -> str | None:
    return written if isinstance(written, str) and written else None
