"""A database file of ours: made at its first write, migrated when it is opened, erasing what goes.

Never knows what its tables hold; holds no transaction but those its callers begin.
"""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from commonplace.core.expiring import nothing_hidden
from commonplace.core.files import make_folder, may_exist
from commonplace.db.hiding import HiddenRows
from commonplace.db.migrate import list_migrations, migrate
from commonplace.db.sqlite import Database, connect, erase, transaction

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from commonplace.core.expiring import Hidden
    from commonplace.db.sqlite import Transaction, Using

_WAL_LIMIT = 4 * 1024 * 1024


class OwnedDatabase(ABC):
    """The file of one journal of one owner, there or not. Thread-safe.

    Args:
        folder: Where it lies.
        prepare: Called before it is made.
        hidden: Gives the refs that no reader may see.

    Attributes:
        name: Of the file.
        package: Of the journal; its numbered scripts lie in `migrations` there.
    """

    name: ClassVar[str]
    package: ClassVar[str]

    def __init__(
        self,
        folder: Path,
        prepare: Callable[[], object] | None = None,
        hidden: Hidden = nothing_hidden,
    ) -> None:
        self._rows = HiddenRows(hidden, self.visible)
        self.folder = folder
        self.path = folder / self.name
        self._prepare = prepare
        self._lock = threading.Lock()
        self._made: Database | None = None

    @staticmethod
    @abstractmethod
    def queries() -> Mapping[str, str]:
        """The queries of the journal by name."""

    @staticmethod
    @abstractmethod
    def visible() -> Mapping[str, str]:
        """Each table that has entries, with the query of those that may be seen."""

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
            if not conn.in_transaction:
                self._rows.hide(conn)
            yield conn

    def writing(self) -> Writing:
        """This thread's connection in a transaction, the file made if need be."""
        return Writing(self.bare())

    def bare(self) -> Using:
        """This thread's connection without a transaction, for what cannot be in one."""
        database = self._database()
        if self._rows.has_hidden:
            with database.using() as conn:
                self._rows.show(conn)
        return database.using()

    def ask(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query; none where there is no file. Raises: Unavailable."""
        with self.reading() as conn:
            return [] if conn is None else conn.execute(self.queries()[query], values).fetchall()

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
                self._made = self._opened(self._connect)
            return self._made

    def _connect(self, path: Path) -> sqlite3.Connection:
        """Open the file, in which what is deleted is overwritten. Raises: as `connect`."""
        conn = connect(path)
        conn.execute("PRAGMA secure_delete = ON")
        conn.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
        return conn

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
                migrate(conn, list_migrations(self.package, "migrations"), path=self.path)
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
