"""Another program's SQLite database, read without a touch: anyone may have written its schema.

Never takes a view for a table, and never waits without end for a row. Never opens a database where
its program has left work in a log, unless asked to: it reads a copy of both.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.files import regular_file, translated
from commonplace.core.scratch import scratch_folder_aside
from commonplace.core.text import opening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LONGEST_ROW_S = 30.0
"""How long a row may take to come, in seconds: one of a table takes milliseconds."""

_STEPS = 20_000
_LOGS = ("-wal", "-journal")
_TRIES = 3
_HEAD = b"SQLite format 3\0"


class ForeignDatabase:
    """A database of another program, open; in its texts U+FFFD stands for what is not UTF-8.

    Raises:
        Invalid: By each method, where it is damaged, or a row takes too long.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: str, *, row_s: float = LONGEST_ROW_S
    ) -> None:
        self._connection = connection
        self._path = path
        self._row_s = row_s
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        with _explained(path):
            connection.execute("PRAGMA query_only = 1")
            # What an expression in a hostile schema may call is nothing.
            connection.execute("PRAGMA trusted_schema = 0")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of a query, one query at a time."""
        ends = time.monotonic() + self._row_s
        self._connection.set_progress_handler(lambda: time.monotonic() > ends, _STEPS)
        try:
            with _explained(self._path, lambda: self._row_s if time.monotonic() > ends else None):
                for row in self._connection.execute(statement, values):
                    yield row
                    ends = time.monotonic() + self._row_s
        finally:
            self._connection.set_progress_handler(None, 0)

    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name; a view, which can run for ever, is none."""
        asked = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE"
        return any(True for _ in self.rows(asked, (name,)))

    def count(self, table: str) -> int:
        """How many rows a table has; 0 for none of this name, which is one of ours."""
        counted = f"SELECT count(*) FROM {table}"  # noqa: S608  a name of ours
        return int(next(self.rows(counted))[0]) if self.has_table(table) else 0

    def table(self, name: str, *, needs: Sequence[str], program: str) -> Iterator[dict[str, Any]]:
        """The rows of a table by the names of their columns, in the order of their numbers.

        Args:
            name: One of ours.
            needs: Columns without which it is not the program's table.
            program: What the database belongs to, for errors.

        Raises:
            Invalid: The table or a column is missing.
        """
        found = self.rows(f"PRAGMA table_info({name})") if self.has_table(name) else ()
        columns = [row[1] for row in found]
        missing = [column for column in needs if column not in columns]
        if missing:
            what = f"no column `{missing[0]}` in `{name}`" if columns else f"no table `{name}`"
            tables = self.rows(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name LIMIT 12"
            )
            there = ", ".join(str(row[0]) for row in tables) or "none"
            raise Invalid(
                f"The database {{place}} has {what}: it is not that of {program}.",
                hint=f"Name the database of {program}. Tables there: {opening(there, 200)}.",
                place=self._path,
            )
        for row in self.rows(f"SELECT * FROM {name} ORDER BY rowid"):  # noqa: S608  a name of ours
            yield dict(zip(columns, row, strict=False))


@contextmanager
def foreign_database(path: str, *, in_place: bool = False) -> Iterator[ForeignDatabase]:
    """A database as it is now, to be read alone.

    Args:
        path: Of the database.
        in_place: Read it under SQLite's own locks beside a program that writes it, as one that is
            too large to be copied; the program's log may be touched.

    Raises:
        Invalid: It is not SQLite, or damaged.
        Unavailable: Its program writes so much that no copy is whole.
        NotFound, Denied.
    """
    with regular_file(path) as file:
        head = file.read(len(_HEAD))
    if head != _HEAD:
        raise Invalid(
            "The file {place} is not a SQLite database.",
            hint="Name the database of the program itself, not a folder or an export.",
            place=path,
        )
    if in_place:
        with closing(_connected(path, "mode=ro")) as connection:
            yield ForeignDatabase(connection, path)
    elif any(os.path.exists(f"{path}{log}") for log in _LOGS):
        with (
            scratch_folder_aside() as folder,
            closing(_connected(_copied(path, str(folder)), "mode=rw")) as connection,
        ):
            yield ForeignDatabase(connection, path)
    else:
        before = _stamp(path)
        with closing(_connected(path, "mode=ro&immutable=1")) as connection:
            yield ForeignDatabase(connection, path)
        if _stamp(path) != before:
            raise Unavailable(
                "The database {place} was written to while it was read.",
                hint="Import it again: what is there already is not brought in twice.",
                place=path,
            )


def _connected(path: str, how: str) -> sqlite3.Connection:
    with _explained(path):
        return sqlite3.connect(f"file:{quote(os.path.abspath(path))}?{how}", uri=True)


@contextmanager
def _explained(path: str, row_s: Callable[[], float | None] = lambda: None) -> Iterator[None]:
    """Errors of SQLite's as ours. row_s: how long a row was waited for; None where not too long."""
    try:
        yield
    except sqlite3.Error as exc:
        waited = row_s()
        why = opening(str(exc), 120) if waited is None else f"a row took longer than {waited:g} s"
        raise Invalid(
            f"The database {{place}} cannot be read: {why}.",
            hint="Check it with the program that made it, then import it again.",
            place=path,
        ) from exc


def _copied(path: str, folder: str) -> str:
    """A copy of a database and its log, of one moment."""
    copy = os.path.join(folder, "copy.db")
    for _ in range(_TRIES):
        before = _stamp(path)
        with translated(path):
            shutil.copyfile(path, copy)
            for log in _LOGS:
                if os.path.exists(f"{path}{log}"):
                    shutil.copyfile(f"{path}{log}", f"{copy}{log}")
                elif os.path.exists(f"{copy}{log}"):
                    os.unlink(f"{copy}{log}")
        if _stamp(path) == before:
            return copy
    raise Unavailable(
        "The database {place} is being written to.",
        hint="Stop the program that writes it, then import it again.",
        place=path,
    )


def _stamp(path: str) -> list[tuple[int, int]]:
    stamps = []
    for name in (path, *(f"{path}{log}" for log in _LOGS)):
        try:
            found = os.stat(name)
        except FileNotFoundError:
            stamps.append((0, 0))
        else:
            stamps.append((found.st_size, found.st_mtime_ns))
    return stamps
