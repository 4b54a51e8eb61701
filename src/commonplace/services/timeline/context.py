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
from commonplace.journals.timeline.entry import RAW
from commonplace.journals.timeline.marks import span_at
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.core.clock import Level
    from commonplace.journals.timeline.entry import Entry
    from commonplace.services.timeline.service import TimelineDesk

FEWEST_TOKENS = 100
MOST_TOKENS = 100_000
_HITS = 12
_ROLLUPS = 6
_SHORTEST = 80
# The shares of a budget that the profile and the rollups may take at the most.
_PROFILE, _SUMMARIES = 0.25, 0.6


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


def assemble(desk: TimelineDesk, query: str, *, budget_tokens: int) -> Context:
    """See `TimelineDesk.context`. Raises: Invalid for a budget that is none."""
    if not FEWEST_TOKENS <= budget_tokens <= MOST_TOKENS:
        raise Invalid(
            f"Invalid budget_tokens: {budget_tokens}.",
            hint=f"Use {FEWEST_TOKENS} to {MOST_TOKENS:,}.",
        )
    # Without a question the summaries of the last while stand above: what is new is told below.
    found = desk.find(query, types=() if query.strip() else (RAW,), limit=_HITS)
    page = _Page(budget_tokens * TOKEN_BYTES)
    profile = desk.journal.profile()
    if profile is not None:
        page.put("Profile", profile, share=_PROFILE)
    for rollup in _rollups(desk, found.interval):
        page.put(_label(desk, rollup), rollup, share=_SUMMARIES)
    above = desk.journal.above([hit.entry.ref for hit in found.hits])
    for hit in found.hits:
        # A smaller summary says no more than the larger one that stands above; an entry itself may.
        if hit.entry.level and not above.get(hit.entry.ref, frozenset()).isdisjoint(page.refs):
            continue
        page.put(_label(desk, hit.entry), hit.entry, share=1.0)
    return Context(
        text="\n\n".join(page.blocks),
        refs=tuple(page.refs),
        tokens=-(-page.used // TOKEN_BYTES),
        interval=found.interval,
        notes=found.notes,
    )


class _Page:
    """Blocks within a number of bytes; an entry stands in it once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.blocks: list[str] = []
        self.refs: list[str] = []
        self.used = 0

    def put(self, label: str, entry: Entry, *, share: float) -> None:
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
            text = _shortened(text, len(text) - over)
            block = fenced(text, label)
        self.blocks.append(block)
        self.refs.append(entry.ref)
        self.used += len(block.encode()) + 2


def _shortened(text: str, length: int) -> str:
    return text[: max(length - 1, 1)].rstrip() + "…"


def _rollups(desk: TimelineDesk, within: Interval | None) -> Iterator[Entry]:
    """Of the time that was asked about, by the level that fits it; else of the last while."""
    if within is not None:
        number = policy.fitting_level(within) or 1
        yield from desk.list_entries(within, level=number, limit=_ROLLUPS).entries
        return
    for entry in _last_while(desk):
        if entry is not None and entry.content:
            yield entry


def _last_while(desk: TimelineDesk) -> Iterator[Entry | None]:
    """Today and yesterday, this week and the last, this month and the last; what goes on partial.

    A week or a month that goes on is left out where it counts no more than what stands before it.
    """
    now, counted = desk.clock(), 0
    for level in _TOLD:
        running = desk.rollup(level, now, partial=True)
        before = desk.rollup(level, span_at(now, level, desk.zone).start - _TICK)
        if _count(running) > counted:
            yield running
        yield before
        counted = max(counted, _count(running) + (_count(before) if level == "day" else 0))


def _count(entry: Entry | None) -> int:
    return 0 if entry is None else int(entry.metadata.get("entries", 0))


_TOLD: tuple[Level, ...] = ("day", "week", "month")
_TICK = timedelta(microseconds=1)


def _label(desk: TimelineDesk, entry: Entry) -> str:
    if entry.level:
        when = render_interval(Interval(start=entry.start, end=entry.end), desk.zone)
    else:
        when = render_instant(entry.at, desk.zone)
    state = ", partial" if entry.partial else ", stale" if entry.stale else ""
    return opening(f"{entry.ref} {when}{state}", 200)
