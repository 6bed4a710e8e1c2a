"""What is signed can be checked by whoever has the public key, and says what it must."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any
from urllib.parse import urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm

from host.pool.auth.proofs import ASSERTION_SECONDS, client_assertion, dpop_proof


def pem(key: Any) -> str:
    """A private key as a text."""
    text: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return text.decode()


KEY = ec.generate_private_key(ec.SECP256R1())
PEM = pem(KEY)
PATHS = st.sampled_from(["/", "/mcp", "/a%20b/c", ""])
QUERIES = st.sampled_from(["", "?key=sesame", "#part", "?a=1#b"])


@given(
    method=st.sampled_from(["GET", "POST", "DELETE"]),
    path=PATHS,
    query=QUERIES,
    token=st.none() | st.text("abc.", min_size=1, max_size=9),
    nonce=st.none() | st.text("xyz", min_size=1, max_size=5),
    now=st.floats(0, 4e9),
)
def test_a_proof_names_the_request_and_the_token_it_goes_with(
    method: str, path: str, query: str, token: str | None, nonce: str | None, now: float
) -> None:
    url = f"https://web.example:8443{path}{query}"
    proof = dpop_proof(PEM, method, url, unique_id="one", now=now, access_token=token, nonce=nonce)
    header = jwt.get_unverified_header(proof)
    key: Any = ECAlgorithm.from_jwk(json.dumps(header["jwk"]))
    claims = jwt.decode(proof, key, algorithms=["ES256"], options={"verify_iat": False})
    assert (header["typ"], header["alg"]) == ("dpop+jwt", "ES256")
    assert "d" not in header["jwk"]
    assert (claims["jti"], claims["htm"], claims["iat"]) == ("one", method, int(now))
    assert claims["htu"] == f"https://web.example:8443{urlsplit(url).path}"
    assert claims.get("nonce") == nonce
    if token is None:
        assert "ath" not in claims
    else:
        padded = claims["ath"] + "=" * (-len(claims["ath"]) % 4)
        assert base64.urlsafe_b64decode(padded) == hashlib.sha256(token.encode()).digest()


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (KEY, "ES256"),
        (ec.generate_private_key(ec.SECP384R1()), "ES384"),
        (rsa.generate_private_key(65537, 2048), "RS256"),
        (ed25519.Ed25519PrivateKey.generate(), "EdDSA"),
    ],
)
def test_an_assertion_is_signed_as_its_key_allows(key: Any, algorithm: str) -> None:
    text = client_assertion(pem(key), "me", "https://as.example", unique_id="one", now=5e9)
    claims = jwt.decode(
        text,
        key.public_key(),
        algorithms=[algorithm],
        audience="https://as.example",
        options={"verify_iat": False},
    )
    assert (claims["iss"], claims["sub"], claims["jti"]) == ("me", "me", "one")
    assert claims["exp"] - claims["iat"] == ASSERTION_SECONDS


@pytest.mark.parametrize(
    "key",
    [
        "",
        "no key",
        pem(x25519.X25519PrivateKey.generate()),
        pem(ec.generate_private_key(ec.SECP224R1())),
    ],
)
def test_a_key_that_signs_nothing_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        client_assertion(key, "me", "https://as.example", unique_id="one", now=0.0)
