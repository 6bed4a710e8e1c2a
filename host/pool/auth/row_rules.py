"""Which fields of a row's ``auth`` go together. No option is taken that would do nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic.alias_generators import to_camel

CODE, CREDENTIALS, BEARER = "authorization_code", "client_credentials", "jwt_bearer"

_GRANTS: Mapping[str, tuple[str, ...]] = {
    "clientMetadataUrl": (CODE,),
    "redirectPort": (CODE,),
    "privateKeyFile": (CREDENTIALS, BEARER),
    "assertionFile": (BEARER,),
    "identityProvider": (BEARER,),
}
"""Fields that not every grant has a use for."""

_NEEDED = ("clientId", "issuer")
"""Without a person nobody else says where a secret may be sent."""


def auth_conflicts(written: Mapping[str, Any]) -> list[str]:
    """One line for each field of ``auth`` that is missing or in another one's way.

    Args:
        written: fields whose own values are in order, in JSON's or Python's spelling.
    """
    fields = {to_camel(name): value for name, value in written.items() if value is not None}
    grant = str(fields.get("grant", CODE))
    return [*_misplaced(fields, grant), *_missing(fields, grant), *_excluded(fields)]


def auth_header_conflict(written: Mapping[str, Any]) -> list[str]:
    """What is wrong with a row that has both ``auth`` and a header in its place; [] for nothing."""
    headers = written.get("headers")
    if not isinstance(headers, Mapping) or written.get("auth") is None:
        return []
    if any(str(name).strip().lower() == "authorization" for name in headers):
        return ["auth and the header Authorization exclude each other; remove one"]
    return []


def _misplaced(fields: Mapping[str, Any], grant: str) -> Iterator[str]:
    for name, grants in _GRANTS.items():
        if name in fields and grant not in grants:
            yield f'auth.{name} goes with grant "{" or ".join(grants)}"; remove it or change grant'


def _missing(fields: Mapping[str, Any], grant: str) -> Iterator[str]:
    if grant == CODE:
        if "clientSecret" in fields and "clientId" not in fields:
            yield "auth.clientSecret needs auth.clientId"
        return
    for name in _NEEDED:
        if name not in fields:
            yield f'auth.{name} is missing; grant "{grant}" needs it'
    if grant == CREDENTIALS and not {"clientSecret", "privateKeyFile"} & fields.keys():
        yield f'auth.clientSecret or auth.privateKeyFile is missing; grant "{grant}" needs one'
    if grant == BEARER and not {"assertionFile", "identityProvider"} & fields.keys():
        yield f'auth.assertionFile or auth.identityProvider is missing; grant "{grant}" needs one'


def _excluded(fields: Mapping[str, Any]) -> Iterator[str]:
    for one, other in (
        ("clientId", "clientMetadataUrl"),
        ("clientSecret", "privateKeyFile"),
        ("assertionFile", "identityProvider"),
    ):
        if one in fields and other in fields:
            yield f"auth.{one} and auth.{other} exclude each other; remove one"
