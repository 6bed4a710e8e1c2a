"""The clock: times in time zones, and calendar dates."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime

from mcp.server.lowlevel import Server

from host.demo import zones
from host.demo.servers.bundled import BundledTool, bundled_server
from host.demo.tool_arguments import Parameter

MAX_LISTED_ZONES = 50


def clock_server(now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Server:
    """The clock server; ``now`` is the aware time it goes by."""

    def current_time(zone: str) -> str:
        return _shown(now().astimezone(zones.find_zone(zone)).replace(microsecond=0))

    current = BundledTool(
        name="current_time",
        description="What time it is now in a time zone.",
        parameters=(_zone("zone", "the time zone"),),
        run=current_time,
    )
    instructions = (
        "Times in time zones and calendar dates. Zones are named like Europe/Berlin; "
        "times are written like 2025-03-30T14:00."
    )
    return bundled_server("clock", instructions, (current, *_TOOLS))


def convert_time(time: str, from_zone: str, to_zone: str) -> str:
    """The sentence that says what the clocks of another zone show at that time."""
    source, target = zones.find_zone(from_zone), zones.find_zone(to_zone)
    local = zones.read_local_time(time, source)
    there = zones.in_zone(local.moment, target)
    twice = " (the clocks show this time twice; this is the earlier one)" if local.twice else ""
    return f"{_shown(local.moment)}{twice} is {_shown(there)}."


def zone_offset(zone: str, at: str) -> str:
    """The sentence that says how far a zone is from UTC at a moment."""
    moment = zones.read_instant(at, zones.find_zone(zone))
    saving = "in" if zones.is_daylight_saving(moment) else "not in"
    name = f"{moment.tzname()}, " if (moment.tzname() or "").isalpha() else ""
    offset = zones.offset_text(moment)
    return f"{moment.tzinfo} is at UTC{offset} ({name}{saving} daylight saving time) then."


def list_zones(prefix: str) -> str:
    """The zones that begin with a text, one a line, cut at ``MAX_LISTED_ZONES``."""
    found = zones.zones_beginning(prefix)
    if not found:
        zones.find_zone(prefix)  # names the nearest zones
    more = len(found) - MAX_LISTED_ZONES
    tail = [f"… and {more} more: give a longer prefix."] if more > 0 else []
    return "\n".join(found[:MAX_LISTED_ZONES] + tail)


def days_between(start: str, end: str) -> str:
    """The sentence that says how many days lie between two dates."""
    first, second = zones.read_date(start), zones.read_date(end)
    days = (second - first).days
    return f"From {_day(first)} to {_day(second)}: {days} {'day' if abs(days) == 1 else 'days'}."


def add_days(start: str, days: int) -> str:
    """The sentence that names the date some days later."""
    first = zones.read_date(start)
    direction = "before" if days < 0 else "after"
    count = f"{abs(days)} {'day' if abs(days) == 1 else 'days'}"
    return f"{count} {direction} {_day(first)} is {_day(zones.date_after(first, days))}."


def _zone(name: str, what: str) -> Parameter:
    return Parameter(name=name, type="string", description=f"{what}, for example Europe/Berlin")


def _date(name: str, what: str) -> Parameter:
    return Parameter(name=name, type="string", description=f"{what}, for example 2025-03-30")


_TIME = "date and time, for example 2025-03-30T14:00"
_TOOLS = (
    BundledTool(
        name="convert_time",
        description="Converts a date and time from one time zone to another.",
        parameters=(
            Parameter(name="time", type="string", description=f"{_TIME}, without an offset"),
            _zone("from_zone", "the zone the time is given in"),
            _zone("to_zone", "the zone to convert to"),
        ),
        run=convert_time,
    ),
    BundledTool(
        name="zone_offset",
        description="How far a time zone is from UTC at a given time, and if it is summer time.",
        parameters=(
            _zone("zone", "the time zone"),
            Parameter(name="at", type="string", description=_TIME),
        ),
        run=zone_offset,
    ),
    BundledTool(
        name="list_zones",
        description="Lists time zone names that begin with a text.",
        parameters=(
            Parameter(
                name="prefix", type="string", description="the beginning, for example Europe/"
            ),
        ),
        run=list_zones,
    ),
    BundledTool(
        name="days_between",
        description="Counts the days from one date to another.",
        parameters=(_date("start", "the first date"), _date("end", "the second date")),
        run=days_between,
    ),
    BundledTool(
        name="add_days",
        description="The date some days after a date, with its weekday.",
        parameters=(
            _date("start", "the date to start from"),
            Parameter(
                name="days", type="integer", description="how many days later, negative for earlier"
            ),
        ),
        run=add_days,
    ),
)


def _shown(moment: datetime) -> str:
    return f"{moment.isoformat()} ({zones.weekday(moment)}) in {moment.tzinfo}"


def _day(day: date) -> str:
    return f"{day.isoformat()} ({zones.weekday(day)})"
