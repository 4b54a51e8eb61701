"""Calendar: a year, month, week, day or hour, with its summary, and the way up and down by rows."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, timedelta
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
from commonplace.core.text import counted, opening
from commonplace.core.values import Filter, Interval
from commonplace.doors.web.charts import day_in_full, heatmap, shades
from commonplace.doors.web.render import short_day
from commonplace.doors.web.visit import Redirect, WebPage
from commonplace.journals.timeline.entry import JOURNAL, find_rollup_key, names_of
from commonplace.verbs.timeline.layout import FIGURES, first_sentence, parts_of
from commonplace.verbs.timeline.lines import figures_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Level
    from commonplace.doors.web.visit import Visit
    from commonplace.journals.timeline.period_reader import StoredPeriod
    from commonplace.verbs.recall.service import EntriesOfTime, ListedTime
    from commonplace.verbs.timeline.commands import ShownPeriod

LISTED = 100
"""Entries of a day or an hour that are listed; the rest a page further."""

MOST_WAIT_S = 0.05
"""How long a page waits for summaries that are due; what takes longer is made behind it."""

STEPS: Mapping[Level, Level] = {"year": "month", "month": "day", "week": "day", "day": "hour"}
"""What each level is divided into."""

_TICK = timedelta(microseconds=1)
_NAMED = 8
_SHOWN = 280


class CalendarPart(Struct, frozen=True, kw_only=True):
    """A part of a period, and what names it.

    Attributes:
        name: What it is called, in full.
        short: The same within the period: `Oct`, `Tue 6`, `14:00`.
        count: The entries that are there.
        shade: 0 for none, to 4 for the fullest quarter of the parts.
        text: What its summary says first, or its first entry; empty where it has neither.
        journal: Where that is from.
    """

    key: str
    name: str
    short: str
    count: int
    shade: int
    text: str
    journal: str


class Hour(Struct, frozen=True, kw_only=True):
    """An hour of a day, and those of its entries that are on the page."""

    part: CalendarPart
    hits: Sequence[Any]


def today(visit: Visit) -> Redirect:
    """The month that goes on; or the day of a date that was typed."""
    typed = visit.value("on")
    if typed:
        return Redirect(to=visit.url("period", key=typed))
    return Redirect(to=visit.url("period", key=period_key(visit.now, "month", visit.zone)))


def period(visit: Visit) -> WebPage:
    """One period."""
    zone, key = visit.zone, visit.parts["key"]
    level, interval = _read_key(key, zone)
    assert interval.start is not None and interval.end is not None  # noqa: PT018  a period has both
    key = period_key(interval.start, level, zone)
    journals = visit.journals()
    within = visit.app.recall.service().written(Filter(journals=journals))
    shown, problem = _stored(visit, key)
    stored = {} if shown is None else _by_key(shown.parts, zone)
    # A summary is of all that the timeline covers: it says nothing of some journals alone.
    listed = visit.app.recall.service().listed_in(interval, within=within)
    parts = _parts(visit, level, interval, listed, {} if journals else stored)
    values: dict[str, Any] = {
        "current": "calendar",
        "key": key,
        "level": level,
        "name": name_of(interval, level, zone),
        "before": _before(interval.start, level, zone),
        "after": _beside(interval.end, level, zone),
        "above": [
            (visit.url("period", key=wider, journal=journals), called)
            for wider, called in _above(interval, level, zone)
        ],
        "journals": [each.name for each in visit.app.journals],
        "chosen": journals,
        "total": sum(part.count for part in parts),
        "goes_on": interval.end > visit.now,
        "weeks": _weeks(visit, interval, parts) if level == "month" else None,
        "chart": _year(visit, interval, listed) if level == "year" else "",
        "parts": [part for part in reversed(parts) if part.count or part.text],
        "summary": {"problem": problem} if problem else _summary(visit, shown, STEPS.get(level)),
        "catches_up": visit.app.timeline.service().rolls_up,
        **_listed(visit, level, interval, within, parts),
    }
    return WebPage(template="calendar.html", title=values["name"], values=values)


def _read_key(key: str, zone: tzinfo) -> tuple[Level, Interval]:
    """The period of a key. Raises: Invalid."""
    if (found := find_period_key(key, zone)) is None:
        raise Invalid(
            f"No such time: {opening(key, 60)!r}.",
            hint="Use 2026, 2026-11, 2026-W47, 2026-11-23 or 2026-11-23T10.",
        )
    return found


def _listed(
    visit: Visit, level: Level, interval: Interval, within: Filter, parts: Sequence[CalendarPart]
) -> dict[str, Any]:
    """The entries of a day by their hours, newest first, or of an hour."""
    if level not in ("day", "hour"):
        return {"listed": None, "hours": ()}
    start = visit.number("start", most=100_000)
    listed = visit.app.recall.service().list_in(interval, within=within, limit=LISTED, start=start)
    return {
        "listed": listed,
        "start": start,
        "size": LISTED,
        "hours": _hours(visit, parts, listed) if level == "day" else (),
        "quiet": sum(not part.count for part in parts),
    }


def _hours(visit: Visit, parts: Sequence[CalendarPart], listed: EntriesOfTime) -> list[Hour]:
    """The hours of a day that have an entry on the page, the last one first."""
    hits: dict[str, list[Any]] = {}
    for hit in listed.hits:
        hits.setdefault(period_key(hit.doc.at, "hour", visit.zone), []).append(hit)
    by_key = {part.key: part for part in parts}
    return [Hour(part=by_key[key], hits=of_hour) for key, of_hour in hits.items() if key in by_key]


def name_of(interval: Interval, level: Level, zone: tzinfo) -> str:
    """A period as people say it: `November 2026`, `Week 47 of 2026`, `Monday, 23 November 2026`."""
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
            return day_in_full(day)
        case "hour":
            local = to_local(interval.start, zone)
            return f"{day:%a} {day.day} {day:%b} {day.year}, {local:%H:%M}"


def _parts(
    visit: Visit,
    level: Level,
    interval: Interval,
    listed: ListedTime,
    stored: Mapping[str, StoredPeriod],
) -> list[CalendarPart]:
    """What a period is divided into, oldest first; an hour is one part.

    A month is named by its summary, once that is up to date; a day by its first entry.
    """
    step, zone = STEPS.get(level, level), visit.zone
    spans = [*periods_in(interval, step, zone)]
    found = listed.parts(spans)
    parts = []
    for span, each, shade in zip(spans, found, shades([x.count for x in found]), strict=True):
        assert span.start is not None
        key = period_key(span.start, step, zone)
        summary = stored.get(key) if step == "month" or each.first is None else None
        sentence = "" if summary is None else _sentence(visit, summary, only_fresh=bool(each.count))
        text = "" if each.first is None else visit.shown_opening(each.first.own_text, _SHOWN)
        parts.append(
            CalendarPart(
                key=key,
                name=name_of(span, step, zone),
                short=_short(span.start, step, zone),
                count=each.count,
                shade=shade,
                text=sentence or text,
                journal=JOURNAL if sentence or each.first is None else each.first.journal,
            )
        )
    return parts


def _sentence(visit: Visit, summary: StoredPeriod, *, only_fresh: bool) -> str:
    """What a summary says first; empty where it has none, or only an older one."""
    if summary.rollup is None or (only_fresh and summary.state != "fresh"):
        return ""
    return visit.shown(first_sentence(summary.rollup.content))


def _short(start: datetime, level: Level, zone: tzinfo) -> str:
    """What a part is called within its period."""
    local = to_local(start, zone)
    match level:
        case "month":
            return f"{local:%b}"
        case "day":
            return f"{local:%a} {local.day}"
        case _:
            return f"{local:%H:%M}"


def _year(visit: Visit, year: Interval, listed: ListedTime) -> Any:
    """The days of a year as a chart, whose columns are weeks."""
    counts = listed.counts([*periods_in(year, "day", visit.zone)])
    assert year.start is not None
    return heatmap(day_of(year.start, visit.zone), counts, visit.url("period", key=""))


def _weeks(
    visit: Visit, month: Interval, parts: Sequence[CalendarPart]
) -> list[tuple[str, list[CalendarPart | None]]]:
    """The days of a month as rows of a calendar: the key of each week, then Monday to Sunday."""
    assert month.start is not None
    first: date = day_of(month.start, visit.zone)
    days: list[CalendarPart | None] = [None] * first.weekday() + [*parts]
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


def _beside(at: datetime, level: Level, zone: tzinfo) -> tuple[str, str]:
    """The key of a period beside another, and what it is called from there: `Tue 24 Nov`."""
    key, name = _named(at, level, zone)
    local = to_local(at, zone)
    if level == "hour":
        return key, f"{local:%a %H}:00"
    return key, f"{local:%a} {local.day} {local:%b}" if level == "day" else name


def _before(start: datetime, level: Level, zone: tzinfo) -> tuple[str, str] | None:
    """The key and the name of the period before; None where the calendar begins."""
    try:
        with within_calendar(start.isoformat()):
            return _beside(start - _TICK, level, zone)
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


def _stored(visit: Visit, key: str) -> tuple[ShownPeriod | None, str]:
    """What the timeline has of a period, once what is due is made or begun; and what is wrong."""
    if not visit.app.timeline.journal.exists:
        return None, ""
    visit.app.timeline.catching_up.begin(key, wait_s=MOST_WAIT_S)
    try:
        return visit.app.timeline_commands().show_stored(key), ""
    except CommonplaceError as exc:
        return None, str(exc)


def _by_key(parts: Sequence[StoredPeriod], zone: tzinfo) -> dict[str, StoredPeriod]:
    return {period_key(each.span.start, each.span.level, zone): each for each in parts}


def _summary(
    visit: Visit, shown: ShownPeriod | None, step: Level | None
) -> Mapping[str, Any] | None:
    """What the timeline says of a period: sentences, and how far it is up to date."""
    if shown is None:
        return None
    rollup, state = shown.rollup, shown.period.state
    facts = {} if rollup is None else rollup.metadata
    text = "" if rollup is None else visit.shown(rollup.content)
    parts = parts_of(text)
    figures = [
        f"{FIGURES}: {x.text}" for part in parts if part.heading == FIGURES for x in part.lines
    ]
    due = sum(each.is_behind for each in shown.parts)
    return {
        "problem": "",
        "state": state,
        "is_behind": shown.period.is_behind or bool(due),
        "due": counted(due, step, f"{step}s") if due and step else "",
        "figures": figures or [visit.shown(line) for line in figures_lines(rollup)]
        if rollup
        else [],
        "sections": [
            (part.heading, [(*_when(visit, when), said) for when, said in part.lines])
            for part in parts
            if part.heading != FIGURES
        ],
        "ref": "" if rollup is None or rollup.partial else rollup.ref,
        "at": None if rollup is None else rollup.updated,
        "feed": visit.app.settings.timeline.feed,
        "projects": [visit.shown(name) for name in names_of(facts, "projects")[:_NAMED]],
        "tags": [visit.shown(name) for name in names_of(facts, "tags")[:_NAMED]],
    }


def _when(visit: Visit, when: str) -> tuple[str, str]:
    """When a sentence was, as people say it, and the key of its day; a time of day has none."""
    with suppress(ValueError):
        return short_day(date.fromisoformat(when), visit), when
    return when, ""
