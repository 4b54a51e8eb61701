"""Search: one question to all journals, and for each hit what it rests on.

All that a search depends on stands in its address, so the same link asks the same.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import to_local
from commonplace.core.errors import CommonplaceError
from commonplace.core.ports import ListsScopes
from commonplace.core.stop_words import STOP_WORDS
from commonplace.core.text import EXCERPT_STEP, excerpt, excerpt_start, names_time, opening
from commonplace.core.values import Filter
from commonplace.doors.web.pages.entry import split_head
from commonplace.doors.web.visit import WebPage
from commonplace.journals.timeline.entry import ROLLUP_TYPES, indexed_kinds
from commonplace.search.folding import Fitting
from commonplace.verbs.timeline.layout import sentences
from commonplace.verbs.times import read_as_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from commonplace.core.values import Hit, Interval
    from commonplace.doors.web.visit import Visit
    from commonplace.verbs.recall.service import EntriesRecalled, RecallService

EXCERPT = 420
"""Characters of an entry that a hit shows."""

_LONG = 65_536
_AROUND = 400 * EXCERPT_STEP  # longer than a secret: one that is cut in two would not be found

LIMITS = (10, 25, 50, 100)

MOST_RANKED = 1000
"""How many hits are ranked from the second page on."""

FOLDED, MOST_FOLDED = 5, 40
"""For how many entries that say the same the texts are shown: for one hit, and on a whole page."""

MOST_LISTED = 200
"""Projects and tags that a filter lists, the most used tags first."""

_LAST_WORD = re.compile(r"\w{2,}$")

_NOWHERE = "\0"
"""A scope in which nothing was ever written."""


class _Form(Struct, frozen=True, kw_only=True):
    """What is asked, as the form and the address say it."""

    q: str
    when: str
    since: str
    until: str
    journals: tuple[str, ...]
    kinds: tuple[str, ...]
    tags: tuple[str, ...]
    scopes: tuple[str, ...]
    project: str
    as_of: str
    limit: int
    start: int
    is_typed: bool

    @property
    def asked(self) -> str:
        """The question; while it is typed, its last word stands for all that begin so."""
        half = _LAST_WORD.search(self.q) if self.is_typed else None
        if half is None or half[0].casefold() in STOP_WORDS or names_time(self.q):
            return self.q
        return f"{self.q}*"

    @property
    def phrase(self) -> str:
        """The time, in words; empty to read it from the question. The fields come first."""
        if self.since and self.until:
            return f"{self.since} to {self.until}"
        if self.since:
            return f"since {self.since}"
        return f"until {self.until}" if self.until else self.when

    def link(self, **other: object) -> Mapping[str, object]:
        """What the address of this search holds, with something else in place."""
        return {
            "q": self.q,
            "when": self.when,
            "since": self.since,
            "until": self.until,
            "journal": self.journals,
            "kind": self.kinds,
            "tag": self.tags,
            "scope": self.scopes,
            "project": self.project,
            "as_of": self.as_of,
            "n": self.limit if self.limit != LIMITS[0] else "",
            **other,
        }


def search(visit: Visit) -> WebPage:
    """The search page; with a question, its answer."""
    form = _read(visit)
    service = visit.app.recall.service()
    scopes = service.index.scopes() if isinstance(service.index, ListsScopes) else []
    projects = _projects(visit, scopes)
    there = {journal for journal, _ in scopes}
    values = {
        "current": "search",
        "form": form,
        "limits": LIMITS,
        # Asked for as one types: they take as long as the search.
        **(
            _filters(visit, service, form, there, {x for x, _ in projects}) if visit.is_read else {}
        ),
        "answer": _answer(visit, service, form, projects) if form.q else None,
    }
    title = f"{opening(form.q, 60)} · Search" if form.q else "Search"
    return WebPage(template="search.html", title=title, values=values)


def _filters(
    visit: Visit,
    service: RecallService,
    form: _Form,
    there: AbstractSet[str],
    projects: AbstractSet[str],
) -> Mapping[str, object]:
    """What a filter can choose: the journals and projects that are there, and what is chosen."""
    journals = [x.name for x in visit.app.journals if x.name in there or x.name in form.journals]
    kinds = {kind for name in journals if name in there for kind in service.journals[name].kinds}
    tags: list[str] = []
    with suppress(CommonplaceError):
        tags = [x.tag for x in visit.app.chronicle.service().chronicle.list_tags()[:MOST_LISTED]]
    return {
        "journals": journals,
        "kinds": sorted({*kinds, *form.kinds}),
        "projects": _with(form.project, sorted(projects, key=str.casefold)[:MOST_LISTED]),
        "tags": _with(form.tags[0] if form.tags else "", tags),
    }


def _with(chosen: str, listed: list[str]) -> list[str]:
    """What a list offers, with what is chosen, which another way may have named."""
    return [chosen, *listed] if chosen and chosen not in listed else listed


def _read(visit: Visit) -> _Form:
    return _Form(
        q=visit.value("q"),
        when=visit.value("when"),
        since=visit.value("since"),
        until=visit.value("until"),
        journals=visit.journals(),
        kinds=visit.values("kind"),
        tags=visit.values("tag"),
        scopes=visit.values("scope"),
        project=visit.value("project"),
        as_of=visit.value("as_of"),
        start=visit.number("start", most=MOST_RANKED),
        limit=visit.number("n", most=LIMITS[-1]) or LIMITS[0],
        is_typed=not visit.is_read,
    )


def _within(
    service: RecallService, form: _Form, projects: Sequence[tuple[str, str]]
) -> tuple[Filter, str]:
    """What a search may look at; and a sentence on a project that nobody knows."""
    within = Filter(
        journals=form.journals,
        kinds=indexed_kinds(form.kinds),
        required_tags=form.tags,
        scopes=form.scopes,
        written_before=read_as_of(service, form.as_of),
    )
    if not form.project:
        return within, ""
    scopes = _scopes_of(projects, form.project)
    unknown = "" if scopes else f"Nothing was written in a project called {form.project!r}."
    # An empty filter would admit every scope.
    chosen = [x for x in scopes if x in form.scopes] if form.scopes else scopes
    return replace(within, scopes=tuple(chosen) or (_NOWHERE,)), unknown


def _answer(
    visit: Visit, service: RecallService, form: _Form, projects: Sequence[tuple[str, str]]
) -> Mapping[str, object]:
    within, unknown = _within(service, form, projects)
    done, hits, has_more = _page(service, form, within)
    # What follows the first page is less likely than all of it: nothing of that is folded.
    folds = not form.start and not done.has_todos
    shown = done.folded(hits) if folds else Fitting(tuple(hits))
    interval = done.question.interval
    lost = [f"{name} cannot be used: {why}" for name, why in service.lost.items()]
    row = partial(_rows, visit, service, done)
    return {
        "interval": visit.said_interval(interval),
        "read_from": opening(visit.shown(done.question.phrase), 60),
        "cuts": done.question.cuts,
        "fields": _fields(visit, interval),
        "outside_time": done.outside_time,
        "is_weak": done.is_weak,
        "chance": done.found.chance,
        "notes": [*lost, *([unknown] if unknown else []), *done.found.notes],
        "is_whole": done.found.is_whole,
        "before": within.written_before,
        "has_more": has_more,
        "by_day": done.order == "time",
        "hits": row(shown.hits),
        "less": row(shown.less),
        "turns": row(shown.turns),
    }


def _page(
    service: RecallService, form: _Form, within: Filter
) -> tuple[EntriesRecalled, Sequence[Hit], bool]:
    """The hits of one page, and whether there are more.

    A deeper search may order hits differently. So the first page is a search for as many hits as it
    shows, and all later pages are cut from one search of full depth, less the hits of the first.
    """
    done = service.recall(form.asked, when=form.phrase, within=within, limit=form.limit + 1)
    hits = done.found.hits
    if form.start:
        shown = {hit.doc.ref for hit in hits[: form.limit]}
        deep = service.recall(form.asked, when=form.phrase, within=within, limit=MOST_RANKED)
        rest = [hit for hit in deep.found.hits if hit.doc.ref not in shown]
        hits = (*hits[: form.limit], *rest)
    end = form.start + form.limit
    return done, hits[form.start : end], len(hits) > end


def _projects(visit: Visit, scopes: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The name and the scope of each project in which something was written."""
    named = (
        (visit.place(journal, scope), scope)
        for journal, scope in scopes
        if journal != "notebook"  # whose scopes are its sections
    )
    return [(PurePath(place).name or place, scope) for place, scope in named if place]


def _scopes_of(known: Sequence[tuple[str, str]], project: str) -> list[str]:
    """The scopes of the projects of a name; if there are none, of those whose names contain it."""
    wanted = project.casefold()
    whole = [scope for name, scope in known if name.casefold() == wanted]
    return whole or [scope for name, scope in known if wanted in name.casefold()]


def _rows(
    visit: Visit, service: RecallService, done: EntriesRecalled, hits: Sequence[Hit]
) -> list[Mapping[str, object]]:
    """Hits as the page shows them, with the texts of the first entries that say the same."""
    left = MOST_FOLDED
    shown: list[Mapping[str, object]] = []
    for hit in hits:
        folded = hit.also[: min(left, FOLDED)]
        left -= len(folded)
        rests_on = _rests_on(hit, done.question.interval)
        one = _hit(visit, hit, done.question.about)
        shown.append(one | {"rests_on": rests_on, "folded": _folded(visit, service, folded)})
    return shown


def _rests_on(hit: Hit, interval: Interval | None) -> str:
    """Why a hit is there, in words."""
    fits = interval is not None and interval.holds(hit.doc.at)
    said = [
        ("exact words", hit.by in ("words", "both")),
        ("by meaning", hit.by in ("meaning", "both")),
        ("fits the time", fits),
    ]
    return ", ".join(words for words, holds in said if holds) or "newest"


def _folded(
    visit: Visit, service: RecallService, refs: Sequence[str]
) -> list[tuple[str, datetime | None, str]]:
    """The ref, the time and the beginning of entries; only the ref of one that is gone."""
    found: list[tuple[str, datetime | None, str]] = []
    for ref in refs:
        try:
            page = service.open_ref(ref)
        except CommonplaceError:
            found.append((ref, None, ref))
        else:
            text = split_head(page.ref, visit.shown_opening(page.text, EXCERPT))[1]
            found.append((ref, page.at, _said(page.kind, text)))
    return found


def _fields(visit: Visit, interval: Interval | None) -> tuple[str, str]:
    """The first and the last day of a time, as the fields of a form take them."""
    if interval is None:
        return "", ""
    start, end = interval.start, interval.end
    first = to_local(start, visit.zone).date().isoformat() if start else ""
    last = to_local(end - timedelta(microseconds=1), visit.zone).date().isoformat() if end else ""
    return first, last


def _hit(visit: Visit, hit: Hit, about: str) -> dict[str, object]:
    doc = hit.doc
    return {
        "hit": hit,
        "doc": doc,
        "at": doc.at,
        "place": visit.place(doc.journal, doc.scope),
        "text": _excerpt(visit, _said(doc.kind, doc.own_text), about),
        "about": about,
        "legs": [(name, share) for name, share in hit.legs.items() if round(share, 3)],
        "also": hit.also,
    }


def _said(kind: str, text: str) -> str:
    """What an entry says; of a summary its sentences, without what it is laid out with."""
    return sentences(text) if kind in ROLLUP_TYPES.values() else text


def _excerpt(visit: Visit, text: str, about: str) -> str:
    """The part of an entry that a hit shows; of a long one only the text around it is screened."""
    if len(text) > _LONG:
        start = excerpt_start(text, about, EXCERPT)
        text = text[max(start - _AROUND, 0) : start + EXCERPT + _AROUND]
    return excerpt(visit.shown(text), about, EXCERPT)
