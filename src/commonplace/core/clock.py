"""Instants, local days and periods: time in UTC, as the owner's zone cuts and shows it.

Never asks the process for its zone, and never holds an instant that is not aware UTC.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import TYPE_CHECKING, Literal, TypeAlias

from commonplace.core.errors import Invalid
from commonplace.core.text import opening
from commonplace.core.values import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo

Clock: TypeAlias = "Callable[[], datetime]"
Level: TypeAlias = Literal["hour", "day", "week", "month", "year"]
Unit: TypeAlias = Literal["day", "week", "month", "quarter", "year"]

# They lie beside the zones: what this machine is set to, and clocks and rules that are no place's.
_NO_ZONES = frozenset({"localtime", "posixrules", "Factory", "posix", "right"})
MONTH_NAMES = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_TICK = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FAR_US = 1 << 62
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)

_INSTANT = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})[T ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,30}))?)?"
    r" ?(?:(?P<utc>Z)|(?P<sign>[+-])(?P<off_hour>[0-9]{2})"
    r"(?::?(?P<off_minute>[0-9]{2})(?::?(?P<off_second>[0-9]{2}))?)?)?",
    re.IGNORECASE,
)


def find_zone(name: str) -> tzinfo | None:
    """The zone of an IANA name that a user gave, such as Europe/Berlin; None for any other text."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo("" if name.partition("/")[0] in _NO_ZONES else name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def utc_now() -> datetime:
    """The present instant, aware UTC: the clock of every process that is not handed another."""
    return datetime.now(UTC)


@contextmanager
def within_calendar(what: str) -> Iterator[None]:
    """Turn the calendar's refusals (year 10000, 30 February) into Invalid naming what was asked."""
    try:
        yield
    except (OverflowError, ValueError) as exc:
        raise _no_such_time(what) from exc


def _no_such_time(what: str) -> Invalid:
    return Invalid(
        f"No such time in the calendar: {opening(what, 80)!r}.",
        hint="Use real dates of the years 2 to 9998.",
    )


def micros(at: datetime) -> int:
    """Microseconds since the epoch, negative before it. Raises: Invalid without a time zone."""
    if at.tzinfo is None:
        raise Invalid(f"{at.isoformat()} has no time zone.", hint="Add one, such as Z or +02:00.")
    return (at - _EPOCH) // _TICK


def bounds_us(interval: Interval) -> tuple[int, int]:
    """Both ends in microseconds since the epoch; an open one lies beyond every entry."""
    start, end = interval.start, interval.end
    return -_FAR_US if start is None else micros(start), _FAR_US if end is None else micros(end)


def to_local(at: datetime, zone: tzinfo) -> datetime:
    """The instant as the zone's clocks show it. Raises Invalid beyond the years 1 to 9999."""
    try:  # each hit of an answer asks
        return at.astimezone(zone)
    except (OverflowError, ValueError) as exc:
        raise _no_such_time(at.isoformat()) from exc


def from_local(local: datetime, zone: tzinfo) -> datetime:
    """The instant, aware UTC, at which the zone's clocks show this naive time.

    A time that occurs twice is its first occurrence; one that is skipped is moved forward by the
    length of the gap (02:30 on a spring day in Los Angeles is 03:30). Raises Invalid beyond the
    years 1 to 9999.
    """
    with within_calendar(local.isoformat()):
        return local.replace(tzinfo=zone, fold=0).astimezone(UTC)


def local_date(at: datetime, zone: tzinfo) -> date:
    """The date the zone's calendar shows at the instant; UTC's at the calendar's ends.

    For labels alone: `day_of` says which day an instant belongs to where clocks fall back over
    midnight.
    """
    try:
        return at.astimezone(zone).date()
    except (OverflowError, ValueError):
        return at.date()


def start_of_day(day: date, zone: tzinfo) -> datetime:
    """The first instant, aware UTC, at which the zone's calendar shows this date or a later one.

    That is local midnight, the earlier of two, or where midnight is skipped the instant of the
    change. A skipped date begins where the date after it begins.
    """
    midnight = datetime.combine(day, time())
    late = from_local(midnight, zone)
    if to_local(late, zone).replace(tzinfo=None) == midnight:
        return late
    with within_calendar(day.isoformat()):
        early = midnight.replace(tzinfo=zone, fold=1).astimezone(UTC)
    while late - early > _TICK:
        middle = early + (late - early) // 2
        if to_local(middle, zone).date() < day:
            early = middle
        else:
            late = middle
    return late


def day_of(at: datetime, zone: tzinfo) -> date:
    """The local date whose day, as `start_of_day` cuts it, holds the instant."""
    day = to_local(at, zone).date()
    with within_calendar(day.isoformat()):
        after = day + _DAY
    # Clocks that fall back over midnight show the old date again after the new day has begun.
    return after if start_of_day(after, zone) <= at else day


def day_interval(day: date, zone: tzinfo) -> Interval:
    """A local day, from midnight to midnight: 23, 24 or 25 hours, and empty for a skipped date."""
    with within_calendar(day.isoformat()):
        after = day + _DAY
    return Interval(start=start_of_day(day, zone), end=start_of_day(after, zone))


def days_of(day: date, unit: Unit) -> tuple[date, date]:
    """The first date of the unit that holds the day, and the first after it. Weeks are ISO."""
    with within_calendar(day.isoformat()):
        match unit:
            case "day":
                return day, day + _DAY
            case "week":
                first = day - timedelta(days=day.weekday())
                return first, first + 7 * _DAY
            case "month":
                return day.replace(day=1), add_months(day.replace(day=1), 1)
            case "quarter":
                first = date(day.year, day.month - (day.month - 1) % 3, 1)
                return first, add_months(first, 3)
            case "year":
                return date(day.year, 1, 1), date(day.year + 1, 1, 1)


def add_months(day: date, months: int) -> date:
    """The same day of the month so many months on, or that month's last day where it is shorter."""
    with within_calendar(f"{day.isoformat()} and {months} months"):
        year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
        following = date(year + month // 11, (month + 1) % 12 + 1, 1)
        last = (following - _DAY).day
        return date(year, month + 1, min(day.day, last))


def period(at: datetime, level: Level, zone: tzinfo) -> Interval:
    """The period of a level that holds the instant, cut by the zone.

    Hours are counted from local midnight in elapsed time, so a repeated hour is two periods, and
    the last one of a day of 23.5 or 24.5 hours is half an hour. Raises Invalid at the calendar's
    ends.
    """
    day = day_of(at, zone)
    if level != "hour":
        first, after = days_of(day, level)
        return Interval(start=start_of_day(first, zone), end=start_of_day(after, zone))
    midnight = start_of_day(day, zone)
    start = midnight + (at - midnight) // _HOUR * _HOUR
    with within_calendar(day.isoformat()):
        return Interval(start=start, end=min(start + _HOUR, start_of_day(day + _DAY, zone)))


def periods_in(span: Interval, level: Level, zone: tzinfo) -> Iterator[Interval]:
    """The periods of a level in a period of a larger one, oldest first; a skipped date is none.

    For hours of a day, days of a week or a month, months of a year. Raises: Invalid if it is open.
    """
    if span.start is None or span.end is None:
        raise Invalid("An open span has no end of periods.", hint="Give both sides.")
    at = span.start
    day = day_of(at, zone)
    while at < span.end:
        if level == "hour":
            after = min(at + _HOUR, span.end)
        else:
            day = days_of(day, level)[1]
            after = start_of_day(day, zone)
        if at < after:
            yield Interval(start=at, end=after)
        at = after


def period_key(start: datetime, level: Level, zone: tzinfo) -> str:
    """The name of the period that begins at the instant, once only within a zone.

    `2025-02-04T10`, `2025-02-04`, `2025-W06`, `2025-02` or `2025`. An hour bears the hour that the
    clock shows as it begins; one that occurs a second time ends in `b`.
    """
    day = day_of(start, zone)
    match level:
        case "hour":
            local = to_local(start, zone)
            # The clock showed this time before: `fold` alone says so of an offset's change.
            again = local.fold == 1 and local.replace(fold=0).utcoffset() != local.utcoffset()
            return f"{day.isoformat()}T{local.hour:02d}{'b' if again else ''}"
        case "day":
            return day.isoformat()
        case "week":
            year, week, _ = day.isocalendar()
            return f"{year:04d}-W{week:02d}"
        case "month":
            return day.isoformat()[:7]
        case "year":
            return day.isoformat()[:4]


def find_period_key(text: str, zone: tzinfo) -> tuple[Level, Interval] | None:
    """The period that a name as `period_key` gives it stands for; None for any other text.

    An hour may stand behind a space, and end in `:00`. Raises Invalid for what looks like a name
    and is in no calendar: 30 February, week 54, an hour that the zone skips.
    """
    found = _PERIOD_KEY.fullmatch(text.strip())
    if found is None:
        return None
    level: Level = next(each for each in _NAMED if found[each])
    try:
        if level == "week":
            day = date.fromisocalendar(int(found["year"]), int(found["week"]), 1)
        else:
            day = date(int(found["year"]), int(found["month"] or 1), int(found["day"] or 1))
    except ValueError as exc:
        raise Invalid(
            f"No such time in the calendar: {opening(text.strip(), 80)!r}.",
            hint="Use months from 01 to 12, days that the month has, weeks that the year has.",
        ) from exc
    if level != "hour":
        whole = period(start_of_day(day, zone), level, zone)
        if level == "day" and whole != day_interval(day, zone):
            raise _not_in_calendar(text)  # a date that the zone skips
        return level, whole
    key = f"{day.isoformat()}T{found['hour']}{(found['again'] or '').lower()}"
    for each in periods_in(day_interval(day, zone), "hour", zone):
        if each.start is not None and period_key(each.start, "hour", zone) == key:
            return level, each
    raise _not_in_calendar(text)


def _not_in_calendar(text: str) -> Invalid:
    return Invalid(
        f"No such time in the calendar: {opening(text.strip(), 80)!r}.",
        hint="Name a day and an hour that this zone has.",
    )


_NAMED: tuple[Level, ...] = ("hour", "day", "week", "month", "year")
_PERIOD_KEY = re.compile(
    r"(?P<year>[0-9]{4})"
    r"(?:-?[Ww](?P<week>[0-9]{2})"
    r"|-(?P<month>[0-9]{2})"
    r"(?:-(?P<day>[0-9]{2})(?:[Tt ](?P<hour>[0-9]{2})(?P<again>[bB])?(?::00)?)?)?)?"
)


def parse_instant(text: str, zone: tzinfo) -> datetime:
    """The instant, aware UTC, that an ISO 8601 date and time name.

    With `Z` or an offset it is exact; without, it is the zone's clock, as `from_local` reads it.
    `T` or a space; seconds and fractions may be absent; digits past the microsecond are cut; a leap
    second (`:60`) is the first instant of the next minute. Raises Invalid for anything else, a date
    alone included.
    """
    found = _INSTANT.fullmatch(text.strip())
    if found is None:
        raise _not_an_instant(text)
    second = int(found["second"] or 0)
    leap = second == 60  # noqa: PLR2004  the second that UTC inserts
    micro = 0 if leap else int((found["fraction"] or "0")[:6].ljust(6, "0"))
    try:
        of_day = time(int(found["hour"]), int(found["minute"]), 59 if leap else second, micro)
        local = datetime.combine(date.fromisoformat(found["day"]), of_day)
        offset = _offset(found)
    except ValueError as exc:
        raise _not_an_instant(text) from exc
    at = from_local(local, zone if offset is None else offset)
    with within_calendar(text):
        return at + timedelta(seconds=1) if leap else at


def _offset(found: re.Match[str]) -> timezone | None:
    if found["utc"]:
        return UTC
    if not found["sign"]:
        return None
    # Seconds of an offset are no ISO 8601, yet Python writes them for local mean times.
    hour, minute, second = (int(found[f"off_{name}"] or 0) for name in ("hour", "minute", "second"))
    parts = time(hour, minute, second)
    ahead = timedelta(hours=parts.hour, minutes=parts.minute, seconds=parts.second)
    return timezone(-ahead if found["sign"] == "-" else ahead)


def _not_an_instant(text: str) -> Invalid:
    return Invalid(
        f"Invalid time: {opening(text, 80)!r}.",
        hint="Write a date and a time, such as 2026-11-21T23:19:45Z or 2026-11-21 23:19.",
    )


def render_instant(at: datetime, zone: tzinfo) -> str:
    """The instant on the zone's clock, to the minute: `2026-11-21 23:19`."""
    return to_local(at, zone).replace(tzinfo=None).isoformat(sep=" ", timespec="minutes")


def render_time(at: datetime) -> str:
    """An instant as tables of ours hold it: UTC, of one width, so that texts order as instants."""
    if at.tzinfo is not UTC:
        at = at.astimezone(UTC)
    return at.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def parse_time(text: str) -> datetime:
    """An instant from what `render_time` wrote."""
    return datetime.fromisoformat(text)


def render_date(day: date) -> str:
    """The date in words, in any locale: `7 May 2023`."""
    return f"{day.day} {MONTH_NAMES[day.month - 1]} {day.year}"


def render_interval(interval: Interval, zone: tzinfo) -> str:
    """The interval on the zone's clock, with its offset from UTC to tell a repeated hour apart.

    `2026-11-03 00:00 to 2026-11-04 00:00 (UTC-08:00)`; the offset follows each side where they
    differ; an open side reads `before …` or `after …`, two open sides `any time`. Seconds are shown
    where one side has any.
    """
    sides = [to_local(at, zone) for at in (interval.start, interval.end) if at is not None]
    if not sides:
        return "any time"
    timespec = "seconds" if any(side.second or side.microsecond for side in sides) else "minutes"
    shown = [side.replace(tzinfo=None).isoformat(sep=" ", timespec=timespec) for side in sides]
    offsets = [_render_offset(side) for side in sides]
    if len(sides) == 1:
        return f"{'before' if interval.start is None else 'after'} {shown[0]} ({offsets[0]})"
    if offsets[0] == offsets[1]:
        return f"{shown[0]} to {shown[1]} ({offsets[0]})"
    return f"{shown[0]} ({offsets[0]}) to {shown[1]} ({offsets[1]})"


def _render_offset(local: datetime) -> str:
    plain = local.replace(tzinfo=None).isoformat()
    return f"UTC{local.isoformat()[len(plain) :]}" if local.utcoffset() else "UTC"
