"""The page of the timeline: the owner's profile, and how much was written over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.core.clock import local_date, render_date
from commonplace.core.rollups import Figures, last_named, numbers_of, ranked, render_numbers
from commonplace.core.values import Interval
from commonplace.doors.web.charts import Bar, Dot, bars, line
from commonplace.doors.web.pages.calendar import MOST_WAIT_S
from commonplace.doors.web.visit import WebPage
from commonplace.journals.timeline.entry import LEVELS, author_of
from commonplace.journals.timeline.figures import merged
from commonplace.verbs.timeline.reading import parse_interval, parse_period
from commonplace.verbs.timeline.trend_lines import (
    compared_level,
    compared_title,
    course_lines,
    render_number,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.doors.web.visit import Visit
    from commonplace.journals.timeline.trends import Trend, Trends

_NAMED = 12
_PROFILES = 20


def timeline(visit: Visit) -> WebPage:
    """The profile and the trends of a time."""
    when, period = visit.value("when"), visit.value("period")
    values: dict[str, Any] = {
        "current": "timeline",
        "when": when,
        "period": period,
        "levels": LEVELS,
        "profile": None,
        "former": (),
        "trends": None,
        "catches_up": visit.app.timeline.service().rolls_up,
    }
    journal = visit.app.timeline.journal
    if journal.exists:
        visit.app.timeline.catching_up.begin(wait_s=MOST_WAIT_S)
        service = visit.app.timeline.service()
        interval = parse_interval(service, when=when)
        level = parse_period(period) if period else None
        found = service.trends(interval, level=level, computes="open")
        trends = _up_to_date(found)
        profile = journal.profile()
        if profile is not None:
            kept = journal.list_entries(
                Interval(), types=("profile_snapshot",), limit=_PROFILES + 1
            ).entries
            values["profile"] = {
                "at": profile.at,
                "ref": profile.ref,
                "text": visit.shown(profile.content),
                "author": author_of(profile.metadata, journal.owner),
            }
            values["former"] = [each for each in kept if each.ref != profile.ref][:_PROFILES]
        values["trends"] = trends
        values |= _compared(visit, trends, interval, is_auto=level is None)
        values["behind"] = sum(each.is_behind for each in trends.periods)
        values["interval"] = visit.said_interval(interval)
        values |= _drawn(visit, trends)
    return WebPage(template="timeline.html", title="Timeline", values=values)


def _up_to_date(trends: Trends) -> Trends:
    """The same without what is counted in periods that have more entries since."""
    periods = tuple(
        replace(each, figures=Figures()) if each.is_behind else each for each in trends.periods
    )
    return replace(trends, periods=periods, total=merged([each.figures for each in periods]))


def _compared(
    visit: Visit, trends: Trends, interval: Interval | None, *, is_auto: bool
) -> Mapping[str, object]:
    """A period beside the last one and the mean, and what gains speed or stands still."""
    level = compared_level(trends, is_auto=is_auto)
    found = visit.app.timeline.service().compare(level, interval, computes="open")
    if found is None or found.last is None or found.now.is_behind or found.last.is_behind:
        return {"compared": None}
    numbers = [
        (x.name.replace("_", " "), *map(render_number, (x.now, x.last, x.mean)), x.arrow)
        for x in found.rows
    ]
    courses = [visit.shown(line) for line in course_lines(found)]
    keys = (found.now.key, found.last.key)
    return {"compared": compared_title(found), "keys": keys, "rows": numbers, "courses": courses}


def _drawn(visit: Visit, trends: Trends) -> Mapping[str, object]:
    """The charts of the trends, and the most frequent projects, tags, actions, tools and moods."""
    periods, total = trends.periods, trends.total
    if not periods:
        return {"charts": [], "counted": [], "numbers": "", "named": []}
    entries = [(each, float(each.figures.entries)) for each in periods]
    hours = [(each, float(each.figures.hours)) for each in periods]
    charts = [
        ("Entries", _bars(visit, entries)),
        ("Hours in which something was written", _bars(visit, hours)),
    ]
    charts += [
        (f"{name.replace('_', ' ').capitalize()}, mean", _mean(visit, periods, name))
        for name in total.measures
    ]
    counted = [
        (title, [(visit.shown(name), names[name]) for name in ranked(names, _NAMED)])
        for title, names in (
            ("Projects", total.projects),
            ("Tags", total.tags),
            ("Actions", total.actions),
            ("Tools", total.tools),
            ("Moods", total.moods),
        )
        if names
    ]
    named = [
        (
            title,
            [
                (visit.shown(name), render_date(local_date(at, visit.zone)))
                for name, at in reversed(last_named(last))
            ],
        )
        for title, last in (("Milestones", total.milestones), ("Blockers", total.blockers))
        if last
    ]
    numbers = visit.shown(render_numbers(numbers_of(total)))
    return {"charts": charts, "counted": counted, "numbers": numbers, "named": named}


def _bars(visit: Visit, counts: Sequence[tuple[Trend, float]]) -> str:
    drawn = [
        Bar(value, f"{each.key}: {value:,.6g}", visit.url("period", key=each.key))
        for each, value in counts
    ]
    return bars(drawn, first=counts[0][0].key, last=counts[-1][0].key)


def _mean(visit: Visit, periods: Sequence[Trend], name: str) -> str:
    """A chart of the mean of a number in the entries' metadata, for each period that has it."""
    with_it = [each for each in periods if name in each.figures.measures]
    dots = [
        Dot(
            each.start,
            each.figures.measures[name].mean,
            f"{each.key}: {each.figures.measures[name].mean:,.6g}",
            visit.url("period", key=each.key),
        )
        for each in with_it
    ]
    return line(dots, first=with_it[0].key, last=with_it[-1].key)
