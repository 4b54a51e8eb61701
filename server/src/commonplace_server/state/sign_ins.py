"""The records of who signed in for which client, in the database of all servers.

Never holds what opens anything, only hashes of it; those of one home are in `RecordFile`.
"""

from __future__ import annotations

from datetime import UTC
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import json

from commonplace.core.errors import retried
from commonplace.db.queries import read_queries
from commonplace_server.grants.records import Record
from commonplace_server.postgres.database import statement
from commonplace_server.postgres.text_lists import Texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from psycopg import sql

    from commonplace.core.clock import Clock
    from commonplace_server.grants.records import Kind
    from commonplace_server.postgres.database import Postgres


class RecordDatabase:
    """The records of a database; see `KeepsRecords`. Thread-safe.

    Args:
        database: Its owner closes it.
        clock: By which their time is over.
    """

    waits = True

    def __init__(self, database: Postgres, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def find(self, kind: Kind, keys: Sequence[str]) -> list[Record]:
        """Those with some keys; see `KeepsRecords`."""
        return self._ask("of_keys", kind=kind, keys=Texts(keys))

    def list_records(self, kind: Kind, group: str | None = None) -> list[Record]:
        """All of a kind; see `KeepsRecords`."""
        if group is None:
            return self._ask("of_kind", kind=kind)
        return self._ask("of_group", kind=kind, group=group)

    def put(self, record: Record, *, most: int) -> None:
        """Keep a record; see `KeepsRecords`."""
        given = {**_given(record), "group": record.group, "until": record.until}
        with self._database.across() as conn:
            conn.execute(_query("put"), given)
            conn.execute(_query("trim"), {**given, "most": most, "now": self._clock()})

    def alter(self, record: Record, facts: Mapping[str, Any]) -> bool:
        """Give a record other facts; see `KeepsRecords`."""
        given = {**_given(record), "facts": json.encode(facts).decode(), "version": record.version}
        with self._database.across() as conn:
            return conn.execute(_query("alter"), given).rowcount == 1

    def remove(self, record: Record) -> None:
        """Remove a record; see `KeepsRecords`."""
        with self._database.across() as conn:
            conn.execute(_query("remove"), {"kind": record.kind, "key": record.key})

    def _ask(self, query: str, **given: Any) -> list[Record]:
        def ask() -> list[tuple[Any, ...]]:
            with self._database.across() as conn:
                return conn.execute(_query(query), {**given, "now": self._clock()}).fetchall()

        return [
            Record(
                kind=row[0],
                key=str(row[1]),
                group=str(row[2]),
                facts=json.decode(row[3]),
                until=row[4].astimezone(UTC),
                version=int(row[5]),
            )
            for row in retried(ask)
        ]


def _given(record: Record) -> dict[str, Any]:
    facts = json.encode(record.facts).decode()
    return {"kind": record.kind, "key": record.key, "facts": facts}


@cache
def _query(name: str) -> sql.SQL:
    return statement(read_queries("commonplace_server.state", "sign_ins.sql")[name])
