"""Search: one question to all journals, and for each hit why it was found.

All that a search depends on stands in its address, so the same link asks the same.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.clock import render_interval, to_local
from commonplace.core.errors import Invalid
from commonplace.core.text import EXCERPT_STEP, excerpt, excerpt_start, opening
from commonplace.core.values import Filter
from commonplace.doors.web.visit import WebPage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.core.values import Hit, Interval
    from commonplace.doors.web.visit import Visit
    from commonplace.services.recall.service import RecallService

EXCERPT = 420
"""Characters of an entry that a hit shows."""

_LONG = 65_536
_AROUND = 400 * EXCERPT_STEP  # more than a secret is long, which the cut would hide from the screen

LIMITS = (10, 25, 50, 100)


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
    limit: int

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
            "n": self.limit if self.limit != LIMITS[0] else "",
            **other,
        }


def search(visit: Visit) -> WebPage:
    """The search page; with a question, its answer."""
    form = _read(visit)
    service = visit.app.recall.service()
    names = [each.name for each in visit.app.journals]
    for name in form.journals:
        if name not in names:
            raise Invalid(
                f"Unknown journal: {opening(name, 60)!r}.", hint=f"Use {', '.join(names)}."
            )
    values = {
        "current": "search",
        "form": form,
        "journals": names,
        "kinds": sorted({kind for each in service.journals.values() for kind in each.kinds}),
        "limits": LIMITS,
        "answer": None,
    }
    if form.q:
        values["answer"] = _answer(visit, service, form)
    title = f"{opening(form.q, 60)} · Search" if form.q else "Search"
    return WebPage(template="search.html", title=title, values=values)


def _read(visit: Visit) -> _Form:
    return _Form(
        q=visit.value("q"),
        when=visit.value("when"),
        since=visit.value("since"),
        until=visit.value("until"),
        journals=visit.values("journal"),
        kinds=visit.values("kind"),
        tags=visit.values("tag"),
        scopes=visit.values("scope"),
        limit=visit.number("n", most=LIMITS[-1]) or LIMITS[0],
    )


def _answer(visit: Visit, service: RecallService, form: _Form) -> Mapping[str, object]:
    within = Filter(
        journals=form.journals, kinds=form.kinds, required_tags=form.tags, scopes=form.scopes
    )
    done = service.recall(form.q, when=form.phrase, within=within, limit=form.limit)
    interval = done.question.interval
    lost = [f"{name} cannot be used: {why}" for name, why in service.lost.items()]
    return {
        "interval": render_interval(interval, visit.zone) if interval else "",
        "read_from": opening(visit.shown(done.question.phrase), 60),
        "cuts": done.question.cuts,
        "fields": _fields(visit, interval),
        "outside_time": done.outside_time,
        "is_weak": done.is_weak,
        "chance": done.found.chance,
        "has_todos": done.has_todos,
        "notes": [*lost, *done.found.notes],
        "hits": [_hit(visit, hit, done.question.about) for hit in done.found.hits],
    }


def _fields(visit: Visit, interval: Interval | None) -> tuple[str, str]:
    """The first and the last day of a time, as the fields of a form take them."""
    if interval is None:
        return "", ""
    start, end = interval.start, interval.end
    first = to_local(start, visit.zone).date().isoformat() if start else ""
    last = to_local(end - timedelta(microseconds=1), visit.zone).date().isoformat() if end else ""
    return first, last


def _hit(visit: Visit, hit: Hit, about: str) -> Mapping[str, object]:
    doc = hit.doc
    return {
        "hit": hit,
        "doc": doc,
        "place": visit.place(doc.journal, doc.scope),
        "text": _excerpt(visit, doc.text, about),
        "about": about,
        "legs": _legs(hit),
        "also": hit.also,
    }


def _excerpt(visit: Visit, text: str, about: str) -> str:
    """The part of an entry that a hit shows. Of a long one only what is around it is screened."""
    if len(text) > _LONG:
        start = excerpt_start(text, about, EXCERPT)
        text = text[max(start - _AROUND, 0) : start + EXCERPT + _AROUND]
    return excerpt(visit.shown(text), about, EXCERPT)


def _legs(hit: Hit) -> Sequence[tuple[str, float]]:
    """The share of the score that each leg gave, less those that gave nothing."""
    return [(name, share) for name, share in hit.legs.items() if round(share, 3)]
