"""Counts how often a thing was logged over time, and reads the numbers that were logged with it.

Counts only what was written: it asks no model and guesses no number.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.clock import period, periods_in
from commonplace.core.stop_words import STOP_WORDS
from commonplace.core.values import Interval
from commonplace.core.when.phrases import parse_when
from commonplace.journals.chronicle.times import from_instant
from commonplace.verbs.chronicle.question import read_question
from commonplace.verbs.times import naming

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Level
    from commonplace.verbs.chronicle.service import ChronicleService

MOST_READ = 2000
"""How many entries are read for numbers at most, the newest ones."""

_MOST_PARTS = 62
_MOST_UNITS = 12
_LEVELS: tuple[tuple[Level, int], ...] = (("day", 1), ("week", 7), ("month", 28), ("year", 365))

# Not part of a date, a time, a version, an address or a name.
_NUMBER = re.compile(
    r"(?<![\w.,:/#-])(?P<sign>[-\u2212]?)"
    r"(?P<number>(?>\d{1,3}(?:,\d{3})+(?![,\d])(?:\.\d+)?|\d{1,15}(?:[.,]\d{1,9})?))"
    r"(?![\d#]|[,:/.-]\d)[ \u00a0]?(?P<unit>%|°?[^\W\d_]{1,20}|[€$£])?"
)


class SaidNumber(Struct, frozen=True, kw_only=True):
    """A number in an entry. unit: the word after it, in lower case; empty for none."""

    value: float
    unit: str


class FigurePoint(Struct, frozen=True, kw_only=True):
    """A number that was logged, at the time of its entry."""

    at: datetime
    ref: str
    value: float


class CountedPart(Struct, frozen=True, kw_only=True):
    """A period, and how many of its entries contain the words."""

    interval: Interval
    count: int


class FigureOverTime(Struct, frozen=True, kw_only=True):
    """How often a thing was logged over time, and the numbers that were logged with it.

    Attributes:
        about: The words that each entry contains.
        interval: The time that was asked about; None for any.
        count: How many entries contain the words.
        level: The length of the parts.
        parts: The periods from the first entry to the last, empty ones too.
        units: The units of the numbers in these entries, the most frequent first, and how often.
        unit: The unit of `points`.
        points: The numbers of that unit, oldest first.
        unread: How many entries, the oldest, were not read for numbers.
    """

    about: str
    interval: Interval | None
    count: int
    level: Level
    parts: Sequence[CountedPart] = ()
    units: Mapping[str, int]
    unit: str
    points: Sequence[FigurePoint] = ()
    unread: int = 0

    @property
    def middle(self) -> float:
        """The median of the points; 0 for none."""
        return median(point.value for point in self.points) if self.points else 0.0


def numbers_in(message: str) -> Iterator[SaidNumber]:
    """The numbers in a text with the word after each: `ran 5.2 km` has 5.2 of `km`."""
    for found in _NUMBER.finditer(message):
        number = found["number"]
        is_grouped = re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", number) is not None
        value = float(number.replace(",", "" if is_grouped else "."))
        unit = (found["unit"] or "").casefold()
        yield SaidNumber(
            value=-value if found["sign"] else value, unit="" if unit in STOP_WORDS else unit
        )


def figure_over_time(
    verbs: ChronicleService, about: str, *, when: str = "", unit: str | None = None
) -> FigureOverTime:
    """How often a thing was logged over time, and the numbers that were logged with it.

    Each entry contains all the words of `about`, a question or words; a blank `when` is the time in
    it, if any, and no `unit` the most frequent one of the numbers. Raises: Invalid, Unavailable.
    """
    asked = read_question(about, now=verbs.clock(), zone=verbs.zone)
    within = asked.within
    if when.strip():
        with naming("when"):
            within = parse_when(when, now=verbs.clock(), zone=verbs.zone)
    mentions = verbs.chronicle.list_mentions(asked.about, within=within)
    level, parts = _counted([from_instant(each.instant) for each in mentions], verbs.zone)
    newest = [each.ref for each in mentions[:MOST_READ]]
    said = [
        (event, number)
        for event in verbs.chronicle.read_events(newest).values()
        for number in numbers_in(event.message)
    ]
    units = dict(Counter(number.unit for _, number in said).most_common(_MOST_UNITS))
    chosen = unit if unit is not None else next(iter(sorted(units, key=lambda u: not u)), "")
    points = [
        FigurePoint(at=event.at, ref=event.ref, value=number.value)
        for event, number in sorted(said, key=lambda each: (each[0].instant, each[0].place))
        if number.unit == chosen
    ]
    return FigureOverTime(
        about=asked.about,
        interval=within,
        count=len(mentions),
        level=level,
        parts=parts,
        units=units,
        unit=chosen,
        points=points,
        unread=len(mentions) - len(newest),
    )


def _counted(newest_first: Sequence[datetime], zone: tzinfo) -> tuple[Level, list[CountedPart]]:
    """How many times there are in each period, of the shortest level with few enough periods."""
    if not newest_first:
        return "day", []
    times = newest_first[::-1]
    days = (times[-1] - times[0]).days + 1
    level: Level = next((name for name, each in _LEVELS if days / each < _MOST_PARTS), "year")
    first, last = period(times[0], level, zone), period(times[-1], level, zone)
    spans = periods_in(Interval(start=first.start, end=last.end), level, zone)
    parts = []
    for span in spans:
        assert span.start is not None
        assert span.end is not None
        count = bisect_left(times, span.end) - bisect_left(times, span.start)
        parts.append(CountedPart(interval=span, count=count))
    return level, parts
