"""The pool's live record of one row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import anyio

from host.pool.failure_words import Failure
from host.pool.fingerprint import tools_fingerprint
from host.pool.listing import ListedTool, Listing, read_listing
from host.pool.redial import RedialClock
from host.pool.row_secrets import row_redactor
from host.pool.rows import ServerRow
from host.pool.server_state import ServerStatus
from host.pool.settings import PoolSettings

if TYPE_CHECKING:
    from host.pool.connection import Connection


class Entry:
    """One configured server: its row, how it stands, and what it last offered.

    Attributes:
        connection: the one being dialled or used; None at rest.
        previous: the last one before it, which must have ended before a new one is dialled.
        listing: its tools as last known; ``stale`` while nobody can vouch for them.
        failure: why it is not ready; None for no reason.
        words: the last connection's last words on stderr.
        last_used: seconds of the clock, for the idle timeout.
        settled: set while no dial is under way.
        stirred: set, and replaced, when the idle clock must be looked at again.
        is_new: no sync has looked at it yet.
    """

    def __init__(self, row: ServerRow, settings: PoolSettings) -> None:
        self.row = row
        self.redactor = row_redactor(row)
        self.status: ServerStatus = "idle" if row.enabled else "disabled"
        self.connection: Connection | None = None
        self.previous: Connection | None = None
        self.listing: tuple[ListedTool, ...] = ()
        self.fingerprint: str | None = None
        self.stale = False
        self.failure: Failure | None = None
        self.words = ""
        self.started_at: datetime | None = None
        self.retry_at: datetime | None = None
        self.last_used = anyio.current_time()
        self.clock = RedialClock(settings.crash_backoff_seconds, settings.jitter)
        self.settled = anyio.Event()
        self.settled.set()
        self.stirred = anyio.Event()
        self.is_new = True
        self._max_description_chars = settings.max_description_chars

    @property
    def id(self) -> str:
        """The row's id."""
        return self.row.id

    def is_due(self, now: float) -> bool:
        """Whether a use or a sync may dial it now."""
        if self.status == "error":
            return self.clock.wait_seconds(now) == 0
        return self.status == "idle"

    def adopt(self, row: ServerRow) -> None:
        """Take over an edited row that the open connection serves as well."""
        renamed = (row.effective_slug, row.effective_label) != (
            self.row.effective_slug,
            self.row.effective_label,
        )
        if row.idle_timeout_ms != self.row.idle_timeout_ms:
            self.last_used = anyio.current_time()
        self.row = row
        self.redactor = row_redactor(row)
        if renamed:
            self.listing = self._read([tool.sent for tool in self.listing]).tools
        self.stir()

    def take_listing(self, tools: Sequence[object]) -> tuple[str | None, tuple[str, ...]]:
        """Keep a new listing; the fingerprint before it, and a line per tool that is odd."""
        before = self.fingerprint
        read = self._read(tools)
        self.listing, self.stale = read.tools, False
        self.fingerprint = tools_fingerprint(read.tools)
        return before, read.notices

    def stir(self) -> None:
        """Have the idle clock looked at again."""
        self.stirred.set()
        self.stirred = anyio.Event()

    def seconds(self, milliseconds: int | None, default: float | None) -> float | None:
        """A time of the row in seconds, or the pool's where the row has none."""
        return default if milliseconds is None else milliseconds / 1000

    def _read(self, tools: Sequence[object]) -> Listing:
        return read_listing(
            tools,
            slug=self.row.effective_slug,
            label=self.row.effective_label,
            max_description_chars=self._max_description_chars,
        )
