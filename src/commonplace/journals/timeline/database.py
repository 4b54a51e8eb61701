"""Owns the file of one owner's timeline: how it is opened, asked and erased, and the log beside it.

Never decides what is due or shown; holds no transaction but those its callers begin.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import CommonplaceError, Unavailable
from commonplace.core.expiring import nothing_hidden
from commonplace.core.plain_files import add_line, rename_over
from commonplace.db.owned import OwnedDatabase
from commonplace.db.sqlite import connect_read_only, empty_log, snapshot
from commonplace.journals.timeline.queries import sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from commonplace.core.expiring import Hidden
    from commonplace.db.owned import Writing
    from commonplace.db.sqlite import Database, Transaction, Using

FILE_NAME = "journal.db"
LOG_NAME = "rollups.log"
LOG_BYTES = 1_000_000

# A file beside it must grow before even a reader may come: its shared memory.
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
_LOOSE_SHARE = 4

_log = logging.getLogger(__name__)


class SqliteRows:
    """One use of the file; see `ports.TimelineRows`."""

    __slots__ = ("connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def run(self, query: str, values: Mapping[str, Any] | tuple[()] = ()) -> sqlite3.Cursor:
        """Run a query by its name; see the port."""
        return self.connection.execute(sql()[query], values)

    def run_each(self, query: str, values: Iterable[Mapping[str, Any]]) -> sqlite3.Cursor:
        """Run it with each of these values; see the port."""
        return self.connection.executemany(sql()[query], values)

    def snapshot(self) -> Transaction:
        """Have several queries read one state; see the port."""
        return snapshot(self.connection)


class TimelineDatabase:
    """The file of one owner, and the log beside it; implements `ports.TimelineStore`."""

    def __init__(
        self,
        folder: Path,
        prepare: Callable[[], object] | None = None,
        hidden: Hidden = nothing_hidden,
    ) -> None:
        self.file = TimelineFile(folder, prepare, hidden)
        self.folder = folder
        self.path = self.file.path

    @property
    def exists(self) -> bool:
        """Whether there is a file; see the port."""
        return self.file.exists

    @contextmanager
    def reading(self) -> Iterator[SqliteRows | None]:
        """This thread's connection; see the port."""
        with self.file.reading() as conn:
            yield None if conn is None else SqliteRows(conn)

    def writing(self) -> _Writing:
        """This thread's connection in a transaction, the file made if need be; see the port."""
        return _Writing(self.file.writing())

    def bare(self) -> Using:
        """This thread's connection without a transaction, for what cannot be in one."""
        return self.file.bare()

    def ask(self, query: str, /, **values: object) -> list[tuple[Any, ...]]:
        """The rows of one query; see the port."""
        return self.file.ask(query, **values)

    def is_erasing(self) -> bool:
        """Whether a process ended, or another read, before all bytes were gone; see the port."""
        return any(erasing for (erasing,) in self.ask("erasing"))

    def erase(self) -> None:
        """Leave nothing of what was deleted or altered in the file; see the port."""
        with self.writing() as rows:
            rows.run("merge_words")
            change = rows.run("last_change").fetchone()[0]
        if not self.file.erase():
            raise Unavailable(
                "Another process reads the timeline {place}, so the deleted text remains in the"
                " file.",
                hint="Delete it again when other processes are done.",
                place=self.path,
            )
        with self.writing() as rows:
            # What another process deleted or altered since is not erased yet.
            if rows.run("last_change").fetchone()[0] == change:
                rows.run("note_erasing", {"erasing": False})

    def compact(self) -> None:
        """Give back to the disk what is no longer used; see the port."""
        with self.writing() as rows:
            seq = rows.run("prune_to").fetchone()[0]
            rows.run("prune_changes", {"seq": seq})
            rows.run("note_pruned", {"seq": seq})
            rows.run("merge_words")
        # Another process that reads keeps the file as it is: the next time does.
        with suppress(CommonplaceError), self.bare() as conn:
            pages, loose = conn.execute(sql()["pages"]).fetchone()
            if loose * _LOOSE_SHARE > pages:
                conn.execute("VACUUM")
            empty_log(conn)

    def close(self) -> None:
        """Close the file; may be called twice."""
        self.file.close()

    def log(self, **facts: object) -> None:
        """One line more in the log of rollups, three files at most; it holds no text of entries.

        A rollup that is stored stays so where its line cannot be written: that is logged elsewhere.
        """
        line = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
        try:
            _make_room(self.folder / LOG_NAME)
            add_line(self.folder / LOG_NAME, line)
        except OSError as exc:
            _log.warning("%s cannot be written: %s.", self.folder / LOG_NAME, exc.strerror)


class _Writing:
    """One use of the file that writes; no generator, as in `db.owned`."""

    __slots__ = ("_writing",)

    def __init__(self, writing: Writing) -> None:
        self._writing = writing

    def __enter__(self) -> SqliteRows:
        """Begin, once nobody else writes."""
        return SqliteRows(self._writing.__enter__())

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        """Commit, or roll back."""
        self._writing.__exit__(kind, exc, trace)


class TimelineFile(OwnedDatabase):
    """The file itself; see `OwnedDatabase`."""

    name = FILE_NAME
    package = "commonplace.journals.timeline"
    queries = staticmethod(sql)

    _spare: Database | None = None
    """Where the disk is full, and nobody has the file open, it can still be read."""

    @staticmethod
    def visible() -> Mapping[str, str]:
        """Entries, and those of other journals, that may be seen."""
        return {"journal_entries": sql()["visible_entries"], "fed": sql()["visible_fed"]}

    def close(self) -> None:
        """Close the file; may be called twice."""
        super().close()
        self._drop_spare()

    def _connect(self, path: Path) -> sqlite3.Connection:
        there = os.path.exists(path)
        if there and not all(os.access(x, os.W_OK) for x in (path, path.parent)):
            # Where nothing may be written, what is there can be read.
            return connect_read_only(path)
        return super()._connect(path)

    def _readable(self) -> Database:
        try:
            made = self._database()
        except Unavailable as exc:
            code = getattr(exc.__cause__, "sqlite_errorcode", 0) & 0xFF
            if code not in _NO_ROOM or not os.path.exists(self.path):
                raise
            with self._lock:
                if self._spare is None:
                    self._spare = self._opened(connect_read_only)
                return self._spare
        if self._spare is not None:
            self._drop_spare()
        return made

    def _drop_spare(self) -> None:
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None:
            spare.close()


def _make_room(path: Path) -> None:
    """Begin a new file where this one is full; the one before the last goes."""
    if not os.path.exists(path) or os.path.getsize(path) < LOG_BYTES:
        return
    older = path.with_name(f"{path.name}.1")
    # Two processes may do so at once: the second finds nothing to move.
    with suppress(FileNotFoundError):
        rename_over(older, path.with_name(f"{path.name}.2"))
    with suppress(FileNotFoundError):
        rename_over(path, older)
