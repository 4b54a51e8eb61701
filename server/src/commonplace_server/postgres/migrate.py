"""The schema of a Postgres database: series of numbered `.sql` files, each applied once, in order.

Never undoes a migration and never touches a database that a newer program has already changed.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from psycopg import sql
from psycopg.errors import (
    DeadlockDetected,
    LockNotAvailable,
    QueryCanceled,
    SerializationFailure,
)

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
_PATIENCE_S = 60.0
_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_IN_THE_WAY = (LockNotAvailable, DeadlockDetected, SerializationFailure)


class OtherSchema(Unavailable):
    """The tables of a database are not those of this program."""


def migrate_postgres(
    url: str, series: Mapping[str, Sequence[Migration]], *, patience_s: float = _PATIENCE_S
) -> list[str]:
    """Apply what is missing of each series, as the role of this address; what was applied now.

    Several processes may call it at once: each step is looked up and applied in one transaction,
    under one lock.

    Args:
        url: Of the database, as the owner of its tables.
        series: By name, in the order in which they are applied.
        patience_s: For how long a step is tried again that finds a table in use.

    Raises:
        Unavailable: The database has migrations this program does not know, or a table is in use
            for longer.
        Denied: The role may not.
    """
    conninfo, name, place = parse_address(url)
    done: list[str] = []
    with TranslatedPostgres(name, place), connect(conninfo) as conn:
        for each, migrations in series.items():
            done += [
                _label(each, migration)
                for migration in migrations
                if _applied(conn, name, each, migration, patience_s)
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


def _applied(
    conn: Connection, name: str, series: str, migration: Migration, patience_s: float
) -> bool:
    """Whether it was applied now; it is tried again for as long as others use its tables."""
    ends, pause_s = time.monotonic() + patience_s, _PAUSE_S
    while True:
        try:
            return _apply(conn, series, migration)
        except _IN_THE_WAY:
            if time.monotonic() > ends:
                raise _in_use(conn, name, series, migration) from None
        # Those who waited behind it have their turn; no two migrate in step with one another.
        time.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311  a pause, no secret
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _in_use(conn: Connection, name: str, series: str, migration: Migration) -> Unavailable:
    """What to say of a step whose tables others use, by the one that has used one the longest."""
    tables = {"tables": _tables_named(conn, migration)}
    held = conn.execute(statement(queries()["longest_user"]), tables).fetchone()
    what = "a table of memory in use"
    if held is not None:
        user = f"process {held[1]}" if held[1] else "a prepared transaction"
        what = f"the table {held[0]} in use by {user}"
    return Unavailable(
        f"{name} has {what}: {series} {migration.number:04} was not applied.",
        hint="Wait for the end of a backup or a long report, then migrate again.",
    )


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
        _take_tables(conn, migration)
        conn.execute(statement(migration.sql))
        conn.execute(
            statement(queries()["note_applied"]),
            {"series": series, "number": migration.number, "name": migration.name},
        )
        conn.execute(statement(queries()["let_read_applied"]))
    conn.deadline = time.monotonic() + DEADLINE_S
    return True


def _take_tables(conn: Connection, migration: Migration) -> None:
    """Lock all tables that a migration names, within half the time after which deadlocks are found.

    A step that took them one after another, with work between, could stop a server for that long,
    and the database would then give up the server's write. So every server that waits for a table
    began to wait after the first was taken, and before the database looks for deadlocks the step
    has all tables, or has given way.
    """
    conn.execute(statement(queries()["wait_shortly"]))
    if tables := _tables_named(conn, migration):
        listed = sql.SQL(", ").join(map(sql.Identifier, tables))
        try:
            conn.execute(statement(queries()["take"]).format(tables=listed))
        except QueryCanceled:  # by the limit of its whole time
            raise LockNotAvailable from None
    conn.execute(statement(queries()["take_time"]))


def _tables_named(conn: Connection, migration: Migration) -> list[str]:
    rows = conn.execute(statement(queries()["named"]), {"sql": migration.sql}).fetchall()
    return [row[0] for row in rows]


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
