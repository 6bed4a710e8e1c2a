"""What is sent to a token endpoint, and what its refusals mean (RFC 6749, 7009, 7523, 8693)."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from host.pool.auth.credentials import Credentials, Registration
from host.text.terminal_text import one_line

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"

BASIC, POST = "client_secret_basic", "client_secret_post"
MAX_WORDS_CHARS = 200

_ERROR_CODE = re.compile(r"[\w.-]{1,64}", re.ASCII)
_SECRET_FIELDS = (
    "assertion",
    "client_assertion",
    "client_secret",
    "code",
    "code_verifier",
    "refresh_token",
    "subject_token",
    "token",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A token endpoint that said no.

    Attributes:
        code: RFC 6749's word for it.
        words: the code with the server's own explanation, on one line.
    """

    code: str
    words: str


def refresh_fields(credentials: Credentials) -> dict[str, str]:
    """The fields that ask for a new access token; the refresh token must be there."""
    tokens = credentials.tokens
    assert tokens is not None
    assert tokens.refresh is not None
    fields = {"grant_type": "refresh_token", "refresh_token": tokens.refresh}
    return fields | _resource(credentials.authority.resource)


def revocation_fields(token: str, hint: str) -> dict[str, str]:
    """The fields that give a token back; ``hint`` is the name it was given under."""
    return {"token": token, "token_type_hint": hint}


def credentials_fields(scope: str | None, resource: str | None) -> dict[str, str]:
    """The fields by which a client asks for a token of its own."""
    return {"grant_type": "client_credentials"} | _scope(scope) | _resource(resource)


def bearer_fields(assertion: str, scope: str | None, resource: str | None) -> dict[str, str]:
    """The fields that trade a signed assertion for a token (RFC 7523 §2.1)."""
    fields = {"grant_type": JWT_BEARER, "assertion": assertion}
    return fields | _scope(scope) | _resource(resource)


def exchange_fields(id_token: str, audience: str, resource: str) -> dict[str, str]:
    """The fields that ask an identity provider for a grant for one server (SEP-990)."""
    return {
        "grant_type": TOKEN_EXCHANGE,
        "requested_token_type": ID_JAG,
        "subject_token": id_token,
        "subject_token_type": ID_TOKEN,
        "audience": audience,
        "resource": resource,
    }


def authenticated(
    fields: Mapping[str, str], client: Registration, *, assertion: str | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """The fields, and the headers, with which the client proves itself.

    Args:
        assertion: signed by the client's key; it takes the place of a secret (RFC 7523 §2.2).
    """
    whole = dict(fields)
    if assertion is not None:
        whole |= {"client_assertion_type": CLIENT_ASSERTION, "client_assertion": assertion}
    elif client.secret and client.auth_method == BASIC:
        pair = f"{quote(client.client_id, safe='')}:{quote(client.secret, safe='')}"
        return whole, {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    elif client.secret and client.auth_method == POST:
        whole["client_secret"] = client.secret
    return whole | {"client_id": client.client_id}, {}


def secret_method(supported: Sequence[str] | None) -> str:
    """How a client with a secret proves itself where nobody told it (RFC 8414: basic)."""
    return POST if supported is not None and POST in supported and BASIC not in supported else BASIC


def form_secrets(fields: Mapping[str, str]) -> tuple[str, ...]:
    """The values of a form that nobody else is to read."""
    return tuple(fields[name] for name in _SECRET_FIELDS if fields.get(name))


def read_refusal(body: str) -> Refusal | None:
    """What the body of a failed answer says; None when it is no word of a token endpoint.

    A gateway's page, or an endpoint that is out of order, is no refusal: the next try may work.
    """
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    code = said.get("error") if isinstance(said, dict) else None
    if not isinstance(code, str) or not _ERROR_CODE.fullmatch(code):
        return None
    if code in ("temporarily_unavailable", "server_error", "slow_down"):
        return None
    why = said.get("error_description")
    words = f"{code} ({one_line(why)})" if isinstance(why, str) and why.strip() else code
    return Refusal(code=code, words=words[:MAX_WORDS_CHARS])


def _scope(scope: str | None) -> dict[str, str]:
    return {"scope": scope} if scope else {}


def _resource(resource: str | None) -> dict[str, str]:
    return {"resource": resource} if resource else {}
