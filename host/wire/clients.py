"""The registry of endpoints: their clients, listings, latches and readings, in one object."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import openai

from host.wire.calibration import Calibration
from host.wire.capabilities import Capabilities
from host.wire.client_pool import MAX_CLIENTS, ClientPool, HttpClientFactory
from host.wire.listings import LISTING_MISS_SECONDS, EndpointListing, ListedModel
from host.wire.settings import EndpointSettings, endpoint_id
from host.wire.snapshot import capabilities_json, merge_capabilities, read_capabilities


def utc_now() -> datetime:
    """The time, aware."""
    return datetime.now(UTC)


class Endpoints:
    """Everything known about the endpoints in use; open it with ``async with``.

    An endpoint is a base URL as one key sees it. What is learned of it (refusals, windows,
    characters per token) is kept for as long as this object lives.

    Args:
        max_clients: how many clients stay open for reuse; the least recently asked for goes.
        listing_miss_seconds: how long an absent model is not asked for again.
        open_http: what opens the HTTP client below each openai client; None for the SDK's own.
        now: the wall clock, for snapshots.
    """

    def __init__(
        self,
        *,
        max_clients: int = MAX_CLIENTS,
        listing_miss_seconds: float = LISTING_MISS_SECONDS,
        open_http: HttpClientFactory | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._clients = ClientPool(max_clients=max_clients, open_http=open_http)
        self._listing_miss_seconds = listing_miss_seconds
        self._now = now
        self._listings: dict[str, EndpointListing] = {}
        self._capabilities: dict[str, Capabilities] = {}
        self._calibrations: dict[str, Calibration] = {}

    async def __aenter__(self) -> Self:
        await self._clients.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._clients.__aexit__(kind, error, trace)

    def client(self, settings: EndpointSettings) -> openai.AsyncOpenAI:
        """The openai client of an endpoint; the same one as long as it stays in the pool.

        Raises:
            ConfigError: the base URL is not one, or no header can hold the key.
        """
        return self._clients.client(settings)

    async def list_models(self, settings: EndpointSettings) -> tuple[ListedModel, ...]:
        """Asks an endpoint for its models; returns them by id and keeps them for `context_limit`.

        Raises:
            ConfigError: the base URL is not one.
            WireError: the endpoint did not answer with a list of models.
        """
        return await self._listing(settings).refresh(self.client(settings))

    async def context_limit(self, settings: EndpointSettings, model: str, declared: int = 0) -> int:
        """A model's context window in tokens; 0 when nobody knows, or when the endpoint fails.

        Args:
            declared: what the user says; above 0 it is the answer, and nobody is asked.

        Raises:
            ConfigError: the base URL is not one.
        """
        if declared > 0:
            return declared
        return await self._listing(settings).window(self.client(settings), model)

    def capabilities(self, settings: EndpointSettings) -> Capabilities:
        """The live latches of an endpoint, the same object every time."""
        return self._capabilities_of(endpoint_id(settings.base_url, settings.api_key))

    def calibration(self, settings: EndpointSettings) -> Calibration:
        """The live readings of characters per token, the same object every time."""
        name = endpoint_id(settings.base_url, settings.api_key)
        return self._calibrations.setdefault(name, Calibration())

    def export_capabilities(self) -> dict[str, Any]:
        """Every refusal as a JSON object, without keys and URLs (agent-core §19)."""
        return capabilities_json(self._capabilities, saved_at=self._now())

    def import_capabilities(self, blob: object) -> bool:
        """Turns off what an exported object has off; False, and no change, for any other object.

        Live objects are changed in place; nothing is turned on.
        """
        read = read_capabilities(blob)
        if read is None:
            return False
        for name, refused in read.items():
            merge_capabilities(self._capabilities_of(name), refused)
        return True

    def reset_capabilities(self, settings: EndpointSettings) -> bool:
        """Forgets what one endpoint refused and how it counts; False when nothing was known."""
        return self._forget(endpoint_id(settings.base_url, settings.api_key))

    def expire_capabilities(self, max_age_seconds: float) -> int:
        """Forgets, as `reset_capabilities`, every endpoint known for so long; returns how many.

        Args:
            max_age_seconds: 0 for all; age counts from the first word of an endpoint, in this
                registry or in an earlier one whose export was imported.
        """
        now = self._now()
        old = [
            name
            for name, known in self._capabilities.items()
            if known.since is None or (now - known.since).total_seconds() >= max_age_seconds
        ]
        return sum(map(self._forget, old))

    def _forget(self, name: str) -> bool:
        self._calibrations.pop(name, None)
        return self._capabilities.pop(name, None) is not None

    def reset(self) -> None:
        """Forgets everything learned. Clients under way finish; the next call opens new ones."""
        self._clients.retire()
        self._listings.clear()
        self._capabilities.clear()
        self._calibrations.clear()

    def _capabilities_of(self, name: str) -> Capabilities:
        known = self._capabilities.get(name)
        if known is None:
            known = self._capabilities[name] = Capabilities(since=self._now())
        return known

    def _listing(self, settings: EndpointSettings) -> EndpointListing:
        name = endpoint_id(settings.base_url, settings.api_key)
        listing = self._listings.get(name)
        if listing is None:
            listing = EndpointListing(miss_seconds=self._listing_miss_seconds)
            self._listings[name] = listing
        return listing
