"""A pool's use of saved listings: recalled when a row is new, saved when a server comes up.

Whatever goes wrong with them is told once and costs no more than a dial. Source: pool spec §12.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import anyio

from host.pool.commons import Commons
from host.pool.entry import Entry
from host.pool.fingerprint import connection_digest
from host.pool.pool_events import PoolEvents
from host.pool.saved_listings import SavedListing, redacted_listing

if TYPE_CHECKING:
    from mcp.client import Client

    from host.pool.connection import Connection

ERA_AGE = timedelta(days=7)
"""How long a server is taken to speak as it did when it was asked."""

FLUSH_SECONDS = 2.0
"""How long a pool that closes waits for what is still being saved."""

PASSED_OVER = "its saved listing was passed over"


class ListingCache:
    """The settings' ``tools_cache``, with its failures contained; without one, nothing."""

    def __init__(self, commons: Commons, events: PoolEvents) -> None:
        settings = commons.settings
        self._store = settings.tools_cache if settings.index_tools else None
        self._commons = commons
        self._events = events
        self._saving = anyio.Lock()
        self._owed = 0
        self._told: set[str] = set()

    def recall(self, entry: Entry) -> Coroutine[Any, Any, None] | None:
        """Have a server that has not been dialled begin with what is saved of it, if anything is.

        That has been done when this returns None; else it waits for what is returned.
        """
        if self._store is None or not (entry.recalls and entry.row.enabled):
            return None
        try:
            found = self._store.load(entry.id, connection_digest(entry.row))
            if inspect.isawaitable(found):
                return self._recall_later(entry, found)
            self._begin_with(entry, found)
        except Exception as error:  # noqa: BLE001 - containment: a cache is not worth a server
            self._tell(entry, PASSED_OVER, error)
        return None

    def keep(self, entry: Entry, connection: Connection) -> str | None:
        """Have what a server offers saved, if that is news; its fingerprint as saved.

        Returns at once; None where nothing is saved.
        """
        client = connection.client
        if self._store is None or client is None:
            return None
        try:
            listing = redacted_listing(self._listing(entry, connection, client), entry.redactor)
        except ValueError as error:
            self._tell(entry, "its listing is not saved", error)
            return None
        if listing != entry.kept:
            self._owed += 1
            self._commons.group.start_soon(self._save, entry, listing)
        return listing.fingerprint

    async def flush(self) -> None:
        """Wait a moment for what is being saved."""
        with anyio.move_on_after(FLUSH_SECONDS):
            while self._owed:
                async with self._saving:  # in the order they were begun
                    pass

    def _listing(self, entry: Entry, connection: Connection, client: Client) -> SavedListing:
        declared = client.server_capabilities
        return SavedListing(
            connection=connection_digest(entry.row),
            tools=tuple(tool.sent for tool in entry.listing),
            fingerprint=entry.fingerprint or "",
            instructions=client.instructions,
            capabilities=declared.model_dump(mode="json", by_alias=True, exclude_none=True),
            has_tasks=entry.has_tasks,
            era=connection.era,
            saved_at=self._commons.settings.now(),
        )

    async def _save(self, entry: Entry, listing: SavedListing) -> None:
        assert self._store is not None
        async with self._saving:
            try:
                saving = self._store.save(entry.id, listing)
                if saving is not None:
                    await saving
            except Exception as error:  # noqa: BLE001 - containment: the next connect tries again
                self._tell(entry, "its listing could not be saved", error)
            else:
                entry.kept = listing
            finally:
                self._owed -= 1

    async def _recall_later(self, entry: Entry, loading: Awaitable[SavedListing | None]) -> None:
        try:
            self._begin_with(entry, await loading)
        except Exception as error:  # noqa: BLE001 - containment: as above
            self._tell(entry, PASSED_OVER, error)

    def _begin_with(self, entry: Entry, saved: SavedListing | None) -> None:
        """Take over the listing, if it is of this connection; an era only while it is recent."""
        digest = connection_digest(entry.row)
        if saved is None or saved.connection != digest or entry.fingerprint is not None:
            return
        if saved.era is not None and self._commons.settings.now() - saved.era.asked_at > ERA_AGE:
            saved = replace(saved, era=None)
        entry.recall(saved)
        if saved.era is not None and entry.row.era == "auto":
            self._commons.eras.recall(entry.row, saved.era)

    def _tell(self, entry: Entry, what: str, error: Exception) -> None:
        text = f"{what}: {entry.redactor.redact(str(error)) or type(error).__name__}"
        if text not in self._told:
            self._told.add(text)
            self._events.notice(entry.id, "warning", text)
