"""The way from a challenge to tokens: the MCP SDK leads, what it wants sent is sent by us.

The SDK finds the authorization server, registers the client and sends the person off with PKCE;
its answers are checked there. The last step, the token request, is ours: tokens may be bound to
a key, and are kept by us (sdk.md §2.10, §2.11, §6).
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl

from host.pool.auth.credentials import Authority, Registration, Tokens, tokens_from_answer
from host.pool.auth.not_authorised import NotAuthorised, NothingAsked
from host.pool.auth.token_forms import (
    authenticated,
    bearer_fields,
    credentials_fields,
    exchange_fields,
    secret_method,
)

if TYPE_CHECKING:
    from host.pool.auth.challenges import Challenge
    from host.pool.auth.dpop import ProofKey
    from host.pool.auth.token_client import TokenClient
    from host.pool.rows import AuthRow

Ask = Callable[[str], Awaitable[AuthorizationCodeResult]]
"""Sends a person to an address and waits for the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSettings:
    """What a flow goes by.

    Attributes:
        client_name: what we call ourselves when we register.
        registration: the client to be; None registers one.
        issuer: the only authorization server that may be asked; None for any.
        redirect_uri: where the person comes back to; None without one.
        ask: None where nobody is asked.
    """

    server_url: str
    auth: AuthRow
    client_name: str
    now: Callable[[], float]
    registration: Registration | None = None
    issuer: str | None = None
    redirect_uri: str | None = None
    ask: Ask | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Obtained:
    """What a flow came to; ``dpop_key`` is the key, in PEM, of tokens that are bound."""

    authority: Authority
    registration: Registration
    tokens: Tokens
    dpop_key: str | None = field(default=None, repr=False)


class _Storage:
    """What the SDK keeps: the client only; it is to see no tokens, nor to renew them."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self._client = client

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        return None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


class _Provider(OAuthClientProvider):
    """The SDK's provider, held to one issuer, and with grants that need nobody."""

    def __init__(self, settings: FlowSettings, client: TokenClient, *, is_forced: bool) -> None:
        self._settings = settings
        self._is_forced = is_forced
        self._client = client
        auth = settings.auth
        is_code = auth.grant == "authorization_code"
        grants = ["authorization_code", "refresh_token"] if is_code else [auth.grant]
        uri = settings.redirect_uri
        super().__init__(
            settings.server_url,
            OAuthClientMetadata(
                client_name=settings.client_name,
                redirect_uris=[AnyUrl(uri)] if uri else None,
                grant_types=list(grants),
            ),
            _Storage(_client_of(settings.registration)),
            redirect_handler=self._send_off if settings.ask else None,
            callback_handler=self._come_back if settings.ask else None,
            client_metadata_url=auth.client_metadata_url,
        )
        self._address = ""

    async def _send_off(self, address: str) -> None:
        self._address = address

    async def _come_back(self) -> AuthorizationCodeResult:
        assert self._settings.ask is not None
        self._client.check(httpx2.URL(self._address))
        return await self._settings.ask(self._address)

    def check_described(self) -> None:
        """Go no further on a guess: without a challenge, a description must have been found."""
        context = self.context
        if (
            self._is_forced
            and context.oauth_metadata is None
            and context.protected_resource_metadata is None
        ):
            raise NothingAsked

    def _select_authorization_server(self, advertised: list[str]) -> str:
        issuer = self._settings.issuer
        if issuer is None:
            return advertised[0]
        for each in advertised:
            if issuers_match(each, issuer):
                return each
        raise NotAuthorised(
            f"names another authorization server ({advertised[0]}) than {issuer}, which it was "
            "bound to; if that is right, set auth.issuer in its row",
            is_final=True,
        )

    async def _perform_authorization(self) -> httpx2.Request:
        context, issuer = self.context, self._settings.issuer
        metadata = context.oauth_metadata
        self.check_described()
        if issuer is not None and not (metadata and issuers_match(str(metadata.issuer), issuer)):
            words = f"cannot be authorised: nothing describes the authorization server {issuer}"
            raise NotAuthorised(words, is_final=True)
        client = context.client_info
        if client and client.client_secret and client.token_endpoint_auth_method is None:
            supported = metadata.token_endpoint_auth_methods_supported if metadata else None
            client.token_endpoint_auth_method = secret_method(supported)
        if self._settings.ask is not None:
            return await super()._perform_authorization()
        return await self._machine_request()

    async def _machine_request(self) -> httpx2.Request:
        context, auth = self.context, self._settings.auth
        assert context.oauth_metadata is not None
        assert context.client_info is not None
        issuer = str(context.oauth_metadata.issuer)
        scope = context.client_metadata.scope
        told = context.should_include_resource_param(context.protocol_version)
        resource = context.get_resource_url() if told else None
        if auth.grant == "client_credentials":
            fields = credentials_fields(scope, resource)
        else:
            fields = bearer_fields(await self._assertion(issuer), scope, resource)
        fields, headers = authenticated(
            fields,
            _registration_of(context.client_info, is_dynamic=False),
            assertion=await self._signed(issuer),
        )
        url = str(context.oauth_metadata.token_endpoint)
        return httpx2.Request("POST", url, data=fields, headers=headers)

    async def _signed(self, issuer: str) -> str | None:
        auth = self._settings.auth
        if auth.private_key_file is None:
            return None
        from host.pool.auth.proofs import client_assertion

        assert auth.client_id is not None
        key = await _file_text(auth.private_key_file, "auth.privateKeyFile")
        try:
            return client_assertion(
                key, auth.client_id, issuer, unique_id=str(uuid.uuid4()), now=self._settings.now()
            )
        except (ValueError, TypeError) as error:
            words = (
                f"auth.privateKeyFile holds no PEM key that can be used ({auth.private_key_file})"
            )
            raise NotAuthorised(f"cannot be authorised: {words}", is_final=True) from error

    async def _assertion(self, issuer: str) -> str:
        auth = self._settings.auth
        provider = auth.identity_provider
        if provider is None:
            assert auth.assertion_file is not None
            return await _file_text(auth.assertion_file, "auth.assertionFile")
        id_token = await _file_text(provider.id_token_file, "auth.identityProvider.idTokenFile")
        method = secret_method(None) if provider.client_secret else None
        fields, headers = authenticated(
            exchange_fields(id_token, issuer, self.context.get_resource_url()),
            Registration(
                client_id=provider.client_id, secret=provider.client_secret, auth_method=method
            ),
        )
        response = await self._client.post(provider.token_url, fields, headers)
        return tokens_from_answer(
            self._client.answer(response), now=self._settings.now(), asked_scope=None
        ).access


async def run_flow(
    settings: FlowSettings,
    challenge: Challenge,
    scope: str | None,
    client: TokenClient,
    *,
    protocol_version: str | None,
) -> Obtained:
    """Go from a challenge to tokens.

    Args:
        challenge: of the server; its status is 0 where it made none, and is asked all the same.
        scope: what to ask for; None asks for what the server's description names.
        protocol_version: of the request that met the challenge.

    Raises:
        NotAuthorised: it did not come to tokens.
        NothingAsked: the server made no challenge and describes no authorisation.
        TokenRefused: the token endpoint said no.
        OAuthFlowError: what the SDK found wrong.
    """
    provider = _Provider(settings, client, is_forced=not challenge.status)
    version = {"mcp-protocol-version": protocol_version} if protocol_version else {}
    request = httpx2.Request("POST", settings.server_url, headers=version)
    flow = provider.async_auth_flow(request)
    try:
        response = httpx2.Response(
            401, request=await anext(flow), headers={"WWW-Authenticate": challenge.header(scope)}
        )
        while True:
            outgoing = await flow.asend(response)
            kind = outgoing.headers.get("content-type", "")
            if kind.startswith("application/x-www-form-urlencoded"):
                return await _traded(settings, challenge, provider, outgoing, client)
            if outgoing.method != "GET":
                provider.check_described()
            response = await client.send(outgoing)
    finally:
        await flow.aclose()


async def _traded(
    settings: FlowSettings,
    challenge: Challenge,
    provider: _Provider,
    request: httpx2.Request,
    client: TokenClient,
) -> Obtained:
    """The token request of the SDK, or of a grant of ours, traded for tokens."""
    context = provider.context
    key = _new_key(settings, challenge, context.protected_resource_metadata)
    response = await client.exchange(request, key)
    tokens = tokens_from_answer(
        client.answer(response), now=settings.now(), asked_scope=context.client_metadata.scope
    )
    if settings.auth.dpop and not tokens.is_bound:
        words = "got a token that is bound to no key, though its row wants one (auth.dpop)"
        raise NotAuthorised(words, is_final=True)
    assert context.client_info is not None
    metadata = context.oauth_metadata
    told = context.should_include_resource_param(context.protocol_version)
    revocation = metadata.revocation_endpoint if metadata else None
    return Obtained(
        authority=Authority(
            issuer=str(metadata.issuer) if metadata else str(request.url.join("/")),
            token_url=str(request.url),
            revocation_url=str(revocation) if revocation else None,
            resource=context.get_resource_url() if told else None,
        ),
        registration=_registration_of(
            context.client_info,
            redirect_uri=settings.redirect_uri,
            is_dynamic=settings.auth.client_id is None,
        ),
        tokens=tokens,
        dpop_key=key.pem if key and tokens.is_bound else None,
    )


def _new_key(
    settings: FlowSettings, challenge: Challenge, described: ProtectedResourceMetadata | None
) -> ProofKey | None:
    """A key to bind tokens to, where the row wants that, or else the server does."""
    wants = settings.auth.dpop
    if wants is None:
        is_required = bool(described and described.dpop_bound_access_tokens_required)
        wants = challenge.wants_proof or is_required
    if not wants:
        return None
    from host.pool.auth.dpop import ProofKey

    return ProofKey(None, settings.now)


def _client_of(registration: Registration | None) -> OAuthClientInformationFull | None:
    if registration is None:
        return None
    uri = registration.redirect_uri
    return OAuthClientInformationFull(
        client_id=registration.client_id,
        client_secret=registration.secret,
        token_endpoint_auth_method=registration.auth_method,
        redirect_uris=[AnyUrl(uri)] if uri else None,
        issuer=registration.issuer,
    )


def _registration_of(
    client: OAuthClientInformationFull, *, redirect_uri: str | None = None, is_dynamic: bool
) -> Registration:
    return Registration(
        client_id=client.client_id,
        secret=client.client_secret,
        secret_expires_at=client.client_secret_expires_at or None,
        auth_method=client.token_endpoint_auth_method,
        redirect_uri=redirect_uri,
        issuer=client.issuer,
        is_dynamic=is_dynamic,
    )


async def _file_text(path: str, field: str) -> str:
    """What a file of the row holds, without the white space around it."""
    try:
        text = await (await anyio.Path(path).expanduser()).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        words = f"cannot be authorised: {field} cannot be read ({path}: {why})"
        raise NotAuthorised(words, is_final=True) from error
    return text.strip()
