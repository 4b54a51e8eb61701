"""The pages of chronicle: the log by time and tag, when a thing was done, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.clock import period_key
from commonplace.core.text import opening
from commonplace.doors.web.charts import Bar, Dot, bars, line
from commonplace.doors.web.visit import WebPage
from commonplace.journals.chronicle.event import author_of
from commonplace.verbs.answers import ago
from commonplace.verbs.chronicle.figures import figure_over_time
from commonplace.verbs.chronicle.story import count_line, same_notes
from commonplace.verbs.times import read_span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.doors.web.visit import Visit
    from commonplace.journals.chronicle.event import Event
    from commonplace.verbs.chronicle.figures import FigureOverTime
    from commonplace.verbs.chronicle.finding import WhenFound
    from commonplace.verbs.chronicle.service import ChronicleService

LISTED = 50
"""Entries on one page."""

TAGS = 40
"""How many tags are listed before a link to all."""

_SHOWN = 600
_ROWS = 200


def chronicle(visit: Visit) -> WebPage:
    """The log, filtered by a tag and a time; or the answer to a question."""
    verbs = visit.app.chronicle.service()
    asked, tag, when = visit.value("q"), visit.value("tag"), visit.value("when")
    counts = verbs.chronicle.list_tags()
    values: dict[str, object] = {
        "current": "chronicle",
        "q": asked,
        "tag": tag,
        "when": when,
        "tags": counts if visit.value("tags") else counts[:TAGS],
        "tag_count": len(counts),
        "is_first": not visit.value("after"),
        "found": None,
        "interval": "",
    }
    if asked:
        values["found"] = _found(
            visit, verbs, verbs.searches.find_when(asked, now=verbs.clock(), zone=verbs.zone)
        )
        title = f"{opening(asked, 60)} · Chronicle"
    else:
        span = read_span(verbs, "", "", when=when)
        page = verbs.chronicle.list_events(
            limit=LISTED,
            within=span,
            tags=[f"+{tag}"] if tag else [],
            cursor=visit.value("after"),
        )
        values["entries"] = [_line(visit, event) for event in page.events]
        values["after"] = page.cursor
        values["interval"] = visit.said_interval(span)
        title = "Chronicle"
    return WebPage(template="chronicle.html", title=title, values=values)


def figure(visit: Visit) -> WebPage:
    """How often a thing was logged over time, and the numbers that were logged with it."""
    asked, when, unit = visit.value("q"), visit.value("when"), visit.query.get("unit")
    values: dict[str, object] = {"current": "chronicle", "q": asked, "when": when, "found": None}
    if asked:
        verbs = visit.app.chronicle.service()
        found = figure_over_time(verbs, asked, when=when, unit=unit[-1] if unit else None)
        values["found"] = found
        values["interval"] = visit.said_interval(found.interval)
        values |= _drawn(visit, found)
    title = f"{opening(asked, 60)} over time" if asked else "Over time"
    return WebPage(template="figure.html", title=title, values=values)


def _found(visit: Visit, verbs: ChronicleService, found: WhenFound) -> Mapping[str, object]:
    """The answer to a question of when something was done, as `find_when_i` gives it."""
    same, wants = found.same, found.question.wants
    notes = list(found.notes)
    counted = ""
    if same is not None and same.count:
        notes += same_notes(same, wants, visit.zone)
        counted = count_line(same) if wants == "count" else ""
        events = [each.event for each in same.shown]
    else:
        events = [event for event, _ in found.best]
        if found.outside_time and events:
            notes.append("Nothing lies in that time. These are of other times.")
        elif events and wants != "best":
            notes.append(
                "No entry has every word or is near in meaning: these are the best there are."
            )
    return {
        "about": visit.shown(found.question.about),
        "counted": counted,
        "interval": visit.said_interval(found.question.within),
        "notes": notes,
        "entries": [
            _line(visit, event, how_long=ago(event.at, verbs.clock(), visit.zone))
            for event in events
        ],
    }


def _line(visit: Visit, event: Event, *, how_long: str = "") -> Mapping[str, object]:
    return {
        "event": event,
        "at": event.at,
        "text": visit.shown_opening(event.message, _SHOWN),
        "tags": [each for each in event.own_tags if each],
        "place": visit.place("chronicle", event.directory) if event.directory else "",
        "author": author_of(event),
        "ago": how_long,
    }


def _drawn(visit: Visit, found: FigureOverTime) -> Mapping[str, object]:
    """The charts of a figure and the rows of their tables."""
    zone = visit.zone
    parts = []
    for each in found.parts:
        assert each.interval.start is not None
        parts.append((period_key(each.interval.start, found.level, zone), each.count))
    columns = [
        Bar(count, f"{key}: {count}", visit.url("period", key=key, journal="chronicle"))
        for key, count in parts
    ]
    dots = [
        Dot(
            each.at,
            each.value,
            f"{each.at.astimezone(zone):%Y-%m-%d}: {each.value:,.6g} {visit.shown(found.unit)}",
            visit.url("entry", ref=each.ref),
        )
        for each in found.points
    ]
    days = [each.at.astimezone(zone).date().isoformat() for each in (*dots[:1], *dots[-1:])]
    return {
        "counted": bars(columns, first=parts[0][0], last=parts[-1][0]) if parts else "",
        "parts": [(key, count) for key, count in parts if count][-_ROWS:],
        "plotted": line(dots, first=days[0], last=days[-1]) if dots else "",
        "points": found.points[-_ROWS:],
    }
