"""From a name to a tool whose server is connected. Source: pool spec §6, §8 and §10."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio

from host.errors import PoolError
from host.pool.entry import Entry
from host.pool.fleet import Fleet
from host.pool.naming import could_own, namespace_owners
from host.pool.redial import BROKEN
from host.pool.tool_index import IndexedTool, Scope, ToolIndex, is_in_scope


class ToolFinder:
    """Looks names up, wakes the servers that may own them, and words the refusals.

    Args:
        index: the index of this moment.
        indexes: False when nothing is ever listed: then no name is known, and none woken.
    """

    def __init__(self, fleet: Fleet, index: Callable[[], ToolIndex], *, indexes: bool) -> None:
        self._fleet = fleet
        self._index = index
        self._indexes = indexes

    def schema(self, name: str) -> Mapping[str, Any] | None:
        """What the tool's arguments have to fit as far as is known; None for no such tool."""
        known = self._index().entries.get(name)
        return known.tool.input_schema if known else None

    async def find(
        self, name: str, *, scope: Scope = None, hidden: bool = False
    ) -> tuple[Entry, IndexedTool]:
        """The tool and its server, connected; waits for that server only.

        A name out of scope, hidden or never known is refused at once where no server in scope
        could own it, in one and the same text; only ``code`` differs.

        Raises:
            PoolError: ``out-of-scope``; ``unknown-tool``, also when the server of a known tool
                is not up: the text then says why.
        """
        was_of: Entry | None = None
        while True:
            if name not in self._index().entries and self._indexes:
                await self._wake(name, scope)
            found = self._resolved(name, scope, hidden, was_of=was_of)
            entry = self._fleet.entries[found.server_id]
            if is_up(entry):
                break
            if entry is was_of:
                raise self._down(name, entry)
            await self._fleet.ensure(entry)
            was_of = entry  # if it was replaced meanwhile, its successor is what is wanted
        self._fleet.touch(entry)
        return entry, found

    def _resolved(
        self, name: str, scope: Scope, hidden: bool, *, was_of: Entry | None = None
    ) -> IndexedTool:
        """The tool; ``was_of`` is the server that had it a moment ago."""
        if self._fleet.is_closed:
            raise PoolError(
                "tool-error", f"{name}: the pool was closed; the call was not made", tool_name=name
            )
        found = self._index().resolve(name, scope=scope, hidden=hidden)
        if isinstance(found, IndexedTool):
            return found
        if was_of is None:
            raise PoolError(found, f'there is no tool "{name}"', tool_name=name)
        label = was_of.row.effective_label
        raise PoolError(
            found,
            f'the tool "{name}" is gone: server "{label}" does not list it any more',
            server_id=was_of.id,
            tool_name=name,
        )

    async def _wake(self, name: str, scope: Scope) -> None:
        """Dial the servers in scope that may own the name and are due, side by side.

        One that is replaced while it is waited for is looked at again.
        """
        while any(
            woken.id in self._fleet.entries and not self._fleet.has(woken)
            for woken in await self._woken(name, scope)
        ):
            pass

    async def _woken(self, name: str, scope: Scope) -> list[Entry]:
        """Who was dialled or waited for, and has come to something."""
        for entry in list(self._fleet.entries.values()):
            is_candidate = is_in_scope(entry.id, scope) and entry.connection is None
            if is_candidate and could_own(entry.row.effective_slug, name):
                await entry.settled.wait()  # what is saved of it may be on its way
                await self._fleet.look_again(entry)
        owners = namespace_owners(entry.row for entry in self._fleet.entries.values())
        now = anyio.current_time()
        woken = [
            entry
            for entry in self._fleet.entries.values()
            if is_in_scope(entry.id, scope)
            and owners.get(entry.row.effective_slug) == entry.id
            and could_own(entry.row.effective_slug, name)
            and (entry.status == "connecting" or entry.is_due(now))
        ]
        for entry in woken:
            self._fleet.begin_dial(entry)
        for entry in woken:
            await entry.settled.wait()
        return woken

    def _down(self, name: str, entry: Entry) -> PoolError:
        why = entry.failure.text if entry.failure else "is not running"
        return PoolError(
            "unknown-tool",
            f'the tool "{name}" cannot be called now: server "{entry.row.effective_label}" {why}'
            + self._when(entry),
            server_id=entry.id,
            tool_name=name,
            detail=(entry.failure.detail if entry.failure else "") or None,
        )

    def _when(self, entry: Entry) -> str:
        wait = entry.clock.wait_seconds(anyio.current_time())
        if wait is None:
            return f"; {BROKEN}"
        return f"; it can be tried again in {wait:.0f} s" if wait >= 1 else ""


def is_up(entry: Entry) -> bool:
    """Whether calls to the server can be sent."""
    connection = entry.connection
    return entry.status == "ready" and connection is not None and connection.client is not None
