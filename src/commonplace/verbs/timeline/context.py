"""What a prompt should hold of the timeline: who the owner is, how it went, the nearest entries.

Stored text is fenced, and nothing is shortened without a sign of it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.core.clock import render_instant, render_interval
from commonplace.core.spaces import by_member
from commonplace.core.text import opening
from commonplace.core.values import Interval
from commonplace.journals.timeline.due_periods import span_at
from commonplace.journals.timeline.entry import member_of
from commonplace.verbs.context import ContextBlocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from commonplace.core.clock import Level
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace.journals.timeline.rollups import Rollups
    from commonplace.verbs.context import Context
    from commonplace.verbs.timeline.finding import TimelineFound

# The shares of a budget that the profile and the rollups may take at the most.
_PROFILE, _SUMMARIES = 0.25, 0.6
_RECENT: tuple[Level, ...] = ("day", "week", "month")
_TICK = timedelta(microseconds=1)


def assemble(
    journal: TimelineJournal,
    found: TimelineFound,
    rollups: Iterable[TimelineEntry],
    *,
    budget_tokens: int,
) -> Context:
    """Put the profile, the rollups and what was found into one text, whole within its budget.

    Args:
        journal: Whose profile it is.
        found: The entries that a question found.
        rollups: The summaries that stand above them.
        budget_tokens: Four bytes each.
    """
    blocks, zone = ContextBlocks(budget_tokens), journal.zone
    profile = journal.profile()
    if profile is not None:
        blocks.put(profile.ref, profile.content, label="Profile", share=_PROFILE)
    for rollup in rollups:
        blocks.put(rollup.ref, rollup.content, label=_label(rollup, zone), share=_SUMMARIES)
    above = journal.above([hit.entry.ref for hit in found.hits])
    for hit in found.hits:
        # A smaller summary says no more than the larger one that stands above; an entry itself may.
        if hit.entry.level and not above.get(hit.entry.ref, frozenset()).isdisjoint(blocks.refs):
            continue
        blocks.put(hit.entry.ref, hit.entry.content, label=_label(hit.entry, zone))
    return blocks.context(interval=found.interval, notes=found.notes)


def recent_rollups(rollups: Rollups, *, stores: bool) -> Iterator[TimelineEntry]:
    """Today and yesterday, this week and the last, this month and the last; what goes on partial.

    A week or a month that goes on is left out where it counts no more than what stands before it.
    stores: whether what is due is kept.
    """
    journal, counted = rollups.journal, 0
    now, zone = journal.clock(), journal.zone
    for level in _RECENT:
        running = rollups.read(level, now, partial=True, stores=stores)
        before = rollups.read(level, span_at(now, level, zone).start - _TICK, stores=stores)
        shown = [running] if _count(running) > counted else []
        yield from (each for each in (*shown, before) if each is not None and each.content)
        counted = max(counted, _count(running) + (_count(before) if level == "day" else 0))


def _count(entry: TimelineEntry | None) -> int:
    return 0 if entry is None else int(entry.metadata.get("entries", 0))


def _label(entry: TimelineEntry, zone: tzinfo) -> str:
    if entry.level:
        when = render_interval(Interval(start=entry.start, end=entry.end), zone)
    else:
        when = render_instant(entry.at, zone)
    state = ", partial" if entry.partial else ", stale" if entry.stale else ""
    by = by_member(member_of(entry.metadata))
    return opening(f"{entry.ref} {when}{state}{by}", 200)
