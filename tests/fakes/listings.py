"""Saved listings kept in memory, for pools of tests."""

from __future__ import annotations

import anyio

from host.pool.saved_listings import SavedListing


class Cache:
    """Listings in a dictionary, by server."""

    def __init__(self) -> None:
        self.kept: dict[str, SavedListing] = {}
        self.loads: list[str] = []
        self.saves: list[str] = []
        self.broken: Exception | None = None

    def load(self, server_id: str, connection: str, /) -> SavedListing | None:
        self.loads.append(server_id)
        if self.broken:
            raise self.broken
        return self.kept.get(server_id)

    def save(self, server_id: str, listing: SavedListing, /) -> None:
        self.saves.append(server_id)
        if self.broken:
            raise self.broken
        self.kept[server_id] = listing


class SlowCache(Cache):
    """The same for which one has to wait."""

    async def load(  # type: ignore[override] # the protocol allows both
        self, server_id: str, connection: str, /
    ) -> SavedListing | None:
        await anyio.sleep(0.5)
        return super().load(server_id, connection)

    async def save(  # type: ignore[override]
        self, server_id: str, listing: SavedListing, /
    ) -> None:
        await anyio.sleep(0.5)
        super().save(server_id, listing)
