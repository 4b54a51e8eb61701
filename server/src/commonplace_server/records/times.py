"""Owns when entries on Postgres expire, and since when they are replaced by one that is gone.

Holds refs and times, and never a word of an entry.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from psycopg import sql

from commonplace.core.former_texts import journal_of
from commonplace.core.owner_folders import parse_owner
from commonplace.db.queries import read_queries
from commonplace.journals.memory.records import JOURNAL
from commonplace_server.postgres.database import statement
from commonplace_server.records.line_names import (
    OTHER_JOURNALS,
    columns_of_refs,
    name_of,
    ref_of_line,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.core.time_book import TimeColumn
    from commonplace_server.postgres.database import Connection, Postgres

# Of the years 1 and 9999: what is beyond is in no calendar.
_FIRST, _LAST = -62_135_596_800.0, 253_402_300_799.0

_ABSENT = ("due", "unfiled", "preferences", "timeline")
"""What a user may have nothing of, in the order of the query."""


@cache
def query(name: str, column: TimeColumn) -> sql.SQL:
    """One of the queries of a kind of time, for the driver."""
    texts = read_queries("commonplace_server.records", "times.sql")
    text = texts[name].replace("{due}", texts["due"])
    # Composed once: the driver would put its parts together at each call.
    return statement(statement(text).format(time=sql.Identifier(column)).as_string())


class MemoryTimes:
    """One kind of time of one user's entries; implements `KeepsTimes`. Thread-safe.

    Args:
        database: Shared by all users of the process; its owner closes it.
        owner: Whose entries.
        column: Which kind of time.
        journals: Of which journals, whose entries lie in the database.
    """

    def __init__(
        self,
        database: Postgres,
        *,
        owner: str,
        column: TimeColumn,
        journals: Sequence[str] = (JOURNAL, *OTHER_JOURNALS),
    ) -> None:
        self._database = database
        self._owner = parse_owner(owner)
        self._column = column
        self._journals = journals

    def covers(self, ref: str) -> bool:
        """Whether it is that of an entry of these journals; see the port."""
        return journal_of(ref) in self._journals

    def read_times(self, refs: Sequence[str] | None = None) -> Mapping[str, float]:
        """The times of those of these records that have one, or all; see the port."""
        with self._database.shared_transaction(self._owner) as conn:
            if refs is None:
                rows = self._ask(conn, "times")
            else:
                named = [each for ref in refs if (each := name_of(ref))]
                rows = self._ask(conn, "times_of", **columns_of_refs(named)) if named else []
        return {ref_of_line(kind, ref_id): at for kind, ref_id, at in rows}

    def list_due(self, now: float) -> Sequence[str]:
        """The refs of records whose time has come; see the port.

        Of several questions it is the first: it asks too what the next ones need not ask, unless
        something is due, which is forgotten wherever it stands by then.
        """
        with self._database.shared_transaction(self._owner) as conn:
            if conn.is_shared and not conn.absent:
                (there,) = self._ask(conn, "absent", now=now)
                absent = {x for x, is_there in zip(_ABSENT, there, strict=True) if not is_there}
                conn.absent = frozenset(absent if "due" in absent else ())
            rows = [] if "due" in conn.absent else self._ask(conn, "due", now=now)
        return [ref_of_line(kind, ref_id) for kind, ref_id in rows]

    def keep_times(self, times: Mapping[str, float]) -> None:
        """Set times, in place of any earlier ones; see the port."""
        with self._database.owner_transaction(self._owner) as conn:
            self._set(conn, "keep", times)

    def take_over(self, times: Mapping[str, float]) -> Sequence[str]:
        """Set times that a file kept, unless a later one is here; see the port."""
        named = {each: ref for ref in times if (each := name_of(ref))}
        if not named:
            return ()
        with self._database.owner_transaction(self._owner) as conn:
            rows = self._ask(conn, "known", **columns_of_refs(named))
            there = [named[kind, ref_id] for kind, ref_id, gone in rows if not gone]
            self._set(conn, "take_over", {ref: times[ref] for ref in there})
        return [named[kind, ref_id] for kind, ref_id, _ in rows]

    def drop_times(self, refs: Sequence[str]) -> None:
        """Remove the times of records; see the port."""
        if named := [each for ref in refs if (each := name_of(ref))]:
            given = {"user_id": self._owner, **columns_of_refs(named)}
            with self._database.owner_transaction(self._owner) as conn:
                conn.execute(query("drop", self._column), given)
                conn.execute(query("drop_empty", self._column), given)

    def _ask(self, conn: Connection, name: str, **values: object) -> list[tuple[Any, ...]]:
        asked = {"user_id": self._owner, **values}
        is_of_a_search = name in {"due", "times_of", "absent"}
        return conn.execute(query(name, self._column), asked, prepare=is_of_a_search).fetchall()

    def _set(self, conn: Connection, name: str, times: Mapping[str, float]) -> None:
        named = {
            each: at
            for ref, at in times.items()
            if (each := name_of(ref)) and _FIRST <= at <= _LAST
        }
        if named:
            given = {"user_id": self._owner, "times": [*named.values()], **columns_of_refs(named)}
            conn.execute(query(name, self._column), given)
