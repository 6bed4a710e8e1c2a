"""The default wall clock."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)
