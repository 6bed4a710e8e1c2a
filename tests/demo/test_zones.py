from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.demo import zones
from host.demo.refusal import Refused

ZONES = st.sampled_from(
    [
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Asia/Kolkata",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "America/St_Johns",
        "Africa/Casablanca",
    ]
)
START = datetime(1950, 1, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 130 * 366 * 24 * 4).map(lambda q: START + timedelta(minutes=15 * q))


@given(MOMENTS, ZONES, ZONES)
def test_a_moment_is_the_same_moment_in_every_zone(moment: datetime, a: str, b: str) -> None:
    there = zones.in_zone(zones.in_zone(moment, ZoneInfo(a)), ZoneInfo(b))
    assert there == moment
    assert zones.in_zone(there, UTC).isoformat() == moment.isoformat()


@given(MOMENTS, ZONES)
def test_what_a_clock_shows_is_read_back_as_that_moment(moment: datetime, name: str) -> None:
    """Inverse: a moment shown on a zone's clocks and read again, unless it is the second of two."""
    zone = ZoneInfo(name)
    shown = zones.in_zone(moment, zone)
    local = zones.read_local_time(shown.replace(tzinfo=None).isoformat(), zone)
    if local.twice and shown.fold:
        assert local.moment.replace(fold=1) == shown
    else:
        assert zones.in_zone(local.moment, UTC) == moment
    with_offset = zones.read_local_time(shown.isoformat(), zone)
    assert zones.in_zone(with_offset.moment, UTC) == moment
    assert zones.read_instant(shown.isoformat(), UTC) == moment


@given(MOMENTS, ZONES)
def test_the_offset_text_is_the_distance_from_utc(moment: datetime, name: str) -> None:
    shown = zones.in_zone(moment, ZoneInfo(name))
    text = zones.offset_text(shown)
    parts = [int(part) for part in text[1:].split(":")]
    distance = timedelta(seconds=sum(n * 60**p for n, p in zip(parts, (2, 1, 0), strict=False)))
    assert shown.utcoffset() == {"+": distance, "-": -distance}[text[0]]


@given(st.dates(), st.integers(-5000, 5000))
def test_a_date_some_days_later_is_that_many_days_away(start: date, days: int) -> None:
    try:
        end = zones.date_after(start, days)
    except Refused:
        assert not 1 <= start.toordinal() + days <= date.max.toordinal()
    else:
        assert (end - start).days == days
        assert zones.WEEKDAYS.index(zones.weekday(end)) == (start.weekday() + days) % 7
        assert zones.read_date(end.isoformat()) == end


def test_a_time_that_the_clocks_skip_is_refused() -> None:
    with pytest.raises(Refused, match="does not exist in Europe/Berlin"):
        zones.read_local_time("2025-03-30T02:30", ZoneInfo("Europe/Berlin"))


def test_a_day_that_a_zone_skipped_is_refused() -> None:
    with pytest.raises(Refused, match="does not exist"):
        zones.read_local_time("2011-12-30T12:00", ZoneInfo("Pacific/Apia"))


def test_a_time_that_the_clocks_show_twice_is_the_earlier_and_said_to_be_so() -> None:
    local = zones.read_local_time("2025-10-26T02:30", ZoneInfo("Europe/Berlin"))
    assert local.twice
    assert zones.offset_text(local.moment) == "+02:00"


def test_an_offset_that_is_not_the_zones_is_refused() -> None:
    with pytest.raises(Refused, match=r"not that of Asia/Tokyo then \(\+09:00\)"):
        zones.read_local_time("2025-03-10T15:00:00Z", ZoneInfo("Asia/Tokyo"))


@pytest.mark.parametrize("text", ["noon", "14:30", "2025-13-01T00:00", "2025-02-30T00:00", ""])
def test_an_unreadable_time_is_refused_with_the_form_to_use(text: str) -> None:
    with pytest.raises(Refused, match="2025-03-30T14:00"):
        zones.read_local_time(text, UTC)


@pytest.mark.parametrize("text", ["tomorrow", "2025-02-30", "30.03.2025", "", "2025-03-30T14:00"])
def test_an_unreadable_date_is_refused_with_the_form_to_use(text: str) -> None:
    with pytest.raises(Refused, match="2025-03-30"):
        zones.read_date(text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00", "9999-12-31T23:59"])
def test_a_time_at_the_edge_of_the_calendar_is_refused_elsewhere(text: str) -> None:
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    zone = ZoneInfo("Asia/Tokyo" if moment.year == 9999 else "America/New_York")
    with pytest.raises(Refused, match="years 1 to 9999"):
        zones.in_zone(moment, zone)


@pytest.mark.parametrize(
    ("typed", "name"),
    [("Europe/Berlin", "Europe/Berlin"), ("america/new york", "America/New_York"), ("utc", "UTC")],
)
def test_a_zone_is_found_whatever_its_letter_case(typed: str, name: str) -> None:
    assert zones.find_zone(typed).key == name


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("Tokyo", "Asia/Tokyo"),
        ("New York", "America/New_York"),
        ("Europe/Berlim", "Europe/Berlin"),
        ("qqqq", "list_zones"),
        ("../../etc/passwd", "There is no time zone"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest_names(typed: str, hint: str) -> None:
    with pytest.raises(Refused, match=hint):
        zones.find_zone(typed)


def test_zones_are_listed_by_their_beginning() -> None:
    found = zones.zones_beginning("europe/b")
    assert "Europe/Berlin" in found
    assert all(name.startswith("Europe/B") for name in found)
    assert zones.zones_beginning("Nowhere/") == []
    assert set(zones.zones_beginning("")) == set(zones.zone_names())


@pytest.mark.parametrize(("month", "saving"), [(1, False), (7, True)])
def test_daylight_saving_is_told(month: int, saving: bool) -> None:
    moment = datetime(2025, month, 1, tzinfo=ZoneInfo("Europe/Berlin"))
    assert zones.is_daylight_saving(moment) is saving
