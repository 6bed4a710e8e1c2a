"""An MCP server over HTTP that wants authorisation, and the authorization server it names.

Both are at one loopback address, ``/mcp`` and ``/as/…``; nothing of the latter is where a client
might guess it. Of the standard library, as strict or as broken as it is told to be.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import anyio.to_thread
import httpx2
import jwt
from jwt.algorithms import ECAlgorithm

from tests.fakes.mcp_servers.http_server import PlainHandler, PlainHttpServer, serving

NONCE = "nonce-of-the-server"


class Gate:
    """Where a request is held up until somebody opens."""

    def __init__(self) -> None:
        self._arrived = threading.Event()
        self._opened = threading.Event()

    def enter(self) -> None:
        """Say that a request has come, and hold it up."""
        self._arrived.set()
        self._opened.wait(10)

    def open(self) -> None:
        """Let the request go on, and all that come later."""
        self._opened.set()

    async def reached(self) -> None:
        """Wait until a request has come."""
        assert await anyio.to_thread.run_sync(self._arrived.wait, 10)


class AuthServer(PlainHttpServer):
    """Both servers and what they should do.

    Attributes:
        good: access tokens that are taken; each new one is added.
        takes_tokens: False and none is.
        lifetime: what is said of a token's life, in seconds; None says nothing.
        rotates: a refresh token is good once.
        refreshes: refresh tokens that are taken; None gives none.
        refusals: answers for the next token requests, in order: status and body; None hangs up.
        seen_authorization: the header of each message to ``/mcp``.
        forms: what the token endpoint was sent; registrations, revoked, authorized: the others.
        answer: put into what the browser is sent back with; None takes the field out.
        scope_of: the scope that a tool needs, by its name.
        supported: token endpoint methods; scopes: scopes_supported, None says nothing.
        registers: False and nobody can register.
        describes: False and there is no description at all.
        revokes: False and giving tokens back fails.
        wants_proof: tokens are bound (RFC 9449); nonce: proofs must hold it, "" for none.
        barrier: calls of tools wait here for each other.
        echoes: bodies of errors repeat the token; calls of "write" fail so.
        gates: where requests are held up, by the tool's name or ``token``.
    """

    def __init__(self, port: int = 0) -> None:
        super().__init__(port, _AuthHandler)
        self.lock = threading.Lock()
        self.good: set[str] = set()
        self.takes_tokens = True
        self.refreshes: set[str] | None = set()
        self.lifetime: int | None = 3600
        self.rotates = True
        self.refusals: list[tuple[int, Any] | None] = []
        self.forms: list[dict[str, str]] = []
        self.token_headers: list[dict[str, str]] = []
        self.seen_authorization: list[str] = []
        self.registrations: list[dict[str, Any]] = []
        self.revoked: list[dict[str, str]] = []
        self.authorized: list[dict[str, str]] = []
        self.answer: dict[str, str | None] = {}
        self.scope_of: dict[str, str] = {}
        self.first_scope: str | None = None
        self.supported = ["none", "client_secret_basic", "client_secret_post"]
        self.scopes: list[str] | None = None
        self.registers = True
        self.revokes = True
        self.describes = True
        self.open_methods: set[str] = set()
        self.registered_method = "none"
        self.secret_expires_at = 0
        self.issuer_path = "/as"
        self.wants_proof = False
        self.nonce = ""
        self.proofs: list[str] = []
        self.barrier: threading.Barrier | None = None
        self.gates: dict[str, Gate] = {}
        self.echoes = False
        self._minted = 0

    @property
    def origin(self) -> str:
        """Where both are."""
        return self.url("")

    @property
    def issuer(self) -> str:
        """What the authorization server calls itself."""
        return self.origin + self.issuer_path

    @property
    def grants(self) -> list[str]:
        """The kinds of token requests that came."""
        return [form.get("grant_type", "") for form in self.forms]

    def mint(self, kind: str) -> str:
        """A text that was never given out before; secret ones can be told by their look."""
        with self.lock:
            self._minted += 1
            return f"{kind}{'' if kind == 'client' else '-canary'}-{self._minted:04d}"

    def forget_tokens(self) -> None:
        """Take no access token any more that was given out so far."""
        self.good.clear()


class _AuthHandler(PlainHandler):
    server: AuthServer

    def do_POST(self) -> None:  # noqa: N802 - the base's name
        path = urlsplit(self.path).path
        if path == "/mcp":
            message = json.loads(self.body())
            if self._is_let_in(message):
                self.take(message)
            return
        body = self.body()
        issuer, _, endpoint = path.rpartition("/")
        if issuer not in ("/as", self.server.issuer_path):  # where it was, and where it is
            self._send(404, b"")
        elif endpoint == "register" and self.server.registers:
            self._register(json.loads(body))
        elif endpoint == "token":
            self._token(dict(parse_qsl(body.decode())))
        elif endpoint == "revoke":
            self.server.revoked.append(dict(parse_qsl(body.decode())))
            self._send(200 if self.server.revokes else 503, b"")
        else:
            self._send(404, b"")

    def do_GET(self) -> None:  # noqa: N802 - the base's name
        server, parts = self.server, urlsplit(self.path)
        if parts.path == f"{server.issuer_path}/authorize":
            self._authorize({name: values[0] for name, values in parse_qs(parts.query).items()})
        elif parts.path == "/.well-known/oauth-protected-resource/mcp" and server.describes:
            described: dict[str, Any] = {
                "resource": server.url("/mcp"),
                "authorization_servers": [server.issuer],
            }
            self._json(200, described)
        elif parts.path == f"/.well-known/oauth-authorization-server{server.issuer_path}":
            self._json(200, self._metadata())
        else:
            self._send(404 if parts.path.startswith("/.well-known") else 405, b"")

    def _metadata(self) -> dict[str, Any]:
        server = self.server
        metadata: dict[str, Any] = {
            "issuer": server.issuer,
            "authorization_endpoint": f"{server.issuer}/authorize",
            "token_endpoint": f"{server.issuer}/token",
            "revocation_endpoint": f"{server.issuer}/revoke",
            "token_endpoint_auth_methods_supported": server.supported,
            "authorization_response_iss_parameter_supported": True,
            "code_challenge_methods_supported": ["S256"],
        }
        if server.registers:
            metadata["registration_endpoint"] = f"{server.issuer}/register"
        if server.scopes is not None:
            metadata["scopes_supported"] = server.scopes
        return metadata

    def _is_let_in(self, message: dict[str, Any]) -> bool:
        server, method = self.server, message.get("method")
        if method in server.open_methods:
            return True
        server.seen_authorization.append(self.headers.get("authorization", ""))
        scheme, _, token = server.seen_authorization[-1].partition(" ")
        where = f'resource_metadata="{server.url("/.well-known/oauth-protected-resource/mcp")}"'
        if not server.describes:
            where = 'realm="mcp"'
        kind = "DPoP" if server.wants_proof else "Bearer"
        scope = f', scope="{server.first_scope}"' if server.first_scope else ""
        if token not in server.good or scheme != kind:
            self._refuse(401, f"{kind} {where}{scope}", f"what is {token}?")
            return False
        if server.wants_proof and (problem := self._proof_problem(token)):
            self._refuse(401, f'DPoP error="{problem}", {where}', problem, nonce=True)
            return False
        name = message.get("params", {}).get("name") if method == "tools/call" else None
        wanted = server.scope_of.get(name or "")
        if wanted and wanted not in token_scopes(server, token):
            self._refuse(403, f'Bearer error="insufficient_scope", scope="{wanted}", {where}', "")
            return False
        if name == "write" and server.echoes:
            self._refuse(500, kind, f"{token} broke it")
            return False
        if name and server.barrier is not None:
            server.barrier.wait()
        if name and (gate := server.gates.get(name)):
            gate.enter()
        return True

    def _refuse(self, status: int, challenge: str, said: str, *, nonce: bool = False) -> None:
        extra = {"WWW-Authenticate": challenge}
        if nonce and self.server.nonce:
            extra["DPoP-Nonce"] = self.server.nonce
        body = json.dumps({"error": said}) if self.server.echoes else "no"
        self._send(status, body.encode(), extra=extra)

    def _proof_problem(self, token: str | None) -> str:
        """What is wrong with the request's proof; "" for nothing."""
        server, proof = self.server, self.headers.get("dpop", "")
        try:
            header = jwt.get_unverified_header(proof)
            key: Any = ECAlgorithm.from_jwk(json.dumps(header["jwk"]))
            claims = jwt.decode(proof, key, algorithms=["ES256"])
        except jwt.PyJWTError:
            return "invalid_dpop_proof"
        if server.nonce and claims.get("nonce") != server.nonce:
            return "use_dpop_nonce"
        here = f"{server.origin}{urlsplit(self.path).path}"
        wanted = (self.command, here, None if token is None else ath(token))
        if (claims["htm"], claims["htu"], claims.get("ath")) != wanted:
            return "invalid_dpop_proof"
        if claims["jti"] in server.proofs:
            return "invalid_dpop_proof"
        server.proofs.append(claims["jti"])
        return ""

    def _authorize(self, asked: dict[str, str]) -> None:
        server = self.server
        server.authorized.append(asked)
        code = server.mint("code")
        said: dict[str, str | None] = {"code": code, "state": asked["state"], "iss": server.issuer}
        said |= server.answer
        query = urlencode({name: value for name, value in said.items() if value is not None})
        self._send(302, b"", extra={"Location": f"{asked['redirect_uri']}?{query}"})

    def _register(self, client: dict[str, Any]) -> None:
        server = self.server
        server.registrations.append(client)
        known: dict[str, Any] = dict(client)
        known["client_id"] = server.mint("client")
        known["token_endpoint_auth_method"] = server.registered_method
        if server.registered_method != "none":
            known["client_secret"] = server.mint("client-secret")
            known["client_secret_expires_at"] = server.secret_expires_at
        self._json(201, known)

    def _token(self, form: dict[str, str]) -> None:
        server = self.server
        with server.lock:
            server.forms.append(form)
            refusal = server.refusals.pop(0) if server.refusals else ()
        server.token_headers.append({name.lower(): value for name, value in self.headers.items()})
        if gate := server.gates.get("token"):
            gate.enter()
        if refusal is None:
            self.close_connection = True
            return
        if refusal:
            status, body = refusal
            self._json(status, body)
            return
        if server.wants_proof and (problem := self._proof_problem(None)):
            extra = {"DPoP-Nonce": server.nonce} if server.nonce else {}
            self._json(400, {"error": problem}, extra=extra)
            return
        if form.get("grant_type") == "refresh_token":
            refresh = form["refresh_token"]
            if server.refreshes is None or refresh not in server.refreshes:
                self._json(400, {"error": "invalid_grant", "error_description": f"no {refresh}"})
                return
            if server.rotates:
                server.refreshes.discard(refresh)
        self._json(200, self._new_tokens(form))

    def _new_tokens(self, form: dict[str, str]) -> dict[str, Any]:
        server = self.server
        access = server.mint("access")
        if server.takes_tokens:
            server.good.add(access)
        given: dict[str, Any] = {"access_token": access, "token_type": "Bearer"}
        if server.wants_proof:
            given["token_type"] = "DPoP"
        if server.lifetime is not None:
            given["expires_in"] = server.lifetime
        gives = ["authorization_code", *(["refresh_token"] if server.rotates else [])]
        if server.refreshes is not None and form["grant_type"] in gives:
            given["refresh_token"] = server.mint("refresh")
            server.refreshes.add(given["refresh_token"])
        scope = server.authorized[-1].get("scope") if server.authorized else form.get("scope")
        if scope:
            given["scope"] = scope
        return given

    def _json(self, status: int, said: Any, *, extra: dict[str, str] | None = None) -> None:
        body = said.encode() if isinstance(said, str) else json.dumps(said).encode()
        self._send(status, body, extra={"Content-Type": "application/json", **(extra or {})})


def token_scopes(server: AuthServer, token: str) -> list[str]:
    """The scopes of a token: those of the last login that was asked for."""
    return (server.authorized[-1].get("scope") or "").split() if server.authorized else []


def ath(token: str) -> str:
    """How a proof names the token it goes with."""
    digest = hashlib.sha256(token.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@contextmanager
def auth_server() -> Iterator[AuthServer]:
    """Both servers, running for a block."""
    with serving(AuthServer(0)) as server:
        yield server


async def browse(_server_id: str, address: str) -> None:
    """Do what a browser does whose user agrees to everything."""
    async with httpx2.AsyncClient() as browser:
        sent = await browser.get(address)
        await browser.get(sent.headers["location"])
