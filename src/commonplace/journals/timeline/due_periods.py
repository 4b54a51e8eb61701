"""Owns which zone cuts an owner's periods, and which periods a change makes due.

Never rolls up: a mark is written in the transaction of its change, and removed with the rollup's.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from commonplace.core.clock import find_zone, parse_time, period, periods_in, render_time
from commonplace.core.errors import Invalid
from commonplace.core.text import opening
from commonplace.core.values import Interval
from commonplace.journals.timeline.entry import LEVELS, check_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Level
    from commonplace.journals.timeline.ports import TimelineRows

MADE_FROM: Mapping[Level, Level | None] = {
    "hour": None,
    "day": "hour",
    "week": "day",
    "month": "day",
    "year": "month",
}
"""What each level is made from; None: raw entries. Weeks do not nest in months, nor in years."""

GRACE: Mapping[Level, timedelta] = {
    "hour": timedelta(),
    "day": timedelta(minutes=5),
    "week": timedelta(minutes=10),
    "month": timedelta(minutes=15),
    "year": timedelta(minutes=60),
}
"""How long after its end a period becomes due: :00, 00:05, Monday 00:10, the 1st 00:15, 1 January
01:00, as the design has it. Larger ones wait longer, so that what they are made from is there."""


class PeriodSpan(Struct, frozen=True, kw_only=True):
    """A period of a level, as one zone cuts it."""

    level: Level
    start: datetime
    end: datetime
    zone_name: str

    @property
    def number(self) -> int:
        """Its level's number."""
        return LEVELS.index(self.level) + 1

    @property
    def interval(self) -> Interval:
        """From its start to its end."""
        return Interval(start=self.start, end=self.end)

    @property
    def zone(self) -> tzinfo:
        """The zone that cuts it."""
        return ZoneInfo(self.zone_name)

    @property
    def row(self) -> dict[str, Any]:
        """It as `dirty` has it."""
        return {
            "tz": self.zone_name,
            "level": self.number,
            "period_start": render_time(self.start),
            "period_end": render_time(self.end),
        }


class Zones(Struct, frozen=True):
    """The zone that cuts an owner's periods now, and the names of those that did before."""

    current: tzinfo
    others: tuple[str, ...]


class DuePeriod(Struct, frozen=True):
    """A period that must be rolled up, and since which change.

    Attributes:
        seen: The last one known.
    """

    span: PeriodSpan
    mark: int
    seen: int


def zone_name(zone: tzinfo) -> str:
    """A zone's name for good; UTC for one that has none."""
    return getattr(zone, "key", None) or "UTC"


def check_zone(name: str) -> None:
    """Refuse a zone that there is not. Raises: Invalid."""
    if find_zone(name) is None:
        raise Invalid(
            f"Unknown time zone: {opening(name, 60)!r}.",
            hint="Use an IANA name such as Europe/Berlin.",
        )


def span_at(at: datetime, level: Level, zone: tzinfo) -> PeriodSpan:
    """The period that holds an instant. Raises: Invalid at the calendar's ends."""
    found = period(check_time(at), level, zone)
    assert found.start is not None
    assert found.end is not None
    return PeriodSpan(level=level, start=found.start, end=found.end, zone_name=zone_name(zone))


def larger_levels(level: Level | None) -> tuple[Level, ...]:
    """The levels that are made from one; from raw entries: hours."""
    return tuple(each for each, smaller in MADE_FROM.items() if smaller == level)


def smaller_of(span: PeriodSpan) -> tuple[PeriodSpan, ...]:
    """The periods that one is made from, oldest first; none for an hour."""
    smaller = MADE_FROM[span.level]
    parts = periods_in(span.interval, smaller, span.zone) if smaller else ()
    return tuple(
        PeriodSpan(level=smaller, start=x.start, end=x.end, zone_name=span.zone_name)
        for x in parts
        if smaller is not None and x.start is not None and x.end is not None
    )


def bounds(now: datetime, grace: timedelta) -> dict[str, str]:
    """When the periods of each level must have ended to be due now. grace: what more of it."""
    return {level: render_time(now - grace - GRACE[level]) for level in LEVELS}


def is_open(span: PeriodSpan, now: datetime, grace: timedelta) -> bool:
    """Whether a period goes on, or its late entries may still come."""
    return now < span.end + GRACE[span.level] + grace


class PeriodsAt(Struct, frozen=True, kw_only=True):
    """The periods that hold an hour, that hour first.

    Attributes:
        row: All of them as `mark_all` takes them.
    """

    spans: tuple[PeriodSpan, ...]
    hour: PeriodSpan
    row: dict[str, Any]
    zone_name: str


class DuePeriods:
    """Marks periods as due; remembers the last hour's, for most entries follow one another.

    Args:
        zone: Of the process that opened the file; the zone that the owner has set comes before it.

    Attributes:
        first_zone: What becomes the owner's own zone with the next write, where they have none.
    """

    def __init__(self, owner: str, zone: tzinfo) -> None:
        self._owner = owner
        self._zone = zone
        self._last: PeriodsAt | None = None
        self.first_zone = ""

    def zone(self, conn: TimelineRows | None) -> tzinfo:
        """The zone that cuts the owner's periods now."""
        name = "" if conn is None else conn.run("state").fetchone()[1]
        return ZoneInfo(name) if name else self._zone

    def zones(self, conn: TimelineRows, now: datetime) -> Zones:
        """All zones that matter to a write; the one of now has begun a series afterwards."""
        rows = conn.run("zones").fetchall()
        kept = rows[0][0]
        if not kept and self.first_zone:
            kept = self.first_zone
            conn.run("set_zone", {"zone": kept})
        zone = ZoneInfo(kept) if kept else self._zone
        own = zone_name(zone)
        names = [tz for _, tz in rows if tz]
        if own not in names:
            self.begin(conn, own, now)
        return Zones(zone, tuple(name for name in names if name != own))

    def spans(self, at: datetime, zone: tzinfo) -> tuple[PeriodSpan, ...]:
        """The period of each level that holds an instant, the hour first."""
        return self.periods(at, zone).spans

    def mark(self, conn: TimelineRows, at: datetime, *, change: int, now: datetime) -> None:
        """Every period that holds the instant must be rolled up, in the owner's zone now.

        In a zone that is the owner's no longer: those alone that were, and are shown.
        """
        zones = self.zones(conn, now)
        conn.run("mark_all", {**self.periods(at, zones.current).row, "mark": change})
        self._mark_others(conn, at, change, zones)

    def mark_new(
        self, conn: TimelineRows, instants: Iterable[datetime], *, change: int, zones: Zones
    ) -> None:
        """The same for new entries, with the last change of their transaction; see `unmark`."""
        hours: dict[datetime, dict[str, Any]] = {}
        for at in instants:
            periods = self.periods(at, zones.current)
            hours[periods.hour.start] = periods.row
            self._mark_others(conn, at, change, zones)
        for row in hours.values():
            conn.run("mark_new", {**row, "mark": change})

    def _mark_others(self, conn: TimelineRows, at: datetime, change: int, zones: Zones) -> None:
        for name in zones.others:
            for level in LEVELS:
                row = span_at(at, level, ZoneInfo(name)).row
                made = {**row, "mark": change, "thread_id": self._owner}
                conn.run("mark_made", made)

    def mark_spans(self, conn: TimelineRows, spans: Iterable[PeriodSpan], *, change: int) -> None:
        """These periods must be rolled up."""
        conn.run_each("mark_dirty", ({**x.row, "mark": change} for x in spans))

    def above(self, span: PeriodSpan) -> tuple[PeriodSpan, ...]:
        """The periods that are made from one."""
        return tuple(span_at(span.start, level, span.zone) for level in larger_levels(span.level))

    def after(self, conn: TimelineRows, at: datetime, now: datetime) -> Iterator[dict[str, Any]]:
        """The periods after those that hold an instant, as queries name them, in every zone."""
        zones = self.zones(conn, now)
        for zone in (zones.current, *map(ZoneInfo, zones.others)):
            for span in self.periods(at, zone).spans:
                yield {
                    "thread_id": self._owner,
                    "level": span.number,
                    "start": render_time(span.end),
                    "tz": span.zone_name,
                }

    def suffix(self, conn: TimelineRows, name: str) -> str:
        """What ids of a zone's series end in: nothing for the first zone there was."""
        for tz, number in conn.run("list_series").fetchall():
            if tz == name:
                return name if number else ""
        return ""

    def begin(self, conn: TimelineRows, name: str, now: datetime) -> None:
        """Have a zone in the list of those that cut periods."""
        known = conn.run("list_series").fetchall()
        if name not in {tz for tz, _ in known}:
            facts = {"tz": name, "since": render_time(now), "tzdata": _tzdata()}
            conn.run("add_series", facts)

    def periods(self, at: datetime, zone: tzinfo) -> PeriodsAt:
        """The period of each level that holds an instant.

        Those of the instant before are kept where they hold this one too: without it an add takes
        1.8 ms more, of 4.5 at 100,000 entries.
        """
        # Read and replaced as a whole: threads need no lock to see one or the other.
        last, name = self._last, zone_name(zone)
        if last is not None and last.zone_name != name:
            last = None
        if last is not None and last.hour.start <= at < last.hour.end:
            return last
        held = {x.level: x for x in (last.spans if last else ()) if x.interval.holds(at)}
        spans = tuple(held.get(level) or span_at(at, level, zone) for level in LEVELS)
        row = {"tz": name}
        for span in spans:
            row[span.level] = render_time(span.start)
            row[f"{span.level}_end"] = render_time(span.end)
        found = self._last = PeriodsAt(spans=spans, hour=spans[0], row=row, zone_name=name)
        return found


def note_change(conn: TimelineRows, seq: int) -> int:
    """Note in the log that an entry changed or went, or with 0 that another journal's did.

    Returns:
        The number of the change, which marks what it makes due.
    """
    return conn.run("change", {"entry": seq}).lastrowid or 0


def span_of_row(tz: str, level: int, start: str, end: str) -> PeriodSpan:
    """A period from what `dirty` holds of it."""
    return PeriodSpan(
        level=LEVELS[level - 1], start=parse_time(start), end=parse_time(end), zone_name=tz
    )


def _tzdata() -> str:
    """The version of the zones' rules, where it is known."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tzdata")
    except PackageNotFoundError:
        return ""
