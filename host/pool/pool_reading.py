"""What a pool tells of its servers and their tools; nothing here connects anything (spec §9)."""

from __future__ import annotations

from collections.abc import Iterable

from host.pool.fleet import Fleet
from host.pool.offering import Offering
from host.pool.server_state import ServerState, ToolDescription
from host.pool.state_view import server_state
from host.pool.tool_index import scope_of
from host.records import CatalogueServer, ToolDefinition


class PoolReading:
    """The reading half of ``ServerPool``."""

    _fleet: Fleet
    _offering: Offering

    def state(self, *, secrets: bool = False) -> list[ServerState]:
        """Every server as it is now, in configuration order."""
        return [server_state(entry, secrets=secrets) for entry in self._fleet.entries.values()]

    def tools(
        self, *, names: Iterable[str] | None = None, servers: Iterable[str] | None = None
    ) -> list[ToolDefinition]:
        """Definitions of the named tools in the names' order, or of all in configuration order.

        Unknown, hidden and out-of-scope names are passed over. The definitions are shared:
        nobody may change them.
        """
        found = self._offering.index.definitions(names, scope=scope_of(servers))
        return self._offering.weighed(found)

    def catalogue(self, servers: Iterable[str] | None = None) -> list[CatalogueServer]:
        """Every server with tools to offer, in configuration order; last known ones are stale."""
        return self._offering.index.catalogue(scope_of(servers))

    def search(
        self, query: str, *, servers: Iterable[str] | None = None, limit: int = 10
    ) -> list[CatalogueServer]:
        """The catalogue of the tools that answer best to the words, at most ``limit`` of them."""
        return self._offering.index.search(query, scope=scope_of(servers), limit=limit)

    def always_loaded(self, servers: Iterable[str] | None = None) -> list[str]:
        """Names of the offered tools that rows want loaded from the start."""
        return self._offering.index.always_loaded(scope_of(servers))

    def describe(
        self, name: str, *, servers: Iterable[str] | None = None, hidden: bool = False
    ) -> ToolDescription | None:
        """Everything about a tool; None where a call would be refused."""
        return self._offering.index.describe(name, scope=scope_of(servers), hidden=hidden)

    def servers_with(self, capability: str) -> list[str]:
        """Ids of the ready servers that declared the capability (``"prompts"``, …)."""
        return [
            state.id
            for state in self.state()
            if state.status == "ready" and capability in (state.capabilities or {})
        ]
