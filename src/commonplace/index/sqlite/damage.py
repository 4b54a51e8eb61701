"""Whether all that an index file holds is as it was written: pages, tables, docs and vectors.

Never changes a thing, and never looks at a journal.
"""

from __future__ import annotations

import json
import sqlite3
from functools import cache
from typing import TYPE_CHECKING

from commonplace.db.queries import read_sql, split_statements
from commonplace.db.sqlite import snapshot
from commonplace.index.sqlite.docs import folded, has_altered_docs

if TYPE_CHECKING:
    from commonplace.index.sqlite.docs import Queries

MISREAD = (sqlite3.DatabaseError, ValueError, TypeError, LookupError, ArithmeticError)
"""What a flipped bit makes of rows that SQLite took for whole: not every error is SQLite's own."""

# All but SQLite's own tables and those of FTS5, which another SQLite may word otherwise.
_OURS = """
SELECT type, name, sql FROM sqlite_schema
WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'words\\_%' ESCAPE '\\' ORDER BY name
"""


def is_damaged(conn: sqlite3.Connection, sql: Queries) -> bool:
    """Whether anything in the file is not as it was written; reads all of it but the word index.

    Raises: Corrupted, or one of MISREAD, where damage shows by itself.
    """
    # One state of the tables: what others write meanwhile is no damage.
    with snapshot(conn):
        return (
            conn.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok"
            or conn.execute(_OURS).fetchall() != _schema()
            or conn.execute(sql["count_altered_vectors"]).fetchone()[0] > 0
            or conn.execute(sql["count_orphan_vectors"]).fetchone()[0] > 0
            or _numbers_lag(conn, sql)
            or _headings_differ(conn, sql)
            or has_altered_docs(conn, sql)
        )


@cache
def _schema() -> list[tuple[str, str, str]]:
    """The tables of a file that was made this moment."""
    conn = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for name in ("folded_words", "said"):
            conn.create_function(name, -1, lambda *_: "", deterministic=True)
        for statement in split_statements(read_sql("commonplace.index.sqlite", "schema.sql")):
            conn.execute(statement)
        return conn.execute(_OURS).fetchall()
    finally:
        conn.close()


def _numbers_lag(conn: sqlite3.Connection, sql: Queries) -> bool:
    given = dict.fromkeys(("vectors", "dropped", "moved", "facets", "sessions"), 0)
    given |= dict(conn.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
    return bool(conn.execute(sql["count_lagging_numbers"], given).fetchone()[0])


def _headings_differ(conn: sqlite3.Connection, sql: Queries) -> bool:
    listed = conn.execute(sql["list_folded"])
    return any(folded(json.loads(headings)) != kept for headings, kept in listed)
