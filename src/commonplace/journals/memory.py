"""Owns one user's memory on SQLite: records are saved, altered, listed and deleted here.

Never says a record is saved before it is, and never waits for a model: the outbox tells the index.
"""

from __future__ import annotations

import json
import logging
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import parse_time, render_time, utc_now
from commonplace.core.errors import CommonplaceError, Invalid, NotFound
from commonplace.core.ids import check_key, key_id, new_id
from commonplace.core.memory import PREFERENCES_ID, Call, KindTally, Records, Saved
from commonplace.core.text import opening
from commonplace.journals.memory_database import MemoryDatabase, record_of, row_of, sql
from commonplace.journals.memory_entry import KEYS, altered, parse_id, parse_ref, ref_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace.core.memory import Draft, Kind, Record
    from commonplace.journals.memory_open import MemoryPages
    from commonplace.journals.memory_source import MemorySource

MOST_LISTED = 1000
CALLS_KEPT = timedelta(days=30)

_BEYOND = "9999-12-31T23:59:59.999999Z"
_log = logging.getLogger(__name__)


class MemoryJournal:
    """One user's memory, there or not; nothing is made before the first write. Thread-safe.

    Implements `core.memory.MemoryStore`, and tallies, logs calls and erases. folder: where
    `memory.db` lies. prepare: called before the folder is made.
    """

    def __init__(
        self,
        folder: Path,
        *,
        owner: str,
        clock: Clock = utc_now,
        random_bytes: Callable[[int], bytes] = os.urandom,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        self._owner = owner
        self._clock = clock
        self._random_bytes = random_bytes
        self.database = MemoryDatabase(folder, prepare)

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self._owner

    @property
    def exists(self) -> bool:
        """Whether anything was ever written."""
        return self.database.exists

    def save(self, draft: Draft) -> Saved:
        """Keep a record, or alter one; see the port. Raises: Invalid, NotFound, Unavailable."""
        now = self._clock()
        if not draft.ref_id and draft.kind != "preference":
            # What cannot be kept is refused before a file is made for it.
            return self._add(draft, altered(None, draft, ref_id=self._new_id(draft), now=now))
        ref_id = parse_id(draft.kind, draft.ref_id) or PREFERENCES_ID
        with self.database.writing() as conn:
            old = self._find(conn, draft.kind, ref_id)
            if old is None and (draft.kind != "preference" or ref_id != PREFERENCES_ID):
                raise not_found(draft.kind, ref_id)
            record = altered(old, draft, ref_id=ref_id, now=now)
            self._write(conn, record)
        return Saved(ref_id=record.id, record=record, is_new=old is None)

    def find(self, kind: Kind, ref_id: str) -> Record | None:
        """A record as it is now; None where there is none. Raises: Unavailable."""
        rows = self.database.ask(f"find_{kind}", **self._named(kind, ref_id))
        return record_of(kind, rows[0]) if rows else None

    def delete(self, kind: Kind, ref_id: str) -> bool:
        """Delete a record for good; see the port. Raises: Unavailable."""
        if not self.exists:
            return False
        named = self._named(kind, ref_id)
        with self.database.writing() as conn:
            deleted = conn.execute(sql()[f"delete_{kind}"], named).rowcount
            if deleted:
                conn.execute(sql()["note_change"], {**named, "gone": True})
        return bool(deleted)

    def list_records(self, kind: Kind, *, limit: int, cursor: str = "") -> Records:
        """Records of a kind, newest first; see the port. Raises: Invalid, Unavailable."""
        if not 1 <= limit <= MOST_LISTED:
            raise Invalid(f"Invalid limit: {limit}.", hint=f"Use 1 to {MOST_LISTED}.")
        before, slash, ref_id = cursor.partition("/")
        if cursor and (not slash or len(before) != len(_BEYOND)):
            raise Invalid(
                f"Invalid cursor: {opening(cursor, 60)!r}.", hint="Use the one a list has given."
            )
        asked = {"before": before or _BEYOND, "before_id": ref_id, "limit": limit + 1}
        rows = self.database.ask(f"list_{kind}", user_id=self._owner, **asked)
        records = [record_of(kind, row) for row in rows]
        more = len(records) > limit
        last = records[limit - 1] if more else None
        return Records(
            records=tuple(records[:limit]),
            cursor=f"{render_time(last.at)}/{last.id}" if last else "",
        )

    def source(self) -> MemorySource:
        """The records as the index follows them."""
        from commonplace.journals.memory_source import MemorySource  # noqa: PLC0415  if used

        return MemorySource(self)

    def pages(self) -> MemoryPages:
        """The records as whoever opens a ref sees them."""
        from commonplace.journals.memory_open import MemoryPages  # noqa: PLC0415  if used

        return MemoryPages(self)

    def close(self) -> None:
        """Let go of the file; may be called twice."""
        self.database.close()

    def tallies(self) -> list[KindTally]:
        """A tally of each kind; see `TalliesKinds`. Raises: Unavailable."""
        rows = self.database.ask("tallies", user_id=self._owner)
        return [
            KindTally(
                kind=kind, records=count, drafts=drafts, newest=parse_time(at) if at else None
            )
            for kind, count, drafts, at in rows
        ]

    def note_call(self, call: Call) -> None:
        """Log a call; see `KeepsCalls`. Never raises."""
        now = self._clock()
        row = {
            "user_id": self._owner,
            "tool": call.tool,
            "status": call.status,
            "duration_ms": call.duration_ms,
            "top_k_effective": call.top_k_effective,
            "filters": json.dumps(dict(call.filters), ensure_ascii=False, sort_keys=True),
            "created_at": render_time(call.at or now),
        }
        try:
            with self.database.writing_soon() as conn:
                conn.execute(sql()["note_call"], row)
                conn.execute(sql()["prune_calls"], {"before": render_time(now - CALLS_KEPT)})
        except (CommonplaceError, OSError) as exc:
            _log.warning("A call of %s was not logged: %s", call.tool, exc)

    def calls(self, limit: int = 100) -> list[Call]:
        """The calls that are logged, newest first. Raises: Unavailable."""
        rows = self.database.ask("calls", user_id=self._owner, limit=limit)
        return [
            Call(
                tool=tool,
                status=status,
                duration_ms=duration_ms,
                top_k_effective=top_k,
                filters=json.loads(filters),
                at=parse_time(at),
            )
            for tool, status, duration_ms, top_k, filters, at in rows
        ]

    def to_erase(self) -> tuple[str, ...]:
        """Refs of what is deleted and whose bytes may remain; see `Erases`."""
        rows = self.database.ask("to_erase", user_id=self._owner)
        return tuple(ref_of(kind, ref_id) for kind, ref_id in rows)

    def erased(self, refs: Sequence[str]) -> bool:
        """Erase what is left of deleted records in this file; see `Erases`. Raises: Unavailable."""
        if not refs or not self.database.is_checkpointed():
            return not refs
        with self.database.writing() as conn:
            for kind, ref_id in map(parse_ref, refs):
                conn.execute(sql()["erased"], self._named(kind, ref_id))
        return True

    def _new_id(self, draft: Draft) -> str:
        if draft.key:
            return key_id(KEYS, self._owner, check_key(f"{draft.kind} {draft.key}"))
        return new_id(draft.at or self._clock(), self._random_bytes(10))

    def _add(self, draft: Draft, record: Record) -> Saved:
        named = self._named(record.kind, record.id)
        with self.database.writing() as conn:
            known = self._find(conn, record.kind, record.id) if draft.key else None
            if known is not None:
                return Saved(ref_id=known.id, record=known, is_new=False)
            if draft.key and conn.execute(sql()["is_gone"], named).fetchone():
                return Saved(ref_id=record.id, record=None, is_new=False)
            self._write(conn, record)
        return Saved(ref_id=record.id, record=record, is_new=True)

    def _write(self, conn: sqlite3.Connection, record: Record) -> None:
        named = self._named(record.kind, record.id)
        conn.execute(sql()[f"save_{record.kind}"], {**row_of(record), "user_id": self._owner})
        conn.execute(sql()["note_change"], {**named, "gone": False})

    def _find(self, conn: sqlite3.Connection, kind: Kind, ref_id: str) -> Record | None:
        row = conn.execute(sql()[f"find_{kind}"], self._named(kind, ref_id)).fetchone()
        return None if row is None else record_of(kind, row)

    def _named(self, kind: Kind, ref_id: str) -> dict[str, Any]:
        return {"user_id": self._owner, "kind": kind, "id": ref_id}


def not_found(kind: Kind, ref_id: str) -> NotFound:
    """The error for a record that is not there."""
    return NotFound(
        f"No {kind} {opening(ref_id, 100)!r}.",
        hint="Use a ref as a search or a list has shown it.",
    )
