"""In which era the servers of a pool spoke, so that the next dial need not ask. No I/O.

By digest of the connection: another row that reaches the same server profits as well.
"""

from __future__ import annotations

from host.pool.attempts import Attempt, KnownEra, first_attempt
from host.pool.fingerprint import connection_digest
from host.pool.rows import ServerRow, StdioServerRow


class EraMemory:
    """What was learnt of servers whose rows leave the era to them."""

    def __init__(self) -> None:
        self._dumb: set[str] = set()  # they took the probe for the newer era badly
        self._known: dict[str, KnownEra] = {}

    def recall(self, row: ServerRow, era: KnownEra) -> None:
        """Take over what was learnt in another pool."""
        self._known[connection_digest(row)] = era

    def first_attempt(self, row: ServerRow, connect_seconds: float) -> Attempt:
        """How to dial first; what was known counts once, unless it proves right."""
        digest = connection_digest(row)
        return first_attempt(
            row,
            is_legacy=digest in self._dumb,
            connect_seconds=connect_seconds,
            known=self._known.pop(digest, None),
        )

    def spoke(self, row: ServerRow, attempt: Attempt, era: KnownEra) -> KnownEra | None:
        """Take note of a dial that succeeded; what is known from now on, None for nothing.

        Args:
            row: one that leaves the era to its server.
            era: what was negotiated, or not negotiated because it was known.
        """
        digest = connection_digest(row)
        if attempt.mode == "legacy" and attempt.known is None:
            self._dumb.add(digest)
        if attempt.sse:
            return None  # the newer transport would be tried in the same era, and in vain
        self._known[digest] = attempt.known if attempt.known == era else era
        return self._known[digest]

    def failed(self, row: ServerRow, attempt: Attempt) -> None:
        """Take note of an attempt after which there was no other."""
        if attempt.mode == "legacy":
            self._dumb.discard(connection_digest(row))

    def fell_silent(self, row: ServerRow) -> None:
        """Take note of a dial whose time was up.

        A child that went dumb at the probe and one that is slow look alike: take turns.
        """
        if row.era == "auto" and isinstance(row, StdioServerRow):
            self._dumb ^= {connection_digest(row)}

    def forget(self, row: ServerRow) -> None:
        """The server does not speak as it was taken to."""
        self._known.pop(connection_digest(row), None)
