"""In which order a row is dialled: eras, and the older transport. No I/O.

A server that takes the probe for the newer era badly (it exits, or stays mute) is dialled once
more in the era of sessions (sdk.md §1). One whose era is known from an earlier dial is spared the
probe, and probed after all if that does not do any more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from host.pool.rows import HttpServerRow, ServerRow

PROBE_SECONDS = 20.0
"""How long a child gets to answer while it may be dumb to the probe; half the time, if more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownEra:
    """In which era a server spoke when it was last asked.

    Attributes:
        mode: ``legacy``, or the version of a newer era.
        discovered: what a server of a newer era said of itself, as on the wire.
        asked_at: when it was asked, aware; two that differ in nothing else are equal.
    """

    mode: str
    discovered: Mapping[str, Any] | None = field(default=None, repr=False)
    asked_at: datetime = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One way to dial.

    Attributes:
        mode: what the SDK's client calls the era.
        sse: over the older HTTP transport.
        seconds: after which it is given up for the next one.
        known: the era was not asked for, but is this one from an earlier dial; None otherwise.
    """

    mode: str
    sse: bool = False
    seconds: float = math.inf
    known: KnownEra | None = None

    @property
    def discovered(self) -> Mapping[str, Any] | None:
        """What the server said of itself earlier; None where it is to be asked."""
        return self.known.discovered if self.known else None


def first_attempt(
    row: ServerRow,
    *,
    is_legacy: bool,
    connect_seconds: float,
    known: KnownEra | None = None,
) -> Attempt:
    """How to dial first.

    Args:
        is_legacy: the connection is known to take the probe badly.
        connect_seconds: for the whole dial; infinite for no limit.
        known: from an earlier dial; None for nothing.
    """
    if row.era != "auto":
        return Attempt(mode=row.era)
    if is_legacy:
        return Attempt(mode="legacy")
    half = 0 if math.isinf(connect_seconds) else connect_seconds / 2
    seconds = max(half, PROBE_SECONDS)
    if known is not None:
        return Attempt(mode=known.mode, seconds=seconds, known=known)
    if isinstance(row, HttpServerRow):
        return Attempt(mode="auto")
    return Attempt(mode="auto", seconds=seconds)


def next_attempt(
    row: ServerRow,
    failed: Attempt,
    *,
    status: int | None,
    is_closed: bool,
    is_unreachable: bool = False,
) -> Attempt | None:
    """How to dial after an attempt that failed; None when there is no other way.

    Args:
        status: of the HTTP answer that refused it; None for none.
        is_closed: the server closed the connection.
        is_unreachable: there was no server to speak to, in whatever era.
    """
    if failed.known is not None:
        return None if is_unreachable else Attempt(mode="auto")
    if isinstance(row, HttpServerRow):
        is_refused = status is not None and 400 <= status < 500
        if row.transport_fallback == "sse" and is_refused and not failed.sse:
            return replace(failed, sse=True)
    elif failed.mode == "auto" and is_closed:
        return Attempt(mode="legacy")
    return None


def after_silence(failed: Attempt) -> Attempt:
    """How to dial after an attempt whose time was up before that of the dial."""
    return Attempt(mode="legacy" if failed.known is None else "auto")
