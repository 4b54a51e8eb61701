"""Owns the file of one owner's timeline: how it is opened, what a row is, and the log beside it.

Never decides what is due or shown; holds no transaction but those its callers begin.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from commonplace.core.files import make_folder
from commonplace.db.migrate import list_migrations, migrate
from commonplace.db.queries import read_queries
from commonplace.db.sqlite import Database, connect, connect_read_only, transaction
from commonplace.journals.timeline_entry import Entry, parse_time

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

FILE_NAME = "journal.db"
LOG_NAME = "rollups.log"

_log = logging.getLogger(__name__)
_WAL_LIMIT = 4 * 1024 * 1024


@cache
def sql() -> Mapping[str, str]:
    """The timeline's queries by name."""
    return read_queries("commonplace.journals", "timeline.sql")


class TimelineDatabase:
    """The file of one owner, made at the first write. Thread-safe.

    prepare: called before it is made. adopt: called before it is opened, with its path.
    """

    def __init__(
        self,
        folder: Path,
        prepare: Callable[[], object] | None = None,
        adopt: Callable[[Path], None] | None = None,
    ) -> None:
        self._adopt = adopt
        self._prepare = prepare
        self.folder = folder
        self.path = folder / FILE_NAME
        self._lock = threading.Lock()
        self._made: Database | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever written."""
        return self._made is not None or os.path.exists(self.path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """This thread's connection; None where there is no file yet. Raises: Unavailable."""
        if not self.exists:
            yield None
            return
        with self._database().using() as conn:
            yield conn

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection in a transaction, the file made if need be."""
        with self._database().using() as conn, transaction(conn):
            yield conn

    @contextmanager
    def bare(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection without a transaction, for what cannot be in one."""
        with self._database().using() as conn:
            yield conn

    def ask(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query; none where there is no file. Raises: Unavailable."""
        with self.reading() as conn:
            return [] if conn is None else conn.execute(sql()[query], values).fetchall()

    def log(self, **facts: object) -> None:
        """One line more in the log of rollups; it holds no text of entries.

        A rollup that is stored stays so where its line cannot be written: that is logged elsewhere.
        """
        line = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        try:
            descriptor = os.open(self.folder / LOG_NAME, flags, 0o600)
            try:
                os.write(descriptor, f"{line}\n".encode())
            finally:
                os.close(descriptor)
        except OSError as exc:
            _log.warning("%s cannot be written: %s.", self.folder / LOG_NAME, exc.strerror)

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
        if not os.path.exists(self.path):
            if self._prepare is not None:
                self._prepare()
            make_folder(self.folder)
        if self._adopt is not None:
            self._adopt(self.path)
        database = Database(self.path, open_connection=_connect)
        try:
            with database.using() as conn:
                found = list_migrations("commonplace.journals", "timeline_migrations")
                migrate(conn, found, path=self.path)
        except BaseException:
            database.close()
            raise
        return database


def _connect(path: Path) -> sqlite3.Connection:
    there = os.path.exists(path)
    if there and not all(os.access(x, os.W_OK) for x in (path, path.parent)):
        # Where nothing may be written, what is there can be read.
        return connect_read_only(path)
    conn = connect(path)
    # What is deleted is overwritten: whoever deletes for privacy must be able to rely on it.
    conn.execute("PRAGMA secure_delete = ON")
    conn.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
    return conn


def entry_of(row: tuple[Any, ...]) -> Entry:
    """An entry from the columns that the queries read one in."""
    (seq, entry_id, thread_id, content, entry_type, timestamp, start, end, metadata) = row[:9]
    (level, status, created, updated, zone_name, digest, parent_id) = row[9:]
    return Entry(
        seq=seq,
        id=entry_id,
        thread_id=thread_id,
        content=content,
        entry_type=entry_type,
        at=parse_time(timestamp),
        start=parse_time(start),
        end=parse_time(end),
        metadata=json.loads(metadata),
        level=level,
        status=status,
        created=parse_time(created),
        updated=parse_time(updated),
        zone_name=zone_name,
        hash=digest,
        parent_id=parent_id,
    )
