"""How the newest day and week went, as a brief tells of them.

Never stores a rollup: what is due, or goes on, is computed.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.core.brief_item import PRIVATE, BriefItem
from commonplace.core.text import opening
from commonplace.journals.timeline.trends import recorded_span

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from commonplace.core.clock import Level
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.rollups import Rollups

SHOWN_FOR: Mapping[Level, timedelta] = {"day": timedelta(days=7), "week": timedelta(days=28)}
"""How long after its end a period is shown."""

_LONGEST = 1000
_TICK = timedelta(microseconds=1)


def list_newest(rollups: Rollups, ends: float | None) -> list[BriefItem]:
    """The newest day in which something was recorded, and its week.

    The week before it where that one says no more than the day.

    Args:
        rollups: Of whom.
        ends: When the first entry expires that may be quoted, in seconds since 1970; None for none.

    Raises:
        Unavailable.
    """
    reached = recorded_span(rollups.journal, until=rollups.journal.clock())
    if reached is None:
        return []
    at = reached[1]
    day, week = _read(rollups, "day", at), _read(rollups, "week", at)
    if day and week and _count(week) <= _count(day):
        week = _read(rollups, "week", week.start - _TICK)
    shown: tuple[tuple[Level, TimelineEntry | None], ...] = (("day", day), ("week", week))
    return [_item(rollups, level, entry, ends) for level, entry in shown if entry is not None]


def _read(rollups: Rollups, level: Level, at: datetime) -> TimelineEntry | None:
    """A period that says something and is not over for too long."""
    found = rollups.read(level, at, partial=True, stores=False)
    is_recent = found is not None and found.end + SHOWN_FOR[level] > rollups.journal.clock()
    return found if is_recent and found is not None and found.content else None


def _count(entry: TimelineEntry) -> int:
    return int(entry.metadata.get("entries", 0))


def _item(rollups: Rollups, level: Level, entry: TimelineEntry, ends: float | None) -> BriefItem:
    title, *rest = entry.content.replace("**", "").split("\n")
    said = opening(f"{title}: {' '.join(x for x in rest if x.strip())}", _LONGEST)
    last = (entry.end + SHOWN_FOR[level]).timestamp()
    return BriefItem(
        entry.start.timestamp(),
        said,
        entry.ref,
        level,
        (PRIVATE,) if rollups.is_private(entry) else (),
        expires=last if ends is None else min(ends, last),
    )
