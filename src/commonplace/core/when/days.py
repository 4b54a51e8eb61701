"""The names of one local day (`yesterday`, `two fridays ago`, `nov 3`), and what a reading is.

Knows no clock times and no longer spans (`core.when.spans`); never matches a part of a phrase.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from commonplace.core.clock import day_of, days_of, start_of_day, to_local
from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import tzinfo


class TimeContext(Struct, frozen=True, kw_only=True):
    """From where a phrase is read; no bare name begins after `latest`. Instants are aware UTC.

    Attributes:
        given: Whether the phrase was given as a time, and not found in a text: then a length of
            time (`7d`) counts back from now, and an end may lie ahead.
        is_end: Whether an end is read; only an end may lie ahead.
    """

    now: datetime
    zone: tzinfo
    latest: datetime
    given: bool = False
    is_end: bool = False

    @property
    def today(self) -> date:
        """The owner's date."""
        return day_of(self.now, self.zone)


class Reading(Struct, frozen=True, kw_only=True):
    """The span [start, end) that a phrase names, and what else it can stand for.

    Attributes:
        at: The very instant, where the phrase names one; a bound is then exact.
        edge: What `before` and `after` it mean, where that is neither its start nor its end
            (`before the end of october`).
        day: The date, where it names one local day.
        dated: Whether it names its year, and so may lie ahead of now.
    """

    start: datetime
    end: datetime
    at: datetime | None = None
    edge: datetime | None = None
    day: date | None = None
    dated: bool = False

    @property
    def since(self) -> datetime:
        """Where a range that begins with this phrase begins."""
        return self.at or self.start

    @property
    def until(self) -> datetime:
        """Where a range that ends with this phrase ends: the whole of a day counts."""
        return self.at or self.end

    @property
    def before(self) -> datetime:
        """Where what is before this phrase ends."""
        return self.edge or self.since

    @property
    def after(self) -> datetime:
        """Where what is after this phrase begins."""
        return self.edge or self.until


Reader: TypeAlias = "Callable[[re.Match[str], TimeContext], Reading | None]"
Rules: TypeAlias = "Sequence[tuple[str, Reader]]"
Bounds: TypeAlias = "Callable[[int], tuple[date, date] | None]"

DAY = timedelta(days=1)


def _numbered(lines: str, first: int = 1) -> dict[str, int]:
    """The words between slashes by their number, from `first` on."""
    numbered = enumerate(lines.split("/"), first)
    return {word: number for number, words in numbered for word in words.split()}


_NUMBERS = _numbered("a an one/two/three/four/five/six/seven/eight/nine/ten/eleven/twelve")
WEEKDAYS = _numbered(
    "monday mon/tuesday tues tue/wednesday weds wed/thursday thurs thur thu/friday fri"
    "/saturday sat/sunday sun",
    first=0,
)
MONTHS = _numbered(
    "january jan/february feb/march mar/april apr/may/june jun/july jul/august aug"
    "/september sept sep/october oct/november nov/december dec"
)


def one_of(name: str, words: Iterable[str]) -> str:
    """A pattern that takes one of the words, under a name."""
    return f"(?P<{name}>{'|'.join(words)})"


COUNT = one_of("count", ["[0-9]{1,9}", *_NUMBERS])
WEEKDAY = one_of("weekday", WEEKDAYS)
MONTH = one_of("month", MONTHS)
WHICH = r"(?:(?P<which>last|this) )?"
YEAR = r"(?: (?:of )?(?:(?P<year>[0-9]{4})|(?P<that>last|this) year))?"
_DOM = r"(?:the )?(?P<dom>[0-9]{1,2})(?:st|nd|rd|th)?"


def match_rules(rules: Rules, text: str, context: TimeContext) -> Reading | None:
    """What the first rule says that takes the whole text; None where none does."""
    for pattern, reader in rules:
        found = re.fullmatch(pattern, text)
        reading = reader(found, context) if found else None
        if reading:
            return reading
    return None


def span_of(first: date, after: date, context: TimeContext, *, dated: bool = False) -> Reading:
    """The local days [first, after). Raises Invalid where the zone skipped all of them."""
    start, end = start_of_day(first, context.zone), start_of_day(after, context.zone)
    if start == end:
        raise Invalid(
            f"No such day in {context.zone}: {first.isoformat()}.",
            hint="Name the day before or after; the calendar skipped this one.",
        )
    day = first if after - first == DAY else None
    return Reading(start=start, end=end, day=day, dated=dated)


def one_day(day: date, context: TimeContext, *, dated: bool = False) -> Reading:
    """A local day. Raises Invalid where the zone skipped it."""
    return span_of(day, day + DAY, context, dated=dated)


def lived_day(day: date, context: TimeContext, *, step: int = 1) -> Reading:
    """The day or, where the zone skipped it, the one so many days before."""
    while start_of_day(day, context.zone) == start_of_day(day + DAY, context.zone):
        day -= step * DAY
    return one_day(day, context)


def count_of(found: re.Match[str]) -> int:
    """The number a match counts with. Raises Invalid for 0."""
    word = found["count"]
    number = _NUMBERS.get(word) or int(word)
    if number == 0:
        raise Invalid(f"Time phrase of no length: {found[0]!r}.", hint="Count from 1.")
    return number


def read_named(bounds: Bounds, found: re.Match[str], context: TimeContext) -> Reading | None:
    """Which year's turn of a name is meant; None where no year has it.

    bounds: the first date and the date after, in a given year. The groups say which: `last` the
    latest wholly past, `this` the present year's, a year, or none: the latest begun by
    `context.latest`.
    """
    groups = found.groupdict()
    which, year, that = groups.get("which"), groups.get("year"), groups.get("that")
    if which and (year or that):
        return None
    if year or that or which == "this":
        chosen = bounds(int(year) if year else context.today.year - (that == "last"))
        return span_of(*chosen, context, dated=bool(year)) if chosen else None
    limit = context.now if which else context.latest
    newest = to_local(limit, context.zone).year
    # Nine years hold a 29 February, even around 1900; a year's first ISO week begins before it.
    for candidate in range(newest + 1, newest - 9, -1):
        chosen = bounds(candidate)
        if chosen is None:
            continue
        start, end = (start_of_day(day, context.zone) for day in chosen)
        # A date that the zone skipped has no length and never was.
        if start < end and (end if which else start) <= limit:
            return span_of(*chosen, context)
    return None


_TODAY = {
    "day before yesterday": 2,
    "yesterday": 1,
    "today": 0,
    "tomorrow": -1,
    "day after tomorrow": -2,
}


def _read_today(found: re.Match[str], context: TimeContext) -> Reading:
    back = _TODAY[found[0]]
    return lived_day(context.today - back * DAY, context)


def _read_days_ago(found: re.Match[str], context: TimeContext) -> Reading:
    return lived_day(context.today - count_of(found) * DAY, context)


def _read_weekday(found: re.Match[str], context: TimeContext) -> Reading:
    number = WEEKDAYS[found["weekday"]]
    which = found["which"]
    if which == "this":
        return one_day(days_of(context.today, "week")[0] + number * DAY, context)
    base = context.today - DAY if which else day_of(context.latest, context.zone)
    return lived_day(base - (base.weekday() - number) % 7 * DAY, context, step=7)


def _read_weekday_of_week(found: re.Match[str], context: TimeContext) -> Reading:
    weeks = {"this": 0, "next": 1}.get(found["back"], -1)
    week = days_of(context.today + weeks * 7 * DAY, "week")
    return one_day(week[0] + WEEKDAYS[found["weekday"]] * DAY, context)


def _read_weekdays_ago(found: re.Match[str], context: TimeContext) -> Reading:
    base = context.today - DAY
    nearest = base - (base.weekday() - WEEKDAYS[found["weekday"]]) % 7 * DAY
    return lived_day(nearest - (count_of(found) - 1) * 7 * DAY, context, step=7)


def _read_iso_day(found: re.Match[str], context: TimeContext) -> Reading:
    return one_day(date.fromisoformat(found[0]), context, dated=True)


def _read_iso_weekday(found: re.Match[str], context: TimeContext) -> Reading:
    year, week, day = int(found["year"]), int(found["week"]), int(found["day"])
    return one_day(date.fromisocalendar(year, week, day), context, dated=True)


def days_in_month(year: int, month: int) -> int:
    """The number of days in a month, as `calendar.monthrange` has it, whose import takes 3 ms."""
    december = 12
    return 31 if month == december else (date(year, month + 1, 1) - DAY).day


def _read_date(found: re.Match[str], context: TimeContext) -> Reading | None:
    month, dom = MONTHS[found["month"]], int(found["dom"])

    def bounds(year: int) -> tuple[date, date] | None:
        if not 1 <= dom <= days_in_month(year, month):
            return None
        return date(year, month, dom), date(year, month, dom) + DAY

    reading = read_named(bounds, found, context)
    if reading is None:
        raise Invalid(f"No such day: {found[0]!r}.", hint="Name a day that its month has.")
    return reading


def _read_weekday_date(found: re.Match[str], context: TimeContext) -> Reading | None:
    reading = match_rules(_DATE_RULES, found["rest"], context)
    if reading and reading.day and reading.day.weekday() != WEEKDAYS[found["weekday"]]:
        raise Invalid(
            f"Not a {found['weekday']}: {reading.day.isoformat()}.",
            hint="Leave the weekday out, or name the year.",
        )
    return reading


_DATE_RULES: Rules = (
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}", _read_iso_day),
    (r"(?P<year>[0-9]{4})-?w(?P<week>[0-9]{2})-(?P<day>[1-7])", _read_iso_weekday),
    (rf"{MONTH} {_DOM}{YEAR}", _read_date),
    (rf"{_DOM}(?: of)? {MONTH}{YEAR}", _read_date),
)
DAY_RULES: Rules = (
    ("|".join(_TODAY), _read_today),
    (rf"{COUNT} ?(?:days?|d) ago", _read_days_ago),
    (rf"{WHICH}{WEEKDAY}", _read_weekday),
    (rf"{COUNT} {WEEKDAY}s? ago", _read_weekdays_ago),
    (rf"{WEEKDAY} (?:of )?(?P<back>last|previous|this|next) week", _read_weekday_of_week),
    (rf"(?P<back>last|previous|this|next) week (?:on )?{WEEKDAY}", _read_weekday_of_week),
    *_DATE_RULES,
    (rf"{WEEKDAY} (?P<rest>.+)", _read_weekday_date),
)
