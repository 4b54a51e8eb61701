"""The database file of one owner's index: opened, made again when it must be, refused when too new.

Never migrates and never keeps a broken file: an index is derived, so it is made again and refilled.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import threading
import zlib
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct, field

from commonplace.core.errors import CommonplaceError, Corrupted, Unavailable
from commonplace.core.files import locked, make_folder
from commonplace.core.files import translated as disk
from commonplace.core.values import said
from commonplace.db.queries import read_queries, read_sql, split_statements
from commonplace.db.sqlite import (
    REPAIR_HINT,
    Database,
    connect,
    connect_read_only,
    transaction,
    translated,
)
from commonplace.index.scoring.stems import folded_words
from commonplace.index.sqlite.damage import MISREAD, is_damaged
from commonplace.index.sqlite.meaning import STORES, Meaning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from commonplace.index.sqlite.doc_table import DocTables
    from commonplace.index.sqlite.docs import Facet, Queries
    from commonplace.index.sqlite.words import DocFrequencies

    OpenMeaning: TypeAlias = Callable[[Path, Queries], Meaning]

SCHEMA = 9
FILE_NAME = "index.db"
MATRIX_SUFFIX = ".matrix"

_APPLICATION_ID = 0x434D4E50
# Four vectors of 384 numbers to a page and little waste; 4096 would hold two and waste a quarter.
_PAGE_SIZE = 8192
_BROKEN_NAME = "index.broken"
_LONGEST_DAY = len("30 September 2026")
# How SQLite says that a table of ours is not there.
_TABLES_GONE = ("no such table", "vtable constructor failed")


@cache
def queries() -> Mapping[str, str]:
    """The named queries of the index."""
    return read_queries("commonplace.index.sqlite", "queries.sql")


@cache
def _schema() -> list[str]:
    return split_statements(read_sql("commonplace.index.sqlite", "schema.sql"))


class Opened(Struct, dict=True):
    """One opening of the file: its connections, and what is remembered while it lasts.

    Args:
        identity: Device and inode of the file.
        reading: Held while a transaction begins that takes in what is new, so that none takes in
            less than an earlier one.
        facets: By number.
    """

    database: Database
    meaning: Meaning
    read_only: bool
    identity: tuple[int, int]
    reading: threading.Lock = field(default_factory=threading.Lock)
    facets: dict[int, Facet] = field(default_factory=dict)

    @cached_property
    def doc_tables(self) -> DocTables:
        """The doc table as last read; asked for while `reading` is held."""
        from commonplace.index.sqlite.doc_table import DocTables

        return DocTables(queries())

    @cached_property
    def frequencies(self) -> DocFrequencies:
        """In how many docs words stand, as last counted; asked for while `reading` is held."""
        from commonplace.index.sqlite.words import DocFrequencies

        return DocFrequencies()


class IndexFile:
    """The index file in an owner's folder, shared by the threads of this process.

    A file that was deleted or replaced is opened again at the next use; one that proved corrupt is
    removed then and made empty, marks and all, so that the journals refill it.
    """

    def __init__(self, folder: Path, open_meaning: OpenMeaning = Meaning) -> None:
        self.folder = folder
        self.path = folder / FILE_NAME
        self._open_meaning = open_meaning
        self._lock = threading.Lock()
        self._opened: Opened | None = None
        self._retired: list[Database] = []
        self._broken = False
        self._closed = False

    @contextlib.contextmanager
    def using(self, *, write: bool = False) -> Iterator[tuple[sqlite3.Connection, Opened]]:
        """Use this thread's connection; with `write`, refuse where nothing may be written.

        Raises:
            Unavailable: It cannot be opened, or was replaced in use.
            Corrupted: It is damaged; the next use heals.
        """
        opened: Opened | None = None
        try:
            with contextlib.ExitStack() as use:
                # Begun under the lock: a thread that reopens the file closes what is not in use.
                with self._lock:
                    opened = self._ready(write=write)
                    conn = use.enter_context(opened.database.using())
                yield conn, opened
        except Corrupted:
            with self._lock:
                # A thread that comes late with the old file says nothing of one made again since.
                if opened is None or _identity(self.path) == opened.identity:
                    self._note_broken()
            raise
        except MISREAD as exc:
            replaced = opened is not None and _identity(self.path) != opened.identity
            if replaced and isinstance(exc, sqlite3.OperationalError):
                raise Unavailable(
                    "The index {place} was replaced in use.", hint="Try again.", place=self.path
                ) from exc
            if replaced or not (str(exc).startswith(_TABLES_GONE) or self._is_damaged()):
                raise
            self._note_broken()
            raise Corrupted(
                "The index {place} is corrupt.", hint=REPAIR_HINT, place=self.path
            ) from exc

    def close(self) -> None:
        """Close all connections; no use after it. May be called twice."""
        with self._lock:
            self._closed = True
            if self._opened is not None:
                self._opened.meaning.close()
                self._opened.database.close()
                self._opened = None
            for each in self._retired:
                each.close()
            self._retired.clear()

    def close_idle(self) -> None:
        """Close every connection that is not in use; the next use opens the file again."""
        with self._lock:
            self._retire()

    def recreate(self) -> None:
        """Remove the file and everything beside it; the next use makes an empty one."""
        with self._lock, locked(self.folder):
            self._retire()
            self._remove()

    def look(self) -> sqlite3.Connection | None:
        """A connection for examining the file as it is, healing nothing; None for no file.

        Raises:
            Unavailable: It cannot be opened, or is an index of a newer program.
            Denied: The folder cannot be entered.
            Invalid: The folder is none.
            Corrupted: It is damaged.
        """
        with disk(self.folder):
            try:
                is_empty = os.stat(self.path).st_size == 0
            except FileNotFoundError:
                return None
        if is_empty:
            return None
        if os.path.exists(self._broken_mark()):
            raise Corrupted("The index {place} is corrupt.", hint=REPAIR_HINT, place=self.path)
        try:
            conn = _connect(self.path)
        except Corrupted:
            raise
        except Unavailable:
            conn = _connect_read_only(self.path)
        try:
            with translated(self.path):
                _refuse_foreign(conn, self.path)
        except BaseException:
            conn.close()
            raise
        return conn

    def bytes_on_disk(self) -> int:
        """The apparent size of the database, its journal, the matrices and vector stores."""
        total = 0
        with contextlib.suppress(OSError), os.scandir(self.folder) as names:
            for name in names:
                if name.name.startswith(FILE_NAME) or name.name.endswith(MATRIX_SUFFIX):
                    with contextlib.suppress(OSError):
                        total += name.stat().st_size
        for folder, _, names_in in os.walk(self.folder / STORES):
            for each in names_in:
                with contextlib.suppress(OSError):
                    total += os.stat(os.path.join(folder, each)).st_size
        return total

    def _is_damaged(self) -> bool:
        """Whether what could not be read is the file's fault, and none of ours."""
        try:
            conn = self.look()
            if conn is None:
                return False
            with contextlib.closing(conn), translated(self.path):
                return is_damaged(conn, queries())
        except (Corrupted, *MISREAD):
            return True
        except CommonplaceError:
            return False

    def _note_broken(self) -> None:
        self._broken = True
        with contextlib.suppress(OSError):
            self._broken_mark().touch()

    def _ready(self, *, write: bool) -> Opened:
        if self._closed:
            raise Unavailable(
                "The index {place} is closed.", hint="Open the index again.", place=self.path
            )
        opened = self._opened
        fit = opened is not None and not self._broken and _identity(self.path) == opened.identity
        if opened is None or not fit or (write and opened.read_only):
            self._retire()
            opened = self._opened = self._open(write=write)
            self._broken = False
        return opened

    def _retire(self) -> None:
        if self._opened is not None:
            self._opened.meaning.close()
            self._retired.append(self._opened.database)
            self._opened = None
        # A connection another thread is using now is closed at a later turn.
        self._retired = [each for each in self._retired if not each.close_idle()]

    def _open(self, *, write: bool) -> Opened:
        try:
            make_folder(self.folder)
            with locked(self.folder):
                return self._open_for_writing()
        except Corrupted:
            raise
        except CommonplaceError:
            if write or not os.path.exists(self.path):
                raise
            try:
                return self._open_for_reading()
            except Unavailable:
                pass
            raise

    def _open_for_writing(self) -> Opened:
        if os.path.exists(self._broken_mark()) or not os.path.exists(self.path):
            self._remove()
        database = Database(self.path, open_connection=_connect)
        try:
            with database.using() as conn:
                fit = _is_current(conn, self.path)
        except Corrupted:
            fit = False
        except BaseException:
            database.close()
            raise
        if not fit:
            database.close()
            self._remove()
            database = Database(self.path, open_connection=_connect)
            with database.using() as conn:
                _is_current(conn, self.path)
        return self._opening(database, read_only=False)

    def _open_for_reading(self) -> Opened:
        database = Database(self.path, open_connection=_connect_read_only)
        try:
            with database.using() as conn:
                _refuse_foreign(conn, self.path)
                _refuse_older(conn, self.path)
        except BaseException:
            database.close()
            raise
        return self._opening(database, read_only=True)

    def _opening(self, database: Database, *, read_only: bool) -> Opened:
        identity = _identity(self.path)
        if identity is None:
            raise Unavailable(
                "The index {place} was removed while it was opened.",
                hint="Try again.",
                place=self.path,
            )
        meaning = self._open_meaning(self.folder, queries())
        return Opened(database, meaning, read_only, identity)

    def _broken_mark(self) -> Path:
        return self.folder / _BROKEN_NAME

    def _remove(self) -> None:
        names = [FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm"]
        names += [each.name for each in self.folder.glob(f"*{MATRIX_SUFFIX}")]
        with disk(self.folder), contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.folder / STORES)
        # The mark goes last: a process killed on the way leaves it, and the next one goes on.
        for name in [*names, _BROKEN_NAME]:
            try:
                (self.folder / name).unlink(missing_ok=True)
            except OSError as exc:
                raise Unavailable(
                    f"A file {{place}} of the index cannot be removed: {exc.strerror}.",
                    hint="Check who may write there.",
                    place=self.folder / name,
                ) from exc


def _folded(text: str) -> str:
    return _folded_day(text) if len(text) <= _LONGEST_DAY else folded_words(text)


# Docs lie in the order of time: folding each day once saves an eighth of a look for damage.
_folded_day = lru_cache(maxsize=32)(folded_words)


def _connect(path: Path) -> sqlite3.Connection:
    conn = connect(path, synchronous="normal", page_size=_PAGE_SIZE)
    # Deleted text is overwritten, and the journal file never grows beyond 4 MB for long.
    conn.execute("PRAGMA secure_delete = ON")
    conn.execute("PRAGMA wal_autocheckpoint = 512")
    conn.execute("PRAGMA journal_size_limit = 4194304")
    return _configure(conn)


def _connect_read_only(path: Path) -> sqlite3.Connection:
    return _configure(connect_read_only(path))


def _configure(conn: sqlite3.Connection) -> sqlite3.Connection:
    # A cache for each thread that searches or files: of 16 MB a server held 80 in all, and was no
    # faster, since the system keeps the file's pages as well.
    conn.execute("PRAGMA cache_size = -4000")
    conn.create_function("folded_words", 1, _folded, deterministic=True)
    conn.create_function("said", 2, said, deterministic=True)
    conn.create_function("crc32", 1, zlib.crc32, deterministic=True)
    return conn


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _version(conn: sqlite3.Connection) -> int:
    return int(conn.execute("PRAGMA user_version").fetchone()[0])


def _refuse_foreign(conn: sqlite3.Connection, path: Path) -> None:
    if conn.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
        raise Unavailable(
            "The file {place} is not an index of commonplace.",
            hint="Move it elsewhere.",
            place=path,
        )
    version = _version(conn)
    if version > SCHEMA:
        raise Unavailable(
            f"The index {{place}} has schema {version}; this commonplace knows schema {SCHEMA}.",
            hint="Upgrade commonplace, or delete the file: it is filled again from the journals.",
            place=path,
        )


def _refuse_older(conn: sqlite3.Connection, path: Path) -> None:
    version = _version(conn)
    if version < SCHEMA:
        raise Unavailable(
            f"The index {{place}} has schema {version}, and schema {SCHEMA} cannot be made"
            " in its place.",
            hint="Check who may write there.",
            place=path,
        )


def _is_current(conn: sqlite3.Connection, path: Path) -> bool:
    """Whether the file has our schema, made now if the file is empty; False for an older one."""
    with transaction(conn):
        if not conn.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            for statement in _schema():
                conn.execute(statement)
            conn.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            conn.execute(f"PRAGMA user_version = {SCHEMA}")
        _refuse_foreign(conn, path)
        return _version(conn) == SCHEMA


def empty(conn: sqlite3.Connection) -> None:
    """Empty a file in one transaction, so that processes that have it open go on; leases stay.

    All numbers go on where they were: what other processes remember under the number of a facet, an
    encoder or a vector is never mistaken for something new.
    """
    with transaction(conn):
        numbers = dict(conn.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
        leases = conn.execute("SELECT name, holder, until FROM leases").fetchall()
        encoders = conn.execute("SELECT id, identity, dimensions FROM encoders").fetchall()
        for script in ("empty.sql", "schema.sql"):
            for statement in split_statements(read_sql("commonplace.index.sqlite", script)):
                conn.execute(statement)
        conn.executemany("INSERT INTO leases (name, holder, until) VALUES (?, ?, ?)", leases)
        conn.executemany(
            "INSERT INTO encoders (id, identity, dimensions) VALUES (?, ?, ?)", encoders
        )
        # A drop that no reader can have seen makes every reader begin again.
        numbers["dropped"] = numbers.get("dropped", 0) + 1
        conn.executemany("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", numbers.items())
        conn.execute("UPDATE state SET pruned = ?, texts_dropped = 1", (numbers["dropped"],))
