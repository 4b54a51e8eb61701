"""How the timeline is searched: a time read from the question, words and meaning inside it.

Decides nothing about ranking: `search` does, with the numbers of its policy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid
from commonplace.core.values import Filter, Interval
from commonplace.journals.timeline_entry import JOURNAL, parse_level, parse_type
from commonplace.search import policy
from commonplace.tools.timeline_reading import find_open

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.values import By, Hit
    from commonplace.journals.timeline_entry import Entry
    from commonplace.tools.timeline_desk import TimelineDesk

MOST = 100

_LISTED = "Nothing in that time bears those words: what lies in it is listed."
_PERIOD_FIRST = (
    "Nothing in that time bears those words: how it went stands before what is near them."
)


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
    asked = TimelineFound(hits=hits, interval=within, phrase=phrase, notes=found.notes)
    if within is None or any(hit.by != "meaning" for hit in hits):
        return asked
    return _of_the_time(desk, asked, within, kinds=kinds, limit=limit)


def _of_the_time(
    desk: TimelineDesk,
    found: TimelineFound,
    within: Interval,
    *,
    kinds: tuple[str, ...],
    limit: int,
) -> TimelineFound:
    """The same with the periods that fit the time before it, for no word led anywhere.

    "What was I doing last week" is answered by the week's summary, whatever words it holds; what is
    merely near in meaning is any of its hours. Without either, what lies in the time is listed.
    """
    near = {hit.entry.ref: hit for hit in found.hits}
    most = max(limit // 2, 1) if near else limit
    periods = _fitting(desk, within, kinds, most)
    if not periods and not near:
        periods = list(desk.list_entries(within, types=kinds, limit=limit).entries)
    if not periods:
        return found
    hits = [near.pop(entry.ref, TimelineHit(entry=entry)) for entry in periods]
    note = _PERIOD_FIRST if found.hits else _LISTED
    return replace(found, hits=(*hits, *near.values())[:limit], notes=(*found.notes, note))


def _fitting(
    desk: TimelineDesk, within: Interval, kinds: tuple[str, ...], most: int
) -> list[Entry]:
    """The summaries that fit a span, newest first; before them the one that goes on."""
    if within.end is None:
        within = replace(within, end=desk.clock())
    fitting = policy.fitting_kinds(within)
    number = policy.fitting_level(within)
    level = parse_level(number) if number else None
    if level is None or (kinds and not set(fitting) & set(kinds)):
        return []
    running = find_open(desk, within, level)
    listed = desk.list_entries(within, types=fitting, limit=most).entries
    return [*([running] if running else []), *listed][:most]


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
