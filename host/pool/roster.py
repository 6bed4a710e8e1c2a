"""Making the live servers those that the rows want. Source: pool spec §4."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any

import anyio
import anyio.abc

from host.pool.entry import Entry
from host.pool.fleet import Fleet
from host.pool.pool_events import PoolEvents
from host.pool.rows import ServerRow, copied_row, same_connection
from host.pool.settings import PoolSettings


class Roster:
    """Applies lists of rows to the fleet, each in one synchronous step."""

    def __init__(
        self,
        group: anyio.abc.TaskGroup,
        fleet: Fleet,
        events: PoolEvents,
        settings: PoolSettings,
    ) -> None:
        self._group = group
        self._fleet = fleet
        self._events = events
        self._settings = settings
        self._repeated: set[str] = set()

    def apply(self, rows: Iterable[ServerRow]) -> list[Entry]:
        """Take over the rows, begin what closes and dials that takes, and name who is wanted.

        A row whose connection parts are unchanged is only adopted; a failed server is dialled if
        it is due, a new one unless its tools are known. Of two rows with one id the first counts.
        """
        wanted = self._unique(rows)
        entries = self._fleet.entries
        for server_id in [known for known in entries if known not in wanted]:
            self._fleet.detach(entries.pop(server_id), "removed")
        kept = {row.id: self._entry(row, entries.get(row.id)) for row in wanted.values()}
        entries.clear()
        entries.update(kept)
        for entry in kept.values():
            if entry.is_new:
                self._recall(entry)
        self._fleet.on_change()
        now = anyio.current_time()
        for entry in kept.values():
            starts = entry.is_new and self._starts(entry)
            if starts or (entry.status == "error" and entry.is_due(now)):
                self._fleet.begin_dial(entry)
            elif entry.status == "needs-auth":
                self._group.start_soon(self._fleet.look_again, entry)
            entry.is_new = False
        return list(kept.values())

    def forget(self, server_id: str) -> Entry | None:
        """Replace an entry by one that knows nothing, closing its connection; None if unknown."""
        known = self._fleet.entries.get(server_id)
        if known is None:
            return None
        self._fleet.detach(known, "reconnect")
        fresh = self._fresh(known.row, known)
        fresh.recalls = False
        self._fleet.entries[server_id] = fresh
        return fresh

    def _entry(self, row: ServerRow, known: Entry | None) -> Entry:
        if known is None:
            return self._fresh(row, None)
        if same_connection(known.row, row):
            known.adopt(copied_row(row))
            return known
        self._fleet.detach(known, "changed")
        return self._fresh(row, known)

    def _fresh(self, row: ServerRow, known: Entry | None) -> Entry:
        entry = Entry(copied_row(row), self._settings, self._fleet.redactor_of)
        if known is not None:
            entry.previous = known.previous
            entry.recalls = self._settings.lazy
        return entry

    def _starts(self, entry: Entry) -> bool:
        """Whether a server is dialled before anybody uses it."""
        return not self._settings.lazy and (self._settings.dial_known or not entry.listing)

    def _recall(self, entry: Entry) -> None:
        waiting = self._fleet.listings.recall(entry)
        if waiting is not None:
            entry.status, entry.settled = "connecting", anyio.Event()
            self._group.start_soon(self._recall_later, entry, entry.settled, waiting)

    async def _recall_later(
        self, entry: Entry, settled: anyio.Event, waiting: Coroutine[Any, Any, None]
    ) -> None:
        await waiting
        self._fleet.on_change()
        if settled.is_set():
            return  # it was stopped or replaced meanwhile
        entry.status = "idle"
        if self._starts(entry):
            self._fleet.begin_dial(entry)
        else:
            settled.set()

    def _unique(self, rows: Iterable[ServerRow]) -> dict[str, ServerRow]:
        unique: dict[str, ServerRow] = {}
        repeated: set[str] = set()
        for row in rows:
            if row.id in unique:
                repeated.add(row.id)
            unique.setdefault(row.id, row)
        for server_id in sorted(repeated - self._repeated):
            self._events.notice(
                server_id, "error", "two rows have this id; the first one counts, rename the other"
            )
        self._repeated = repeated
        return unique
