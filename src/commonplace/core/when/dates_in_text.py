"""Days and months that a text names with their year, however they are spelled. Pure.

Never guesses which of two numbers is the month, and never reads a day without its year.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.clock import MONTH_NAMES, period, to_local

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from commonplace.core.values import Interval

_MONTH_NAMES = [name.lower() for name in MONTH_NAMES]
_MONTHS = [name[:3] for name in _MONTH_NAMES]
_ENDINGS = "uary|ruary|ch|il|e|y|ust|t(?:ember)?|ober|ember"
_LONGEST_MONTH = 31
_MONTHS_IN_YEAR = 12
_BEFORE, _BEHIND = 24, 8
"""Characters of a date before its year, at most, and behind it with what must not follow."""
YEAR = re.compile(r"(?:19|20)(?<![0-9]..)[0-9]{2}(?![0-9])", re.DOTALL)  # its rarer part first


def _month(name: str) -> str:
    return rf"(?P<{name}>{'|'.join(_MONTHS)})(?:{_ENDINGS})?\.?"


_DAY = r"[0-3]?[0-9]"
_DATE = re.compile(
    rf"""(?<!\d)(?P<y1>(?:19|20)\d\d)(?P<sep>[-/.])(?P<m1>[01]?\d)(?P=sep)(?P<d1>{_DAY})(?!\d)
    |(?<![\w.-])(?:
    (?P<d2>{_DAY})(?:st|nd|rd|th)?(?:\ of)?\ {_month("m2")},?\ (?P<y2>(?:19|20)\d\d)(?!\d)
    |{_month("m3")}\ (?:the\ )?(?P<d3>{_DAY})(?:st|nd|rd|th)?,?\ (?P<y3>(?:19|20)\d\d)(?!\d)
    |(?P<a>{_DAY})(?P<sep4>[./])(?P<b>{_DAY})(?P=sep4)(?P<y4>(?:19|20)\d\d)(?!\d)
    )""",
    re.IGNORECASE | re.VERBOSE,
)


_MONTH = re.compile(
    rf"""(?<![\w.-])(?:(?P<y1>(?:19|20)\d\d)[-/.](?P<m1>[01]?\d)(?!\d)
    |{_month("m2")},?\ (?P<y2>(?:19|20)\d\d)(?!\d))""",
    re.IGNORECASE | re.VERBOSE,
)


class NamedDay(NamedTuple):
    """A day that a text names, as it is written there, at [start, end)."""

    written: str
    start: int
    end: int
    year: str
    month: int
    day: int

    @property
    def spelled(self) -> str:
        """The one spelling in which it is filed: `20251203`."""
        return f"{self.year}{self.month:02}{self.day:02}"

    @property
    def unsaid(self) -> str:
        """That, and the name of its month where it is not written out."""
        month = _MONTH_NAMES[self.month - 1]
        return self.spelled if month in self.written.lower() else f"{self.spelled} {month}"


def days_named(text: str) -> Iterator[NamedDay]:
    """The days that a text names, in its order.

    >>> [day.spelled for day in days_named("of 2025-12-03, not of Dec. 4th, 2025 or 5/6/2025")]
    ['20251203', '20251204']
    """
    read = 0
    for each in YEAR.finditer(text):
        # Only around years: over a whole text it takes a third of what folding it does.
        first = max(read, each.start() - _BEFORE)
        for found in _DATE.finditer(text, first, each.end() + _BEHIND):
            read = found.end()
            day, month, year = _parts(found)
            if 0 < month <= _MONTHS_IN_YEAR and 0 < day <= _LONGEST_MONTH:
                yield NamedDay(found[0], *found.span(), year, month, day)


class WrittenDate(NamedTuple):
    """A day or a month: the words to search for, and its one spelling (`20251203`, `202512`)."""

    words: str
    spelled: str

    def is_in(self, text: str) -> bool:
        """Whether a text names it; of a month also whether it names a day of it."""
        days = (day.spelled for day in days_named(text))
        return any(x.startswith(self.spelled) for x in days) or self.spelled in _months(text)


def find_written(interval: Interval, zone: tzinfo) -> WrittenDate | None:
    """How a whole local day or month is written; None for any other time."""
    if interval.start is None:
        return None
    first = to_local(interval.start, zone)
    name = MONTH_NAMES[first.month - 1].lower()
    if interval == period(interval.start, "day", zone):
        words = f"{first:%Y-%m-%d} {first.day} {name} {first.year}"
        return WrittenDate(words, f"{first:%Y%m%d}")
    if interval == period(interval.start, "month", zone):
        return WrittenDate(f"{first:%Y-%m} {name} {first.year}", f"{first:%Y%m}")
    return None


def with_days(question: str) -> str:
    """A question as it is searched: with each day in its one spelling as well.

    Of a day in numbers only the year stays beside it: 12 and 03 stand in many texts.

    >>> with_days("the meeting of 2025-12-03")
    'the meeting of 2025 20251203 december'
    """
    parts, last = [], 0
    for day in days_named(question):
        is_named = any(sign.isalpha() for sign in day.written)
        kept = day.written if is_named else day.year
        parts += [question[last : day.start], f"{kept} {day.unsaid}"]
        last = day.end
    return "".join([*parts, question[last:]])


def _months(text: str) -> Iterator[str]:
    """The months that a text names without a day, or before one."""
    for found in _MONTH.finditer(text):
        named = found["m2"]
        month = _MONTHS.index(named[:3].lower()) + 1 if named else int(found["m1"])
        yield f"{found['y1'] or found['y2']}{month:02}"


def _parts(found: re.Match[str]) -> tuple[int, int, str]:
    """Day, month and year; a day of 0 where two numbers may be either."""
    if found["y1"]:
        return int(found["d1"]), int(found["m1"]), found["y1"]
    for n in "23":
        if found[f"y{n}"]:
            month = _MONTHS.index(found[f"m{n}"][:3].lower()) + 1
            return int(found[f"d{n}"]), month, found[f"y{n}"]
    one, other = int(found["a"]), int(found["b"])
    if one > _MONTHS_IN_YEAR or one == other:
        return one, other, found["y4"]
    # By dots the day comes first everywhere.
    if other > _MONTHS_IN_YEAR:
        return other, one, found["y4"]
    return (one, other, found["y4"]) if found["sep4"] == "." else (0, 0, found["y4"])
