"""Owns one user's memory on Postgres: records are saved, altered, listed and deleted here.

Never says a record is saved before it is, never reads a row of another user, and files nothing:
triggers write the outbox, in the transaction of each change, whichever program makes it.
"""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager, nullcontext
from datetime import UTC, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import render_time, utc_now
from commonplace.core.errors import CommonplaceError, Conflict, Lost, retried
from commonplace.core.owner_folders import parse_owner
from commonplace.db.migrate import list_migrations
from commonplace.db.queries import read_queries
from commonplace.journals.memory.entry import (
    apply_draft,
    may_be_id,
    not_found,
    parse_id,
    parse_kind,
    refuse_other_version,
)
from commonplace.journals.memory.journal import CALLS_KEPT
from commonplace.journals.memory.records import KINDS, PREFERENCES_ID, KindCount, Saved
from commonplace.journals.memory.rows import (
    call_of,
    id_of,
    page_of,
    page_values,
    record_of,
    row_of,
    row_of_call,
)
from commonplace_server.postgres.database import statement
from commonplace_server.postgres.text_lists import Texts
from commonplace_server.records.line_names import columns_of_refs, name_of, ref_of_line
from commonplace_server.records.outbox import OutboxLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from psycopg import Cursor, sql

    from commonplace.core.clock import Clock
    from commonplace.db.migrate import Migration
    from commonplace.journals.memory.records import Call, Kind, Record, RecordDraft, Records
    from commonplace_server.postgres.database import Connection, Postgres

SERIES = "records"
TABLES = (
    "wb_message",
    "wb_journal",
    "wb_todo",
    "wb_gratitude",
    "wb_preferences",
    "wb_tool_invocation_log",
    "wb_outbox",
    "wb_times",
    "wb_former",
)

_log = logging.getLogger(f"commonplace.{__name__}")
_TRIES = 3
_PRUNED_EVERY = timedelta(hours=1)


@cache
def texts() -> Mapping[str, str]:
    """The queries of memory on Postgres by name."""
    return read_queries("commonplace_server.records", "queries.sql")


@cache
def query(name: str) -> sql.SQL:
    """One of them, for the driver."""
    return statement(texts()[name])


def list_record_migrations() -> list[Migration]:
    """The migrations of records and outbox."""
    return list_migrations("commonplace_server.records")


class MemoryPostgres:
    """One user's memory in a database that all users share, their rows guarded one by one.

    Implements `MemoryStore`, and is an `Outbox`. Thread-safe.

    Args:
        database: Shared by all users of the process; its owner closes it.
    """

    def __init__(
        self,
        database: Postgres,
        *,
        owner: str,
        clock: Clock = utc_now,
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._owner = parse_owner(owner)
        self._database = database
        self._clock = clock
        self._random_bytes = random_bytes
        self._pruned_at: datetime | None = None

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self._owner

    def save(self, draft: RecordDraft) -> Saved:
        """Keep a record, or alter one; see the port. Raises: Invalid, NotFound, Unavailable.

        What is not known to be done is done once more: a record has its id before it is sent.
        """
        now = self._clock()
        if draft.ref_id or draft.kind == "preference":
            return retried(lambda: self._alter(draft, now))
        ref_id = id_of(draft, self._owner, now=now, random_bytes=self._random_bytes)
        record = apply_draft(None, draft, ref_id=ref_id, now=now)
        try:
            return self._add(record, keyed=bool(draft.key))
        except Lost:
            saved = self._add(record, keyed=True)
            is_new = saved.is_new or saved.record == record
            return Saved(ref_id=ref_id, record=saved.record, is_new=is_new)

    def keep_all(self, records: Sequence[Record]) -> int:
        """Write records as they are, one by one; see the port. Raises: Unavailable."""
        return sum(self._add(record, keyed=False).is_new for record in records)

    def find(self, kind: Kind, ref_id: str) -> Record | None:
        """A record as it is now; None where there is none. Raises: Unavailable."""
        if not may_be_id(ref_id):
            return None
        with self._database.shared_transaction(self._owner) as conn:
            if kind == "preference" and "preferences" in conn.absent:
                return None
            return self._find(conn, kind, ref_id)

    def find_successor(self, kind: Kind, ref_id: str) -> Record | None:
        """The record that took the place of one; see the port. Raises: Unavailable."""
        if kind == "preference" or not may_be_id(ref_id):
            return None
        with self._database.shared_transaction(self._owner) as conn:
            return self._successor(conn, kind, ref_id)

    def _successor(self, conn: Connection, kind: Kind, ref_id: str) -> Record | None:
        asked = query(f"find_successor_{kind}")
        row = conn.execute(asked, self._named(kind, ref_id)).fetchone()
        return None if row is None else record_of(kind, row, instant=_instant)

    def delete(self, kind: Kind, ref_id: str, *, expected: str = "") -> bool:
        """Delete a record for good; see the port. Raises: Conflict, Unavailable."""
        if not may_be_id(ref_id):
            return False
        with self._database.owner_transaction(self._owner) as conn:
            named = self._named(kind, ref_id)
            record = self._find(conn, kind, ref_id, lock=" FOR UPDATE")
            if record is not None and expected:
                refuse_other_version(record, expected)
            is_gone = _is_changed(conn, f"delete_{kind}", named)
            if record is not None and record.supersedes:
                # A record is replaced once: its successor is linked only after this one is gone.
                conn.execute(query(f"relink_{kind}"), {**named, "former": record.supersedes})
            return is_gone

    def list_records(self, kind: Kind, *, limit: int, cursor: str = "") -> Records:
        """Records of a kind, newest first; see the port. Raises: Invalid, Unavailable."""
        rows = self._ask(f"list_{kind}", **page_values(limit, cursor))
        return page_of([record_of(kind, row, instant=_instant) for row in rows], limit)

    def close(self) -> None:
        """Nothing is held: the connections are shared by all users."""

    def count_kinds(self) -> list[KindCount]:
        """How much there is of each kind; see the port. Raises: Unavailable."""
        rows = {row[0]: row for row in self._ask("count_kinds")}
        return [
            KindCount(kind=kind, records=count, drafts=drafts, newest=at and _instant(at))
            for kind, count, drafts, at in (rows[kind] for kind in KINDS)
        ]

    def note_call(self, call: Call) -> None:
        """Log a call; see the port. Never raises."""
        now = self._clock()
        mine = {"user_id": self._owner}
        pruned = self._pruned_at
        try:
            with self._database.shared_transaction(self._owner, last=True) as conn:
                row = {**row_of_call(call, now), **mine}
                conn.execute(query("note_call"), row, prepare=True)
                if pruned is None or abs(now - pruned) >= _PRUNED_EVERY:
                    before = render_time(now - CALLS_KEPT)
                    conn.execute(query("prune_calls"), {"before": before, **mine})
                    self._pruned_at = now
        except CommonplaceError as exc:
            _log.warning("A call of %s was not logged: %s", call.tool, exc)

    def together(self) -> AbstractContextManager[None]:
        """What is asked inside it, of the index as well, shares transactions; see the port."""
        return self._database.together(self._owner)

    @contextmanager
    def one_transaction(self, kind: Kind, ref_id: str) -> Iterator[None]:
        """What is done inside it, to former texts as well, is done as a whole; see the port."""
        with self._database.one_transaction(self._owner):
            if may_be_id(ref_id):
                # First: all that change a record lock it, then its line, then its former texts.
                with self._database.owner_transaction(self._owner) as conn:
                    self._find(conn, kind, ref_id, lock=" FOR UPDATE")
            yield

    def calls(self, limit: int = 100) -> list[Call]:
        """The calls that are logged, newest first. Raises: Unavailable."""
        return [call_of(row, instant=_instant) for row in self._ask("calls", limit=limit)]

    def to_erase(self) -> tuple[str, ...]:
        """Refs of what is deleted and not yet out of the index; see the port."""
        return tuple(ref_of_line(kind, ref_id) for kind, ref_id in self._ask("to_erase"))

    def erased(self, refs: Sequence[str]) -> bool:
        """The index holds no word of these; see the port. Raises: Unavailable.

        The server keeps what is deleted, unseen, until the worker has it vacuumed.
        """
        given = columns_of_refs(filter(None, map(name_of, refs)))
        with self._database.owner_transaction(self._owner, commit="soon") as conn:
            conn.execute(query("erased"), {"user_id": self._owner, **given})
        return True

    def unfiled(self, limit: int) -> list[OutboxLine]:
        """What changed and whose words no index has yet; see `Outbox`. Raises: Unavailable."""
        asked = {"user_id": self._owner, "limit": limit}
        with self._database.shared_transaction(self._owner) as conn:
            if "unfiled" in conn.absent:
                return []
            rows = conn.execute(query("unfiled"), asked, prepare=True).fetchall()
            if rows:  # they may be of what there was nothing of then: a timeline just begun
                conn.absent = frozenset()
        return [line_of((self._owner, *row)) for row in rows]

    def ask_records(self, noted: Sequence[OutboxLine]) -> Callable[[], list[Record | None]]:
        """Ask for these as they are now; see `ReadsRecords`. Raises: Unavailable."""
        return self._ask_all([(parse_kind(each.kind), each.ref_id) for each in noted])

    def find_all(self, named: Sequence[tuple[Kind, str]]) -> list[Record | None]:
        """Many records as they are now, one query for each kind; see the port."""
        return self._ask_all(named)()

    def _ask_all(self, named: Sequence[tuple[Kind, str]]) -> Callable[[], list[Record | None]]:
        ids: dict[Kind, list[str]] = {}
        for kind, ref_id in named:
            if may_be_id(ref_id):
                ids.setdefault(kind, []).append(ref_id)
        asked: dict[Kind, Cursor[tuple[Any, ...]]] = {}
        if ids:
            with self._database.shared_transaction(self._owner) as conn:
                # Several kinds in one round trip; for one alone that is dearer. One pipeline inside
                # another would wait for all of it.
                is_in_one = conn.pgconn.pipeline_status
                with conn.pipeline() if len(ids) > 1 and not is_in_one else nullcontext():
                    asked = {
                        kind: find_rows(conn, self._owner, kind, some) for kind, some in ids.items()
                    }

        def read() -> list[Record | None]:
            found: dict[tuple[Kind, str], Record] = {}
            for kind, rows in asked.items():
                records = [record_of(kind, row, instant=_instant) for row in rows]
                found |= {(kind, record.id): record for record in records}
            return [found.get(each) for each in named]

        return read

    def _add(self, record: Record, *, keyed: bool) -> Saved:
        named = self._named(record.kind, record.id)
        with self._database.owner_transaction(self._owner) as conn:
            if keyed and conn.execute(query("is_gone"), named).fetchone():
                return Saved(ref_id=record.id, record=None, is_new=False)
            if not _is_changed(conn, f"add_{record.kind}", self._row(record)):
                known = self._find(conn, record.kind, record.id)
                if known is None and record.supersedes:
                    known = self._successor(conn, record.kind, record.supersedes)
                ref_id = known.id if known else record.id
                return Saved(ref_id=ref_id, record=known, is_new=False)
        return Saved(ref_id=record.id, record=record, is_new=True)

    def _alter(self, draft: RecordDraft, now: datetime) -> Saved:
        ref_id = parse_id(draft.kind, draft.ref_id) or PREFERENCES_ID
        may_be_new = draft.kind == "preference" and ref_id == PREFERENCES_ID
        if not may_be_id(ref_id):
            raise not_found(draft.kind, ref_id)
        for _ in range(_TRIES):
            with self._database.owner_transaction(self._owner) as conn:
                old = self._find(conn, draft.kind, ref_id, lock=" FOR UPDATE")
                if old is None and not may_be_new:
                    raise not_found(draft.kind, ref_id)
                record = apply_draft(old, draft, ref_id=ref_id, now=now)
                verb = "add" if old is None else "alter"
                if _is_changed(conn, f"{verb}_{draft.kind}", self._row(record)):
                    return Saved(ref_id=ref_id, record=record, is_new=old is None)
            # Another process made the first preferences: those are altered.
        raise Conflict(f"The {draft.kind} is being changed by another process.", hint="Try again.")

    def _find(self, conn: Connection, kind: Kind, ref_id: str, *, lock: str = "") -> Record | None:
        asked = statement(texts()[f"find_{kind}"] + lock)
        row = conn.execute(asked, self._named(kind, ref_id), prepare=True).fetchone()
        return None if row is None else record_of(kind, row, instant=_instant)

    def _ask(self, name: str, **values: object) -> list[tuple[Any, ...]]:
        asked = {"user_id": self._owner, **values}
        with self._database.shared_transaction(self._owner) as conn:
            return conn.execute(query(name), asked).fetchall()

    def _row(self, record: Record) -> dict[str, Any]:
        return {**row_of(record, unwritten=None), **self._named(record.kind, record.id)}

    def _named(self, kind: Kind, ref_id: str) -> dict[str, Any]:
        return {"user_id": self._owner, "kind": kind, "id": ref_id}


def _is_changed(conn: Connection, name: str, values: Mapping[str, Any]) -> bool:
    """Make a change, whose line of the outbox a trigger writes; whether there was one to make."""
    unless_there = f" {texts()['unless_there']}" if name.startswith("add_") else ""
    changing = statement(texts()[name] + unless_there)
    return bool(conn.execute(changing, values).rowcount)


def find_rows(
    conn: Connection, owner: str, kind: Kind, ids: Sequence[str]
) -> Cursor[tuple[Any, ...]]:
    """The rows of an owner's records of these ids, as `record_of` takes them."""
    asked = {"user_id": owner, "ids": Texts(ids)}
    return conn.execute(query(f"find_all_{kind}"), asked, prepare=True)


def line_of(row: tuple[Any, ...]) -> OutboxLine:
    """A line of the outbox from user, kind, id, changes and whether it is gone."""
    owner, kind, ref_id, changes, gone = row
    return OutboxLine(owner=owner, kind=kind, ref_id=ref_id, changes=changes, gone=gone)


def columns_of(noted: Sequence[OutboxLine]) -> dict[str, Any]:
    """Lines of the outbox as the queries take them that mark several."""
    return {
        "kinds": Texts([each.kind for each in noted]),
        "ids": Texts([each.ref_id for each in noted]),
        "changes": [each.changes for each in noted],
    }


def _instant(at: datetime) -> datetime:
    return at.astimezone(UTC)
