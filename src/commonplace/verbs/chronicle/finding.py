"""Which entries a question finds: the best ones, or every one about the same thing.

Never renders, and holds no ranking number: the policy says what is the same thing.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.values import ChainLink, Filter, Found, Interval
from commonplace.verbs.chronicle.question import read_question
from commonplace.verbs.times import naming

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.values import Hit
    from commonplace.journals.chronicle.journal import ChronicleJournal, Event
    from commonplace.search.finder import Finder
    from commonplace.verbs.chronicle.question import AskedWhen

MOST_RANKED = 1000
"""Hits of a search from its second page on."""

SHOWN_MATCHES = 10
"""How many entries answer a question for when something was."""

BAD_QUERY = "Invalid query: "
"""How the finder begins what it says of a text."""

_NEAREST = 300
"""Hits of one search for what is near in meaning."""

_SEARCHES = 8
"""Searches for the last or the first of what is near; each looks at a shorter time."""


class EventHit(NamedTuple):
    """An entry as chronicle has it now, and how it was found."""

    event: Event
    hit: Hit


class EventChain(NamedTuple):
    """What an entry replaced, and what holds in its place; None for none, as `Hit` has them."""

    replaces: ChainLink | None
    replaced_by: ChainLink | None
    later: ChainLink | None = None


class SameEvent(NamedTuple):
    """An entry about the same thing. worded: it bears every word; hit: how it was found near."""

    event: Event
    worded: bool
    hit: Hit | None


class SameEvents(Struct, frozen=True, kw_only=True):
    """The entries about the same thing.

    Attributes:
        shown: Those that were asked for, in their order.
        worded: How many bear every word.
        near: How many are only near in meaning.
        whole: Whether nothing that is near in meaning was left out.
        surest: The first, in this order, that bears every word, where something near stands above.
    """

    shown: Sequence[SameEvent]
    worded: int
    near: int
    whole: bool
    notes: tuple[str, ...]
    surest: Event | None = None

    @property
    def count(self) -> int:
        """How many there are."""
        return self.worded + self.near


class WhenFound(Struct, frozen=True, kw_only=True):
    """What answers a question for when something was.

    Attributes:
        question: As it was understood.
        same: The entries about the same thing, where the last, the first or all were asked for.
        best: The best matches, where there are none about the same thing, or none was asked for.
        outside_time: Whether nothing lies in the time of the question, so that best is of others.
    """

    question: AskedWhen
    same: SameEvents | None
    best: Sequence[EventHit]
    notes: tuple[str, ...]
    outside_time: bool = False

    @property
    def events(self) -> list[Event]:
        """The entries that are shown."""
        if self.same and self.same.count:
            return [each.event for each in self.same.shown]
        return [event for event, _ in self.best]


class ChronicleFinder(Struct, frozen=True, kw_only=True):
    """Searches over chronicle's entries: by the index, or by every word in chronicle itself.

    Attributes:
        replaced: When those of some entries were replaced that were by one that is gone, by ref.
    """

    chronicle: ChronicleJournal
    finder: Finder
    replaced: Callable[[Sequence[str]], Mapping[str, float]]

    def find(
        self,
        text: str,
        *,
        tags: Sequence[str] = (),
        within: Interval | None = None,
        limit: int,
        before: datetime | None = None,
    ) -> Found:
        """The best hits for a text, by chronicle's own policy. Raises: Invalid.

        before: Only of what was written down before; None for all.
        """
        from commonplace.journals.chronicle.journal import parse_tag_filter
        from commonplace.search import policy
        from commonplace.search.finder import SearchQuestion

        asked = parse_tag_filter(tags)
        lookup = Filter(
            journals=("chronicle",),
            tags=tuple(asked.any_of),
            required_tags=tuple(asked.required),
            excluded_tags=tuple(asked.excluded),
            interval=within or Interval(),
            written_before=before,
        )
        question = SearchQuestion(
            text=text,
            where=lookup,
            limit=limit,
            floor=policy.CHRONICLE_FLOOR,
            policy=policy.CHRONICLE,
        )
        return self.finder.find(question)

    def find_page(
        self,
        text: str,
        *,
        tags: Sequence[str],
        within: Interval | None,
        first: int,
        start: int,
        length: int,
        before: datetime | None = None,
    ) -> tuple[Found, bool]:
        """One page of a search, and whether there is more.

        A deeper search may order differently. So the first page is as deep as it is long, and all
        later ones are cut from one search of full depth, less what the first has shown.

        first: the length of the first page; start, length: the hits before this page, and on it.
        """
        ask = partial(self.find, text, tags=tags, within=within, before=before)
        found = ask(limit=first + 1)
        hits = each_hit(found)
        if start:
            shown = {hit.doc.ref for hit in hits[:first]}
            found = ask(limit=MOST_RANKED)
            hits = [*hits[:first], *(hit for hit in each_hit(found) if hit.doc.ref not in shown)]
        end = start + length
        notes = found.notes
        if start and end >= len(hits) >= MOST_RANKED:
            cut = f"Only the best {len(hits)} entries are ranked: narrow by time or tags."
            notes = (*notes, cut)
        page = Found(hits=tuple(hits[start:end]), notes=notes, chance=found.chance)
        return page, len(hits) > end

    def read_hits(self, found: Found) -> list[EventHit]:
        """The entries of the hits as chronicle has them now, less those that are gone."""
        hits = each_hit(found)
        events = self.chronicle.read_events([hit.doc.ref for hit in hits])
        return [EventHit(events[hit.doc.ref], hit) for hit in hits if hit.doc.ref in events]

    def chains_of(self, events: Sequence[Event]) -> list[EventChain]:
        """What each entry replaced, and the newest that took its place, as chronicle has it now.

        Opens no index: a list asks for it too. Raises: Unavailable.
        """
        from commonplace.search.chains import gone_links

        formers = self.chronicle.read_events([x.supersedes for x in events if x.supersedes])
        after: dict[str, Event | None] = {}
        fresh = {event.id: event for event in events}
        while fresh:
            found = self.chronicle.find_successors([*fresh.values()])
            after |= {each: found.get(each) for each in fresh}
            fresh = {each.id: each for each in found.values() if each.id not in after}
        refs = [event.ref for event in events]
        gone = gone_links(self.replaced(refs), refs)
        return [self._chain_of(event, formers, after, gone) for event in events]

    def _chain_of(
        self,
        event: Event,
        formers: Mapping[str, Event],
        after: Mapping[str, Event | None],
        gone: Mapping[str, ChainLink],
    ) -> EventChain:
        replaces = replaced_by = None
        if former := event.supersedes:
            there = formers.get(former)
            replaces = ChainLink(ref=former, at=there.at if there else None)
        passed, newest = {event.id}, event
        while (later := after[newest.id]) is not None and later.id not in passed:
            passed.add(later.id)
            newest = later
        if newest is not event:
            replaced_by = ChainLink(ref=newest.ref, at=newest.at)
        else:
            replaced_by = gone.get(event.ref)
        return EventChain(replaces, replaced_by)

    def find_when(self, what: str, *, now: datetime, zone: tzinfo) -> WhenFound:
        """The entries that say when something was, in the words of a question or none.

        Raises: Invalid, Unavailable.
        """
        question = read_question(what, now=now, zone=zone)
        with naming("what", about=BAD_QUERY):
            same = None
            if question.wants != "best":
                same = self.find_same(question, limit=SHOWN_MATCHES)
                if same.count:
                    return WhenFound(question=question, same=same, best=(), notes=same.notes)
            found = self.find(question.about, within=question.within, limit=SHOWN_MATCHES)
            best = self.read_hits(found)
            outside_time = bool(question.within) and not best
            if outside_time:
                best = self.read_hits(self.find(question.about, limit=SHOWN_MATCHES))
        return WhenFound(
            question=question,
            same=same,
            best=best[:SHOWN_MATCHES],
            notes=found.notes,
            outside_time=outside_time,
        )

    def find_same(self, question: AskedWhen, *, limit: int) -> SameEvents:
        """Every entry about what is asked: it bears all the words, or is near in meaning.

        What bears the words is counted in chronicle itself, however much it is; what is near, in
        the index. In the order asked for: the last first, the first first; of a count the worded
        ones first, each part newest first. Raises: Invalid, Unavailable.
        """
        mentions = self.chronicle.list_mentions(question.about, within=question.within)
        instants = {mention.ref: mention.instant for mention in mentions}
        near, whole, notes = self._near(question, limit)
        newest = question.wants != "first"
        found = self.chronicle.read_events([*near.keys() - instants]).values()
        alone = {
            event.ref: event.instant
            for event in sorted(found, key=lambda event: event.place, reverse=True)
        }
        first, then = (
            (instants, alone) if question.wants == "count" else ({**instants, **alone}, {})
        )
        # Of one instant the last written stands first among the last, and last among the first.
        order = [
            ref
            for part in (first, then)
            for ref in sorted([*part][:: 1 if newest else -1], key=part.__getitem__, reverse=newest)
        ]
        shown = self.chronicle.read_events(order[:limit])
        return SameEvents(
            shown=[
                SameEvent(shown[ref], ref in instants, near.get(ref))
                for ref in order[:limit]
                if ref in shown
            ],
            worded=len(instants),
            near=len(alone),
            whole=whole,
            notes=notes,
            surest=self._surest(order, instants),
        )

    def _surest(self, order: Sequence[str], worded: Mapping[str, int]) -> Event | None:
        """The first that bears every word, where something near in meaning stands above it."""
        place = next((place for place, ref in enumerate(order) if ref in worded), 0)
        return self.chronicle.read_events([order[place]]).get(order[place]) if place else None

    def _near(
        self, question: AskedWhen, limit: int
    ) -> tuple[dict[str, Hit], bool, tuple[str, ...]]:
        """What is near in meaning, by its ref; whether that is all of it; the search's notes.

        Where one search cannot hold it all, the last or the first are found in ever shorter times.
        """
        from commonplace.search import policy

        near: dict[str, Hit] = {}
        span = question.within or Interval()
        whole = False
        notes: tuple[str, ...] = ()
        for _ in range(_SEARCHES):
            found = self.find(question.about, within=span, limit=_NEAREST)
            whole = policy.holds_all_same(found.hits, _NEAREST)
            same = {hit.doc.ref: hit for hit in each_hit(found) if policy.is_same_thing(hit)}
            near |= same
            notes = found.notes
            if whole or question.wants == "count":
                break
            at = sorted(event.at for event in self.chronicle.read_events([*same]).values())
            shorter = _shorter(span, at, limit, newest=question.wants != "first")
            if shorter == span:
                break
            span = shorter
        return near, whole, notes


def each_hit(found: Found) -> list[Hit]:
    """A hit for every entry found: twins of one text are entries of their own."""
    return [
        replace(hit, doc=replace(hit.doc, ref=ref), also=())
        for hit in found.hits
        for ref in (hit.doc.ref, *hit.also)
    ]


def _shorter(span: Interval, at: Sequence[datetime], limit: int, *, newest: bool) -> Interval:
    """The part of a span that holds the newest or oldest of what was found there."""
    if len(at) < limit:
        return span
    if newest:
        return replace(span, start=at[-limit])
    return replace(span, end=at[limit - 1] + timedelta(microseconds=1))
