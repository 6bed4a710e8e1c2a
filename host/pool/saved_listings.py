"""What a server offered when it was last up: the record, its text, and what must not be in it.

A host that starts offers these tools without having started a server. Source: pool spec §12.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from host.pool.attempts import KnownEra
from host.pool.fingerprint import tools_fingerprint
from host.pool.tool_redaction import redacted_value
from host.text.json_text import compact_json, parse_json_strict
from host.text.redaction import Redactor

MARK = "agent-host listing 1"
"""How the text of a record begins; a later form has another number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedListing:
    """A server's tools and what else spares asking it; two are equal whenever they were saved.

    Attributes:
        connection: digest of what decides which server a row reaches.
        tools: as on the wire, mended.
        fingerprint: digest of the tools.
        instructions: what the server tells models about itself.
        capabilities: as it declared them.
        has_tasks: whether it carries out calls as tasks.
        era: in which it speaks; None to ask it.
        saved_at: when this was known, aware.
    """

    connection: str
    tools: tuple[Mapping[str, Any], ...] = field(repr=False)
    fingerprint: str
    instructions: str | None = field(default=None, repr=False)
    capabilities: Mapping[str, Any] = field(default_factory=dict, repr=False)
    has_tasks: bool = True
    era: KnownEra | None = None
    saved_at: datetime = field(compare=False)


class ToolsCache(Protocol):
    """Keeps listings from one start to the next; its methods may be ``async``.

    What they raise is told once and costs no more than the listing.
    """

    def load(
        self, server_id: str, connection: str, /
    ) -> SavedListing | Awaitable[SavedListing | None] | None:
        """The listing saved last for this connection, by its digest; None for none."""
        ...

    def save(self, server_id: str, listing: SavedListing, /) -> Awaitable[None] | None:
        """Keeps the listing in place of the one before it."""
        ...


def redacted_listing(listing: SavedListing, redactor: Redactor) -> SavedListing:
    """The listing with no secret in what describes; the same one if there was none.

    Raises:
        NamesSecret: a name, a choice or the like holds one.
    """
    tools = tuple(redacted_value(tool, redactor) for tool in listing.tools)
    era = listing.era
    if era is not None and era.discovered is not None:
        era = replace(era, discovered=redacted_value(era.discovered, redactor))
    redacted = replace(
        listing,
        tools=tools,
        instructions=listing.instructions and redactor.redact(listing.instructions),
        capabilities=redacted_value(listing.capabilities, redactor),
        era=era,
    )
    if redacted == listing:
        return listing
    return replace(redacted, fingerprint=tools_fingerprint(tools))


def saved_listing_text(listing: SavedListing) -> bytes:
    """The record as bytes: a line with a sum of the rest, then JSON.

    Raises:
        ValueError: it cannot be written as JSON.
    """
    body = _body(listing).encode()
    return _first_line(body) + body


def read_saved_listing(text: bytes) -> SavedListing:
    """The record of bytes that ``saved_listing_text`` made.

    Raises:
        ValueError: they are of another make, or damaged.
    """
    first_line, _, body = text.partition(b"\n")
    if not first_line.startswith(MARK.encode()):
        raise ValueError("it is not of this program's making")
    if first_line + b"\n" != _first_line(body):
        raise ValueError("it is damaged")
    kept = parse_json_strict(body.decode())
    try:
        era = kept["era"]
        return SavedListing(
            connection=kept["connection"],
            tools=tuple(kept["tools"]),
            fingerprint=kept["fingerprint"],
            instructions=kept["instructions"],
            capabilities=kept["capabilities"],
            has_tasks=kept["hasTasks"],
            era=era
            and KnownEra(
                mode=era["mode"],
                discovered=era["discovered"],
                asked_at=datetime.fromisoformat(era["askedAt"]),
            ),
            saved_at=datetime.fromisoformat(kept["savedAt"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError("it is damaged") from error


def _body(listing: SavedListing) -> str:
    era = listing.era
    return compact_json(
        {
            "connection": listing.connection,
            "savedAt": listing.saved_at.isoformat(),
            "era": era
            and {
                "mode": era.mode,
                "discovered": era.discovered,
                "askedAt": era.asked_at.isoformat(),
            },
            "instructions": listing.instructions,
            "capabilities": listing.capabilities,
            "hasTasks": listing.has_tasks,
            "fingerprint": listing.fingerprint,
            "tools": listing.tools,
        }
    )


def _first_line(body: bytes) -> bytes:
    return f"{MARK} {zlib.crc32(body):08x}\n".encode()
