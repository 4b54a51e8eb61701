"""Owns the file of one user's memory: how it is opened, and what its rows are.

Never decides what is kept or found; holds no transaction but those its callers begin.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from commonplace.core.files import make_folder
from commonplace.core.memory import (
    Gratitude,
    JournalEntry,
    Kind,
    Message,
    Preferences,
    Record,
    Todo,
)
from commonplace.db.migrate import list_migrations, migrate
from commonplace.db.queries import read_queries
from commonplace.db.sqlite import BUSY_S, Database, connect, transaction
from commonplace.journals.memory_entry import render_flags
from commonplace.journals.timeline_entry import parse_time, render_time

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

FILE_NAME = "memory.db"

_WAL_LIMIT = 4 * 1024 * 1024
_SHORT_MS = 250


@cache
def sql() -> Mapping[str, str]:
    """The queries of memory by name."""
    return read_queries("commonplace.journals", "memory.sql")


class MemoryDatabase:
    """The file of one user, made at the first write. Thread-safe.

    prepare: called before it is made.
    """

    def __init__(self, folder: Path, prepare: Callable[[], object] | None = None) -> None:
        self._prepare = prepare
        self.folder = folder
        self.path = folder / FILE_NAME
        self._lock = threading.Lock()
        self._made: Database | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever written."""
        return self._made is not None or os.path.exists(self.path)

    def ask(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query; none where there is no file. Raises: Unavailable."""
        if not self.exists:
            return []
        with self._database().using() as conn:
            return conn.execute(sql()[query], values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection in a transaction, the file made if need be."""
        with self._database().using() as conn, transaction(conn):
            yield conn

    @contextmanager
    def writing_soon(self) -> Iterator[sqlite3.Connection]:
        """The same for what waits neither for other writers nor for the disk: a log's line.

        Raises: Unavailable.
        """
        with self._database().using() as conn:
            conn.execute(f"PRAGMA busy_timeout = {_SHORT_MS}")
            conn.execute("PRAGMA synchronous = NORMAL")
            try:
                with transaction(conn):
                    yield conn
            finally:
                conn.execute(f"PRAGMA busy_timeout = {int(BUSY_S * 1000)}")
                conn.execute("PRAGMA synchronous = FULL")

    def is_checkpointed(self) -> bool:
        """Bring the write-ahead log into the file and empty it; False while others read it."""
        with self._database().using() as conn:
            return not conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

    def close(self) -> None:
        """Let go of the file; may be called twice."""
        with self._lock:
            if self._made is not None:
                self._made.close()
                self._made = None

    def _database(self) -> Database:
        with self._lock:
            if self._made is None:
                self._made = self._opened()
            return self._made

    def _opened(self) -> Database:
        if self._prepare is not None:
            self._prepare()
        make_folder(self.folder)
        database = Database(self.path, open_connection=_connect)
        try:
            with database.using() as conn:
                found = list_migrations("commonplace.journals", "memory_migrations")
                migrate(conn, found, path=self.path)
        except BaseException:
            database.close()
            raise
        return database


def _connect(path: Path) -> sqlite3.Connection:
    conn = connect(path)
    # What is deleted is overwritten: whoever deletes for privacy must be able to rely on it.
    conn.execute("PRAGMA secure_delete = ON")
    conn.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
    return conn


def record_of(kind: Kind, row: tuple[Any, ...]) -> Record:
    """A record from the columns that the queries of its kind read it in."""
    if kind == "message":
        ref_id, role, text, at = row
        return Message(id=ref_id, role=role, text=text, at=parse_time(at))
    *rest, created, updated = row
    at, changed = parse_time(created), parse_time(updated)
    match kind:
        case "journal":
            ref_id, title, body, is_draft = rest
            return JournalEntry(
                id=ref_id, title=title, body=body, is_draft=bool(is_draft), at=at, updated=changed
            )
        case "todo":
            ref_id, title, done = rest
            return Todo(id=ref_id, title=title, done=bool(done), at=at, updated=changed)
        case "gratitude":
            ref_id, text = rest
            return Gratitude(id=ref_id, text=text, at=at, updated=changed)
        case "preference":
            language, religion, flags = rest
            return Preferences(
                language=language,
                religion=religion,
                flags=json.loads(flags),
                at=at,
                updated=changed,
            )


def row_of(record: Record) -> dict[str, Any]:
    """The columns that the query which saves a record takes."""
    row: dict[str, Any] = {"id": record.id, "created_at": render_time(record.at)}
    match record:
        case Message():
            return {**row, "role": record.role, "content": record.text}
        case JournalEntry():
            row |= {"title": record.title, "body": record.body, "is_draft": record.is_draft}
        case Todo():
            row |= {"title": record.title, "done": record.done}
        case Gratitude():
            row |= {"content": record.text}
        case Preferences():
            row |= {"language": record.language, "religion": record.religion}
            row |= {"flags": render_flags(record.flags)}
    return {**row, "updated_at": render_time(record.updated)}
