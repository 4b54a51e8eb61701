"""What a prompt should hold of the timeline: who the owner is, how it went, the nearest entries.

Stored text is fenced, and nothing is shortened without a sign of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.core.clock import render_instant, render_interval
from commonplace.core.errors import Invalid
from commonplace.core.fence import fenced
from commonplace.core.text import opening
from commonplace.core.tokens import TOKEN_BYTES
from commonplace.core.values import Interval
from commonplace.journals.timeline.marks import span_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from commonplace.core.clock import Level
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace.journals.timeline.rollups import Rollups
    from commonplace.services.timeline.finding import TimelineFound

FEWEST_TOKENS = 100
MOST_TOKENS = 100_000
_SHORTEST = 80
# The shares of a budget that the profile and the rollups may take at the most.
_PROFILE, _SUMMARIES = 0.25, 0.6
_RECENT: tuple[Level, ...] = ("day", "week", "month")
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a prompt should hold, whole within its budget; empty where nothing is recorded.

    refs: of what stands in it. interval: the time that the question named.
    """

    text: str
    refs: tuple[str, ...]
    tokens: int
    interval: Interval | None = None
    notes: tuple[str, ...] = ()


def check_budget(budget_tokens: int) -> None:
    """Raises: Invalid for a budget that no context fits in, and for one beyond all sense."""
    if not FEWEST_TOKENS <= budget_tokens <= MOST_TOKENS:
        raise Invalid(
            f"Invalid budget_tokens: {budget_tokens}.",
            hint=f"Use {FEWEST_TOKENS} to {MOST_TOKENS:,}.",
        )


def assemble(
    journal: TimelineJournal,
    found: TimelineFound,
    rollups: Iterable[TimelineEntry],
    *,
    budget_tokens: int,
) -> Context:
    """Put the profile, the rollups and what was found into one text, whole within its budget."""
    page, zone = _Page(budget_tokens * TOKEN_BYTES), journal.zone
    profile = journal.profile()
    if profile is not None:
        page.put("Profile", profile, share=_PROFILE)
    for rollup in rollups:
        page.put(_label(rollup, zone), rollup, share=_SUMMARIES)
    above = journal.above([hit.entry.ref for hit in found.hits])
    for hit in found.hits:
        # A smaller summary says no more than the larger one that stands above; an entry itself may.
        if hit.entry.level and not above.get(hit.entry.ref, frozenset()).isdisjoint(page.refs):
            continue
        page.put(_label(hit.entry, zone), hit.entry, share=1.0)
    return Context(
        text="\n\n".join(page.blocks),
        refs=tuple(page.refs),
        tokens=-(-page.used // TOKEN_BYTES),
        interval=found.interval,
        notes=found.notes,
    )


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


class _Page:
    """Blocks within a number of bytes; an entry stands in it once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.blocks: list[str] = []
        self.refs: list[str] = []
        self.used = 0

    def put(self, label: str, entry: TimelineEntry, *, share: float) -> None:
        """One entry more, shortened to what is left of a share of the whole; or left out."""
        left = int(self._most * share) - self.used
        if entry.ref in self.refs or left < _SHORTEST:
            return
        text = entry.content
        block = fenced(text, label)
        while len(block.encode()) + 2 > left:
            over = len(block.encode()) + 2 - left
            if len(text) - over < _SHORTEST // 2:
                return
            text = text[: max(len(text) - over - 1, 1)].rstrip() + "…"
            block = fenced(text, label)
        self.blocks.append(block)
        self.refs.append(entry.ref)
        self.used += len(block.encode()) + 2


def _count(entry: TimelineEntry | None) -> int:
    return 0 if entry is None else int(entry.metadata.get("entries", 0))


def _label(entry: TimelineEntry, zone: tzinfo) -> str:
    if entry.level:
        when = render_interval(Interval(start=entry.start, end=entry.end), zone)
    else:
        when = render_instant(entry.at, zone)
    state = ", partial" if entry.partial else ", stale" if entry.stale else ""
    return opening(f"{entry.ref} {when}{state}", 200)
