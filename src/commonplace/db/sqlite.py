"""SQLite as every room uses it: connections, transactions, and its errors in our words.

Never runs a query of its own on anybody's tables, never leaves a transaction to Python's guesswork.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, TypeAlias
from weakref import WeakSet

from commonplace.core.errors import Corrupted, Unavailable
from commonplace.core.standstill import PROCESS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BUSY_S = 30.0
# How long the checkpoint of another connection is waited for, and how often it is looked for.
_CHECKPOINT_S = 2.0
_CHECKPOINT_STEP_S = 0.01
REPAIR_HINT = "Run `commonplace doctor --repair`."

Synchronous: TypeAlias = Literal["full", "normal"]

_SMALLEST_PAGE = 512
"""A database has a whole number of these; to ask SQLite about each small file takes long."""

_NO_UTF_8 = "Could not decode to UTF-8"
_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_REFUSED = {
    sqlite3.SQLITE_READONLY: ("cannot be written: it is read-only", "Check who may write there."),
    sqlite3.SQLITE_PERM: ("cannot be opened: permission is denied", "Check who may write there."),
    sqlite3.SQLITE_AUTH: ("cannot be opened: permission is denied", "Check who may write there."),
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", "Free some space, then try again."),
    sqlite3.SQLITE_TOOBIG: ("cannot hold a value that large", "Store less at once."),
    sqlite3.SQLITE_IOERR: (
        "cannot be read or written: the disk reports an error",
        "Check whether the disk is full or damaged.",
    ),
    sqlite3.SQLITE_NOMEM: (
        "cannot be used: memory has run out",
        "Close something, then try again.",
    ),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "Check that its folder exists and is yours."),
}


def erase(conn: sqlite3.Connection) -> bool:
    """Leave nothing of what was deleted in a database file and its log.

    `secure_delete` overwrites what leaves, but SQLite moves rows from page to page, and what stays
    behind of them is room that nobody overwrites: the whole file is written again.

    Returns:
        False while another process holds an older state: its bytes are in the log until then.
    """
    conn.execute("VACUUM")
    return empty_log(conn)


def empty_log(conn: sqlite3.Connection) -> bool:
    """Move what a database's log holds into its file, and leave the log empty.

    Returns:
        False while another process holds an older state, which keeps the log as it is.
    """
    ends = time.monotonic() + _CHECKPOINT_S
    # SQLite waits for readers by itself, but not for a checkpoint that a commit elsewhere makes.
    while conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() >= ends:
            return False
        time.sleep(_CHECKPOINT_STEP_S)
    return True


# Every write and every step of a search passes through the three classes of this file that stand
# in a `with`; as generators they took three times as long, a tenth of a commit on a fast disk.


def translated(path: Path | str) -> Translated:
    """Turn what SQLite raises about a database's state into our errors, naming its file.

    Locked, read-only, full, failing and unreadable become Unavailable, damaged becomes Corrupted.
    A broken constraint is an answer, not a state, and passes through, as do faults of our own SQL.
    """
    return Translated(path)


_FTS5_DAMAGE = ("invalid fts5 file format", "no such fts5 table")


class Translated:
    """A stretch in which SQLite's errors become ours; see `translated`."""

    __slots__ = ("_path",)

    def __init__(self, path: Path | str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Begin to watch."""

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        """Raise ours in place of SQLite's."""
        if exc is not None:
            _translate(exc, self._path)


def _translate(exc: BaseException, path: Path | str) -> None:
    # Python cannot decode a text of a damaged file, nor what SQLite says of a damaged schema.
    if isinstance(exc, UnicodeDecodeError) or str(exc).startswith(_NO_UTF_8):
        raise Corrupted("The database {place} is corrupt.", hint=REPAIR_HINT, place=path) from exc
    ours = _ours(exc, path) if isinstance(exc, sqlite3.Error) else None
    if ours is not None:
        raise ours from exc


def _ours(exc: sqlite3.Error, path: Path | str) -> Unavailable | None:
    code = getattr(exc, "sqlite_errorcode", None)
    if code is None:
        closed = isinstance(exc, sqlite3.ProgrammingError) and "closed database" in str(exc)
        return (
            Unavailable("The database {place} is closed.", hint="Open it again.", place=path)
            if closed
            else None
        )
    primary = code & 0xFF
    # FTS5 reports its own damaged header, and a damaged schema of its own, as plain errors.
    if primary in _CORRUPT or any(sign in str(exc) for sign in _FTS5_DAMAGE):
        return Corrupted("The database {place} is corrupt.", hint=REPAIR_HINT, place=path)
    if primary in _BUSY:
        return Unavailable(
            "The database {place} is locked by another process.",
            hint="Try again, or end the process that holds it.",
            place=path,
        )
    if primary in _REFUSED:
        state, hint = _REFUSED[primary]
        return Unavailable(f"The database {{place}} {state}.", hint=hint, place=path)
    return None


_WRITING = "BEGIN IMMEDIATE"


def transaction(conn: sqlite3.Connection) -> Transaction:
    """Hold the write lock from the first statement on; commit at the end, roll back on any error.

    `BEGIN IMMEDIATE` waits for its turn up to the busy timeout; a deferred transaction that reads
    and then writes is refused at once when another has written meanwhile. Raises: Unavailable where
    this process stood still since it was asked, for all but what is derived.
    """
    return Transaction(conn, _WRITING)


def snapshot(conn: sqlite3.Connection) -> Transaction:
    """Read several times from one state of the database; takes no write lock."""
    return Transaction(conn, "BEGIN")


class Transaction:
    """What lies between a BEGIN and its COMMIT; see `transaction` and `snapshot`."""

    __slots__ = ("_begin", "_conn")

    def __init__(self, conn: sqlite3.Connection, begin: str) -> None:
        self._conn = conn
        self._begin = begin

    def __enter__(self) -> sqlite3.Connection:
        """Begin; what is kept for good only if this process did not stand still."""
        conn = self._conn
        conn.execute(self._begin)
        if self._begin == _WRITING and not isinstance(conn, Derived):
            try:
                PROCESS.refuse()
            except Unavailable:
                conn.execute("ROLLBACK")
                raise
        return conn

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        """Commit; on an error, or where that fails, roll back."""
        try:
            if exc is None:
                self._conn.execute("COMMIT")
        finally:
            # A full disk makes SQLite roll back by itself.
            if self._conn.in_transaction:
                self._conn.execute("ROLLBACK")


def connect(
    path: Path | str,
    *,
    synchronous: Synchronous = "full",
    page_size: int = 4096,
    busy_s: float = BUSY_S,
) -> sqlite3.Connection:
    """Open a database for reading and writing, made with mode 0600 if it is not there.

    WAL, foreign keys on, explicit transactions only.

    Args:
        path: Of its file.
        synchronous: `full` survives a power cut with every commit, `normal` may lose the last: for
            what is derived.
        page_size: Of a new file.
        busy_s: How long a lock of others is waited for.

    Raises:
        Unavailable, Corrupted.
    """
    with translated(path):
        _make_file(path)
        conn = sqlite3.connect(
            path,
            timeout=busy_s,
            isolation_level=None,
            check_same_thread=False,
            factory=sqlite3.Connection if synchronous == "full" else Derived,
        )
        try:
            conn.execute(f"PRAGMA page_size = {int(page_size)}")
            _use_wal(conn, busy_s)
            conn.execute("PRAGMA foreign_keys = ON")
            conn.execute(f"PRAGMA synchronous = {'FULL' if synchronous == 'full' else 'NORMAL'}")
        except BaseException:
            conn.close()
            raise
        return conn


def _make_file(path: Path | str) -> None:
    # A file that is there is never opened and closed here: the system would drop the locks that
    # other connections of this process hold on it, and another process, taking itself for the
    # last one, would remove the journal file under them. O_EXCL: nor one that came just now.
    try:
        if not os.path.exists(path):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
            with suppress(FileExistsError):
                os.close(os.open(os.path.realpath(path), flags, 0o600))
        elif not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as exc:
        raise Unavailable(
            f"The database {{place}} cannot be opened: {exc.strerror}.",
            hint="Check who may write there.",
            place=path,
        ) from exc


class Derived(sqlite3.Connection):
    """A connection to what can be made again."""


class Frozen(sqlite3.Connection):
    """A connection that takes the file for unchangeable: it is wrong once the file has changed."""


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open an existing database for reading alone, even in a folder where nothing may be written.

    There it may be Frozen. Raises: Unavailable, Corrupted.
    """
    with translated(path):
        # A database in WAL mode needs its -shm file; where none can be made, and no -wal waits to
        # be read, the file itself is the whole truth.
        for option, kind in (("mode=ro", sqlite3.Connection), ("mode=ro&immutable=1", Frozen)):
            conn = sqlite3.connect(
                f"{path.absolute().as_uri()}?{option}",
                timeout=BUSY_S,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
                factory=kind,
            )
            try:
                conn.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            except sqlite3.OperationalError as exc:
                conn.close()
                wal = f"{os.path.realpath(path)}-wal"
                waiting = os.path.exists(wal) and os.path.getsize(wal) > 0
                # A write that broke off lies half in the file, and waits to be rolled back.
                half = exc.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK
                if waiting or half or kind is Frozen or exc.sqlite_errorcode & 0xFF in _BUSY:
                    raise
            except BaseException:
                conn.close()
                raise
            else:
                return conn
    raise Unavailable(
        "The database {place} cannot be opened.", place=path
    )  # pragma: no cover  the loop returns or raises


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database, damaged or not. Raises: OSError, Unavailable.

    SQLite itself looks, since a database that is in use here must not be opened and closed by
    anything else (`db.raw_files` says why).
    """
    size = os.stat(path).st_size
    if not size or (size % _SMALLEST_PAGE and path.suffix != ".db"):
        return False
    try:
        connect_read_only(path).close()
    except Corrupted as exc:
        return getattr(exc.__cause__, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_NOTADB
    return True


def _use_wal(conn: sqlite3.Connection, busy_s: float) -> None:
    # Changing the mode does not wait on the busy timeout when two processes make the file at once.
    deadline = time.monotonic() + busy_s
    while conn.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            if conn.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
                return  # a disk without shared memory says no by staying as it was
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


class _Held:
    """One thread's connection, and the lock that keeps it from being closed under that thread."""

    __slots__ = ("conn", "lock")

    def __init__(self, conn: sqlite3.Connection) -> None:
        self.conn = conn
        self.lock = threading.RLock()


class Using:
    """One use of a connection, under its lock; see `Database.using`."""

    __slots__ = ("_held", "_path")

    def __init__(self, held: _Held, path: Path) -> None:
        self._held = held
        self._path = path

    def __enter__(self) -> sqlite3.Connection:
        """Take the connection, once nobody else has it."""
        self._held.lock.acquire()
        return self._held.conn

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        """Give it back; raise ours in place of SQLite's."""
        self._held.lock.release()
        if exc is not None:
            _translate(exc, self._path)


_PROCESS = os.getpid()
_DATABASES: WeakSet[Database] = WeakSet()
"""Those of this process, and of the ones that it was forked from."""


class Database:
    """A database file with one connection a thread.

    open_connection: makes a connection where `connect` with its defaults is not what is wanted.
    It is refused in a child that was forked since it was made, and so is any other of its file
    there: SQLite takes the locks of the parent for its own, and once the parent closes the file,
    what the child commits is gone.
    """

    def __init__(
        self, path: Path, *, open_connection: Callable[[Path], sqlite3.Connection] = connect
    ) -> None:
        self.path = path
        self._open_connection = open_connection
        self._lock = threading.Lock()
        self._held: dict[int, _Held] = {}
        self._closed = False
        self._process = os.getpid()
        _DATABASES.add(self)

    def connection(self) -> sqlite3.Connection:
        """The connection of the calling thread, opened at its first call.

        Raises: Unavailable when closed or not to be opened.
        """
        return self._mine().conn

    def using(self) -> Using:
        """Use this thread's connection, errors translated; `close` elsewhere waits for the end."""
        return Using(self._mine(), self.path)

    def close(self) -> None:
        """Close the connections of all threads, each once it is idle; may be called twice."""
        with self._lock:
            self._closed = True
            held, self._held = self._held, {}
        for each in held.values():
            with each.lock:
                each.conn.close()

    def close_idle(self) -> bool:
        """Close the connections no thread is using now, open no new ones; whether none is left."""
        with self._lock:
            self._closed = True
            for ident, each in list(self._held.items()):
                if each.lock.acquire(blocking=False):
                    each.conn.close()
                    each.lock.release()
                    del self._held[ident]
            return not self._held

    def _mine(self) -> _Held:
        if self._process != os.getpid():  # asked before the lock, which a thread may hold for ever
            self._refuse_forked()
        ident = threading.get_ident()
        with self._lock:
            held = self._held.get(ident)
            if held is not None:
                return held
            self._refuse_closed()
            # Connections of threads that ended without closing them.
            alive = {thread.ident for thread in threading.enumerate()}
            for gone in [each for each in self._held if each not in alive]:
                self._held.pop(gone).conn.close()
        if self._process != _PROCESS:
            self._refuse_inherited()
        held = _Held(self._open_connection(self.path))
        with self._lock:
            try:
                self._refuse_closed()
            except Unavailable:
                held.conn.close()
                raise
            self._held[ident] = held
        return held

    def _refuse_inherited(self) -> None:
        """Refuse a file that was open when this process was forked."""
        name = os.path.realpath(self.path)
        for each in [*_DATABASES]:
            inherited = each._process != self._process and each._held  # noqa: SLF001  of this class
            if inherited and os.path.realpath(each.path) == name:
                self._refuse_forked()

    def _refuse_forked(self) -> None:
        raise Unavailable(
            "The database {place} was open when this process was forked from another.",
            hint="Close it before the fork, or start the process by `spawn`.",
            place=self.path,
        )

    def _refuse_closed(self) -> None:
        if self._closed:
            raise Unavailable(
                "The database {place} is closed.", hint="Open it again.", place=self.path
            )
