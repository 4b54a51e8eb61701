"""Owns how the index follows the timeline: its mark, what was added, altered and deleted.

Never writes to the timeline, and never logs an entry's text.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import render_time
from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Drop, Put
from commonplace.journals.timeline.entry import (
    FORM,
    JOURNAL,
    LEVELS,
    ROLLUP_TYPES,
    ref_of,
    stamp_of,
    unpack_id,
)
from commonplace.journals.timeline.queries import entry_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.core.values import Change, Since
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.journal import TimelineJournal

_AT_ONCE = 500
_PAST_EVERY_TIME = "~"
_UNREADABLE = "unreadable"


class TimelineSource:
    """One owner's timeline, as the index follows it."""

    cheap_mark = True
    """Its mark reads the ends of two tables."""
    exact_mark = True

    def __init__(self, journal: TimelineJournal) -> None:
        self._journal = journal

    @property
    def name(self) -> str:
        """`timeline`."""
        return JOURNAL

    def mark(self) -> str:
        """Which file it is, in which form it is filed, and the number of its last entry or change.

        Empty for no file.
        """
        try:
            with self._journal.database.reading() as conn:
                if conn is None:
                    return ""
                name, *_ = conn.run("state").fetchone()
                return f"{name}{FORM} {conn.run('last_change').fetchone()[0]}"
        except CommonplaceError as exc:
            return f"{_UNREADABLE} {exc.message}"

    def count(self, since: Since) -> tuple[int, int]:
        """How many entries but rollups are shown, and how many are filed. Raises: as `scan`."""
        shown = self._journal.count_types() if self._journal.exists else ()
        made = ROLLUP_TYPES.values()
        held = sum(n for kind, status, n, *_ in shown if status == "active" and kind not in made)
        rollups = len(since.stamps(ref_of("rollup_")))
        return held, len(since.stamps(f"{JOURNAL}:")) - rollups

    def scan(self, since: Since) -> Iterator[Change]:
        """Puts and drops of what changed since, the last change first; else of all that differs.

        None while there is no file: what was filed stays.

        Raises: Unavailable where the file cannot be read.
        """
        if not self._journal.exists:
            return  # a file that is gone is not an empty one
        name, _, known = (since.mark or "").partition(" ")
        state = self._ask("state")
        goes_on = bool(state) and f"{state[0][0]}{FORM}" == name and known.isdecimal()
        if goes_on and int(known) >= state[0][2]:
            yield from self._changed(int(known), since)
        else:
            yield from self._everything(since)

    def _changed(self, seq: int, since: Since) -> Iterator[Change]:
        changed = iter([entry for entry, _ in self._ask("changed_since", seq=seq)])
        while batch := list(islice(changed, _AT_ONCE)):
            entries: list[TimelineEntry] = []
            for number in batch:
                row = self._ask("by_seq", seq=number)
                if row:
                    entries.append(entry_of(row[0]))
                elif gone := self._ask("tombstone_id", seq=number):
                    yield Drop(ref_of(unpack_id(gone[0][0])))
            for change in self._journal.docs(entries):
                ref = change.doc.ref if isinstance(change, Put) else change.ref
                known = since.stamps(ref).get(ref)
                if known != (change.doc.stamp if isinstance(change, Put) else None):
                    yield change

    def _everything(self, since: Since) -> Iterator[Change]:
        known = since.stamps(f"{JOURNAL}:")
        seen: set[str] = set()
        for level in range(len(LEVELS) + 1):
            before = {"timestamp": _PAST_EVERY_TIME, "seq": 0}
            while rows := self._ask("all_shown", **before, level=level, limit=_AT_ONCE):
                entries = [entry_of(row) for row in rows]
                seen |= {x.ref for x in entries}
                fresh = [x for x in entries if known.get(x.ref) != stamp_of(x)]
                yield from self._journal.docs(fresh)
                before = {"timestamp": render_time(entries[-1].at), "seq": entries[-1].seq}
        yield from (Drop(ref) for ref in sorted(known.keys() - seen))

    def _ask(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        return self._journal.database.ask(query, **values)
