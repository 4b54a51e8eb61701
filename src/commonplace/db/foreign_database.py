"""Reading another program's SQLite database without a touch: no lock, no log, no file beside it.

Never opens a database where its program has left work in a log: it reads a copy of both.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.files import regular_file, translated
from commonplace.core.staging import staged_aside
from commonplace.core.text import opening
from commonplace.db.foreign import foreign_rows, is_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LOGS = ("-wal", "-journal")
_TRIES = 3
_HEAD = b"SQLite format 3\0"


@contextmanager
def foreign_database(path: str) -> Iterator[sqlite3.Connection]:
    """A database as it is now, to be read alone; texts that are not UTF-8 have U+FFFD in them.

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
    if any(os.path.exists(f"{path}{log}") for log in _LOGS):
        with (
            staged_aside() as folder,
            _opened(_copied(path, str(folder)), path, "mode=rw") as database,
        ):
            yield database
        return
    before = _stamp(path)
    with _opened(path, path, "mode=ro&immutable=1") as database:
        yield database
    if _stamp(path) != before:
        raise Unavailable(
            "The database {place} was written to while it was read.",
            hint="Import it again: what is there already is not brought in twice.",
            place=path,
        )


def rows_of(
    database: sqlite3.Connection, path: str, table: str, *, needs: Sequence[str], program: str
) -> Iterator[dict[str, Any]]:
    """The rows of a table by the names of their columns, in the order of their numbers.

    Args:
        database: As `foreign_database` gives it.
        path: Of the database, for errors.
        table: A name of ours.
        needs: Columns without which it is not the program's table.
        program: What the database belongs to, for errors.

    Raises:
        Invalid: The table or a column is missing, or the database is damaged.
    """
    with _explained(path):
        columns = (
            database.execute(f"PRAGMA table_info({table})") if is_table(database, table) else ()
        )
        names = [row[1] for row in columns]
        missing = [name for name in needs if name not in names]
        if missing:
            what = f"no table `{table}`" if not names else f"no column `{missing[0]}` in `{table}`"
            tables = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name LIMIT 12"
            )
            there = ", ".join(str(name) for (name,) in tables) or "none"
            raise Invalid(
                f"The database {{place}} has {what}: it is not that of {program}.",
                hint=f"Name the database of {program}. Tables there: {opening(there, 200)}.",
                place=path,
            )
        every = f"SELECT * FROM {table} ORDER BY rowid"  # noqa: S608  a name of ours
        for row in foreign_rows(database, every):
            yield dict(zip(names, row, strict=False))


def has_table(database: sqlite3.Connection, path: str, table: str) -> bool:
    """Whether a table is there. Raises: Invalid for a damaged database."""
    with _explained(path):
        return is_table(database, table)


def count_of(database: sqlite3.Connection, path: str, table: str) -> int:
    """How many rows a table has. Raises: Invalid for a damaged database."""
    with _explained(path):
        counted = f"SELECT count(*) FROM {table}"  # noqa: S608  a name of ours
        ((count,),) = foreign_rows(database, counted)
    return int(count)


@contextmanager
def _opened(copy: str, path: str, how: str) -> Iterator[sqlite3.Connection]:
    with _explained(path):
        connection = sqlite3.connect(f"file:{quote(os.path.abspath(copy))}?{how}", uri=True)
    with closing(connection) as database:
        database.text_factory = lambda text: text.decode("utf-8", "replace")
        with _explained(path):
            database.execute("PRAGMA query_only = 1")
            # What an expression in a hostile schema may call is nothing.
            database.execute("PRAGMA trusted_schema = 0")
        yield database


@contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as exc:
        raise Invalid(
            f"The database {{place}} cannot be read: {opening(str(exc), 120)}.",
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


def _stamp(path: str) -> tuple[tuple[int, int], ...]:
    stamps = []
    for name in (path, *(f"{path}{log}" for log in _LOGS)):
        try:
            found = os.stat(name)
        except FileNotFoundError:
            stamps.append((0, 0))
        else:
            stamps.append((found.st_size, found.st_mtime_ns))
    return tuple(stamps)
