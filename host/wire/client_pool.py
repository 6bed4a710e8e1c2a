"""openai clients, one per endpoint and time limit, closed when the pool is left."""

from __future__ import annotations

import logging
import ssl
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from http.cookiejar import Cookie, DefaultCookiePolicy
from types import TracebackType
from typing import Self
from urllib.request import Request

import anyio
import httpx2
import openai

from host.errors import ConfigError
from host.text.redaction import redact_url
from host.wire.settings import NO_KEY, EndpointSettings

MAX_CLIENTS = 32
"""How many clients stay in the pool; agent-core §14."""

CLOSE_SECONDS = 5.0
"""How long leaving the pool may take at most."""

HttpClientFactory = Callable[[], httpx2.AsyncClient]


class ClientPool:
    """The clients in use, least recently asked for first.

    A client pushed out of the pool may still carry somebody's stream, so it is closed only when
    the pool itself is left. Nothing is read from the environment: the SDK's organisation, project
    and authorization variables do not reach an endpoint that they were not meant for.
    """

    def __init__(
        self, *, max_clients: int = MAX_CLIENTS, open_http: HttpClientFactory | None = None
    ) -> None:
        self._max_clients = max_clients
        self._open_http = open_http
        self._clients: OrderedDict[tuple[str, str, float], openai.AsyncOpenAI] = OrderedDict()
        self._retired: list[openai.AsyncOpenAI] = []
        self._tls: ssl.SSLContext | None = None
        self._hide_addresses = _AddressFilter()

    async def __aenter__(self) -> Self:
        logging.getLogger("httpx2").addFilter(self._hide_addresses)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        logging.getLogger("httpx2").removeFilter(self._hide_addresses)
        self.retire()
        with anyio.move_on_after(CLOSE_SECONDS, shield=True):
            while self._retired:
                await self._retired.pop().close()

    def client(self, settings: EndpointSettings) -> openai.AsyncOpenAI:
        """The client of an endpoint, which becomes the youngest of the pool.

        It retries nothing by itself. A query of the base URL (Azure's ``?api-version=…``) goes with
        every request, whatever its path. Its time limit is ``request_timeout_seconds``, none for 0.

        Raises:
            ConfigError: the base URL is not one, or no header can hold the key.
        """
        api_key = (settings.api_key or "").strip() or NO_KEY
        key = (settings.base_url, api_key, settings.request_timeout_seconds)
        client = self._clients.get(key)
        if client is None:
            client = self._clients[key] = self._open(*key)
        self._clients.move_to_end(key)
        while len(self._clients) > self._max_clients:
            self._retired.append(self._clients.popitem(last=False)[1])
        return client

    def retire(self) -> None:
        """Empties the pool; what is under way goes on."""
        self._retired.extend(self._clients.values())
        self._clients.clear()

    def _open(self, base_url: str, api_key: str, timeout_seconds: float) -> openai.AsyncOpenAI:
        url, api_key = _checked_url(base_url), _checked_key(api_key)
        http = self._open_http() if self._open_http else self._open_own(url)
        http.cookies.jar.set_policy(_SendableCookies())
        client = openai.AsyncOpenAI(
            api_key=api_key,
            # With a query in it the SDK would append its paths to the query.
            base_url=url.copy_with(query=None, fragment=None),
            default_query=dict(url.params),
            timeout=timeout_seconds if timeout_seconds > 0 else None,
            max_retries=0,
            default_headers={"Authorization": f"Bearer {api_key}"},
            http_client=http,
        )
        client.organization = client.project = None
        return client

    def _open_own(self, url: httpx2.URL) -> httpx2.AsyncClient:
        # Reading the system's certificates takes 30 ms: once for all clients.
        self._tls = self._tls or httpx2.create_ssl_context()
        if url.scheme == "https":
            return openai.DefaultAsyncHttpx2Client(verify=self._tls)
        # llama-server (2026-10) hangs up after a streamed answer without having said so, and the
        # next request on that connection is lost. Without TLS a new connection costs nothing.
        limits = httpx2.Limits(max_keepalive_connections=0)
        return openai.DefaultAsyncHttpx2Client(verify=self._tls, limits=limits)


class _AddressFilter(logging.Filter):
    """Lets every record pass; addresses in it lose their credentials, which httpx2 logs."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True."""
        if isinstance(record.args, tuple):
            record.args = tuple(
                redact_url(str(arg)) if isinstance(arg, httpx2.URL) else arg for arg in record.args
            )
        return True


class _SendableCookies(DefaultCookiePolicy):
    """Takes no cookie that no later request could carry: headers go out as ASCII."""

    def set_ok(self, cookie: Cookie, request: Request) -> bool:
        """Whether the cookie is kept."""
        plain = f"{cookie.name}{cookie.value}".isascii()
        return plain and super().set_ok(cookie, request)


def _checked_url(base_url: str) -> httpx2.URL:
    url = None
    # The parser's error may show a password, as the port it took it for: it is not kept.
    with suppress(httpx2.InvalidURL):
        url = httpx2.URL(base_url.strip())
    if url is None or url.scheme not in ("http", "https") or not url.host:
        problem = f"{redact_url(base_url)!r} is not one; write something like"
        raise ConfigError("base URL", [f"{problem} http://localhost:8080/v1"])
    return url


def _checked_key(api_key: str) -> str:
    # What HTTP refuses would be told with the key in it, or not as an HTTP failure at all.
    if not api_key.isascii() or not api_key.isprintable():
        raise ConfigError("API key", ["it holds characters that no key has; copy it once more"])
    return api_key
