"""A database file of ours: made at its first write, migrated when it is opened, erasing what goes.

Never knows what its tables hold; holds no transaction but those its callers begin.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from commonplace.core.files import make_folder, may_exist
from commonplace.db.migrate import list_migrations, migrate
from commonplace.db.sqlite import Database, connect, erase, transaction

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from commonplace.db.hiding import HiddenRows
    from commonplace.db.sqlite import Transaction, Using

_WAL_LIMIT = 4 * 1024 * 1024


class OwnedDatabase:
    """The file of one journal of one owner, there or not. Thread-safe.

    Args:
        package, migrations: Where its numbered scripts lie.
        rows: The rows that no reader may see; None for none.
    """

    def __init__(
        self,
        path: Path,
        *,
        package: str,
        migrations: str,
        queries: Callable[[], Mapping[str, str]],
        prepare: Callable[[], object] | None = None,
        open_connection: Callable[[Path], sqlite3.Connection] | None = None,
        rows: HiddenRows | None = None,
    ) -> None:
        self._rows = rows
        self.folder = path.parent
        self.path = path
        self._scripts = package, migrations
        self._queries = queries
        self._prepare = prepare
        self._open_connection = open_connection or connect_erasing
        self._lock = threading.Lock()
        self._made: Database | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever written."""
        return self._made is not None or may_exist(self.path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """This thread's connection; None where there is no file yet. Raises: Unavailable."""
        if not self.exists:
            yield None
            return
        with self._readable().using() as conn:
            # Within a write every row is there: a view cannot be written to.
            if self._rows is not None and not conn.in_transaction:
                self._rows.hide(conn)
            yield conn

    def writing(self) -> Writing:
        """This thread's connection in a transaction, the file made if need be."""
        return Writing(self.bare())

    def bare(self) -> Using:
        """This thread's connection without a transaction, for what cannot be in one."""
        database = self._database()
        if self._rows is not None and self._rows.has_hidden:
            with database.using() as conn:
                self._rows.show(conn)
        return database.using()

    def ask(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query; none where there is no file. Raises: Unavailable."""
        with self.reading() as conn:
            return [] if conn is None else conn.execute(self._queries()[query], values).fetchall()

    def erase(self) -> bool:
        """Leave nothing of what was deleted in the file; see `erase`. Raises: Unavailable."""
        with self.bare() as conn:
            return erase(conn)

    def close(self) -> None:
        """Let go of the file; may be called twice."""
        with self._lock:
            if self._made is not None:
                self._made.close()
                self._made = None

    def _database(self) -> Database:
        with self._lock:
            if self._made is None:
                self._made = self._opened(self._open_connection)
            return self._made

    def _readable(self) -> Database:
        """What is read from: what is written to, unless a journal knows of something better."""
        return self._database()

    def _opened(self, open_connection: Callable[[Path], sqlite3.Connection]) -> Database:
        if not may_exist(self.path):
            if self._prepare is not None:
                self._prepare()
            make_folder(self.folder)
        database = Database(self.path, open_connection=open_connection)
        try:
            with database.using() as conn:
                migrate(conn, list_migrations(*self._scripts), path=self.path)
        except BaseException:
            database.close()
            raise
        return database


class Writing:
    """One use of a connection with a transaction in it; see `OwnedDatabase.writing`.

    No generator: as in `db.sqlite`, that would be a part of a commit worth saving.
    """

    __slots__ = ("_transaction", "_using")

    def __init__(self, using: Using) -> None:
        self._using = using
        self._transaction: Transaction | None = None

    def __enter__(self) -> sqlite3.Connection:
        """Begin, once nobody else writes."""
        conn = self._using.__enter__()
        begun = transaction(conn)
        try:
            begun.__enter__()
        except BaseException:
            self._using.__exit__(*sys.exc_info())
            raise
        self._transaction = begun
        return conn

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        """Commit, or roll back; raise ours in place of SQLite's."""
        begun, self._transaction = self._transaction, None
        try:
            if begun is not None:
                begun.__exit__(kind, exc, trace)
        except BaseException:
            self._using.__exit__(*sys.exc_info())
            raise
        self._using.__exit__(kind, exc, trace)


def connect_erasing(path: Path) -> sqlite3.Connection:
    """Open a database in which what is deleted is overwritten. Raises: as `connect`."""
    conn = connect(path)
    # Whoever deletes for privacy must be able to rely on it.
    conn.execute("PRAGMA secure_delete = ON")
    conn.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
    return conn
