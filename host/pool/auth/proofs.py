"""Signed statements: DPoP proofs (RFC 9449) and a client's own assertions (RFC 7523).

Keys are PEM texts. Nothing here reads a clock or makes an id: both come from the caller.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwt.algorithms import ECAlgorithm

ASSERTION_SECONDS = 300

_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


def dpop_proof(
    key: str,
    method: str,
    url: str,
    *,
    unique_id: str,
    now: float,
    access_token: str | None = None,
    nonce: str | None = None,
) -> str:
    """The proof for one request.

    Args:
        key: an EC key of P-256.
        access_token: the token the request carries; None at the token endpoint.
        nonce: what the server last gave out; None for none.
    """
    private = load_pem_private_key(key.encode(), None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    public = json.loads(ECAlgorithm.to_jwk(private.public_key()))
    claims: dict[str, Any] = {
        "jti": unique_id,
        "htm": method,
        "htu": _bare(url),
        "iat": int(now),
    }
    if access_token is not None:
        digest = hashlib.sha256(access_token.encode()).digest()
        claims["ath"] = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    if nonce is not None:
        claims["nonce"] = nonce
    headers = {"typ": "dpop+jwt", "jwk": public}
    return jwt.encode(claims, private, algorithm="ES256", headers=headers)


def client_assertion(key: str, client_id: str, audience: str, *, unique_id: str, now: float) -> str:
    """A client's word for itself, good for ``ASSERTION_SECONDS`` at one authorization server.

    Raises:
        ValueError: the key is none that can be used.
    """
    private = load_pem_private_key(key.encode(), None)
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "jti": unique_id,
        "iat": int(now),
        "exp": int(now) + ASSERTION_SECONDS,
    }
    return jwt.encode(claims, private, algorithm=_algorithm(private))  # type: ignore[arg-type]


def _algorithm(private: object) -> str:
    """The usual algorithm for a kind of key."""
    if isinstance(private, ec.EllipticCurvePrivateKey) and private.curve.name in _CURVES:
        return _CURVES[private.curve.name]
    if isinstance(private, rsa.RSAPrivateKey):
        return "RS256"
    if isinstance(private, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey):
        return "EdDSA"
    raise ValueError("a key of this kind signs no assertions")


def _bare(url: str) -> str:
    """The address without query and fragment (RFC 9449 §4.2)."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
