"""The pool's live record of one row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import anyio

from host.pool.failure_words import Failure
from host.pool.fingerprint import tools_fingerprint
from host.pool.listing import ListedTool, Listing, read_listing
from host.pool.redial import BROKEN, RedialClock
from host.pool.row_secrets import RowRedactor, row_redactor
from host.pool.rows import ServerRow
from host.pool.server_state import ServerStatus
from host.pool.settings import PoolSettings

if TYPE_CHECKING:
    from host.pool.connection import Connection
    from host.pool.saved_listings import SavedListing


class Entry:
    """One configured server: its row, how it stands, and what it last offered.

    Attributes:
        connection: the one being dialled or used; None at rest.
        previous: the last one before it, which must have ended before a new one is dialled.
        listing: its tools as last known; ``stale`` while nobody can vouch for them.
        has_tasks: calls can be carried out as tasks, as far as is known.
        instructions: what it last told models about itself, without secrets; "" for nothing.
        capabilities: the names of those it last declared.
        failure: why it is not ready; None for no reason.
        words: the last connection's last words on stderr.
        last_used: seconds of the clock, for the idle timeout.
        settled: set while no dial is under way.
        stirred: set, and replaced, when the idle clock must be looked at again.
        is_new: no sync has looked at it yet.
        recalls: it may begin with what was saved of it.
        kept: what is saved of it, as far as is known; None for nothing.
    """

    def __init__(
        self,
        row: ServerRow,
        settings: PoolSettings,
        redactor_of: Callable[[ServerRow], RowRedactor] = row_redactor,
    ) -> None:
        self.row = row
        self.redactor = redactor_of(row)
        self._redactor_of = redactor_of
        self.status: ServerStatus = "idle" if row.enabled else "disabled"
        self.connection: Connection | None = None
        self.previous: Connection | None = None
        self.listing: tuple[ListedTool, ...] = ()
        self.fingerprint: str | None = None
        self.stale = False
        self.has_tasks = True
        self.instructions = ""
        self.capabilities: frozenset[str] = frozenset()
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
        self.recalls = True
        self.kept: SavedListing | None = None
        self._max_description_chars = settings.max_description_chars

    @property
    def id(self) -> str:
        """The row's id."""
        return self.row.id

    @property
    def error(self) -> str:
        """Why it is not ready, and whether it stays so; "" for no reason."""
        why = self.failure.text if self.failure else ""
        return f"{why}; {BROKEN}" if why and self.clock.is_broken else why

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
        self.redactor = self._redactor_of(row)
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

    def recall(self, saved: SavedListing) -> None:
        """Begin with what was saved of the server, in place of the server itself."""
        self.kept = saved
        self.has_tasks = saved.has_tasks
        self.listing = self._read(saved.tools).tools
        self.stale = bool(self.listing)
        self.fingerprint = saved.fingerprint
        self.take_introduction(saved.instructions, saved.capabilities)

    def take_introduction(self, instructions: str | None, capabilities: Iterable[str]) -> None:
        """Keep what the server says of itself, for as long as the entry lives."""
        self.instructions = self.redactor.for_models.redact(instructions or "").strip()
        self.capabilities = frozenset(capabilities)

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
            has_tasks=self.has_tasks,
            redactor=self.redactor.for_models,
        )
