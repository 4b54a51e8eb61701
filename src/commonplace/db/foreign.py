"""Reads the rows of another program's database, whose schema anyone may have written.

Never takes a view for a table, and never waits without end for a row.
"""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LONGEST_ROW_S = 30.0
"""How long a row may take to come, in seconds: one of a table takes milliseconds."""

_STEPS = 20_000
_IS_TABLE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE"


def is_table(database: sqlite3.Connection, name: str) -> bool:
    """Whether a database has a table of this name; a view, which can run for ever, is none."""
    return database.execute(_IS_TABLE, (name,)).fetchone() is not None


def foreign_rows(
    database: sqlite3.Connection,
    statement: str,
    values: Sequence[Any] = (),
    *,
    row_s: float = LONGEST_ROW_S,
) -> Iterator[Any]:
    """The rows of a query, one query at a time.

    Raises:
        sqlite3.Error: It cannot be read, or a row took longer than `row_s` to come.
    """
    ends = time.monotonic() + row_s
    database.set_progress_handler(lambda: time.monotonic() > ends, _STEPS)
    try:
        for row in database.execute(statement, values):
            yield row
            ends = time.monotonic() + row_s
    except sqlite3.OperationalError as exc:
        if time.monotonic() <= ends:
            raise
        raise sqlite3.OperationalError(f"a row took longer than {row_s:g} s") from exc
    finally:
        database.set_progress_handler(None, 0)
