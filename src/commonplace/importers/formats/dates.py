"""Dates as people write them beside their notes: numbers in three orders, English months.

Never decides which of two days a date is: it gives both.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING

from commonplace.core.importer import check_calendar, instant_of
from commonplace.core.text import opening
from commonplace.core.when.days import MONTH, MONTHS, WEEKDAY

if TYPE_CHECKING:
    from datetime import tzinfo

_NUMBERS = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})")
_YEAR_FIRST = re.compile(r"(\d{4})([/.-])(\d{1,2})\2(\d{1,2})")
_DOM = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_NAMED = (
    re.compile(rf"{_DOM}\.? {MONTH}\.?,? (?P<year>\d{{4}})"),
    re.compile(rf"{MONTH}\.? {_DOM},? (?P<year>\d{{4}})"),
)
_WEEKDAY = re.compile(rf"^{WEEKDAY},? ")
_CLOCK = re.compile(
    r"(?P<rest>.*?)(?:,? +(?:at +)?|T)(?P<clock>\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?)"
)
_CLOCK_FORMATS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
_SINCE_1970 = re.compile(r"\d{10}|\d{13}")
_SHOWN = 60


def instants_of(value: str, zone: tzinfo) -> tuple[datetime, datetime]:
    """The instant that a date names, read with the day first and with the month first.

    Both are the same wherever only one of them is a date: `23/11/2026`, `May 3, 2024`. It may have
    a time, and be a link, `[[2026-11-23]]`. Raises: ValueError, with a message for people.
    """
    text = " ".join(value.strip().removeprefix("[[").removesuffix("]]").split())
    if _SINCE_1970.fullmatch(text):
        at = instant_of(int(text))
        return at, at
    try:
        at = instant_of(text, zone)
    except ValueError:
        pass
    else:
        return at, at
    clock = _CLOCK.fullmatch(text)
    days = _days(_WEEKDAY.sub("", (clock["rest"] if clock else text).casefold()))
    hour = _hour(clock["clock"]) if clock else time()
    if not days or hour is None:
        raise ValueError(f"{opening(value, _SHOWN)!r} is not a time")
    ats = [datetime.combine(day, hour, zone) for day in days]
    first, last = (check_calendar(at, value) for at in (ats[0], ats[-1]))
    return first, last


def two_days(value: str, day_first: datetime, month_first: datetime, zone: tzinfo) -> str:
    """A date that may be either of two, in words for people."""
    days = [at.astimezone(zone).date().isoformat() for at in (day_first, month_first)]
    return f"{opening(value, _SHOWN)!r} is {days[0]} or {days[1]}"


def day_of(year: int, month: int, day: int) -> date | None:
    """The day, where the calendar has it."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _days(text: str) -> list[date]:
    """The days that a date may be: with the day first, then with the month first."""
    if found := _NUMBERS.fullmatch(text):
        one, other, year = int(found[1]), int(found[3]), int(found[4])
        readings = [day_of(year, other, one), day_of(year, one, other)]
    elif found := _YEAR_FIRST.fullmatch(text):
        readings = [day_of(int(found[1]), int(found[3]), int(found[4]))]
    elif found := _NAMED[0].fullmatch(text) or _NAMED[1].fullmatch(text):
        readings = [day_of(int(found["year"]), MONTHS[found["month"]], int(found["day"]))]
    else:
        readings = []
    return [day for day in readings if day is not None]


def _hour(clock: str) -> time | None:
    text = re.sub(r" ?([AaPp][Mm])", r" \1", clock)
    for form in _CLOCK_FORMATS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).time()
        except ValueError:
            continue
    return None
