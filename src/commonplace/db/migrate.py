"""The schema of a database that holds truth: numbered `.sql` files, each applied once, in order.

Never undoes a migration and never touches a database that a newer program has already changed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.errors import Internal, Unavailable
from commonplace.db.queries import package_folder, split_statements
from commonplace.db.sqlite import transaction, translated

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

_FILE = re.compile(r"^(\d{4})_([a-z0-9_]+)\.sql$")
_TABLE = (
    "CREATE TABLE IF NOT EXISTS applied_migrations ("
    " number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')))"
)
_IS_FOREIGN = (
    "SELECT count(*) > 0 AND sum(name = 'applied_migrations') = 0"
    " FROM sqlite_schema WHERE type = 'table'"
)


class Migration(NamedTuple):
    """One step of a schema: its number, from 1 without gaps, its name and its SQL."""

    number: int
    name: str
    sql: str


def list_migrations(package: str, folder: str = "migrations") -> list[Migration]:
    """The migrations of a package, lowest number first: `0001_entries.sql`, `0002_…`.

    Raises: Internal for another file name, a gap, or a number given twice.
    """
    found = []
    for file in (package_folder(package) / folder).iterdir():
        if not file.name.endswith(".sql"):
            continue
        match = _FILE.match(file.name)
        if match is None:
            raise Internal(f"Migration {file.name} is not named like 0001_entries.sql.")
        found.append(Migration(int(match[1]), match[2], file.read_text("utf-8")))
    found.sort()
    if [each.number for each in found] != list(range(1, len(found) + 1)):
        raise Internal(f"The migrations of {package} are not numbered 1, 2, 3 without gaps.")
    return found


def migrate(conn: sqlite3.Connection, migrations: list[Migration], *, path: Path) -> list[str]:
    """Apply what is missing, each in its own transaction; the names of those applied now.

    Several processes may call it at once: each step is looked up and applied under the write lock.
    Raises: Unavailable where another program made the database, or a newer one of ours.
    """
    with translated(path):
        if _applied(conn) == len(migrations):
            return []
        with transaction(conn):
            if conn.execute(_IS_FOREIGN).fetchone() == (1,):
                raise Unavailable(
                    "The database {place} was made by another program.",
                    hint="Move it away: a new one is begun.",
                    place=path,
                )
            conn.execute(_TABLE)
        done = []
        for each in migrations:
            with transaction(conn):
                if _applied(conn) >= each.number:
                    continue
                for statement in split_statements(each.sql):
                    conn.execute(statement)
                conn.execute(
                    "INSERT INTO applied_migrations (number, name) VALUES (?, ?)",
                    (each.number, each.name),
                )
                done.append(each.name)
        if (applied := _applied(conn)) > len(migrations):
            raise Unavailable(
                f"The database {{place}} is at schema {applied}; this program knows schema"
                f" {len(migrations)}.",
                hint="Use the newer commonplace that wrote it.",
                place=path,
            )
        return done


def _applied(conn: sqlite3.Connection) -> int:
    known = conn.execute(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'applied_migrations'"
    ).fetchone()
    if known is None:
        return 0
    return int(
        conn.execute("SELECT coalesce(max(number), 0) FROM applied_migrations").fetchone()[0]
    )
