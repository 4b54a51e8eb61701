"""The names of parts of months and years: `early november`, `second half of 2025`, `nov 1-15`.

Knows no clock times and no ranges of other names; never matches a part of a phrase.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.clock import add_months
from commonplace.core.errors import Invalid
from commonplace.core.when.days import (
    DAY,
    MONTH,
    MONTHS,
    YEAR,
    Reading,
    Rules,
    TimeContext,
    days_in_month,
    one_of,
    read_named,
    span_of,
)

if TYPE_CHECKING:
    import re

# Thirds of a month begin on its days 1, 11 and 21; thirds of a year with January, May, September.
_THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
# Weeks of a month are counted in sevens from the 1st; the last is its last seven days. Quarters of
# a year have the same numbers.
_NTH = {
    word: number
    for number, words in enumerate(("first 1st", "second 2nd", "third 3rd", "fourth 4th"))
    for word in words.split()
}
_LAST = "last"
_FIRST_HALF = ("first", "1st")
# The first half of a month is its days 1 to 15.
_MIDDLE = 15

_THIRD = (
    r"(?:(?P<third>early|mid|late)[ -](?!month|year)"
    r"|(?P<side>beginning|start|middle|end) of (?:the (?=month|year))?)"
)
_WEEK = f"{one_of('nth', [*_NTH, _LAST])} week of (?:the (?=month))?"
_HALF = r"(?P<half>first|1st|second|2nd|last) half of (?:the (?=month|year))?"
_QUARTER = f"{one_of('nth', [*_NTH, _LAST])} quarter"
_OF_NOW = r"(?:(?P<back>last|this) )?"
_FIRST = r"(?:the )?(?P<first>[0-9]{1,2})(?:st|nd|rd|th)?"
_FINAL = r"(?:the )?(?P<final>[0-9]{1,2})(?:st|nd|rd|th)?"
_TO = r"(?: ?- ?| (?:to|until|till|through) )"


def _of_month(first: date, found: re.Match[str]) -> tuple[date, date]:
    """The part [from, to) that a match names of the month that begins on `first`."""
    after = add_months(first, 1)
    groups = found.groupdict()
    if nth := groups.get("nth"):
        begun = after - 7 * DAY if nth == _LAST else first + _NTH[nth] * 7 * DAY
        return begun, begun + 7 * DAY
    if half := groups.get("half"):
        middle = first + _MIDDLE * DAY
        return (first, middle) if half in _FIRST_HALF else (middle, after)
    third = _THIRDS[groups["third"] or groups["side"]]
    begun = first + third * 10 * DAY
    return begun, after if begun.day > 20 else begun + 10 * DAY  # noqa: PLR2004  the last third


def _edged(reading: Reading | None, found: re.Match[str], context: TimeContext) -> Reading | None:
    """The reading, with the very beginning or end that `before` and `after` it mean.

    Raises Invalid for an end that is relative to now and lies ahead: most of it is not yet.
    """
    side = found.groupdict().get("side")
    if reading is None or side in {None, "middle"}:
        return reading
    if side == "end" and not reading.dated and reading.end > context.now:
        raise Invalid(
            f"Time phrase lies ahead: {found[0]!r}.", hint="Name its days, or the year with it."
        )
    return replace(reading, edge=reading.end if side == "end" else reading.start)


def _read_of_month(found: re.Match[str], context: TimeContext) -> Reading | None:
    def bounds(year: int) -> tuple[date, date]:
        return _of_month(date(year, MONTHS[found["month"]], 1), found)

    return _edged(read_named(bounds, found, context), found, context)


def _read_of_this_month(found: re.Match[str], context: TimeContext) -> Reading | None:
    first = add_months(context.today.replace(day=1), -1 if found["back"] == "last" else 0)
    return _edged(span_of(*_of_month(first, found), context), found, context)


def _read_of_year(found: re.Match[str], context: TimeContext) -> Reading | None:
    year = int(found["year"]) if found["year"] else context.today.year - (found["back"] == "last")
    half = found.groupdict().get("half")  # what follows is counted in months
    if half:
        after, length = (0 if half in _FIRST_HALF else 6), 6
    else:
        after, length = 4 * _THIRDS[found["third"] or found["side"]], 4
    begun = add_months(date(year, 1, 1), after)
    end = add_months(begun, length)
    return _edged(span_of(begun, end, context, dated=bool(found["year"])), found, context)


def _read_quarter_of_year(found: re.Match[str], context: TimeContext) -> Reading:
    groups = found.groupdict()
    year_given = groups.get("year")
    year = int(year_given) if year_given else context.today.year - (groups.get("back") == "last")
    number = 3 if found["nth"] == _LAST else _NTH[found["nth"]]
    begun = add_months(date(year, 1, 1), 3 * number)
    return span_of(begun, add_months(begun, 3), context, dated=bool(year_given))


def _read_week(found: re.Match[str], context: TimeContext) -> Reading | None:
    """The ISO week of a number; the latest that has begun, where no year is given."""
    number = int(found["week"])

    def bounds(year: int) -> tuple[date, date] | None:
        if not 1 <= number <= date(year, 12, 28).isocalendar().week:
            return None
        monday = date.fromisocalendar(year, number, 1)
        return monday, monday + 7 * DAY

    reading = read_named(bounds, found, context)
    if reading is None and found["year"]:
        raise Invalid(f"No such week: {found[0]!r}.", hint="Count ISO weeks, from 1 to 52 or 53.")
    return reading


def _read_run(found: re.Match[str], context: TimeContext) -> Reading | None:
    """Days of one month, from the first to the final one."""
    month, first, final = MONTHS[found["month"]], int(found["first"]), int(found["final"])
    if first > final:
        raise Invalid(
            f"Time phrase ends before it begins: {found[0]!r}.", hint="Put the earlier day first."
        )

    def bounds(year: int) -> tuple[date, date] | None:
        if first < 1 or final > days_in_month(year, month):
            return None
        return date(year, month, first), date(year, month, final) + DAY

    return read_named(bounds, found, context)


PART_RULES: Rules = (
    (rf"{_THIRD}{MONTH}{YEAR}", _read_of_month),
    (rf"{_WEEK}{MONTH}{YEAR}", _read_of_month),
    (rf"{_HALF}{MONTH}{YEAR}", _read_of_month),
    (rf"(?:{_THIRD}|{_WEEK}|{_HALF}){_OF_NOW}month", _read_of_this_month),
    (rf"(?:{_THIRD}|{_HALF})(?:{_OF_NOW}year|(?P<year>(?:19|20)[0-9]{{2}}))", _read_of_year),
    (rf"{_QUARTER} of (?:the )?{_OF_NOW}year", _read_quarter_of_year),
    (rf"{_QUARTER}(?: of)? (?P<year>(?:19|20)[0-9]{{2}})", _read_quarter_of_year),
    (rf"week (?P<week>[0-9]{{1,2}}){YEAR}", _read_week),
    (rf"(?:from )?{MONTH} {_FIRST}{_TO}{_FINAL}{YEAR}", _read_run),
    (rf"between {MONTH} {_FIRST} and {_FINAL}{YEAR}", _read_run),
    (rf"(?:from )?{_FIRST}{_TO}{_FINAL}(?: of)? {MONTH}{YEAR}", _read_run),
    (rf"between {_FIRST} and {_FINAL}(?: of)? {MONTH}{YEAR}", _read_run),
)
