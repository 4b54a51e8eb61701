"""Home: a year at a glance, what a session would be told, what waits, what was written last."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from commonplace.core.clock import day_of, start_of_day
from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Filter, Interval
from commonplace.doors.current_brief import brief_now
from commonplace.doors.last_examination import find_examination
from commonplace.doors.web.charts import DayCell, heat_of, heatmap
from commonplace.doors.web.visit import WebPage
from commonplace.verbs.brief.render import TITLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.doors.web.visit import Visit
    from commonplace.journals.notebook.conflicts import OverviewClash

LAST = 12
WEEKS = 53


def home(visit: Visit) -> WebPage:
    """The first page."""
    journals = visit.journals()
    service = visit.app.recall.service()
    within = service.written(Filter(journals=journals))
    listed = service.list_in(None, within=within, limit=LAST)
    days = _days(visit, within, journals)
    state = service.encoder()
    behind = [each.journal for each in service.filing.behind()]
    return WebPage(
        template="home.html",
        title="Commonplace",
        values={
            "current": "home",
            "entries": listed.hits,
            "journals": [each.name for each in visit.app.journals],
            "chosen": journals,
            "chart": heatmap([cell for cell, _ in days]),
            "total": sum(count for _, count in days),
            "pending": service.index.counts(state.identity).pending,
            "encoder": state,
            "behind": behind,
            "lost": service.lost,
            "clashes": _clashes(visit),
            "examination": find_examination(visit.app) if visit.shows_paths else None,
            "notes_of_list": listed.notes,
            "brief": [] if journals else _brief(visit),
        },
    )


def _days(visit: Visit, within: Filter, journals: Sequence[str]) -> list[tuple[DayCell, int]]:
    """The days of the last year, each with the number of its entries."""
    last = day_of(visit.now, visit.zone)
    first = last - timedelta(days=last.weekday(), weeks=WEEKS - 1)
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    starts = [start_of_day(day, visit.zone) for day in [*days, last + timedelta(days=1)]]
    spans = [Interval(start=start, end=end) for start, end in pairwise(starts)]
    counts = visit.app.recall.service().count_in(spans, within=within)
    most = max(counts)
    link = visit.url("period", key="", journal=journals)
    path, query = link.partition("?")[::2]
    return [
        (
            DayCell(
                day=day,
                heat=heat_of(count, most),
                said=f"{day:%A}, {day.day} {day:%B} {day.year}: {count}",
                link=f"{path}{day.isoformat()}{'?' if query else ''}{query}",
            ),
            count,
        )
        for day, count in zip(days, counts, strict=True)
    ]


def _clashes(visit: Visit) -> Sequence[OverviewClash]:
    """The overviews of the notebook in conflict; none where the notebook cannot be read."""
    if not visit.app.notebook.is_there():
        return ()
    try:
        return visit.app.notebook.service().clashes().list_open()
    except CommonplaceError:
        return ()


def _brief(visit: Visit) -> list[tuple[str, list[tuple[str, str]]]]:
    """The brief of a session in the page's folder: each part with its refs and texts."""
    folder = visit.app.settings.work_folder
    if folder is None or not visit.shows_paths:
        return []
    made, _, is_wanted = brief_now(visit.app, str(folder))
    if not is_wanted:
        return []
    return [
        (TITLES[part], [(each.ref, visit.shown(each.text)) for each in found])
        for part, found in made.parts.items()
        if found
    ]
