"""The names of feasts (`christmas`, `around easter 2024`, `over thanksgiving`), each of one day.

Knows no other names; never matches a part of a phrase.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from commonplace.core.when.days import (
    DAY,
    WHICH,
    YEAR,
    Reading,
    Rules,
    TimeContext,
    read_named,
    span_of,
)

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

_AROUND = 7


def _easter(year: int) -> date:
    """Easter Sunday of the western churches.

    Source: the anonymous Gregorian algorithm (Meeus, Astronomical Algorithms, chapter 8).
    """
    century, rest = divmod(year, 100)
    leap_centuries, century_rest = divmod(century, 4)
    correction = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * (year % 19) + century - leap_centuries - correction + 15) % 30
    weekday = (32 + 2 * century_rest + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (year % 19 + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def _thanksgiving(year: int) -> date:
    """The fourth Thursday of November, as in the United States."""
    first = date(year, 11, 1)
    return first + ((3 - first.weekday()) % 7 + 21) * DAY


# The day in a year, and how many days before and after it belong to `over` it.
_FEASTS: dict[str, tuple[Callable[[int], date], int, int]] = {
    "(?:christmas|xmas) eve": (lambda year: date(year, 12, 24), 1, 1),
    "(?:christmas|xmas)(?: day)?": (lambda year: date(year, 12, 25), 1, 1),
    "easter(?: sunday)?": (_easter, 2, 1),
    "new years? eve": (lambda year: date(year, 12, 31), 1, 1),
    "new years?(?: day)?": (lambda year: date(year, 1, 1), 1, 1),
    "thanksgiving(?: day)?": (_thanksgiving, 0, 3),
    "halloween": (lambda year: date(year, 10, 31), 1, 1),
    "valentines?(?: day)?": (lambda year: date(year, 2, 14), 1, 1),
}
FEAST = f"(?:{'|'.join(_FEASTS)})"
"""A pattern that takes the name of any of them."""


def _rule(name: str) -> tuple[str, Callable[[re.Match[str], TimeContext], Reading | None]]:
    of_year, before, after = _FEASTS[name]

    def bounds(year: int) -> tuple[date, date]:
        day = of_year(year)
        return day, day + DAY

    def read(found: re.Match[str], context: TimeContext) -> Reading | None:
        reading = read_named(bounds, found, context)
        if reading is None or reading.day is None or found["near"] is None:
            return reading
        back, on = (_AROUND, _AROUND) if found["near"] == "around" else (before, after)
        first, last = reading.day - back * DAY, reading.day + on * DAY
        return span_of(first, last + DAY, context, dated=reading.dated)

    near = "(?:(?P<near>around|over|during|at) (?:the )?|(?:in|on) )?"
    return rf"{near}{WHICH}{name}{YEAR}", read


FEAST_RULES: Rules = tuple(_rule(name) for name in _FEASTS)
