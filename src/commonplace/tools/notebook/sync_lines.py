"""How a sync is told, and what waits after it, as lines and as plain facts.

Pure: never asks a journal or a clock.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from commonplace.core.fence import fenced
from commonplace.journals.notebook.format import version_of
from commonplace.tools.answers import when_of
from commonplace.tools.notebook.lines import answer_of, entries

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from commonplace.core.values import Answer
    from commonplace.journals.notebook.conflicts import OverviewClash
    from commonplace.journals.notebook.sync import Synced


def synced_answer(synced: Synced, *, waiting: Sequence[str], notes: Sequence[str]) -> Answer:
    """What a sync came to. waiting: sections whose overview is to be settled."""
    facts: dict[str, Any] = {
        "remote": synced.remote,
        "branch": synced.branch.removeprefix("refs/heads/"),
        "address": synced.address,
        "received": synced.received,
        "sent": synced.sent,
        "dropped": synced.dropped,
        "conflicts": list(waiting),
        "before": synced.before,
        "now": synced.now,
    }
    counted = f"{entries(synced.received)} received, {entries(synced.sent)} sent."
    lines = [f"Synced with {synced.remote} ({synced.address}): {counted}"]
    if not (synced.received or synced.sent or synced.dropped) and synced.before != synced.now:
        lines.append("What came along bears no entry: overviews, moves or other files.")
    if synced.dropped:
        lines.append(
            f"{entries(synced.dropped)} that the remote lost are gone from here as well; git keeps"
            f" them for some weeks at {synced.before[:12]}."
        )
    lines += [
        f"Both sides changed the overview of {section}: theirs stands, yours waits."
        for section in dict.fromkeys(waiting)
    ]
    if waiting:
        lines.append(_how(waiting))
    return answer_of(lines, facts, notes)


def clashes_answer(clashes: Sequence[OverviewClash], zone: tzinfo) -> Answer:
    """The overviews that wait, each with both texts."""
    if not clashes:
        return answer_of(["No overview waits to be settled."], {"count": 0, "conflicts": []})
    lines: list[str] = []
    for clash in clashes:
        ours = f"version {version_of(clash.ours)}, which was written here"
        theirs = f"version {clash.version}, which is there now"
        lines += [
            f"{clash.section}, since {when_of(clash.at, zone)}",
            fenced(clash.theirs, theirs),
            fenced(clash.ours, ours),
            "",
        ]
    lines.append(_how([clash.section for clash in clashes]))
    facts = {
        "count": len(clashes),
        "conflicts": [
            {
                "section": clash.section,
                "timestamp": clash.at.isoformat(),
                "base": clash.base,
                "ours": clash.ours,
                "theirs": clash.theirs,
                "version": clash.version,
            }
            for clash in clashes
        ],
    }
    return answer_of(lines, facts)


def settled_answer(
    clash: OverviewClash, *, version: str, left: Sequence[str], notes: Sequence[str]
) -> Answer:
    """What came of settling one. left: sections that still wait."""
    lines = [f"Settled {clash.section}: its overview is at version {version}."]
    if clash.section in left:
        lines.append(f"Another overview of {clash.section} waits: settle it likewise.")
    facts = {"section": clash.section, "version": version, "left": list(left)}
    return answer_of(lines, facts, notes)


def _how(waiting: Sequence[str]) -> str:
    """How these sections are settled; where it is one, the command is whole."""
    named = set(waiting)
    section = named.pop() if len(named) == 1 else "SECTION"
    return f"Settle it with `commonplace notebook resolve {shlex.quote(section)}`, then sync again."
