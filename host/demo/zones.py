"""Time zones: what a clock shows where and when, by the rules of the tz database."""

from __future__ import annotations

import functools
import zoneinfo
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from host.demo.refusal import Refused, nearest, shown, unknown

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTime:
    """A moment as given in a zone; ``twice`` when that zone's clocks show this time twice."""

    moment: datetime
    twice: bool


@functools.cache
def zone_names() -> tuple[str, ...]:
    """The names of all zones, sorted."""
    return tuple(sorted(zoneinfo.available_timezones()))


def find_zone(name: str) -> ZoneInfo:
    """The zone of that name; letter case and spaces for underscores are forgiven.

    Raises:
        Refused: there is none; the nearest names are in the text.
    """
    wanted = _as_zone_name(name)
    for known in zone_names():
        if known.casefold() == wanted:
            return ZoneInfo(known)
    remedy = "give a name such as Europe/Berlin, Asia/Tokyo or UTC, or look with list_zones"
    raise unknown("time zone", name, nearest(wanted, zone_names()), remedy)


def zones_beginning(prefix: str) -> list[str]:
    """The zone names that begin with a text, letter case ignored, sorted."""
    wanted = _as_zone_name(prefix)
    return [name for name in zone_names() if name.casefold().startswith(wanted)]


def read_local_time(text: str, zone: tzinfo) -> LocalTime:
    """A date and time on the clocks of a zone: ``2025-03-30T14:00``, seconds optional.

    An offset or ``Z`` in the text is accepted where it is the zone's own at that time; without
    one, a time that the clocks show twice is the earlier of the two.

    Raises:
        Refused: it cannot be read, the zone's clocks skip that time, or the offset is another.
    """
    given = _read_datetime(text)
    local = given.replace(tzinfo=zone)
    if given.tzinfo is not None:
        moment = in_zone(given, zone)
        if moment.replace(tzinfo=None) != given.replace(tzinfo=None):
            raise Refused(
                f"The offset in {shown(text)} is not that of {zone} then "
                f"({offset_text(moment)}): leave it out."
            )
        return LocalTime(moment=moment, twice=_is_twice(local))
    if in_zone(in_zone(local, UTC), zone).replace(tzinfo=None) != given:
        raise Refused(f"{shown(text)} does not exist in {zone}: its clocks skip that time.")
    return LocalTime(moment=local, twice=_is_twice(local))


def read_instant(text: str, zone: tzinfo) -> datetime:
    """A moment, in the zone: given with an offset or ``Z``, or else on the zone's own clocks.

    Raises:
        Refused: it cannot be read, or the zone's clocks skip that time.
    """
    given = _read_datetime(text)
    return in_zone(given, zone) if given.tzinfo else read_local_time(text, zone).moment


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """The same moment on the clocks of a zone.

    Raises:
        Refused: it is outside the years 1 to 9999 there.
    """
    try:
        return moment.astimezone(zone)
    except OverflowError:
        raise _out_of_range() from None


def offset_text(moment: datetime) -> str:
    """The offset from UTC at that moment: ``+05:30``."""
    return moment.isoformat()[len(moment.replace(tzinfo=None).isoformat()) :]


def is_daylight_saving(moment: datetime) -> bool:
    """Whether the zone's clocks are put forward at that moment."""
    return bool(moment.dst())


def read_date(text: str) -> date:
    """A calendar date: ``2025-03-30``.

    Raises:
        Refused: it cannot be read.
    """
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise Refused(f"{shown(text)} is not a date: write it as 2025-03-30.") from None


def date_after(start: date, days: int) -> date:
    """The date that many days later; earlier when negative.

    Raises:
        Refused: it is outside the years 1 to 9999.
    """
    try:
        return start + timedelta(days=days)
    except OverflowError:
        raise _out_of_range() from None


def weekday(day: date) -> str:
    """The English name of the day of the week."""
    return WEEKDAYS[day.weekday()]


def _as_zone_name(text: str) -> str:
    return "_".join(text.split()).casefold()


def _is_twice(local: datetime) -> bool:
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()


def _read_datetime(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise Refused(
            f"{shown(text)} is not a date with a time: write it as 2025-03-30T14:00."
        ) from None


def _out_of_range() -> Refused:
    return Refused("The result must lie in the years 1 to 9999.")
