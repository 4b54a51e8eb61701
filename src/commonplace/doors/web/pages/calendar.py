"""Calendar: a year, month, week, day or hour, with its summary, and the way to each entry."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.core.clock import (
    day_of,
    find_period_key,
    period_key,
    periods_in,
    start_of_day,
    to_local,
    within_calendar,
)
from commonplace.core.clock import period as period_at
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.text import opening
from commonplace.core.values import Filter, Interval
from commonplace.doors.web.charts import heat_of
from commonplace.doors.web.visit import Redirect, WebPage
from commonplace.journals.timeline.entry import find_rollup_key, names_of
from commonplace.verbs.timeline.lines import figures_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date, datetime, tzinfo

    from commonplace.core.clock import Level
    from commonplace.doors.web.visit import Visit

LISTED = 100
"""Entries of a day or an hour that are listed; the rest a page further."""

MOST_LINES = 400
"""Lines of the way down from a period; where there would be more it ends higher up."""

MOST_WAIT_S = 0.05
"""How long a page waits for summaries that are due; what takes longer is made behind it."""

MOST_STEPS = 4
"""How many levels below a period are shown at most: four lead from a year to its hours' entries."""

STEPS: Mapping[Level, Level] = {"year": "month", "month": "day", "week": "day", "day": "hour"}
"""What each level is divided into."""

_TICK = timedelta(microseconds=1)
_NAMED = 8


class Cell(Struct, frozen=True, kw_only=True):
    """A part of a period: its key, what it is called, its entries, how many that is among others.

    Args:
        heat: 0 for none, to 4 for as many as the fullest part has.
    """

    key: str
    name: str
    count: int
    heat: int


def today(visit: Visit) -> Redirect:
    """The month that goes on; or the day of a date that was typed."""
    typed = visit.value("on")
    if typed:
        return Redirect(to=visit.url("period", key=typed))
    return Redirect(to=visit.url("period", key=period_key(visit.now, "month", visit.zone)))


def period(visit: Visit) -> WebPage:
    """One period."""
    zone, key = visit.zone, visit.parts["key"]
    if (found := find_period_key(key, zone)) is None:
        raise Invalid(
            f"No such time: {opening(key, 60)!r}.",
            hint="Use 2026, 2026-11, 2026-W47, 2026-11-23 or 2026-11-23T10.",
        )
    level, interval = found
    assert interval.start is not None and interval.end is not None  # noqa: PT018  a period has both
    key = period_key(interval.start, level, zone)
    journals = visit.journals()
    service = visit.app.recall.service()
    within = service.written(Filter(journals=journals))
    step = STEPS.get(level, level)
    is_listed = step == "hour"  # of a day or of an hour
    start = visit.number("start", most=100_000) if is_listed else 0
    cells = _count_cells(visit, list(periods_in(interval, step, zone)), step, within)
    values: dict[str, Any] = {
        "current": "calendar",
        "key": key,
        "level": level,
        "name": name_of(interval, level, zone),
        "before": _before(interval.start, level, zone),
        "after": _named(interval.end, level, zone),
        "above": _above(interval, level, zone),
        "journals": [each.name for each in visit.app.journals],
        "chosen": journals,
        "total": sum(cell.count for cell in cells),
        "cells": cells,
        "weeks": _weeks(visit, interval, cells) if level == "month" else None,
        "listed": service.list_in(interval, within=within, limit=LISTED, start=start)
        if is_listed
        else None,
        "start": start,
        "size": LISTED,
        "summary": _summary(visit, level, key),
        "catches_up": visit.app.timeline.service().rolls_up,
    }
    return WebPage(template="calendar.html", title=values["name"], values=values)


def name_of(interval: Interval, level: Level, zone: tzinfo) -> str:
    """A period as people say it: `November 2026`, `Week 47 of 2026`, `Mon 23 Nov 2026`."""
    assert interval.start is not None
    day = day_of(interval.start, zone)
    match level:
        case "year":
            return f"{day.year}"
        case "month":
            return f"{day:%B} {day.year}"
        case "week":
            year, week, _ = day.isocalendar()
            return f"Week {week} of {year}"
        case "day":
            return f"{day:%A}, {day.day} {day:%B} {day.year}"
        case "hour":
            local = to_local(interval.start, zone)
            return f"{day:%a} {day.day} {day:%b} {day.year}, {local:%H:%M}"


def _count_cells(
    visit: Visit, parts: Sequence[Interval], level: Level, within: Filter
) -> list[Cell]:
    """Parts of a time with the number of their entries."""
    counts = visit.app.recall.service().count_in(parts, within=within)
    most = max(counts, default=0)
    return [
        Cell(
            key=period_key(each.start, level, visit.zone),
            name=name_of(each, level, visit.zone),
            count=count,
            heat=heat_of(count, most),
        )
        for each, count in zip(parts, counts, strict=True)
        if each.start is not None
    ]


def _weeks(
    visit: Visit, month: Interval, cells: Sequence[Cell]
) -> list[tuple[str, list[Cell | None]]]:
    """The days of a month as rows of a calendar: the key of each week, then Monday to Sunday."""
    assert month.start is not None
    first: date = day_of(month.start, visit.zone)
    days: list[Cell | None] = [None] * first.weekday() + [*cells]
    days += [None] * (-len(days) % 7)
    rows = []
    for row in range(0, len(days), 7):
        monday = first + timedelta(days=row - first.weekday())
        key = period_key(start_of_day(monday, visit.zone), "week", visit.zone)
        rows.append((key, days[row : row + 7]))
    return rows


def _above(interval: Interval, level: Level, zone: tzinfo) -> list[tuple[str, str]]:
    """What a period lies in, the widest first: its key and its name."""
    assert interval.start is not None
    wider: Mapping[Level, tuple[Level, ...]] = {
        "hour": ("year", "month", "week", "day"),
        "day": ("year", "month", "week"),
        "week": ("year", "month"),
        "month": ("year",),
    }
    found = []
    for each in wider.get(level, ()):
        span = period_at(interval.start, each, zone)
        assert span.start is not None
        found.append(_named(span.start, each, zone))
    return found


def _named(at: datetime, level: Level, zone: tzinfo) -> tuple[str, str]:
    """The key and the name of the period that a time lies in."""
    return period_key(at, level, zone), name_of(period_at(at, level, zone), level, zone)


def _before(start: datetime, level: Level, zone: tzinfo) -> tuple[str, str] | None:
    """The key and the name of the period before; None where the calendar begins."""
    try:
        with within_calendar(start.isoformat()):
            return _named(start - _TICK, level, zone)
    except Invalid:
        return None


def link_to_summary(visit: Visit, ref: str) -> tuple[str, str]:
    """Where the summary with a ref is shown, and what people call it.

    One of a former time zone has no page in this calendar: that of its entry stands in.
    """
    name = ref.partition(":")[2]
    found = None if "@" in name else find_period_key(find_rollup_key(name), visit.zone)
    if found is None:
        return visit.url("entry", ref=ref), ref
    level, interval = found
    assert interval.start is not None
    key, called = _named(interval.start, level, visit.zone)
    return visit.url("period", key=key) + "#summary", called


def _summary(visit: Visit, level: Level, key: str) -> Mapping[str, Any] | None:
    """What the timeline says of a period, what it was made from and what it went into."""
    app = visit.app
    if not app.timeline.journal.exists:
        return None
    steps = max(visit.number("steps", most=MOST_STEPS), 1)
    app.timeline.catching_up.begin(key, wait_s=MOST_WAIT_S)
    try:
        shown = app.timeline_commands().show_stored(key, depth=steps, most_lines=MOST_LINES)
    except CommonplaceError as exc:
        return {"problem": str(exc)}
    if shown is None:
        return None
    rollup = shown.rollup
    facts = {} if rollup is None else rollup.metadata
    is_whole = shown.depth == steps
    return {
        "problem": "",
        "state": shown.node.state,
        "is_behind": shown.node.is_behind,
        "figures": visit.shown(" ".join(figures_lines(rollup))) if rollup else "",
        "text": "" if rollup is None else visit.shown(rollup.content),
        "ref": "" if rollup is None or rollup.partial else rollup.ref,
        "at": None if rollup is None else rollup.updated,
        "down": shown.node.down,
        "above": [link_to_summary(visit, ref) for ref in shown.above],
        "feed": app.settings.timeline.feed,
        "name_of": lambda node: name_of(Interval(start=node.at), node.level, visit.zone),
        "steps": shown.depth,
        "is_cut": shown.node.is_cut,
        "may_go_down": shown.node.is_cut and is_whole and steps < MOST_STEPS and level != "hour",
        "projects": [visit.shown(name) for name in names_of(facts, "projects")[:_NAMED]],
        "tags": [visit.shown(name) for name in names_of(facts, "tags")[:_NAMED]],
    }
