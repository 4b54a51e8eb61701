"""How a thing went over time in the log: how often it was done, and the numbers said with it.

Counts what was written and nothing else: no model is asked, and no number is guessed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.clock import period, periods_in
from commonplace.core.text import STOP_WORDS
from commonplace.core.values import Interval
from commonplace.core.when.phrases import parse_when
from commonplace.journals.chronicle.times import from_instant
from commonplace.services.chronicle.question import read_question
from commonplace.services.times import naming

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Level
    from commonplace.services.chronicle.service import ChronicleService

MOST_READ = 2000
"""Entries whose numbers are read, the newest ones."""

_MOST_PARTS = 62
_MOST_UNITS = 12
_LEVELS: tuple[tuple[Level, int], ...] = (("day", 1), ("week", 7), ("month", 28), ("year", 365))

# Neither a date, a time, a version, an address nor part of a name.
_NUMBER = re.compile(
    r"(?<![\w.,:/#-])(?P<sign>[-\u2212]?)"
    r"(?P<number>(?>\d{1,3}(?:,\d{3})+(?![,\d])(?:\.\d+)?|\d{1,15}(?:[.,]\d{1,9})?))"
    r"(?![\d#]|[,:/.-]\d)[ \u00a0]?(?P<unit>%|°?[^\W\d_]{1,20}|[€$£])?"
)


class SaidNumber(Struct, frozen=True, kw_only=True):
    """A number of an entry. unit: the word behind it, in lower case; empty for none."""

    value: float
    unit: str


class FigurePoint(Struct, frozen=True, kw_only=True):
    """A number at the time of its entry."""

    at: datetime
    ref: str
    value: float


class CountedPart(Struct, frozen=True, kw_only=True):
    """A part of a time, and how many entries of it bear the words."""

    interval: Interval
    count: int


class FigureOverTime(Struct, frozen=True, kw_only=True):
    """How a thing went over time.

    Attributes:
        about: The words that each entry bears.
        interval: The time that was asked about; None for all of it.
        count: How many entries bear them.
        level: Of the parts.
        parts: From the first entry to the last, the empty ones too.
        units: What the numbers of these entries are of, the most frequent first, and how often.
        unit: Which of them `points` are of.
        points: Oldest first.
        unread: Entries, the oldest ones, whose numbers were not read.
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
    """The numbers of a text with the word behind each: `ran 5.2 km` has 5.2 of `km`."""
    for found in _NUMBER.finditer(message):
        number = found["number"]
        is_grouped = re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", number) is not None
        value = float(number.replace(",", "" if is_grouped else "."))
        unit = (found["unit"] or "").casefold()
        yield SaidNumber(
            value=-value if found["sign"] else value, unit="" if unit in STOP_WORDS else unit
        )


def figure_over_time(
    service: ChronicleService, about: str, *, when: str = "", unit: str | None = None
) -> FigureOverTime:
    """How often a thing was logged over time, and the numbers that were logged with it.

    Args:
        service: Of the owner's log.
        about: Words or a question, as `find_when` takes them; each entry bears all the words.
        when: A phrase of time; blank for the one in the question, if any.
        unit: What the numbers are of; None for the most frequent.

    Raises:
        Invalid, Unavailable.
    """
    asked = read_question(about, now=service.clock(), zone=service.zone)
    within = asked.within
    if when.strip():
        with naming("when"):
            within = parse_when(when, now=service.clock(), zone=service.zone)
    mentions = service.chronicle.list_mentions(asked.about, within=within)
    level, parts = _counted([from_instant(each.instant) for each in mentions], service.zone)
    newest = [each.ref for each in mentions[:MOST_READ]]
    said = [
        (event, number)
        for event in service.chronicle.read_events(newest).values()
        for number in numbers_in(event.message)
    ]
    units = dict(Counter(number.unit for _, number in said).most_common(_MOST_UNITS))
    chosen = unit if unit is not None else next(iter(sorted(units, key=lambda u: not u)), "")
    points = [
        FigurePoint(at=event.at, ref=event.ref, value=number.value)
        for event, number in sorted(said, key=lambda each: each[0].instant)
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
    """The times as counts of the smallest periods that are not too many to be seen."""
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
