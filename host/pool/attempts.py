"""In which order a row is dialled: eras, and the older transport. No I/O.

A server that takes the probe for the newer era badly (it exits, or stays mute) is dialled once
more in the era of sessions (sdk.md §1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from host.pool.rows import HttpServerRow, ServerRow

PROBE_SECONDS = 20.0
"""How long a child gets to answer while it may be dumb to the probe; half the time, if more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One way to dial.

    Attributes:
        mode: what the SDK's client calls the era.
        sse: over the older HTTP transport.
        seconds: after which it is given up for the next one.
    """

    mode: str
    sse: bool = False
    seconds: float = math.inf


def first_attempt(row: ServerRow, *, is_legacy: bool, connect_seconds: float) -> Attempt:
    """How to dial first.

    Args:
        is_legacy: the connection is known to take the probe badly.
        connect_seconds: for the whole dial; infinite for no limit.
    """
    if row.era != "auto":
        return Attempt(mode=row.era)
    if is_legacy:
        return Attempt(mode="legacy")
    if isinstance(row, HttpServerRow):
        return Attempt(mode="auto")
    half = 0 if math.isinf(connect_seconds) else connect_seconds / 2
    return Attempt(mode="auto", seconds=max(half, PROBE_SECONDS))


def next_attempt(
    row: ServerRow, failed: Attempt, *, status: int | None, is_closed: bool
) -> Attempt | None:
    """How to dial after an attempt that failed; None when there is no other way.

    Args:
        status: of the HTTP answer that refused it; None for none.
        is_closed: the server closed the connection.
    """
    if isinstance(row, HttpServerRow):
        is_refused = status is not None and 400 <= status < 500
        if row.transport_fallback == "sse" and is_refused and not failed.sse:
            return replace(failed, sse=True)
    elif failed.mode == "auto" and is_closed:
        return Attempt(mode="legacy")
    return None
