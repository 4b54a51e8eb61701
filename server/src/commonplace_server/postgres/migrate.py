"""The schema of a Postgres database: series of numbered `.sql` files, each applied once, in order.

Never undoes a migration and never touches a database that a newer program has already changed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from psycopg.errors import LockNotAvailable

from commonplace.core.errors import Denied, Unavailable
from commonplace_server.postgres.address import parse_address
from commonplace_server.postgres.database import (
    DEADLINE_S,
    connect,
    queries,
    statement,
)
from commonplace_server.postgres.errors import MIGRATE_HINT, TranslatedPostgres

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.db.migrate import Migration
    from commonplace_server.postgres.database import Connection

_MIGRATING_S = 3600.0


class OtherSchema(Unavailable):
    """The tables of a database are not those of this program."""


def migrate_postgres(url: str, series: Mapping[str, Sequence[Migration]]) -> list[str]:
    """Apply what is missing of each series, as the role of this address; what was applied now.

    series: by name, in the order in which they are applied. Several processes may call it at once:
    each step is looked up and applied in one transaction, under one lock. Raises: Unavailable when
    the database has migrations this program does not know, or a lock is long in the way; Denied
    for a role that may not.
    """
    conninfo, name, place = parse_address(url)
    done: list[str] = []
    with TranslatedPostgres(name, place), connect(conninfo) as conn:
        for each, migrations in series.items():
            done += [
                _label(each, migration)
                for migration in migrations
                if _applied(conn, name, each, migration)
            ]
        _compare(conn, name, series)
    return done


def list_missing(url: str, series: Mapping[str, Sequence[Migration]]) -> list[str]:
    """What `migrate_postgres` would apply, in order; changes nothing.

    Raises: Unavailable, Denied; OtherSchema where the database is newer than this program.
    """
    conninfo, name, place = parse_address(url)
    with TranslatedPostgres(name, place), connect(conninfo) as conn:
        is_begun = _one(conn, "has_applied")
        done = {x: _one(conn, "applied", series=x) if is_begun else 0 for x in series}
        if any(done[each] > len(migrations) for each, migrations in series.items()):
            _compare(conn, name, series)
    return [
        _label(each, x) for each, migrations in series.items() for x in migrations[done[each] :]
    ]


def refuse_other_schema(
    conn: Connection, name: str, series: Mapping[str, Sequence[Migration]]
) -> None:
    """Refuse a database whose tables are not those of this program. Raises: OtherSchema."""
    if not _one(conn, "has_applied"):
        raise OtherSchema(f"{name} has no tables of memory.", hint=MIGRATE_HINT)
    _compare(conn, name, series)


def _applied(conn: Connection, name: str, series: str, migration: Migration) -> bool:
    try:
        return _apply(conn, series, migration)
    except LockNotAvailable:
        raise Unavailable(
            f"{name} has a table of memory in use: {series} {migration.number:04} was not applied.",
            hint="Wait for the end of a backup or a long report, then migrate again.",
        ) from None


def _apply(conn: Connection, series: str, migration: Migration) -> bool:
    conn.deadline = time.monotonic() + _MIGRATING_S
    with conn.transaction():
        conn.execute(statement(queries()["lock_migrations"]))
        conn.execute(statement(queries()["make_applied"]))
        if not _one(conn, "applied_is_ours"):
            raise Denied(
                "The table applied_migrations was made by another role, or runs something.",
                hint="Drop it, if this database has no memory yet, then migrate again.",
            )
        if _one(conn, "applied", series=series) >= migration.number:
            return False
        conn.execute(statement(queries()["wait_shortly"]))
        conn.execute(statement(migration.sql))
        conn.execute(
            statement(queries()["note_applied"]),
            {"series": series, "number": migration.number, "name": migration.name},
        )
        conn.execute(statement(queries()["let_read_applied"]))
    conn.deadline = time.monotonic() + DEADLINE_S
    return True


def _compare(conn: Connection, name: str, series: Mapping[str, Sequence[Migration]]) -> None:
    for each, migrations in series.items():
        applied, known = _one(conn, "applied", series=each), len(migrations)
        if applied != known:
            hint = MIGRATE_HINT if applied < known else "Use the newer commonplace."
            raise OtherSchema(
                f"{name} is at schema {applied} of {each}; this program knows schema {known}.",
                hint=hint,
            )


def _label(series: str, migration: Migration) -> str:
    return f"{series} {migration.number:04} {migration.name}"


def _one(conn: Connection, query: str, **values: object) -> int:
    row = conn.execute(statement(queries()[query]), values or None).fetchone()
    assert row is not None
    return int(row[0])
