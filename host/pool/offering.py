"""What the pool offers at this moment: the index, kept up to date, and what is odd about it."""

from __future__ import annotations

from host.pool.fleet import Fleet
from host.pool.pool_events import PoolEvents
from host.pool.tool_index import ListedServer, NameClash, ToolIndex
from host.records import ToolDefinition
from host.text.tokens import compact_count


class Offering:
    """The index of the fleet's tools; clashes and a heavy tool list are told once each.

    Attributes:
        index: replaced as a whole whenever something changes.
    """

    def __init__(self, fleet: Fleet, events: PoolEvents, tools_token_warning: int) -> None:
        self.index = ToolIndex()
        self._fleet = fleet
        self._events = events
        self._told: frozenset[NameClash] = frozenset()
        self._warns = tools_token_warning > 0
        self._heaviest = tools_token_warning
        fleet.on_change = self._rebuild

    def weighed(self, tools: list[ToolDefinition]) -> list[ToolDefinition]:
        """The definitions; tells when they are heavier than any list before."""
        entries = self.index.entries
        tokens = sum(entries[tool["function"]["name"]].tool.tokens for tool in tools)
        if self._warns and tokens > self._heaviest:
            self._heaviest = tokens
            self._events.notice(
                None,
                "info",
                f"declaring {len(tools)} tools takes about {compact_count(tokens)} tokens of each "
                "request; load fewer, or hide some",
            )
        return tools

    def _rebuild(self) -> None:
        self.index = ToolIndex.of(
            ListedServer(row=entry.row, tools=entry.listing, stale=entry.stale)
            for entry in self._fleet.entries.values()
        )
        for clash in sorted(self.index.clashes - self._told, key=lambda clash: clash.text):
            self._events.notice(clash.loser, "error", clash.text)
        self._told = self.index.clashes
