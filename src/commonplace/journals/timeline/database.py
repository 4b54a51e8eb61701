"""Owns the file of one owner's timeline: how it is opened, and the log beside it.

Never decides what is due or shown; holds no transaction but those its callers begin.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.core.errors import Unavailable
from commonplace.core.expiring import nothing_hidden
from commonplace.core.plain_files import add_line
from commonplace.db.hiding import HiddenRows
from commonplace.db.owned import OwnedDatabase, connect_erasing
from commonplace.db.sqlite import connect_read_only
from commonplace.journals.timeline.queries import sql

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from commonplace.core.expiring import Hidden
    from commonplace.db.sqlite import Database

FILE_NAME = "journal.db"
LOG_NAME = "rollups.log"
LOG_BYTES = 1_000_000

# A file beside it must grow before even a reader may come: its shared memory.
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}

_log = logging.getLogger(__name__)


def _visible() -> Mapping[str, str]:
    """Each table that has entries, with the query of those that may be seen."""
    return {"journal_entries": sql()["visible_entries"], "fed": sql()["visible_fed"]}


class TimelineDatabase(OwnedDatabase):
    """The file of one owner, and the log beside it; see `OwnedDatabase`."""

    def __init__(
        self,
        folder: Path,
        prepare: Callable[[], object] | None = None,
        hidden: Hidden = nothing_hidden,
    ) -> None:
        super().__init__(
            folder / FILE_NAME,
            package="commonplace.journals.timeline",
            migrations="migrations",
            queries=sql,
            prepare=prepare,
            open_connection=_connect,
            rows=HiddenRows(hidden, _visible),
        )
        # Where the disk is full, and nobody has the file open, it can still be read.
        self._spare: Database | None = None

    def close(self) -> None:
        """Close the file; may be called twice."""
        super().close()
        self._drop_spare()

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


def _connect(path: Path) -> sqlite3.Connection:
    there = os.path.exists(path)
    if there and not all(os.access(x, os.W_OK) for x in (path, path.parent)):
        # Where nothing may be written, what is there can be read.
        return connect_read_only(path)
    return connect_erasing(path)


def _make_room(path: Path) -> None:
    """Begin a new file where this one is full; the one before the last goes."""
    if not os.path.exists(path) or os.path.getsize(path) < LOG_BYTES:
        return
    older = path.with_name(f"{path.name}.1")
    # Two processes may do so at once: the second finds nothing to move.
    with suppress(FileNotFoundError):
        os.replace(older, path.with_name(f"{path.name}.2"))
    with suppress(FileNotFoundError):
        os.replace(path, older)
