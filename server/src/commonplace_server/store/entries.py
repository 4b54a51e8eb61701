"""Owns the rows of one user's entries of one journal on Postgres: what all journals do alike.

Never reads a row of another user or journal, and knows no journal's format: each has an adapter,
with queries of its own beside these, that makes rows of entries and entries of rows.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.core.expiring import is_revealed
from commonplace.core.owner_folders import parse_owner
from commonplace.db.queries import read_queries
from commonplace_server.postgres.database import statement
from commonplace_server.postgres.text_lists import Texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from psycopg import Cursor, sql

    from commonplace.core.clock import Clock
    from commonplace_server.postgres.database import Connection, Postgres

TABLES = (
    *("cp_entries", "cp_keys", "cp_overviews", "cp_moves"),
    *("cp_timelines", "cp_series", "cp_rollups", "cp_rollup_sources", "cp_due"),
    *("cp_gone", "cp_expired", "cp_fed", "cp_fed_marks", "cp_kept", "cp_transcripts"),
)
"""What the migrations make; row level security is forced on it."""

SERIES = "entries"
"""The name of those migrations, which lie in `store/migrations`."""

_PACKAGE = "commonplace_server.store"
_MARK_PARTS = 3
_LATE_S = 600
"""More than a transaction may take, and than the clocks of two nodes may differ."""


class EntryRow(NamedTuple):
    """The parts of an entry, in the order in which `read` gives them; see the migration.

    Attributes:
        place: Of two of one instant the later written has the higher; 0 before it is written.
        folded: Its tags as they are compared, which is written and never read.
    """

    id: str
    place: int
    at: datetime
    nanos: int
    written_at: datetime
    scope: str
    body: str
    tags: Sequence[str]
    supersedes: str
    more: str
    folded: Sequence[str] = ()


@cache
def query(journal: str, *names: str) -> sql.SQL:
    """A query of all journals or of this one, with what is appended to it, for the driver."""
    texts = {**read_queries(_PACKAGE, "entries.sql"), **read_queries(_PACKAGE, f"{journal}.sql")}
    return statement("\n".join(texts[name] for name in names))


def is_kept(database: Postgres, owner: str) -> bool:
    """Whether anything of a user was ever kept there, in any journal. Raises: Unavailable."""
    asked = statement(read_queries(_PACKAGE, "entries.sql")["is_kept"])
    with database.shared_transaction(owner) as conn:
        return conn.execute(asked, {"owner": owner}).fetchone() is not None


class EntryRows:
    """One user's rows of one journal. Thread-safe.

    Args:
        database: Shared by all users of the process; its owner closes it.
        clock: By which entries have expired, which no reader sees.
    """

    def __init__(self, database: Postgres, *, owner: str, journal: str, clock: Clock) -> None:
        self._database = database
        self.owner = parse_owner(owner)
        self._journal = journal
        self._clock = clock

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads, which may be one with others of this thread."""
        with self._database.shared_transaction(self.owner) as conn:
            yield conn

    @contextmanager
    def writing(self, *, deadline_s: float | None = None) -> Iterator[Connection]:
        """A transaction of its own; what is said to be written at its end is on the disk.

        deadline_s: The most seconds it may take; None for as long as any.
        """
        with self._database.owner_transaction(self.owner, deadline_s=deadline_s) as conn:
            yield conn

    def read(self, conn: Connection, *rest: str, **asked: object) -> list[EntryRow]:
        """Rows that have not expired, less for who may see that too.

        rest: names of queries that are appended; now=None in `asked` shows what has expired.
        """
        return [EntryRow(*row) for row in self.ask(conn, "read", *rest, **asked).fetchall()]

    def find(self, conn: Connection, identity: str, *rest: str, **asked: object) -> EntryRow | None:
        """The row with just this id, or None; see `read`."""
        return next(iter(self.read(conn, "of_id", *rest, id=identity, **asked)), None)

    def ask(self, conn: Connection, *names: str, **asked: object) -> Cursor[tuple[Any, ...]]:
        """Run a query of these rows; it is given owner, journal and now."""
        now = None if is_revealed() else self._clock()
        given = {"owner": self.owner, "journal": self._journal, "now": now, **asked}
        return conn.execute(query(self._journal, *names), given)

    def lock(self, conn: Connection) -> None:
        """Until the end nobody else of this user and journal has this lock."""
        self.ask(conn, "lock_writing")

    def add(self, conn: Connection, rows: Sequence[EntryRow]) -> list[int | None]:
        """Write rows; the place of each, None where its id is taken."""
        with conn.pipeline() if len(rows) > 1 else nullcontext():
            asked = [self.ask(conn, "add", **_sent(row)) for row in rows]
        found = [each.fetchone() for each in asked]
        return [None if row is None else int(row[0]) for row in found]

    def alter(self, conn: Connection, row: EntryRow) -> None:
        """Give a row other parts; when it was written down stays."""
        self.ask(conn, "alter", **_sent(row))

    def delete(self, conn: Connection, identities: Sequence[str]) -> set[str]:
        """Remove rows, with their times and former texts; the ids of those that were there."""
        return {str(row[0]) for row in self.ask(conn, "delete", ids=Texts(identities))}

    def find_deleted(self, identities: Iterable[str]) -> set[str]:
        """Which of these ids rows had that were deleted: a move from files brings none back."""
        with self.reading() as conn:
            return {str(row[0]) for row in self.ask(conn, "gone", ids=Texts(identities))}

    def mark(self) -> str:
        """A token that changes with every change; reads the outbox, and no entry."""
        with self.reading() as conn:
            (parts,) = self.ask(conn, "mark").fetchall()
        return ":".join(map(str, parts))

    def changed_since(self, mark: str | None) -> list[str] | None:
        """The ids of all that changed after a mark, gone ones too; None for a mark that says not.

        With them some that changed shortly before: a change has the time at which its transaction
        began, and may be seen only when that ends.
        """
        second = (mark or "").rpartition(":")[2]
        if (mark or "").count(":") != _MARK_PARTS - 1 or not second.isdecimal():
            return None
        with self.reading() as conn:
            rows = self.ask(conn, "changed", second=max(int(second) - _LATE_S, 0))
            return [str(row[0]) for row in rows]


def _sent(row: EntryRow) -> dict[str, object]:
    """What the queries that write an entry take."""
    return {**row._asdict(), "tags": Texts(row.tags), "folded": Texts(_unique(row.folded))}


def _unique(texts: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(texts)]
