"""How the timeline is searched: a time read from the question, words and meaning inside it.

Decides nothing about ranking: `search` does, with the numbers of its policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid
from commonplace.core.values import Filter, Interval
from commonplace.journals.timeline_entry import JOURNAL, parse_type
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.values import By, Hit
    from commonplace.journals.timeline_entry import Entry
    from commonplace.tools.timeline_desk import TimelineDesk

MOST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineHit:
    """An entry that was found; score, similarity and by as in `Hit`, None where it was listed.

    also: refs of what says the same, among them what it is a summary of, or what summarises it.
    """

    entry: Entry
    score: float | None = None
    similarity: float | None = None
    by: By | None = None
    excerpt: str = ""
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineFound:
    """What a search found, best first. interval: the time it kept to, phrase: as it was asked."""

    hits: tuple[TimelineHit, ...]
    interval: Interval | None = None
    phrase: str = ""
    notes: tuple[str, ...] = ()


def find(
    desk: TimelineDesk,
    query: str,
    *,
    within: Interval | None,
    types: Sequence[str],
    limit: int,
) -> TimelineFound:
    """See `TimelineDesk.find`."""
    from commonplace.core.when_inside import find_when  # noqa: PLC0415  not for a start

    if not 1 <= limit <= MOST:
        raise Invalid(f"Invalid limit: {limit}.", hint=f"Use 1 to {MOST}.")
    kinds = tuple(dict.fromkeys(parse_type(x) for x in types))
    phrase = ""
    if within is None and query.strip():
        read = find_when(query, now=desk.clock(), zone=desk.zone)
        within, phrase = read.interval, read.phrase
        query = read.text or query
    if not query.strip():
        listed = desk.list_entries(within or Interval(), types=kinds, limit=limit)
        hits = tuple(TimelineHit(entry=x) for x in listed.entries)
        return TimelineFound(hits=hits, interval=within)
    return _asked(desk, query, within=within, kinds=kinds, limit=limit, phrase=phrase)


def _asked(
    desk: TimelineDesk,
    query: str,
    *,
    within: Interval | None,
    kinds: tuple[str, ...],
    limit: int,
    phrase: str,
) -> TimelineFound:
    from commonplace.search.finder import Question  # noqa: PLC0415  not for a start

    found = desk.finder().find(
        Question(
            text=query,
            within=Filter(within=within or Interval(), journals=(JOURNAL,), kinds=kinds),
            limit=limit,
            floor=policy.TIMELINE_FLOOR,
            policy=policy.TIMELINE,
            fitting=policy.fitting_kinds(within),
        )
    )
    hits = tuple(x for hit in found.hits if (x := _hit(desk, hit)) is not None)
    return TimelineFound(hits=hits, interval=within, phrase=phrase, notes=found.notes)


def _hit(desk: TimelineDesk, hit: Hit) -> TimelineHit | None:
    entry = desk.journal.find(hit.doc.ref.removeprefix(f"{JOURNAL}:"))
    if entry is None or entry.status != "active":
        return None
    return TimelineHit(
        entry=entry,
        score=hit.score,
        similarity=hit.similarity,
        by=hit.by,
        excerpt=hit.excerpt,
        also=hit.also,
    )
