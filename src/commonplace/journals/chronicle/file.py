"""Owns which file lies under the name of chronicle's database, and the connections to it.

Never opens that file but through SQLite, and never knows what its tables hold.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
import threading
from typing import TYPE_CHECKING

from commonplace.core.errors import Corrupted, Invalid, Unavailable
from commonplace.core.files import make_folder, translated
from commonplace.db.sqlite import (
    BUSY_S,
    Database,
    Frozen,
    connect,
    connect_read_only,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from commonplace.journals.chronicle.layouts import Layout

_NAME_ANOTHER = "Check CHRONICLE_DB_PATH, or move what is there away."


class ChronicleFile:
    """A database file, there or not, that may be replaced at any time; each thread's connections.

    layouts: what was learnt of just this file, by the version of its schema; another file under the
    name begins with none. Thread-safe.

    patience_s: how long a lock of others is waited for.
    """

    def __init__(self, path: Path, *, patience_s: float = BUSY_S) -> None:
        self.path = path
        self.layouts: dict[int, Layout] = {}
        self.patience_ms = int(patience_s * 1000)
        self._lock = threading.Lock()
        self._files = _files_of(path)
        self._identity: tuple[int, int] | None = None
        self._frozen: set[str] = set()
        self._reader: Database | None = None
        self._writer: Database | None = None

    def close(self) -> None:
        """Close the file; may be called twice, and the next use opens it again."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        for each in (self._reader, self._writer):
            if each is not None:
                each.close()
        self._reader = self._writer = None
        self._identity = None
        self._frozen = set()
        self.layouts = {}

    def to_read(self) -> Database | None:
        """Its connections for reading; None where there is no file. Raises: Invalid, Denied."""
        with self._lock:
            if self._reopen_if_replaced() is None:
                return None
            self._reader = self._reader or Database(
                self.path, open_connection=self._connect_to_read
            )
            return self._reader

    def opened_to_write(self) -> Database | None:
        """Its connections for writing, if just this file was opened to write before.

        Raises: Invalid, Denied.
        """
        with self._lock:
            self._reopen_if_replaced()
            return self._writer

    def to_write(self) -> Database:
        """Its connections for writing; the file is made. Raises: Invalid, Denied, Unavailable."""
        with self._lock:
            if self._reopen_if_replaced() is None:
                make_folder(self.path.parent)
                self._make_file()
                self._reopen_if_replaced()
            self._writer = self._writer or Database(
                self.path, open_connection=self._connect_to_write
            )
            return self._writer

    def _reopen_if_replaced(self) -> tuple[int, int] | None:
        identity = self._find_identity()
        # Another file lies under the name by now, or it changed where that could not be watched:
        # open connections would not see it.
        if identity != self._identity or (self._frozen and self._frozen != {self.state()}):
            self._close()
            self._identity = identity
            self._files = _files_of(self.path)
        return identity

    def _make_file(self) -> None:
        real = os.path.realpath(self.path)
        if not os.path.isdir(os.path.dirname(real)):
            raise Invalid(
                "The database {place} is a link into a folder that does not exist.",
                hint="Make that folder, mount its disk, or mend the link.",
                place=f"{self.path} -> {real}",
            )
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        # Only a file that nobody had before may be opened and closed: see `_find_identity`.
        with contextlib.suppress(FileExistsError), translated(self.path):
            os.close(os.open(real, flags, 0o600))

    def _find_identity(self) -> tuple[int, int] | None:
        """Which file lies under the name. Raises: Invalid for what is not a file, Denied.

        It is asked for its names alone. To open it, were it only to read how it begins, is to
        close it again, and with that the system drops every lock this process holds on it: another
        process would take itself for the last one, and remove the journal file under a connection
        of ours. What is in the file, SQLite says.
        """
        try:
            found = os.stat(self._files[0])
        except FileNotFoundError:
            return None
        except OSError:
            with translated(self.path):
                raise
        identity = found.st_dev, found.st_ino
        if identity != self._identity:
            if not stat.S_ISREG(found.st_mode):
                what = "a folder, not a file" if stat.S_ISDIR(found.st_mode) else "not a plain file"
                raise Invalid(
                    f"The database {{place}} is {what}.", hint=_NAME_ANOTHER, place=self.path
                )
            if not os.access(self.path, os.R_OK):
                with translated(self.path):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return identity

    def _connect_to_read(self, path: Path) -> sqlite3.Connection:
        state = self.state()
        try:
            conn = connect_read_only(path)
        except Unavailable as exc:
            code = getattr(exc.__cause__, "sqlite_errorcode", 0)
            if code != sqlite3.SQLITE_READONLY_ROLLBACK:
                raise
            _roll_back(path)
            conn = connect_read_only(path)
        if isinstance(conn, Frozen):
            self._frozen.add(state)
        return self._prepared(conn)

    def _connect_to_write(self, path: Path) -> sqlite3.Connection:
        return self._prepared(connect(path))

    def _prepared(self, conn: sqlite3.Connection) -> sqlite3.Connection:
        conn.execute(f"PRAGMA busy_timeout = {self.patience_ms}")
        conn.text_factory = bytes  # other programs' texts need not be UTF-8
        return conn

    def changed_ns(self) -> int:
        """When what `state` says changed last, by the disk's clock."""
        found = map(_stat, self._files)
        return max((x.st_mtime_ns for x in found if x and x.st_size), default=0)

    @property
    def number(self) -> int:
        """The number under which the disk knows the file that was opened; 0 for none."""
        return self._identity[1] if self._identity else 0

    def state(self) -> str:
        """Size and mtime of the file and of what waits beside it; changes with every commit."""
        found = [_stat(x) for x in self._files]
        # An empty -wal comes and goes with each reader.
        return "/".join(f"{x.st_size}:{x.st_mtime_ns}" if x and x.st_size else "0" for x in found)


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise what SQLite says of a file as its owner understands it."""
    try:
        yield
    except Corrupted as exc:
        raise _damaged(exc, path) from exc
    except sqlite3.OperationalError as exc:
        raise Unavailable(
            "The database {place} cannot be used: its tables or triggers are not as"
            " chronicle makes them.",
            hint="Run `commonplace doctor`, or check CHRONICLE_DB_PATH.",
            place=path,
        ) from exc


def _damaged(exc: Corrupted, path: Path) -> Invalid | Corrupted:
    code = getattr(exc.__cause__, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_NOTADB:
        return Invalid(
            "The file {place} is not a SQLite database.",
            hint="Check CHRONICLE_DB_PATH; if it was one, restore it from a backup.",
            place=path,
        )
    if code == sqlite3.SQLITE_CORRUPT_VTAB:
        message = "The database {place} has a word index that does not fit its entries."
        return Corrupted(message, hint="Run `commonplace doctor --repair`.", place=path)
    return Corrupted(
        "The database {place} is corrupt.",
        hint="Check CHRONICLE_DB_PATH, or restore the file from a backup.",
        place=path,
    )


def _files_of(path: Path) -> tuple[str, str]:
    # SQLite keeps its -wal beside the file that a link leads to.
    return str(path), f"{os.path.realpath(path)}-wal"


def _roll_back(path: Path) -> None:
    """Let SQLite take back what a killed writer left half done. Raises: Unavailable."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with contextlib.closing(sqlite3.connect(uri, timeout=BUSY_S, uri=True)) as conn:
            conn.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as exc:
        raise Unavailable(
            "The database {place} holds an interrupted write, which this process may not undo.",
            hint="Open it once as a user who may write there.",
            place=path,
        ) from exc


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
