"""The notebook's verbs for people as answers: lines to read, and plain facts.

Pure: never asks a journal or a clock.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from commonplace.core.fence import fenced
from commonplace.core.text import counted_entries
from commonplace.verbs.answers import answer_of, when_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from commonplace.core.values import Answer
    from commonplace.journals.notebook.conflicts import OverviewClash
    from commonplace.journals.notebook.journal import SectionMoves
    from commonplace.journals.notebook.sync import SyncReport
    from commonplace.verbs.notebook.keeping import JsonImport, ReadyNotebook, SettledOverview


_MOST_NAMED = 20


def ready_answer(ready: ReadyNotebook) -> Answer:
    """A notebook that was made, or taken as it was."""
    verb = "Took the repository in" if ready.adopted else "Made a notebook in"
    lines = [f"{verb} {ready.folder}."]
    if ready.adopted:
        lines.append(f"It has {ready.sections} {'section' if ready.sections == 1 else 'sections'}.")
    facts = {
        "folder": str(ready.folder),
        "adopted": ready.adopted,
        "sections": ready.sections,
    }
    return answer_of(lines, facts)


def moved_answer(moves: SectionMoves, *, old: str, new: str) -> Answer:
    """The sections that have another name. old, new: the names that were asked for."""
    facts = {
        "old": old,
        "new": new,
        "moved": [{"old": before, "new": after} for before, after in moves.pairs],
    }
    lines = [f"Moved {before} to {after}." for before, after in moves.pairs[:_MOST_NAMED]]
    if len(moves.pairs) > _MOST_NAMED:
        lines.append(f"And {len(moves.pairs) - _MOST_NAMED} more below them.")
    return answer_of(lines, facts, moves.notes)


def imported_answer(imported: JsonImport) -> Answer:
    """What an import of the older JSON came to."""
    lines = [f"Imported {counted_entries(imported.added)}."]
    if imported.repeated:
        lines.append(f"{counted_entries(imported.repeated)} of it had been imported before.")
    facts = {
        "added": imported.added,
        "repeated": imported.repeated,
        "left_out": len(imported.notes),
    }
    shown = list(imported.notes[:_MOST_NAMED])
    if len(imported.notes) > _MOST_NAMED:
        shown.append(f"{len(imported.notes) - _MOST_NAMED} more like these.")
    return answer_of(lines, facts, shown)


def synced_answer(synced: SyncReport) -> Answer:
    """What a sync came to."""
    facts: dict[str, Any] = {
        "remote": synced.remote,
        "branch": synced.branch.removeprefix("refs/heads/"),
        "address": synced.address,
        "received": synced.received,
        "sent": synced.sent,
        "dropped": synced.dropped,
        "conflicts": list(synced.conflicts),
        "before": synced.before,
        "now": synced.now,
    }
    counted = f"{counted_entries(synced.received)} received, {counted_entries(synced.sent)} sent."
    lines = [f"Synced with {synced.remote} ({synced.address}): {counted}"]
    if not (synced.received or synced.sent or synced.dropped) and synced.before != synced.now:
        lines.append(
            "What came along bears no entry: overviews, moves, times to expire or other files."
        )
    if synced.dropped:
        lines.append(
            f"{counted_entries(synced.dropped)} that the remote lost are gone from here as well;"
            f" git keeps them for some weeks at {synced.before[:12]}."
        )
    lines += [
        f"Both sides changed the overview of {section}: theirs stands, yours waits."
        for section in dict.fromkeys(synced.conflicts)
    ]
    if synced.conflicts:
        lines.append(_how(synced.conflicts))
    return answer_of(lines, facts, synced.notes)


def clashes_answer(clashes: Sequence[OverviewClash], zone: tzinfo) -> Answer:
    """The overviews that wait, each with both texts."""
    if not clashes:
        return answer_of(["No overview waits to be settled."], {"count": 0, "conflicts": []})
    lines: list[str] = []
    for clash in clashes:
        ours = f"version {clash.our_version}, which was written here"
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


def settled_answer(settled: SettledOverview) -> Answer:
    """What came of settling one."""
    lines = [f"Settled {settled.section}: its overview is at version {settled.version}."]
    if settled.section in settled.left:
        lines.append(f"Another overview of {settled.section} waits: settle it likewise.")
    facts = {
        "section": settled.section,
        "version": settled.version,
        "left": list(settled.left),
    }
    return answer_of(lines, facts, settled.notes)


def _how(waiting: Sequence[str]) -> str:
    """How these sections are settled; where it is one, the command is whole."""
    named = set(waiting)
    section = named.pop() if len(named) == 1 else "SECTION"
    return f"Settle it with `commonplace notebook resolve {shlex.quote(section)}`, then sync again."
