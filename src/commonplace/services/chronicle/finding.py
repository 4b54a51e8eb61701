"""Which entries a question finds: the best ones, or every one that tells of the same thing.

Never renders, and holds no ranking number: the policy says what is the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.values import Filter, Interval
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from commonplace.core.values import Found, Hit
    from commonplace.journals.chronicle.journal import Event
    from commonplace.services.chronicle.question import AskedWhen
    from commonplace.services.chronicle.service import ChronicleDesk

_NEAREST = 300
"""Hits of one search for what is near in meaning."""

_SEARCHES = 8
"""Searches for the last or the first of what is near; each looks at a shorter time."""


class Same(NamedTuple):
    """An entry that tells of the same thing. worded: it bears every word; hit: it came up near."""

    event: Event
    worded: bool
    hit: Hit | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sames:
    """What tells of the same thing: how many there are, and those to be shown, in their order.

    whole: nothing that is near in meaning was left out. surest: the first, in this order, that
    bears every word; None where the order does not ask for one.
    """

    shown: Sequence[Same]
    worded: int
    near: int
    whole: bool
    notes: tuple[str, ...]
    surest: Event | None = None

    @property
    def count(self) -> int:
        """How many there are."""
        return self.worded + self.near


def find(
    desk: ChronicleDesk,
    text: str,
    *,
    tags: Sequence[str] = (),
    within: Interval | None = None,
    limit: int,
) -> Found:
    """The best hits for a text, by chronicle's own policy. Raises: Invalid."""
    from commonplace.journals.chronicle.journal import parse_tag_filter
    from commonplace.search.finder import Question

    asked = parse_tag_filter(tags)
    lookup = Filter(
        journals=("chronicle",),
        tags=tuple(asked.any_of),
        required_tags=tuple(asked.required),
        excluded_tags=tuple(asked.excluded),
        within=within or Interval(),
    )
    question = Question(
        text=text,
        within=lookup,
        limit=limit,
        floor=policy.CHRONICLE_FLOOR,
        policy=policy.CHRONICLE,
    )
    return desk.finder.find(question)


def each_hit(found: Found) -> list[Hit]:
    """A hit for every entry found: twins of one text are entries of their own."""
    return [
        replace(hit, doc=replace(hit.doc, ref=ref), also=())
        for hit in found.hits
        for ref in (hit.doc.ref, *hit.also)
    ]


def living(desk: ChronicleDesk, hits: Sequence[Hit]) -> list[tuple[Event, Hit]]:
    """The entries of the hits as chronicle has them now, less those that are gone."""
    events = desk.chronicle.read_events([hit.doc.ref for hit in hits])
    return [(events[hit.doc.ref], hit) for hit in hits if hit.doc.ref in events]


def find_same(desk: ChronicleDesk, question: AskedWhen, *, limit: int) -> Sames:
    """Every entry that tells of what is asked: it bears all the words, or is near in meaning.

    What bears the words is counted in chronicle itself, however much it is; what is near, in the
    index. In the order asked for: the last first, the first first; of a count the worded ones
    first, each part newest first. Raises: Invalid, Unavailable.
    """
    mentions = desk.chronicle.list_mentions(question.about, within=question.within)
    instants = {mention.ref: mention.instant for mention in mentions}
    near, whole, notes = _near(desk, question, limit)
    newest = question.wants != "first"
    alone = {
        ref: event.instant
        for ref, event in desk.chronicle.read_events([*near.keys() - instants]).items()
    }
    first, then = (instants, alone) if question.wants == "count" else ({**instants, **alone}, {})
    order = [
        *sorted(first, key=lambda ref: first[ref], reverse=newest),
        *sorted(then, key=lambda ref: then[ref], reverse=newest),
    ]
    return Sames(
        shown=_shown(desk, order[:limit], instants, near),
        worded=len(instants),
        near=len(alone),
        whole=whole,
        notes=notes,
        surest=_surest(desk, order, instants),
    )


def _shown(
    desk: ChronicleDesk, refs: Sequence[str], worded: Mapping[str, int], near: Mapping[str, Hit]
) -> list[Same]:
    events = desk.chronicle.read_events(refs)
    return [Same(events[ref], ref in worded, near.get(ref)) for ref in refs if ref in events]


def _surest(desk: ChronicleDesk, order: Sequence[str], worded: Mapping[str, int]) -> Event | None:
    """The first that bears every word, where something near in meaning stands above it."""
    place = next((place for place, ref in enumerate(order) if ref in worded), 0)
    return desk.chronicle.read_events([order[place]]).get(order[place]) if place else None


def _near(
    desk: ChronicleDesk, question: AskedWhen, limit: int
) -> tuple[dict[str, Hit], bool, tuple[str, ...]]:
    """What is near in meaning, by its ref; whether that is all of it; and the search's notes.

    Where one search cannot hold it all, the last or the first are found in ever shorter times.
    """
    near: dict[str, Hit] = {}
    span = question.within or Interval()
    whole = False
    notes: tuple[str, ...] = ()
    for _ in range(_SEARCHES):
        found = find(desk, question.about, within=span, limit=_NEAREST)
        whole = policy.holds_all_same(found.hits, _NEAREST)
        same = {hit.doc.ref: hit for hit in each_hit(found) if policy.is_same_thing(hit)}
        near |= same
        notes = found.notes
        if whole or question.wants == "count":
            break
        at = [event.at for event in desk.chronicle.read_events([*same]).values()]
        shorter = _shorter(span, sorted(at), limit, newest=question.wants != "first")
        if shorter == span:
            break
        span = shorter
    return near, whole, notes


def _shorter(span: Interval, at: Sequence[datetime], limit: int, *, newest: bool) -> Interval:
    """The part of a span that holds the newest or oldest of what was found there."""
    if len(at) < limit:
        return span
    if newest:
        return replace(span, start=at[-limit])
    return replace(span, end=at[limit - 1] + timedelta(microseconds=1))
