"""Owns what workers of all memories on Postgres agree on: whose vectors are made, what is vacuumed.

Never sees a text: across users its role is shown the outbox, and which workers there are.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct
from psycopg import sql
from psycopg.errors import LockNotAvailable

from commonplace.core.clock import render_time, utc_now
from commonplace.db.queries import read_queries
from commonplace.journals.memory.journal import CALLS_KEPT
from commonplace_server.postgres.database import statement
from commonplace_server.records.backlog import columns_across
from commonplace_server.records.store import TABLES, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.clock import Clock
    from commonplace_server.postgres.database import Connection, Postgres

_log = logging.getLogger(f"commonplace.{__name__}")
# As long as one table may take.
_VACUUM_S = 3600.0
# As long as all tables together may take, and more.
_VACUUMING_S = 86_400.0
_PRUNED_EVERY, _PRUNED_AT_ONCE = timedelta(days=1), 5_000
# A table up to this size is rewritten: its users wait until that is done.
_REWRITTEN_BYTES = 32 * 1024 * 1024


@cache
def _texts() -> Mapping[str, str]:
    return read_queries("commonplace_server.records", "upkeep.sql")


def query(name: str) -> sql.SQL:
    """One of the queries of upkeep, for the driver."""
    return statement(_texts()[name])


class PackingLease(Struct, frozen=True, kw_only=True):
    """A user whose index a worker packs.

    Attributes:
        owner: The user.
        until: When another worker may take over.
        tries: Workers that took the user in hand since one packed all, this one too.
    """

    owner: str
    until: datetime
    tries: int


class MemoryUpkeep:
    """What the workers of one database agree on: whose vectors are made, and what is vacuumed when.

    One encoder is in the lead at a time: two that each made their vectors again would never end.
    Thread-safe.

    Args:
        database: Opened as the worker's role.
        tables: Those of the index, vacuumed like the records'.
    """

    def __init__(
        self, database: Postgres, *, tables: Sequence[str] = (), clock: Clock = utc_now
    ) -> None:
        self._database = database
        # Neither the log nor the times hold a text.
        held = {*TABLES} - {"wb_tool_invocation_log", "wb_times"}
        self._tables = (*(x for x in TABLES if x in held), *tables)
        self._clock = clock
        self._is_reported = False

    def take_lead(self, encoder: str, *, seconds: float) -> str:
        """Take or renew the lease of the encoder in the lead; gives that one, this or another.

        All workers of one encoder share the lease; once it has run out, or was released, the next
        encoder that asks has it. Raises: Unavailable.
        """
        with self._database.across() as conn:
            conn.execute(query("take_lead"), {"encoder": encoder, "seconds": seconds})
            row = conn.execute(query("in_charge")).fetchone()
        return "" if row is None else str(row[0])

    def release_lead(self, encoder: str) -> None:
        """Give the lease back, if it is this encoder's. Raises: Unavailable."""
        with self._database.across() as conn:
            conn.execute(query("release_lead"), {"encoder": encoder})

    @contextmanager
    def vacuuming(self, *, every_s: float) -> Iterator[bool]:
        """Vacuum inside it, if it gives True: nobody else does, nor has for so long.

        Ended without an error, it is noted as done. Raises: Unavailable.
        """
        # Held by a transaction, not a session: a proxy gives the next one another session. It has
        # no snapshot, so it keeps nothing from being vacuumed.
        with self._database.across(deadline_s=_VACUUMING_S) as conn:
            is_ours = _is_so(conn, "take_vacuuming") and _is_so(
                conn, "vacuuming_is_due", every_s=every_s
            )
            yield is_ours
            if is_ours:
                conn.execute(query("note_vacuumed"))

    def lease_packing(self, limit: int, *, every_s: float, seconds: float) -> list[PackingLease]:
        """Take users whose indexes are to be packed, whom no other worker has in hand.

        After all others, and alone, one whom a worker had and did not pack: it may have killed that
        worker, and those whom it had besides would rest as long as this one, and come with it.

        Args:
            limit: The most users.
            every_s: How long what was written stays as it is.
            seconds: After so long another worker takes those who are not packed by then.

        Raises:
            Unavailable.
        """
        lease, given = query("lease_packing"), {"every_s": every_s, "seconds": seconds}
        with self._database.across(commit="soon") as conn:
            rows = conn.execute(lease, {**given, "limit": limit, "tried": False}).fetchall()
            if not rows:
                rows = conn.execute(lease, {**given, "limit": 1, "tried": True}).fetchall()
        return [PackingLease(owner=str(x), until=until, tries=tries) for x, until, tries in rows]

    def vacuum(self) -> int:
        """Delete old calls, and vacuum what the database keeps of what is deleted; how many were.

        Raises: Unavailable.

        A small table is rewritten: a mere VACUUM leaves bytes of what was there in its pages.
        """
        self._prune_calls()
        with self._database.across() as conn:
            stale = [line_of(row) for row in conn.execute(query("stale")).fetchall()]
        # What a running transaction may still see stays until the next time.
        if stale and not self._is_held_back() and self._vacuum():
            # Those are clean of which nothing was kept back: the tables themselves say how far.
            with self._database.across() as conn:
                row = conn.execute(query("horizon"), {"tables": list(self._tables)}).fetchone()
                if row is not None:
                    clean = {"horizon": row[0], **columns_across(stale)}
                    conn.execute(query("clean"), clean)
                    conn.execute(query("note_horizon"), {"horizon": row[0]})
        return len(stale)

    def find_outdated(self, encoder: str, *, kept_s: float) -> list[str]:
        """Users who may have vectors of other encoders, which nobody has needed for so long.

        None unless this one is in the lead and has made all that others had made: that is noted,
        and so long after they are given, until they are cleared. Raises: Unavailable.
        """
        asked = {"encoder": encoder, "kept_s": kept_s}
        with self._database.across() as conn:
            row = conn.execute(query("note_whole"), asked).fetchone()
            if row is None or not row[0]:
                return []
            return [str(user) for (user,) in conn.execute(query("users")).fetchall()]

    def note_cleared(self, encoder: str) -> None:
        """No vector of another encoder than this is left. Raises: Unavailable."""
        with self._database.across() as conn:
            conn.execute(query("note_cleared"), {"encoder": encoder})

    def _is_held_back(self) -> bool:
        """Whether a forgotten transaction, say, keeps all that it kept when all was last vacuumed.

        Tables are not rewritten for nothing: they are locked while it lasts.
        """
        with self._vacuuming() as conn:
            with suppress(LockNotAvailable):
                conn.execute(query("look_far"))
            is_held_back = _is_so(conn, "is_held_back")
        if is_held_back and not self._is_reported:
            _log.warning(
                "What is deleted stays in the files of %s: an old transaction, a prepared one, a"
                " replica or its slot may need it still.",
                self._database.name,
            )
        self._is_reported = is_held_back
        return is_held_back

    def _vacuum(self) -> bool:
        """Whether no table was so busy that it is to be rewritten the next time."""
        is_clean = True
        for table in map(sql.Identifier, self._tables):
            with self._vacuuming() as conn:
                is_clean &= _vacuum_table(conn, table)
        return is_clean

    @contextmanager
    def _vacuuming(self) -> Iterator[Connection]:
        """A connection outside of transactions, for as long as one table may take."""
        with self._database.bare(deadline_s=_VACUUM_S) as conn:
            conn.execute(query("vacuum_patiently"))
            try:
                yield conn
            finally:
                if not conn.closed:
                    conn.execute(query("vacuum_no_more"))

    def _prune_calls(self) -> None:
        """What is old of all users, once a day."""
        every = {"every_s": _PRUNED_EVERY.total_seconds()}
        with self._database.across() as conn:
            if not _is_so(conn, "pruning_is_due", **every):
                return
        asked = {"before": render_time(self._clock() - CALLS_KEPT), "limit": _PRUNED_AT_ONCE}
        pruned = _PRUNED_AT_ONCE
        while pruned == _PRUNED_AT_ONCE:
            with self._database.across() as conn:
                pruned = conn.execute(query("prune_old_calls"), asked).rowcount
        with self._database.across() as conn:
            conn.execute(query("note_pruned"))


def _vacuum_table(conn: Connection, table: sql.Identifier) -> bool:
    """Whether no lock was in the way, as far as the table's size asks for it.

    Frozen, a table says how far back it may hold what is dead, and no page of it is passed over.
    """
    size = conn.execute(query("size"), {"table": table.as_string()}).fetchone()
    is_small = size is not None and size[0] <= _REWRITTEN_BYTES
    vacuums = ("VACUUM (FULL, FREEZE) {}",) * is_small
    for vacuum in (*vacuums, "VACUUM (FREEZE, INDEX_CLEANUP ON) {}"):
        try:
            conn.execute(statement(vacuum).format(table))
        except LockNotAvailable:
            continue
        return vacuum in vacuums or not is_small
    return False


def _is_so(conn: Connection, name: str, **given: object) -> bool:
    row = conn.execute(query(name), given or None).fetchone()
    return row is not None and bool(row[0])
