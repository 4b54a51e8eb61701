"""Trends of the timeline as lines of text.

Pure: never asks a journal or a clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.clock import local_date
from commonplace.core.fence import visible_line
from commonplace.core.rollups import numbers_of, ranked, render_numbers
from commonplace.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from commonplace.core.rollups import Figures
    from commonplace.journals.timeline.trends import Trends

_BAR = 24
_NAMES_SHOWN = 10


def trend_lines(found: Trends, zone: tzinfo) -> Iterator[str]:
    """What was counted in each period, and in all of them."""
    most = max(1, *(x.figures.entries for x in found.periods))
    width = max(len(x.key) for x in found.periods)
    yield f"{'PERIOD':{width}}  ENTRIES  HOURS"
    for each in found.periods:
        if each.expired:
            yield f"{each.key:{width}}  expired"
            continue
        entries, hours = each.figures.entries, each.figures.hours
        bar = "▇" * -(-entries * _BAR // most)
        yield f"{each.key:{width}}  {entries:>7,}  {hours:>5,}  {bar}".rstrip()
    yield f"{'all':{width}}  {found.total.entries:>7,}  {found.total.hours:>5,}"
    if gone := sum(x.expired for x in found.periods):
        what = counted(gone, found.level, f"{found.level}s")
        yield f"Expired: {what}, which a larger period still counts."
    yield from _total_lines(found.total, zone)


def _total_lines(total: Figures, zone: tzinfo) -> Iterator[str]:
    """The numbers that entries carried, the names that they counted, and what they named."""
    if numbers := render_numbers(numbers_of(total)):
        yield f"Figures: {visible_line(numbers)}"
    for label, counts in (("Projects", total.projects), ("Tags", total.tags)):
        if counts:
            names = ", ".join(f"{x} ({counts[x]:,})" for x in ranked(counts, _NAMES_SHOWN))
            yield f"{label}: {visible_line(names)}"
    for label, named in (("Milestones", total.milestones), ("Blockers", total.blockers)):
        if named:
            yield f"{label}:"
            latest = sorted(named.items(), key=lambda x: (x[1], x[0]))
            for name, at in latest[-_NAMES_SHOWN:]:
                yield f"• [{local_date(at, zone).isoformat()}] {visible_line(name)}"
            if len(named) > _NAMES_SHOWN:
                yield f"• and {len(named) - _NAMES_SHOWN} more"
