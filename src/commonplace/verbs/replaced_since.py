"""Owns the sentence on what was replaced since a text was written that sums up entries.

Never alters such a text: its reader is told what in it no longer holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.clock import local_date, render_date
from commonplace.core.fence import visible_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from commonplace.core.values import ChainLink, Replacement

MOST_NAMED = 5
_FORMER = "the overview before this one"
_CHECK = "See that the new one says what holds now."


def replaced_since_lines(
    replaced: Sequence[Replacement], zone: tzinfo, *, text: str = "this overview"
) -> list[str]:
    """`Since this overview: X of 3 May 2026 was replaced by Y of 9 May 2026.`; nothing for none.

    Args:
        replaced: Newest first; of many the first five are named, and the others counted.
        zone: The owner's.
        text: What was written before them.
    """
    if not replaced:
        return []
    pairs = [
        f"{_named(each.former, zone)} was replaced by {_named(each.successor, zone)}"
        for each in replaced[:MOST_NAMED]
    ]
    more = len(replaced) - MOST_NAMED
    rest = f"; and {more:,} more" if more > 0 else ""
    return [f"Since {text}: {'; '.join(pairs)}{rest}."]


def written_over_notes(replaced: Sequence[Replacement], zone: tzinfo) -> tuple[str, ...]:
    """The note for the writer of a new text: what was replaced since the one before it."""
    lines = replaced_since_lines(replaced, zone, text=_FORMER)
    return tuple(f"{line} {_CHECK}" for line in lines)


def _named(link: ChainLink, zone: tzinfo) -> str:
    when = f" of {render_date(local_date(link.at, zone))}" if link.at else ""
    return f"{visible_line(link.ref)}{when}"
