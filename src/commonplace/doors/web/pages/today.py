"""Today: what is new, what a session is told, what is open, what was on this day, what waits.

Decides nothing of that: `verbs/today` does, for the command line too.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.core.clock import day_of, periods_in, start_of_day
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.text import opening
from commonplace.core.values import Filter, Interval
from commonplace.doors.last_examination import find_examination
from commonplace.doors.web.charts import heatmap
from commonplace.doors.web.pages.entry import ref_of, split_head
from commonplace.doors.web.visit import Redirect, UndoOffer, WebPage, offer_to_delete
from commonplace.journals.memory.entry import parse_ref, version_of
from commonplace.journals.transcripts.clients import CLIENTS
from commonplace.verbs.brief.render import TITLES
from commonplace.verbs.brief.service import without_mark

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from commonplace.core.values import Hit
    from commonplace.doors.web.visit import Visit
    from commonplace.verbs.today.service import NewOfProject, News, OpenThing, ProjectBrief

EARLIER = 8
"""Entries that are listed below what is new."""

FOLDED_AFTER = 7
"""Lines of a brief that are shown at once."""

WEEKS = 53

_SHOWN = 280


def home(visit: Visit) -> WebPage:
    """The first page."""
    service = visit.app.today()
    news = service.news()
    within = service.recall.written(Filter())
    first, counts = _last_year(visit, within)
    briefs = service.briefs()
    folder = visit.app.settings.work_folder
    here = "" if folder is None else service.root_of(str(folder))
    examination = find_examination(visit.app) if visit.shows_paths else None
    return WebPage(
        template="today.html",
        title="Commonplace",
        values={
            "current": "home",
            "news": news,
            "projects": [_new(visit, each) for each in news.projects],
            "earlier": _earlier(visit, news, within),
            "may_write": visit.visitor.may_write,
            "briefs": [_brief_rows(visit, each) for each in briefs],
            "open_things": [_open(visit, each, here) for each in service.open_things(briefs)],
            "on_this_day": service.on_this_day(),
            "waiting": service.waiting(),
            "problems": examination.report.problems if examination else [],
            "examined": examination.at if examination else None,
            "chart": heatmap(first, counts, visit.url("period", key="")),
            "total": sum(counts),
        },
    )


def seen(visit: Visit) -> Redirect | WebPage:
    """Note that something was seen, all of it, or that it is new again."""
    service = visit.app.today()
    marks = service.seen
    act = visit.value("do")
    if act == "all":
        before = marks.read(visit.now).until.timestamp()
        until = _instant(visit) + timedelta(microseconds=1)  # what was written just then, too
        marks.keep_until(until, visit.now)
        offer = UndoOffer(page="seen", fields={"do": "back", "at": str(before)})
        return Redirect(to=visit.url("home"), notes=("All of it is seen.",), offer=offer)
    if act == "back":
        marks.keep_until(_instant(visit), visit.now)
        return Redirect(to=visit.url("home"))
    ref = ref_of(visit)
    if act == "new":
        marks.drop([ref])
    else:
        marks.keep([ref], visit.now)
        service.merge_marks()
    if visit.value("quiet"):  # the script shows it itself
        return WebPage(template="kept.html", title="Kept", is_whole=False)
    if act == "new":
        return Redirect(to=visit.url("home"))
    offer = UndoOffer(page="seen", fields={"do": "new", "ref": ref})
    return Redirect(to=visit.url("home"), notes=("Kept: seen and right.",), offer=offer)


def replace_former(visit: Visit) -> Redirect:
    """Answer whether an entry takes the place of a former one: it does, both hold, or ask again."""
    marks, ref, former = visit.app.seen_marks, ref_of(visit), visit.value("former")
    act = visit.value("do")
    if act == "ask":
        marks.propose(ref, former, visit.now)
        return Redirect(to=visit.url("home"))
    if act == "yes":
        done = visit.app.amend.take_place(ref, former)
        marks.keep_written([ref], visit.app.clock())
        notes = ("It takes the place of the former one, which stays.", *done.notes)
        offer = UndoOffer(page="undo", fields={"ref": ref})
    else:
        notes = ("Both hold: it is not asked again.",)
        fields = {"do": "ask", "ref": ref, "former": former}
        offer = UndoOffer(page="replace", fields=fields)
    marks.settle(ref, former)
    return Redirect(to=visit.url("home"), notes=notes, offer=offer)


def finish(visit: Visit) -> Redirect:
    """Log that a line which says what is to do is done, so that no brief has it as open."""
    what = visit.value("what")
    if not what:
        raise Invalid("This form says nothing that is to be done.", hint="Load the page again.")
    tool = visit.app.toolset("chronicle").tool("add_entry")
    message = f"Done: {what}"
    answer = tool.call({"message": message, "idempotency_key": visit.once_key(message)})
    visit.app.seen_marks.keep_written(answer.written, visit.app.clock())
    visit.app.brief.refresh()
    return Redirect(
        to=visit.url("home"),
        notes=(f"Done: {opening(visit.shown(what), 80)}",),
        offer=offer_to_delete(visit.visitor, answer.written),
    )


def _instant(visit: Visit) -> datetime:
    """The instant that the form names. Raises: Invalid."""
    try:
        at = datetime.fromtimestamp(float(visit.value("at")), UTC)
    except (ValueError, OverflowError, OSError) as exc:
        raise Invalid("This form names no time.", hint="Load the page again.") from exc
    return min(at, visit.now)


def _new(visit: Visit, project: NewOfProject) -> dict[str, Any]:
    """What is new of a project: entries and sessions among each other, newest first."""
    rows: list[dict[str, Any]] = [
        {"at": hit.doc.at, "ref": hit.doc.ref, "hit": hit} for hit in project.hits
    ]
    rows += [
        {
            "at": each.at,
            "ref": each.session.ref,
            "hit": None,
            "title": visit.shown_opening(each.title, _SHOWN),
            "messages": each.session.messages,
        }
        for each in project.sessions
    ]
    clients = sorted({CLIENTS.get(x.session.client, x.session.client) for x in project.sessions})
    return {
        "name": visit.shown(project.name),
        "asked": [
            {
                "later": each.later.doc,
                "former": each.former,
                "text": visit.shown_opening(
                    split_head(each.former.ref, each.former.text)[1], _SHOWN
                ),
            }
            for each in project.asked
        ],
        "rows": sorted(rows, key=lambda row: row["at"], reverse=True),
        "clients": ", ".join(clients),
        "sessions": len(project.sessions),
    }


def _earlier(visit: Visit, news: News, within: Filter) -> Sequence[Hit]:
    """What was written before, or was seen already."""
    listed = tuple(hit.doc.ref for each in news.projects for hit in each.hits)
    others = replace(within, excluded_refs=listed)
    return visit.app.recall.service().list_in(None, within=others, limit=EARLIER).hits


def _brief_rows(visit: Visit, brief: ProjectBrief) -> dict[str, Any]:
    """A brief as the page shows it: its lines in order, the first of them before the fold."""
    lines = [
        {
            "part": TITLES[part] if not n else "",
            "at": item.instant,
            "ref": item.ref,
            "text": visit.shown_opening(item.text, _SHOWN),
            "may_edit": visit.visitor.may_write and item.journal not in {"transcripts", "timeline"},
        }
        for part, items in brief.parts
        for n, item in enumerate(items)
    ]
    return {
        "name": visit.shown(brief.name),
        "tokens": brief.tokens,
        "most": brief.most,
        "counts": [(TITLES[part], len(items)) for part, items in brief.parts],
        "first": lines[:FOLDED_AFTER],
        "rest": lines[FOLDED_AFTER:],
        "left_out": [(TITLES[part], count) for part, count in brief.left_out],
    }


def _open(visit: Visit, thing: OpenThing, here: str) -> dict[str, Any]:
    """Something to do, with what ticks it: the to-do's version, or the words to log as done.

    here: The project that is worked in, whose log takes those words; empty for none.
    """
    version = ""
    if thing.is_todo:
        with suppress(CommonplaceError):
            record = visit.app.memory.journal.find(*parse_ref(thing.ref))
            version = "" if record is None else version_of(record)
    is_here = bool(thing.project) and thing.project == here
    return {
        "thing": thing,
        "name": visit.shown(thing.name) if thing.project else "",
        "text": visit.shown_opening(without_mark(thing.text), _SHOWN),
        "version": version,
        "may_finish": is_here and visit.visitor.may_write,
    }


def _last_year(visit: Visit, within: Filter) -> tuple[date, Sequence[int]]:
    """The first day of the last year, a Monday, and the number of entries of each day since."""
    zone, today = visit.zone, day_of(visit.now, visit.zone)
    first = today - timedelta(days=today.weekday(), weeks=WEEKS - 1)
    year = Interval(
        start=start_of_day(first, zone), end=start_of_day(today + timedelta(days=1), zone)
    )
    listed = visit.app.recall.service().listed_in(year, within=within)
    return first, listed.counts([*periods_in(year, "day", zone)])
