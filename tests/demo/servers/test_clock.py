from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from host.demo.servers.clock import MAX_LISTED_ZONES, clock_server
from tests.demo.servers.fleet import answer_of

NOW = datetime(2025, 7, 1, 12, 0, 30, 999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        (
            "current_time",
            {"zone": "Asia/Kolkata"},
            "2025-07-01T17:30:30+05:30 (Tuesday) in Asia/Kolkata",
        ),
        (
            "convert_time",
            {
                "time": "2025-03-10T14:00",
                "from_zone": "America/New_York",
                "to_zone": "Asia/Tokyo",
            },
            (
                "2025-03-10T14:00:00-04:00 (Monday) in America/New_York is "
                "2025-03-11T03:00:00+09:00 (Tuesday) in Asia/Tokyo."
            ),
        ),
        (
            "convert_time",
            {"time": "2025-10-26T02:30", "from_zone": "Europe/Berlin", "to_zone": "UTC"},
            (
                "2025-10-26T02:30:00+02:00 (Sunday) in Europe/Berlin "
                "(the clocks show this time twice; this is the earlier one) "
                "is 2025-10-26T00:30:00+00:00 (Sunday) in UTC."
            ),
        ),
        (
            "zone_offset",
            {"zone": "Europe/Berlin", "at": "2025-07-01T12:00"},
            "Europe/Berlin is at UTC+02:00 (CEST, in daylight saving time) then.",
        ),
        (
            "zone_offset",
            {"zone": "America/Sao_Paulo", "at": "2025-07-01T12:00Z"},
            "America/Sao_Paulo is at UTC-03:00 (not in daylight saving time) then.",
        ),
        ("list_zones", {"prefix": "Asia/Tok"}, "Asia/Tokyo"),
        (
            "days_between",
            {"start": "2025-03-02", "end": "2025-03-01"},
            "From 2025-03-02 (Sunday) to 2025-03-01 (Saturday): -1 day.",
        ),
        (
            "add_days",
            {"start": "2024-02-28", "days": 2},
            "2 days after 2024-02-28 (Wednesday) is 2024-03-01 (Friday).",
        ),
        (
            "add_days",
            {"start": "2024-03-01", "days": -1},
            "1 day before 2024-03-01 (Friday) is 2024-02-29 (Thursday).",
        ),
    ],
)
async def test_the_clock_answers(tool: str, arguments: dict[str, Any], expected: str) -> None:
    server = clock_server(now=lambda: NOW)
    assert await answer_of(server, tool, **arguments) == (expected, False)


async def test_the_clock_goes_by_the_real_time() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    text, _ = await answer_of(clock_server(), "current_time", zone="UTC")
    assert before <= datetime.fromisoformat(text.split()[0]) <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("tool", "arguments", "hint"),
    [
        ("current_time", {"zone": "Tokyo"}, "did you mean Asia/Tokyo?"),
        ("convert_time", {"time": "9am", "from_zone": "UTC", "to_zone": "UTC"}, "write it as"),
        ("zone_offset", {"zone": "UTC", "at": "now"}, "write it as"),
        ("list_zones", {"prefix": "Tokyo"}, "did you mean Asia/Tokyo?"),
        ("add_days", {"start": "2025-01-01", "days": 1.5}, "(integer)"),
        ("add_days", {"start": "2025-01-01", "days": 10**12}, "years 1 to 9999"),
    ],
)
async def test_the_clock_refuses(tool: str, arguments: dict[str, Any], hint: str) -> None:
    text, is_error = await answer_of(clock_server(), tool, **arguments)
    assert is_error
    assert hint in text


async def test_a_long_list_of_zones_is_cut_and_says_how_much_is_missing() -> None:
    text, _ = await answer_of(clock_server(), "list_zones", prefix="")
    lines = text.splitlines()
    assert len(lines) == MAX_LISTED_ZONES + 1
    assert "more: give a longer prefix." in lines[-1]
