"""A key that tokens are bound to, and its proofs on requests (RFC 9449)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from host.pool.auth.proofs import dpop_proof

if TYPE_CHECKING:
    import httpx2

MAX_NONCES = 16


class ProofKey:
    """Proves on each request that whoever sends it holds the key.

    Args:
        pem: a private key of P-256; None makes one.
        now: the wall clock, in seconds since the epoch.
    """

    def __init__(self, pem: str | None, now: Callable[[], float]) -> None:
        self.pem = pem or _new_key()
        self._now = now
        self._nonces: dict[str, str] = {}

    def __repr__(self) -> str:
        return "ProofKey()"

    def prove(self, request: httpx2.Request, access_token: str | None = None) -> None:
        """Put a fresh proof on the request, and its token as one that is bound."""
        url = request.url
        request.headers["DPoP"] = dpop_proof(
            self.pem,
            request.method,
            str(url),
            unique_id=str(uuid.uuid4()),
            now=self._now(),
            access_token=access_token,
            nonce=self._nonces.get(_origin(url)),
        )
        if access_token is not None:
            request.headers["Authorization"] = f"DPoP {access_token}"

    def take_nonce(self, response: httpx2.Response) -> bool:
        """Use the nonce of the answer, if it has one, from now on; whether it is a new one."""
        nonce, origin = response.headers.get("dpop-nonce"), _origin(response.request.url)
        if not nonce or self._nonces.get(origin) == nonce:
            return False
        self._nonces.pop(origin, None)
        self._nonces[origin] = nonce
        while len(self._nonces) > MAX_NONCES:
            del self._nonces[next(iter(self._nonces))]
        return True


def _origin(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def _new_key() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
