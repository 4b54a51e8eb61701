"""How the timeline is searched: a time read from the question, words and meaning inside it.

Decides nothing about ranking: `search` does, with the numbers of its policy.
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.errors import Invalid
from commonplace.core.values import ChainLink, Filter, Interval
from commonplace.journals.timeline.due_periods import span_at
from commonplace.journals.timeline.entry import (
    JOURNAL,
    LEVELS,
    PROFILE,
    ROLLUP_TYPES,
    TimelineEntry,
    id_of,
    indexed_kinds,
    parse_kinds,
    parse_level,
)
from commonplace.journals.timeline.trends import recorded_span
from commonplace.search import policy
from commonplace.search.found_entry import FoundEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.values import By, Found, Hit
    from commonplace.journals.timeline.rollups import Rollups
    from commonplace.search.finder import Finder

MOST = 100

_TICK = timedelta(microseconds=1)
_WORD = re.compile(r"\w+")
_LISTED = "Nothing in that time bears those words: what lies in it is listed."
_PERIOD_FIRST = "How that time went stands before what is near the question."

_OF_THE_PROFILE = frozenset({"profile", "snapshot", "my", "the", "user", "current"})

# A question of these words alone is about its time, whatever bears them.
_OF_A_TIME = frozenset(
    _WORD.findall(
        "what which how show tell give list me us i we you my our"
        " was were is are am did do does doing done have has had been be"
        " the a an on in of to at with about for up all most there"
        " work worked working works busy go goes going gone went"
        " happen happened happening happens accomplish accomplished achieve achieved"
        " progress summarize summarise summary sum recap overview review"
        " things stuff everything anything"
    )
)


class TimelineHit(FoundEntry[TimelineEntry], frozen=True, kw_only=True):
    """An entry that was found; its figures are those of `Hit`, and none where it was listed.

    Attributes:
        also: Refs of what says the same, among them what it is a summary of, or what summarises it.
    """

    score: float | None = None
    similarity: float | None = None
    by: By | None = None
    excerpt: str = ""
    also: tuple[str, ...] = ()
    legs: Mapping[str, float] = field(default_factory=dict)
    later: ChainLink | None = None


class TimelineFound(Struct, frozen=True, kw_only=True):
    """What a search found, best first.

    Attributes:
        interval: The time it kept to, or leaned to.
        phrase: The words of the question that it was read from.
        leans: Whether entries of other times are found too.
        less_likely: Gives the refs of those that fit far less than the best.
    """

    hits: tuple[TimelineHit, ...]
    less_likely: Callable[[], frozenset[str]] = frozenset
    interval: Interval | None = None
    phrase: str = ""
    leans: bool = False
    notes: tuple[str, ...] = ()


class TimelineSearch(Struct, frozen=True, kw_only=True):
    """Searches one owner's timeline. stores: whether a summary that is due is made and kept."""

    rollups: Rollups
    finder: Callable[[], Finder]
    stores: bool

    def find(
        self,
        query: str,
        *,
        interval: Interval | None,
        types: Sequence[str],
        limit: int,
        before: datetime | None = None,
    ) -> TimelineFound:
        """The best entries for a question; see `TimelineService.find`. Raises: Invalid."""
        from commonplace.core.when.inside import find_when
        from commonplace.search.query_features import refuse_long

        refuse_long(query)
        if not 1 <= limit <= MOST:
            raise Invalid(f"Invalid limit: {limit}.", hint=f"Use 1 to {MOST}.")
        kinds = parse_kinds(types)
        journal, phrase, whole = self.rollups.journal, "", query
        if interval is None and query.strip():
            read = find_when(query, now=journal.clock(), zone=journal.zone)
            if not read.vague:  # else its bounds are a guess, and would hide entries
                interval, phrase = read.interval, read.phrase
                query = read.text or query
        where = Filter(
            interval=interval or Interval(),
            journals=(JOURNAL,),
            kinds=indexed_kinds(kinds),
            written_before=before,
        )
        if not query.strip():
            return self._listed(where, interval, kinds, limit)
        words = _WORD.findall(query.casefold())
        is_of_a_time = _OF_A_TIME.issuperset(words)
        if phrase and not is_of_a_time:
            # People write about other days than the one they write on.
            everywhere = replace(where, interval=Interval())
            found = self._asked(whole, everywhere, limit, leans_to=interval)
        else:
            wants_entries = not (kinds or phrase or is_of_a_time)
            found = self._asked(query, where, limit, wants_entries=wants_entries)
        found = replace(found, phrase=phrase)
        by_words = not is_of_a_time and any(
            hit.by != "meaning" and where.interval.holds(hit.at) for hit in found.hits
        )
        if "profile" in words and _OF_THE_PROFILE.issuperset(words):
            found = self._with_profile(found, where, limit)
        # As of a time nothing more: all else about a time is computed now, from all that is there.
        if interval is None or by_words or before is not None:
            return found
        return self._of_the_time(found, interval, kinds, limit)

    def _listed(
        self, where: Filter, interval: Interval | None, kinds: tuple[str, ...], limit: int
    ) -> TimelineFound:
        """What lies in a time, newest first."""
        if where.written_before is not None:
            return self._read(self.finder().newest(where, limit), interval)
        journal = self.rollups.journal
        listed = journal.list_entries(where.interval, types=kinds, limit=limit)
        hits = tuple(TimelineHit(entry=x) for x in journal.whole_of(listed.entries))
        return TimelineFound(hits=hits, interval=interval)

    def _with_profile(self, found: TimelineFound, where: Filter, limit: int) -> TimelineFound:
        """The same with the profile before it: a question that names it, not what is in it."""
        profile = self.rollups.journal.profile()
        if profile is None or (where.kinds and PROFILE not in where.kinds):
            return found
        is_in = where.interval.holds(profile.at)
        if not is_in or (where.written_before and profile.created >= where.written_before):
            return found
        others = [x for x in found.hits if x.ref != profile.ref]
        same = next((x for x in found.hits if x.ref == profile.ref), TimelineHit(entry=profile))
        return replace(found, hits=(same, *others)[:limit])

    def _asked(
        self,
        query: str,
        where: Filter,
        limit: int,
        *,
        leans_to: Interval | None = None,
        wants_entries: bool = False,
    ) -> TimelineFound:
        """wants_entries: Summaries, which no one asked for, come below all entries."""
        from commonplace.search.finder import SearchQuestion
        from commonplace.search.folding import less_likely

        interval = leans_to if where.interval == Interval() else where.interval
        found = self.finder().find(
            SearchQuestion(
                text=query,
                where=where,
                limit=limit,
                floor=policy.TIMELINE_FLOOR,
                policy=policy.TIMELINE_ENTRIES if wants_entries else policy.TIMELINE,
                fitting=policy.fitting_kinds(interval),
                preferred_time=leans_to,
            )
        )
        read = self._read(found, interval)
        if wants_entries:
            hits = sorted(read.hits, key=lambda hit: bool(hit.entry.level))
            read = replace(read, hits=tuple(hits))
        less = partial(less_likely, found.hits, query, found.chance)
        return replace(read, leans=leans_to is not None, less_likely=less)

    def _read(self, found: Found, interval: Interval | None) -> TimelineFound:
        hits = tuple(x for hit in found.hits if (x := self._hit(hit)) is not None)
        return TimelineFound(hits=hits, interval=interval, notes=found.notes)

    def _of_the_time(
        self, found: TimelineFound, interval: Interval, kinds: tuple[str, ...], limit: int
    ) -> TimelineFound:
        """The same with the periods that fit the time before it, for no word led anywhere.

        "What was I doing last week" is answered by the week's summary, whatever words it holds;
        what is merely near in meaning is any of its hours. Without either, what lies in the time
        is listed.
        """
        near = {hit.entry.ref: hit for hit in found.hits}
        periods = [*islice(self._fitting(interval, kinds), max(limit // 2, 1) if near else limit)]
        if not periods and not near:
            listed = self.rollups.journal.list_entries(
                interval, types=kinds, limit=limit + len(LEVELS)
            ).entries
            # Of a month without an entry the year says nothing, unless years are asked for.
            shown = [x for x in listed if kinds or not x.level or _lies_in(x, interval)]
            periods = [*self.rollups.journal.whole_of(shown)]
        if not periods:
            return found
        hits = [near.pop(entry.ref, TimelineHit(entry=entry)) for entry in periods]
        note = _PERIOD_FIRST if found.hits else _LISTED
        return replace(found, hits=(*hits, *near.values())[:limit], notes=(*found.notes, note))

    def _fitting(self, interval: Interval, kinds: tuple[str, ...]) -> Iterator[TimelineEntry]:
        """The summaries that fit a span, newest first, made now where they are due.

        One that goes on is computed.
        """
        journal = self.rollups.journal
        now = journal.clock()
        interval = interval if interval.end is not None else replace(interval, end=now)
        number = policy.fitting_level(interval)
        level = parse_level(number) if number else None
        reached = recorded_span(journal)
        if level is None or reached is None or (kinds and ROLLUP_TYPES[level] not in kinds):
            return
        assert interval.start is not None
        assert interval.end is not None
        at = min(interval.end, max(reached[1], now)) - _TICK
        while at >= max(interval.start, reached[0]):
            found = self.rollups.read(level, at, partial=True, stores=self.stores)
            if found is not None and found.content:
                yield found
            at = span_at(at, level, journal.zone).start - _TICK

    def _hit(self, hit: Hit) -> TimelineHit | None:
        entry = self.rollups.journal.find(id_of(hit.doc.ref))
        if entry is None or entry.status != "active":
            return None
        return TimelineHit(
            entry=entry,
            score=hit.score,
            similarity=hit.similarity,
            by=hit.by,
            excerpt=hit.excerpt,
            also=hit.also,
            legs=hit.legs,
            replaces=hit.replaces,
            replaced_by=hit.replaced_by,
            later=hit.later,
        )


def _lies_in(entry: TimelineEntry, interval: Interval) -> bool:
    begins = interval.start is None or entry.start >= interval.start
    return begins and (interval.end is None or entry.end <= interval.end)
