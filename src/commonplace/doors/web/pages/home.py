"""Home: what was written last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.values import Filter
from commonplace.doors.web.visit import WebPage

if TYPE_CHECKING:
    from commonplace.doors.web.visit import Visit

LAST = 10


def home(visit: Visit) -> WebPage:
    """The first page."""
    service = visit.app.recall.service()
    listed = service.list_by_time("", within=Filter(), limit=LAST)
    return WebPage(
        template="home.html",
        title="Commonplace",
        values={"current": "home", "entries": listed.hits, "zone": visit.zone},
    )
