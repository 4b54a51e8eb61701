"""Home: a year at a glance, what a session would be told, what waits, what was written last."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from commonplace.core.clock import day_of, periods_in, start_of_day
from commonplace.core.values import Filter, Interval
from commonplace.doors.briefs import brief_now
from commonplace.doors.web.charts import DayCell, heatmap
from commonplace.doors.web.pages.calendar import count_cells
from commonplace.doors.web.visit import WebPage

if TYPE_CHECKING:
    from commonplace.doors.web.visit import Visit

LAST = 12
WEEKS = 53


def home(visit: Visit) -> WebPage:
    """The first page."""
    zone, journals = visit.zone, visit.values("journal")
    service = visit.app.recall.service()
    within = service.written(Filter(journals=journals))
    listed = service.list_in(None, within=within, limit=LAST)
    last = day_of(visit.now, zone)
    first = last - timedelta(days=last.weekday(), weeks=WEEKS - 1)
    year = Interval(
        start=start_of_day(first, zone), end=start_of_day(last + timedelta(days=1), zone)
    )
    cells = count_cells(visit, list(periods_in(year, "day", zone)), "day", within)
    days = [
        DayCell(
            day=date.fromisoformat(cell.key),
            heat=cell.heat,
            said=f"{cell.name}: {cell.count}",
            link=visit.url("period", key=cell.key, journal=journals),
        )
        for cell in cells
    ]
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
            "chart": heatmap(days),
            "total": sum(cell.count for cell in cells),
            "pending": service.index.counts(state.identity).pending,
            "encoder": state,
            "behind": behind,
            "lost": service.lost,
            "notes_of_list": listed.notes,
            "brief": [] if journals else _brief(visit),
        },
    )


def _brief(visit: Visit) -> list[tuple[str, list[tuple[str, str]]]]:
    """What a session of the folder that the page was opened in is told: part, then ref and text."""
    folder = visit.app.settings.work_folder
    if folder is None or not visit.shows_paths:
        return []
    made, _, is_wanted = brief_now(str(folder))
    if not is_wanted:
        return []
    return [
        (part, [(each.ref, visit.shown(each.text)) for each in found])
        for part, found in made.parts.items()
        if found
    ]
