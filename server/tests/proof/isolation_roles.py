"""What the database's own roles are told by any statement, whose user is another or nobody."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
from psycopg import sql
from server.tests.proof.memory_crowd import OF_NO_USER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from examples.postgres import OwnDatabase
    from server.tests.proof.probes import Name

USERS = (
    None,
    "",
    "bob",
    "Ann",
    "ann ",
    "me ",
    "space:tea",
    "%",
    "ann' OR true --",
    "commonplace_app",
)
"""Whom a session says that it asks for; None: it says nothing."""

OF_THE_QUEUE = frozenset(
    {"wb_outbox", "wb_leases", "wb_index", "cp_timelines", "cp_due", "cp_kept"}
)
"""What the worker sees of all users: what waits, and no text."""

_SHORT = 5
_SAMPLED = "concat(most_common_vals, histogram_bounds, most_common_elems)"
_ASKED = (
    "SELECT count(*) FROM {table} AS each WHERE each.{column}::text = %(asked)s",
    "SELECT count(*) FROM {table} AS each WHERE strpos(each::text, %(asked)s) > 0",
    "SELECT each::text FROM {table} AS each WHERE each.{column}::text ~* %(asked)s LIMIT 9",
    # An error tells as much as a row.
    "SELECT 1 / CASE WHEN strpos(each::text, %(asked)s) > 0 THEN 0 ELSE 1 END FROM {table} AS each",
    "SELECT FROM {table} AS each WHERE 1 / strpos(each::text, %(asked)s) = 1",
    "SELECT 1 / count(*) FROM {table} AS each WHERE each.{column}::text = %(asked)s",
    "UPDATE {table} AS each SET {column} = {column} WHERE each.{column}::text = %(asked)s",
    "DELETE FROM {table} AS each WHERE strpos(each::text, %(asked)s) > 0",
    f"SELECT count(*) FROM pg_stats WHERE tablename = %(table)s AND strpos({_SAMPLED}, %(asked)s) > 0",
)
_INSERT = "INSERT INTO {table} SELECT * FROM jsonb_populate_record(NULL::{table}, %(row)s)"
_INSERTED = (_INSERT, f"{_INSERT} ON CONFLICT DO NOTHING")


class Table(NamedTuple):
    """A table whose rows have an owner: its columns, and the victims' rows as JSON."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]


class Roles:
    """The sessions of the application and of the worker, which may be of any user. Close it."""

    def __init__(self, database: OwnDatabase, victims: tuple[str, ...], chance: Random) -> None:
        self._held = ExitStack()
        self._chance = chance
        self._roles = {
            role: self._held.enter_context(psycopg.connect(url))
            for role, url in (("app", database.app_url), ("worker", database.worker_url))
        }
        self.tables = [*_tables(database, victims)]

    def ask(self, name: Name) -> tuple[str, str, str]:
        """A statement, what it says of a name, and what of its twin."""
        chance = self._chance
        role = chance.choice([*self._roles])
        table = chance.choice(self.tables)
        while role == "worker" and table.name in OF_THE_QUEUE:
            table = chance.choice(self.tables)
        # A short name stands in the names of columns too.
        rows = [x for x in table.rows if name.real in x and len(name.real) > _SHORT]
        user = chance.choice(USERS)
        names = {"table": table.name, "column": chance.choice(table.columns)}
        text = chance.choice((*_ASKED, *_INSERTED) if rows else _ASKED)
        statement = sql.SQL(text).format(**{x: sql.Identifier(y) for x, y in names.items()})
        row = chance.choice(rows) if rows else "{}"
        if rows and user:  # as the user who asks, or as the victim
            row = json.dumps({**json.loads(row), **chance.choice(({}, {"user_id": user}))})
        told = [
            self._told(
                role,
                user,
                statement,
                {"asked": x, "row": row.replace(name.real, x), "table": table.name},
            )
            for x in name
        ]
        what = f"{role} as {user!r}: {statement.as_string(None)}"
        return what, told[0], told[1].replace(name.twin, name.real)

    def _told(self, role: str, user: str | None, statement: Any, given: dict[str, str]) -> str:
        """The rows, their number or the error; nothing of it stays."""
        conn = self._roles[role]
        try:
            if user is not None:
                conn.execute("SELECT set_config('app.user_id', %s, true)", [user])
            done = conn.execute(statement, given)
            return f"{done.fetchall() if done.description else ''} {done.rowcount}"
        except psycopg.Error as exc:
            return f"{exc.sqlstate} {exc.diag.message_primary} {exc.diag.message_detail}"
        finally:
            conn.rollback()

    def close(self) -> None:
        """End the sessions."""
        self._held.close()


def _tables(database: OwnDatabase, victims: tuple[str, ...]) -> Iterator[Table]:
    found = database.rows(
        "SELECT table_name, array_agg(column_name::text) FROM information_schema.columns"
        " WHERE table_schema = 'public' GROUP BY 1 HAVING bool_or(column_name = 'user_id')"
    )
    for name, columns in sorted(found):
        if name in OF_NO_USER:
            continue
        with psycopg.connect(database.admin_url) as conn:
            rows = conn.execute(
                sql.SQL("SELECT to_jsonb(x)::text FROM {} AS x WHERE user_id = ANY(%s)").format(
                    sql.Identifier(name)
                ),
                [[*victims]],
            )
            yield Table(name, tuple(columns), tuple(x for (x,) in rows))
