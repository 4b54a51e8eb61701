"""Owns one user's memory on SQLite: records are saved, altered, listed and deleted here.

Never says a record is saved before it is, and never waits for a model. Triggers write the outbox,
which the index follows: rows that other programs write are found as well.
"""

from __future__ import annotations

import logging
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import parse_time, render_time, utc_now
from commonplace.core.errors import CommonplaceError
from commonplace.core.expiring import nothing_hidden
from commonplace.journals.memory.database import MemoryDatabase, sql
from commonplace.journals.memory.entry import (
    apply_draft,
    not_found,
    parse_id,
    parse_ref,
    refuse_other_version,
)
from commonplace.journals.memory.records import PREFERENCES_ID, KindCount, Saved, ref_of
from commonplace.journals.memory.rows import (
    call_of,
    id_of,
    page_of,
    page_values,
    record_of,
    row_of,
    row_of_call,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace.core.expiring import Hidden
    from commonplace.journals.memory.records import Call, Kind, Record, RecordDraft, Records

CALLS_KEPT = timedelta(days=30)

_log = logging.getLogger(__name__)


class MemoryJournal:
    """One user's memory, there or not; nothing is made before the first write. Thread-safe.

    Implements `MemoryStore`.

    Args:
        folder: Where `memory.db` lies.
        prepare: Called before the folder is made.
        hidden: Gives the refs of what has expired, which no reader may see.
    """

    def __init__(
        self,
        folder: Path,
        *,
        owner: str,
        clock: Clock = utc_now,
        random_bytes: Callable[[int], bytes] = os.urandom,
        prepare: Callable[[], object] | None = None,
        hidden: Hidden = nothing_hidden,
    ) -> None:
        self._owner = owner
        self._clock = clock
        self._random_bytes = random_bytes
        self.database = MemoryDatabase(folder, prepare, hidden)

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self._owner

    @property
    def exists(self) -> bool:
        """Whether anything was ever written."""
        return self.database.exists

    def save(self, draft: RecordDraft) -> Saved:
        """Keep a record, or alter one; see the port. Raises: Invalid, NotFound, Unavailable."""
        now = self._clock()
        if not draft.ref_id and draft.kind != "preference":
            # What cannot be kept is refused before a file is made for it.
            ref_id = id_of(draft, self._owner, now=now, random_bytes=self._random_bytes)
            return self._add(draft, apply_draft(None, draft, ref_id=ref_id, now=now))
        ref_id = parse_id(draft.kind, draft.ref_id) or PREFERENCES_ID
        with self.database.writing() as conn:
            old = self._find(conn, draft.kind, ref_id)
            if old is None and (draft.kind != "preference" or ref_id != PREFERENCES_ID):
                raise not_found(draft.kind, ref_id)
            record = apply_draft(old, draft, ref_id=ref_id, now=now)
            self._write(conn, record)
        return Saved(ref_id=record.id, record=record, is_new=old is None)

    def keep_all(self, records: Sequence[Record]) -> int:
        """Write records as they are, all or none; see the port. Raises: Unavailable."""
        if not records:
            return 0
        added = 0
        with self.database.writing() as conn:
            for record in records:
                if self._known(conn, record) is None:
                    self._write(conn, record)
                    added += 1
        return added

    def find(self, kind: Kind, ref_id: str) -> Record | None:
        """A record as it is now; None where there is none. Raises: Unavailable."""
        with self.database.reading() as conn:
            return None if conn is None else self._find(conn, kind, ref_id)

    def find_all(self, named: Sequence[tuple[Kind, str]]) -> list[Record | None]:
        """Many records as they are now; see the port. Raises: Unavailable."""
        return [self.find(kind, ref_id) for kind, ref_id in named]

    def find_successor(self, kind: Kind, ref_id: str) -> Record | None:
        """The record that took the place of one; see the port. Raises: Unavailable."""
        with self.database.reading() as conn:
            if conn is None or kind == "preference":
                return None
            return self._find(conn, kind, ref_id, query="find_successor")

    def delete(self, kind: Kind, ref_id: str, *, expected: str = "") -> bool:
        """Delete a record for good; see the port. Raises: Conflict, Unavailable."""
        if not self.exists:
            return False
        named = self._named(kind, ref_id)
        with self.database.writing() as conn:
            record = self._find(conn, kind, ref_id)
            if record is not None and expected:
                refuse_other_version(record, expected)
            is_gone = bool(conn.execute(sql()[f"delete_{kind}"], named).rowcount)
            if record is not None and record.supersedes:
                # A record is replaced once: its successor is linked only after this one is gone.
                conn.execute(sql()[f"relink_{kind}"], {**named, "former": record.supersedes})
            return is_gone

    def list_records(self, kind: Kind, *, limit: int, cursor: str = "") -> Records:
        """Records of a kind, newest first; see the port. Raises: Invalid, Unavailable."""
        asked = page_values(limit, cursor)
        rows = self.database.ask(f"list_{kind}", user_id=self._owner, **asked)
        return page_of([record_of(kind, row) for row in rows], limit)

    def close(self) -> None:
        """Close the file; may be called twice."""
        self.database.close()

    def count_kinds(self) -> list[KindCount]:
        """How much there is of each kind; see the port. Raises: Unavailable."""
        rows = self.database.ask("count_kinds", user_id=self._owner)
        return [
            KindCount(
                kind=kind, records=count, drafts=drafts, newest=parse_time(at) if at else None
            )
            for kind, count, drafts, at in rows
        ]

    def note_call(self, call: Call) -> None:
        """Log a call; see `LogsCalls`. Never raises."""
        now = self._clock()
        row = {**row_of_call(call, now), "user_id": self._owner}
        try:
            with self.database.writing_soon() as conn:
                conn.execute(sql()["note_call"], row)
                conn.execute(sql()["prune_calls"], {"before": render_time(now - CALLS_KEPT)})
        except (CommonplaceError, OSError) as exc:
            _log.warning("A call of %s was not logged: %s", call.tool, exc)

    def calls(self, limit: int = 100) -> list[Call]:
        """The calls that are logged, newest first. Raises: Unavailable."""
        rows = self.database.ask("calls", user_id=self._owner, limit=limit)
        return [call_of(row) for row in rows]

    def to_erase(self) -> tuple[str, ...]:
        """Refs of what is deleted and whose bytes may remain; see `Erases`."""
        rows = self.database.ask("to_erase", user_id=self._owner)
        return tuple(ref_of(kind, ref_id) for kind, ref_id in rows)

    def erased(self, refs: Sequence[str]) -> bool:
        """Erase what is left of deleted records in this file; see `Erases`. Raises: Unavailable."""
        if not refs or not self.database.erase():
            return not refs
        with self.database.writing() as conn:
            for kind, ref_id in map(parse_ref, refs):
                conn.execute(sql()["erased"], self._named(kind, ref_id))
        return True

    def _add(self, draft: RecordDraft, record: Record) -> Saved:
        named = self._named(record.kind, record.id)
        with self.database.writing() as conn:
            known = self._known(conn, record) if draft.key or record.supersedes else None
            if known is not None:
                return Saved(ref_id=known.id, record=known, is_new=False)
            if draft.key and conn.execute(sql()["is_gone"], named).fetchone():
                return Saved(ref_id=record.id, record=None, is_new=False)
            self._write(conn, record)
        return Saved(ref_id=record.id, record=record, is_new=True)

    def _known(self, conn: sqlite3.Connection, record: Record) -> Record | None:
        """The record that is there under an id, or in the place that the record is to take."""
        known = self._find(conn, record.kind, record.id)
        if known is None and record.supersedes:
            known = self._find(conn, record.kind, record.supersedes, query="find_successor")
        return known

    def _write(self, conn: sqlite3.Connection, record: Record) -> None:
        conn.execute(sql()[f"save_{record.kind}"], {**row_of(record), "user_id": self._owner})

    def _find(
        self, conn: sqlite3.Connection, kind: Kind, ref_id: str, *, query: str = "find"
    ) -> Record | None:
        row = conn.execute(sql()[f"{query}_{kind}"], self._named(kind, ref_id)).fetchone()
        return None if row is None else record_of(kind, row)

    def _named(self, kind: Kind, ref_id: str) -> dict[str, Any]:
        return {"user_id": self._owner, "kind": kind, "id": ref_id}
