"""How a day or a month is written inside a text: entries that name it are not of it. Pure.

Knows dates with their year alone; never guesses which of two numbers is the month.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.clock import period, to_local
from commonplace.core.when.days import MONTHS

if TYPE_CHECKING:
    from datetime import tzinfo

    from commonplace.core.values import Interval

_MONTHS_IN_YEAR = 12
YEAR = re.compile(r"[0-9]{4}")


class WrittenDate(Struct, frozen=True, kw_only=True):
    """What to search for, and what a text must hold to name the day or the month."""

    words: str
    form: re.Pattern[str]


def find_written(interval: Interval, zone: tzinfo) -> WrittenDate | None:
    """How a whole local day or month is written; None for any other time."""
    if interval.start is None:
        return None
    first = to_local(interval.start, zone)
    year, month, day = first.year, first.month, first.day
    names = sorted((x for x, number in MONTHS.items() if number == month), key=len, reverse=True)
    name, called = names[0], rf"(?:{'|'.join(names)})\.?"
    if interval == period(interval.start, "day", zone):
        number = rf"0?{day}(?:st|nd|rd|th)?"
        forms = [
            rf"{year}[-/.]0?{month}[-/.]0?{day}(?!\d)",
            rf"{number}(?: of)? {called},? {year}(?!\d)",
            rf"{called} (?:the )?{number},? {year}(?!\d)",
            rf"0?{day}\.0?{month}\.{year}(?!\d)",  # by dots the day comes first everywhere
        ]
        if day > _MONTHS_IN_YEAR or day == month:  # else it may be another day
            forms.append(rf"0?{day}/0?{month}/{year}(?!\d)")
            forms.append(rf"0?{month}[./]0?{day}[./]{year}(?!\d)")
        words = f"{first:%Y-%m-%d} {day} {name} {year}"
    elif interval == period(interval.start, "month", zone):
        forms = [
            rf"{year}[-/.]0?{month}(?!\d)",
            rf"{called}(?: \d\d?(?:st|nd|rd|th)?)?,? {year}(?!\d)",
        ]
        words = f"{first:%Y-%m} {name} {year}"
    else:
        return None
    return WrittenDate(
        words=words, form=re.compile(rf"(?<![\w.-])(?:{'|'.join(forms)})", re.IGNORECASE)
    )
