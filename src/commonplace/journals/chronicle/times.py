"""Owns how chronicle writes instants: every spelling its versions left behind, and the one of now.

Never loses a nanosecond: an instant is a whole number of them until it becomes an Event's time.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

from commonplace.core.clock import within_calendar
from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from datetime import tzinfo

SECOND_NS = 1_000_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LATEST_S = 253_402_300_799  # the last second of the year 9999
_WIDEST_OFFSET_S = 86_400
_EARLIEST_S = -62_135_596_800  # the first of the year 1
# SQLite's CURRENT_TIMESTAMP, RFC 3339, and what Go's time.String() prints, whose ` m=+0.01` is the
# reading of a process's own clock.
_SPELLING = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[ Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:[.,]([0-9]{1,30}))?"
    r"(?: ?(?:([Zz])|([+-])([0-9]{2}):?([0-9]{2}))(?: [A-Za-z0-9+:-]{1,32})?)?"
    r"(?: m=[+-][0-9.]{1,40})?"
)


def parse_timestamp(text: str) -> int:
    """The nanoseconds since 1970 that a timestamp names; without an offset it is UTC.

    Digits past the nanosecond are cut. Raises Invalid.
    """
    found = _SPELLING.fullmatch(text)
    if found is None:
        raise Invalid("A timestamp is in none of chronicle's formats.")
    year, month, day, hour, minute, second = (int(x) for x in found.groups()[:6])
    fraction, _, sign, ahead_h, ahead_m = found.groups()[6:]
    try:
        at = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as exc:
        raise Invalid("A timestamp names no date and time of the calendar.") from exc
    seconds = (at - _EPOCH) // timedelta(seconds=1)
    if sign:
        ahead = int(ahead_h) * 3600 + int(ahead_m) * 60
        if ahead > _WIDEST_OFFSET_S:
            raise Invalid("A timestamp has an offset of more than a day.")
        seconds -= -ahead if sign == "-" else ahead
    if not _EARLIEST_S <= seconds <= _LATEST_S:
        raise Invalid("A timestamp lies outside the calendar.")
    return seconds * SECOND_NS + int((fraction or "0")[:9].ljust(9, "0"))


def instant_of(seconds: object, nanosecond: object) -> int | None:
    """The nanoseconds that the two instant columns name; None where they name none."""
    if not isinstance(seconds, int) or not _EARLIEST_S <= seconds <= _LATEST_S:
        return None
    nanos = nanosecond if isinstance(nanosecond, int) and 0 <= nanosecond < SECOND_NS else 0
    return seconds * SECOND_NS + nanos


def to_instant(at: datetime) -> int:
    """The nanoseconds since 1970 of an aware time; exact. Raises Invalid for a naive one."""
    if at.utcoffset() is None:
        raise Invalid(f"Invalid at: {at} has no zone.", hint="Add one, such as Z or +02:00.")
    if at.tzinfo is not UTC:
        with within_calendar(at.isoformat()):
            at = at.astimezone(UTC)
    return (at - _EPOCH) // _MICROSECOND * 1000


def from_instant(instant: int) -> datetime:
    """The aware UTC time of so many nanoseconds; what is less than a microsecond is cut."""
    return _EPOCH + timedelta(microseconds=instant // 1000)


def columns_of(instant: int) -> tuple[int, int]:
    """The two instant columns: seconds since 1970, and nanoseconds of that second."""
    return divmod(instant, SECOND_NS)


def local_of(instant: int, zone: tzinfo) -> datetime:
    """The instant on the zone's clock, in microseconds; on UTC's where the zone's calendar ends."""
    at = from_instant(instant)
    try:
        return at.astimezone(zone)
    except (OverflowError, ValueError):
        return at


def render_local(instant: int, zone: tzinfo) -> str:
    """As chronicle stores it: `2026-09-01 09:30:00.123456789 -0500 CDT`, the fraction trimmed."""
    local = local_of(instant, zone)
    fraction = _fraction(instant)
    offset = _offset(local)
    return f"{_whole(local, ' ')}{fraction} {offset} {_abbreviation(local, offset)}"


def render_created(instant: int) -> str:
    """When an entry was written down, as SQLite's CURRENT_TIMESTAMP renders it."""
    return f"{from_instant(instant):%Y-%m-%d %H:%M:%S}"


def parse_created(text: str) -> int | None:
    """What `render_created` renders, or another program in its place; None for no time."""
    with suppress(Invalid):
        return parse_timestamp(text)
    return None


def render_utc(instant: int) -> str:
    """As chronicle's Markdown files hold it: `2026-09-01T14:30:00.123456789Z`."""
    return f"{_whole(from_instant(instant), 'T')}{_fraction(instant)}Z"


def _whole(at: datetime, between: str) -> str:
    # strftime leaves out the zeros of a year before 1000 on some systems.
    return at.isoformat(between, "seconds")[: len("2026-09-01T09:30:00")]


def _fraction(instant: int) -> str:
    return f".{instant % SECOND_NS:09d}".rstrip("0").rstrip(".")


def _offset(local: datetime) -> str:
    # Minutes are all that the format has: local mean times lose their seconds, as in the original.
    minutes = int((local.utcoffset() or timedelta()).total_seconds() / 60)
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02d}{rest:02d}"


def _abbreviation(local: datetime, offset: str) -> str:
    name = local.tzname() or ""
    plain = name and not isinstance(local.tzinfo, timezone) and " " not in name
    if name == "UTC" or plain:
        return name
    # Go's spelling of a zone without a name.
    return offset[:3] if offset.endswith("00") else offset
