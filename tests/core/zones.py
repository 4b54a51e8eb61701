"""The zones and odd days that the tests of clock and when share; worked out by hand, never computed."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

LOS_ANGELES = ZoneInfo("America/Los_Angeles")
KATHMANDU = ZoneInfo("Asia/Kathmandu")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
KIRITIMATI = ZoneInfo("Pacific/Kiritimati")
APIA = ZoneInfo("Pacific/Apia")
CAIRO = ZoneInfo("Africa/Cairo")
BEIRUT = ZoneInfo("Asia/Beirut")
HAVANA = ZoneInfo("America/Havana")
ST_JOHNS = ZoneInfo("America/St_Johns")
TORONTO = ZoneInfo("America/Toronto")

ZONES = (UTC, LOS_ANGELES, KATHMANDU, LORD_HOWE, KIRITIMATI, APIA, CAIRO, BEIRUT, HAVANA, ST_JOHNS)


class Day(NamedTuple):
    """A local day: when it begins and ends in UTC, and its length in hours."""

    zone: ZoneInfo
    day: date
    start: datetime
    end: datetime
    hours: float


def _day(zone: ZoneInfo, day: str, start: str, end: str, hours: float) -> Day:
    instants = (datetime.fromisoformat(f"{text}+00:00") for text in (start, end))
    return Day(zone, date.fromisoformat(day), *instants, hours)


# Source of the changes: the tz database (rules US, LH, Egypt, Lebanon, Cuba, StJohns, Toronto; the
# Samoan date line of 2011).
DAYS = (
    _day(UTC, "2026-11-21", "2026-11-21 00:00", "2026-11-22 00:00", 24),
    # 02:00 to 03:00, and 02:00 to 01:00.
    _day(LOS_ANGELES, "2026-03-08", "2026-03-08 08:00", "2026-03-09 07:00", 23),
    _day(LOS_ANGELES, "2026-11-01", "2026-11-01 07:00", "2026-11-02 08:00", 25),
    # +05:45 all year.
    _day(KATHMANDU, "2026-11-21", "2026-11-20 18:15", "2026-11-21 18:15", 24),
    # 02:00 to 02:30, and 02:00 to 01:30: half an hour.
    _day(LORD_HOWE, "2026-10-04", "2026-10-03 13:30", "2026-10-04 13:00", 23.5),
    _day(LORD_HOWE, "2026-04-05", "2026-04-04 13:00", "2026-04-05 13:30", 24.5),
    # +14:00, the first to begin a day.
    _day(KIRITIMATI, "2026-11-21", "2026-11-20 10:00", "2026-11-21 10:00", 24),
    # From -10:00 to +14:00 at the end of the 29th: the 30th never was.
    _day(APIA, "2011-12-29", "2011-12-29 10:00", "2011-12-30 10:00", 24),
    _day(APIA, "2011-12-30", "2011-12-30 10:00", "2011-12-30 10:00", 0),
    _day(APIA, "2011-12-31", "2011-12-30 10:00", "2011-12-31 10:00", 24),
    # 00:00 to 01:00, so that midnight does not exist; 24:00 to 23:00 on the evening before.
    _day(CAIRO, "2026-04-24", "2026-04-23 22:00", "2026-04-24 21:00", 23),
    _day(CAIRO, "2026-10-29", "2026-10-28 21:00", "2026-10-29 22:00", 25),
    _day(BEIRUT, "2026-03-29", "2026-03-28 22:00", "2026-03-29 21:00", 23),
    _day(BEIRUT, "2026-10-24", "2026-10-23 21:00", "2026-10-24 22:00", 25),
    # 00:00 to 01:00, and 01:00 to 00:00, so that midnight occurs twice.
    _day(HAVANA, "2026-03-08", "2026-03-08 05:00", "2026-03-09 04:00", 23),
    _day(HAVANA, "2026-11-01", "2026-11-01 04:00", "2026-11-02 05:00", 25),
    # 00:01 back to 23:01 of the day before; the day has begun by then, and goes on.
    _day(ST_JOHNS, "2006-10-28", "2006-10-28 02:30", "2006-10-29 02:30", 24),
    _day(ST_JOHNS, "2006-10-29", "2006-10-29 02:30", "2006-10-30 03:30", 25),
    # 23:30 to 00:30: the day begins half an hour late.
    _day(TORONTO, "1919-03-31", "1919-03-31 04:30", "1919-04-01 04:00", 23.5),
)

DAY_IDS = [f"{odd.zone}-{odd.day}" for odd in DAYS]
