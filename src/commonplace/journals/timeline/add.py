"""Owns how entries are added to a timeline: rows and marks, in one go.

Never begins or ends a transaction: the caller's holds all of it, or none.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.core.clock import render_time
from commonplace.core.ids import key_id, new_id
from commonplace.journals.timeline.entry import (
    KEYS,
    RAW,
    TimelineDraft,
    TimelineEntry,
    check_time,
    content_hash,
    pack_id,
    parse_content,
    parse_writable_type,
    render_metadata,
)
from commonplace.journals.timeline.queries import entry_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.redact import Screen
    from commonplace.journals.timeline.due_periods import DuePeriods
    from commonplace.journals.timeline.ports import TimelineRows


class AddedEntry(Struct, frozen=True, kw_only=True):
    """An entry that is recorded.

    Attributes:
        is_new: False for one that its key had added before.
    """

    entry: TimelineEntry
    is_new: bool


class EntryAdder:
    """Adds entries to one owner's timeline in a transaction of the caller's.

    What is added one by one costs by its statements and its Python; many share one look at the
    owner's zones, and one mark for each hour.
    """

    def __init__(
        self,
        conn: TimelineRows,
        *,
        owner: str,
        due_periods: DuePeriods,
        now: datetime,
        random_bytes: Callable[[int], bytes],
        screen: Screen,
    ) -> None:
        self._conn = conn
        self._owner = owner
        self._due_periods = due_periods
        self._now = now
        self._noted = render_time(now)
        self._random_bytes = random_bytes
        self._screen = screen
        self._zones = due_periods.zones(conn, now)
        self._last = 0

    def add_all(self, drafts: Sequence[TimelineDraft]) -> list[AddedEntry]:
        """Add them in their order, and mark every period that holds one. Raises: Invalid."""
        raw: list[datetime] = []
        added = [self._add(draft, raw) for draft in drafts]
        self._due_periods.mark_new(self._conn, raw, change=self._last, zones=self._zones)
        return added

    def _add(self, draft: TimelineDraft, raw: list[datetime]) -> AddedEntry:
        """Add one; the time of what is new raw activity goes into `raw`."""
        at = check_time(draft.at or self._now)
        if draft.key:
            made = key_id(KEYS, self._owner, draft.key)
        else:
            made = draft.id or new_id(at, self._random_bytes(10))
        row = self.row(draft, at, made)
        if draft.key and (gone := self._find("find_tombstone", pack_id(made))):
            # It was added once; that it is gone since is no reason to have it again.
            return AddedEntry(entry=self._entry(row, at, gone[0], status="deleted"), is_new=False)
        done = self._conn.run("add", row)
        if not done.rowcount:
            return AddedEntry(entry=entry_of(self._find("by_id", made)), is_new=False)
        self._last = seq = done.lastrowid or 0
        if row["entry_type"] == RAW:
            raw.append(at)
        return AddedEntry(entry=self._entry(row, at, seq, status="active"), is_new=True)

    def row(self, draft: TimelineDraft, at: datetime, entry_id: str) -> dict[str, Any]:
        """A draft as its row has it. Raises: Invalid."""
        periods = self._due_periods.periods(at, self._zones.current).row
        kind = parse_writable_type(draft.entry_type)
        content = parse_content(self._screen(draft.content))
        metadata = render_metadata(self._screen.values(draft.metadata))
        timestamp = self._noted if at is self._now else render_time(at)
        return {
            "id": entry_id,
            "thread_id": self._owner,
            "content": content,
            "entry_type": kind,
            "timestamp": timestamp,
            "period_start": periods["hour"],
            "period_end": periods["hour_end"],
            "metadata": metadata,
            "now": self._noted,
            "hash": content_hash(content, metadata, kind, timestamp),
        }

    def _entry(
        self, row: Mapping[str, Any], at: datetime, seq: int, *, status: str
    ) -> TimelineEntry:
        hour = self._due_periods.periods(at, self._zones.current).hour
        return TimelineEntry(
            seq=seq,
            id=row["id"],
            thread_id=self._owner,
            content=row["content"],
            entry_type=row["entry_type"],
            at=at,
            start=hour.start,
            end=hour.end,
            metadata=json.loads(row["metadata"]),
            level=0,
            status=status,
            created=self._now,
            updated=self._now,
            hash=row["hash"],
        )

    def _find(self, query: str, entry_id: str | bytes) -> Any:
        return self._conn.run(query, {"id": entry_id}).fetchone()
