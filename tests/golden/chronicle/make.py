"""Makes databases as each generation of chronicle left them, and reads any as chronicle itself does.

The `.sql` files hold chronicle's own table definitions; the three `.db` files beside them were made
with the same, and hold nobody's name.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = {
    "A": ("a.sql",),
    "B": ("b.sql",),
    "D1": ("d1.sql",),
    "D2": ("d2.sql",),
    "A then D2": ("a.sql", "then_d2.sql"),
    "B then D2": ("b.sql", "then_d2.sql"),
}
COPIES = {
    "A migrated to B": "eraA_migrated_to_B.db",
    "A then D": "eraA_then_D.db",
    "B then D": "eraB_then_D.db",
}


def make(generation: str, path: Path) -> Path:
    """Lay a database of a generation under this path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if generation in COPIES:
        shutil.copyfile(HERE / COPIES[generation], path)
        return path
    with contextlib.closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA journal_mode = WAL")
        for script in SCRIPTS[generation]:
            conn.executescript((HERE / script).read_text("utf-8"))
    return path


def list_as_chronicle(path: Path) -> list[tuple]:
    """(message, tags) in the order that the newest chronicle lists them."""
    with contextlib.closing(sqlite3.connect(path)) as conn:
        return conn.execute(
            "SELECT e.message, e.tags FROM entries e ORDER BY"
            " (e.timestamp_unix_seconds IS NULL OR e.timestamp_nanosecond IS NULL),"
            " e.timestamp_unix_seconds DESC, e.timestamp_nanosecond DESC"
        ).fetchall()


def search_as_chronicle(path: Path, text: str) -> list[str]:
    """The messages that chronicle's own word index finds."""
    with contextlib.closing(sqlite3.connect(path)) as conn:
        rows = conn.execute(
            "SELECT e.message FROM entries e JOIN entries_fts f ON e.rowid = f.rowid"
            " WHERE entries_fts MATCH ? ORDER BY e.rowid",
            (text,),
        )
        return [row[0] for row in rows]


def check_words(path: Path) -> None:
    """Raise where chronicle's word index and its entries differ."""
    with contextlib.closing(sqlite3.connect(path)) as conn:
        conn.execute("INSERT INTO entries_fts(entries_fts, rank) VALUES('integrity-check', 1)")
        conn.rollback()


def rows(path: Path, sql: str, *values: object) -> list[tuple]:
    """What a plain connection reads or does; done is done."""
    with contextlib.closing(sqlite3.connect(path)) as conn:
        found = conn.execute(sql, values).fetchall()
        conn.commit()
        return found
