"""Owns one user's timeline on Postgres, where its queries are run as a file runs them elsewhere.

Never reads a row of another user, and files nothing: a trigger writes the outbox, in the
transaction of each change. Which queries there are, and what follows from their rows, is the
timeline's own. A writer locks the user's row of `cp_timelines`, as a writer to a file locks that.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import render_time
from commonplace.core.expiring import is_revealed
from commonplace.core.owner_folders import parse_owner
from commonplace.core.values import Put
from commonplace.db.queries import read_queries
from commonplace.journals.timeline import queries as timeline
from commonplace.journals.timeline.entry import (
    JOURNAL,
    MEMORY_TYPE,
    SUPERSEDES,
    id_of,
    ref_of,
    unpack_id,
)
from commonplace_server.postgres.database import MOVING_S, statement
from commonplace_server.postgres.text_lists import Texts
from commonplace_server.store.entries import EntryRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from uuid import UUID

    from psycopg import Cursor, sql

    from commonplace.core.clock import Clock
    from commonplace.core.values import Doc
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace_server.postgres.database import Connection, Postgres

_ROWS_OF = (
    *("journal_entries", "rollups", "rollup_sources", "dirty", "tombstones"),
    *("expired", "fed", "fed_marks", "series"),
)
"""The tables that the timeline's queries name: `timeline.sql` has a query of that name for each."""

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_WITH = re.compile(r"WITH (?:RECURSIVE )?")
_BOUNDS = frozenset({"start", "after", "after_end", "timestamp"})
_ENDS = {"": "-infinity", "~": "infinity"}
"""The bounds before and after every time, as the file and as Postgres name them."""

_AT_ONCE = 500

_log = logging.getLogger(f"commonplace.{__name__}")


@cache
def _own() -> Mapping[str, str]:
    return read_queries("commonplace_server.store", "timeline.sql")


@cache
def query(name: str) -> sql.SQL:
    """A query of the timeline for the driver: of `timeline.sql`, or the file's over our rows."""
    own = _own()
    text = own.get(name)
    if text is None:
        text = _PARAMETER.sub(r"%(\1)s", timeline.sql()[name].replace("%", "%%"))
    rows = [
        f"{each} AS NOT MATERIALIZED ({own[each].rstrip().rstrip(';')})"
        for each in _ROWS_OF
        if re.search(rf"\b(?:FROM|JOIN) {each}\b", text)
    ]
    if rows:
        rest = f", {text[begun.end() :]}" if (begun := _WITH.match(text)) else f" {text}"
        text = f"WITH RECURSIVE {', '.join(rows)}{rest}"
    return statement(text)


class PostgresRows:
    """One use of a user's timeline; see `ports.TimelineRows`.

    Args:
        hidden: The numbers of what no reader may see.
        worker: Who asks, where that is a worker that leases timelines.
    """

    def __init__(
        self, conn: Connection, owner: str, hidden: list[int], worker: UUID | None
    ) -> None:
        self._conn = conn
        self._base = {"owner": owner, "hidden": hidden, "worker": worker}

    def run(self, name: str, values: Mapping[str, Any] | tuple[()] = (), /) -> PostgresAnswer:
        """Run a query by its name; see the port."""
        asked = {**self._base, **_as_sent(name, dict(values))}
        return PostgresAnswer(self._conn.execute(query(name), asked))

    def run_each(self, name: str, values: Iterable[Mapping[str, Any]], /) -> None:
        """Run it with each of these values; see the port."""
        with self._conn.pipeline():
            for each in values:
                self.run(name, each)

    def snapshot(self) -> AbstractContextManager[object]:
        """Nobody writes to this timeline until the use ends; see the port."""
        self._conn.execute(query("hold_shared"), self._base)
        return nullcontext()


class PostgresAnswer:
    """What a query gave, in the values that the file would give; see `ports`."""

    __slots__ = ("_cursor", "rowcount")

    def __init__(self, cursor: Cursor[tuple[Any, ...]]) -> None:
        self._cursor = cursor
        self.rowcount = cursor.rowcount

    @property
    def lastrowid(self) -> int | None:
        """The number of what was added; see the port."""
        row = self._cursor.fetchone()
        return None if row is None else int(row[0])

    def fetchone(self) -> Any:
        """The next row; see the port."""
        row = self._cursor.fetchone()
        return None if row is None else _as_read(row)

    def fetchall(self) -> list[Any]:
        """All rows that are left; see the port."""
        return [*map(_as_read, self._cursor.fetchall())]

    def __iter__(self) -> Iterator[Any]:
        """The rows that are left; see the port."""
        return map(_as_read, self._cursor)


class _Used(threading.local):
    """The use that this thread is in, to which each query belongs that the thread runs."""

    rows: PostgresRows | None = None


class TimelinePostgres:
    """One user's timeline in a database that all users share; implements `ports.SharedTimeline`.

    Thread-safe.

    Args:
        database: Shared by all users of the process; its owner closes it.
        clock: By which entries have expired, which no reader sees.
        worker: As whom a worker leases timelines; None for who rolls up beside it.
    """

    def __init__(
        self, database: Postgres, *, owner: str, clock: Clock, worker: UUID | None = None
    ) -> None:
        self._database = database
        self._owner = parse_owner(owner)
        self._worker = worker
        self._clock = clock
        self._used = _Used()

    @property
    def exists(self) -> bool:
        """Whether the user has a timeline; see the port."""
        with self.reading() as rows:
            return rows is not None

    @contextmanager
    def reading(self) -> Iterator[PostgresRows | None]:
        """A use that only reads, part of the one this thread is in; see the port."""
        if self._used.rows is not None:
            yield self._used.rows
            return
        with self._database.shared_transaction(self._owner) as conn:
            if "timeline" in conn.absent:
                yield None
                return
            asked = {"owner": self._owner, "present": self._clock()}
            found = conn.execute(query("open"), asked, prepare=True).fetchone()
            if found is None:
                yield None
                return
            hidden: list[int] = []
            if found[0] and not is_revealed():
                hidden = [seq for (seq,) in conn.execute(query("hidden"), asked)]
            with self._using(PostgresRows(conn, self._owner, hidden, self._worker)) as rows:
                yield rows

    def writing(self) -> AbstractContextManager[PostgresRows]:
        """A use in which nobody else writes to this timeline; see the port."""
        return self._writing(None)

    def taking_over(self) -> AbstractContextManager[PostgresRows]:
        """The same for as long as all of a timeline takes; see the port."""
        return self._writing(MOVING_S)

    @contextmanager
    def _writing(self, deadline_s: float | None) -> Iterator[PostgresRows]:
        with self._database.owner_transaction(self._owner, deadline_s=deadline_s) as conn:
            asked = {"owner": self._owner}
            if conn.execute(query("hold"), asked).fetchone() is None:
                conn.execute(query("begin"), asked)
                conn.execute(query("hold"), asked)
            with self._using(PostgresRows(conn, self._owner, [], self._worker)) as rows:
                yield rows

    @contextmanager
    def _using(self, rows: PostgresRows) -> Iterator[PostgresRows]:
        before, self._used.rows = self._used.rows, rows
        try:
            yield rows
        finally:
            self._used.rows = before

    def ask(self, name: str, /, **values: object) -> list[tuple[Any, ...]]:
        """The rows of one query; see the port."""
        with self.reading() as rows:
            return [] if rows is None else rows.run(name, values).fetchall()

    def is_erasing(self) -> bool:
        """Never: what is deleted is the worker's to vacuum; see the port."""
        return False

    def erase(self) -> None:
        """Nothing: as above."""

    def compact(self) -> None:
        """Nothing: as above."""

    def log(self, **facts: object) -> None:
        """A line of the server's log; see the port."""
        _log.debug("Rolled up: %s", json.dumps(facts, ensure_ascii=False))

    def close(self) -> None:
        """Nothing is held: the connections are shared by all users."""


class TimelineDocs:
    """What an index holds of one user's timeline on Postgres; see `source.KeepsEntries`.

    Args:
        journal: The timeline, over `TimelinePostgres`.
    """

    def __init__(self, database: Postgres, journal: TimelineJournal) -> None:
        self._journal = journal
        self._rows = EntryRows(database, owner=journal.owner, journal=JOURNAL, clock=journal.clock)

    def mark(self) -> str:
        """A token that changes with every change; reads the outbox, and no entry."""
        return self._rows.mark()

    def changed_since(self, mark: str | None) -> list[str] | None:
        """The ids of all that changed after a mark; None for a mark that says not."""
        return self._rows.changed_since(mark)

    def get_many(self, identities: Sequence[str]) -> list[Doc]:
        """The docs of those of these that are shown, in no order."""
        return self._docs("by_ids", ids=Texts(identities))

    def list_all(self) -> Iterator[Doc]:
        """The docs of all that is shown; few are held in memory."""
        after = -1
        while found := self._docs("shown_after", seq=after, limit=_AT_ONCE):
            yield from found
            after = found[-1].turn

    def _docs(self, name: str, **asked: object) -> list[Doc]:
        with self._journal.database.reading() as rows:
            found = [] if rows is None else [*map(timeline.entry_of, rows.run(name, asked))]
            changes = self._journal.docs(found)
        return [each.doc for each in changes if isinstance(each, Put)]


def _as_sent(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """Values as Postgres takes them, with what its rows have of their own."""
    for key, value in values.items():
        if isinstance(value, str):
            end = _ENDS.get(value) if key in _BOUNDS else None
            values[key] = end or value.replace("\0", "\ufffd")
    if isinstance(packed := values.get("id"), bytes):
        values["id"] = unpack_id(packed).replace("\0", "\ufffd")
    for key in _LISTS.get(name, ()):
        texts = json.loads(values[key]) if values[key] else []
        values[key] = texts if key == "levels" else Texts(texts)
    if name in {"add", "update", "take_entries"}:
        values |= _columns_of(values["metadata"])
    return values


_LISTS: Mapping[str, tuple[str, ...]] = {
    "range": ("types",),
    "list_above": ("ids", "refs"),
    "upgradable": ("levels",),
    "count_upgradable": ("levels",),
}
"""The values that are lists, as JSON, by the query."""


def _columns_of(metadata: str) -> dict[str, object]:
    """What has columns of its own of an entry's metadata."""
    known = None
    with suppress(ValueError):  # what another program wrote into a file may be no JSON
        known = json.loads(metadata)
    named = known if isinstance(known, dict) else {}
    former, kind = str(named.get(SUPERSEDES, "")), named.get(MEMORY_TYPE)
    former = id_of(former) if former.startswith(ref_of("")) else ""
    return {
        "supersedes": former.replace("\0", "\ufffd"),
        "tags": Texts([kind.replace("\0", "\ufffd")] if isinstance(kind, str) else []),
    }


def _as_read(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row with its times as the file has them."""
    return tuple(
        render_time(value.astimezone(UTC)) if isinstance(value, datetime) else value
        for value in row
    )
