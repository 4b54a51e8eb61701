"""Owns what waits for a worker in the memories of all users on Postgres: leases, and tidying up.

Never sees a text: across users its role is shown the outbox alone.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from psycopg import sql
from psycopg.errors import LockNotAvailable

from commonplace.core.clock import render_time, utc_now
from commonplace.core.errors import Conflict, Denied
from commonplace.db.postgres import statement
from commonplace.journals.memory import CALLS_KEPT
from commonplace.journals.memory_postgres import (
    TABLES,
    columns_of,
    noted_of,
    query,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from commonplace.core.clock import Clock
    from commonplace.core.memory import Noted
    from commonplace.db.postgres import Connection, Postgres

_log = logging.getLogger(__name__)
_VACUUM_S = 3600.0
_LEASES = ("lease_due", "lease_others_below", "lease_others_above")
_LEASES_WITHOUT = ("lease_words", "lease_plain")
# A transaction for each user, and a million of them take minutes.
_PRUNED_EVERY = timedelta(days=1)
# A table up to this size is written anew, its users waiting for a second at the most.
_REWRITTEN_BYTES = 32 * 1024 * 1024


class MemoryBacklog:
    """What waits in one database; implements `core.memory.Backlog`. Thread-safe.

    database: opened as the worker's role. tables: those of the index, tidied like ours.
    """

    def __init__(
        self, database: Postgres, *, tables: Sequence[str] = (), clock: Clock = utc_now
    ) -> None:
        self._database = database
        # The log holds no text; its rows go with time.
        self._tables = (*(x for x in TABLES if x != "wb_tool_invocation_log"), *tables)
        self._clock = clock
        self._pruned_at: datetime | None = None
        self._worker = uuid4()

    def lease(self, limit: int, *, encoder: str, seconds: float) -> list[Noted]:
        """Take what waits longest; see the port. Raises: Unavailable."""
        asked = {
            "limit": limit,
            "encoder": encoder,
            "seconds": seconds,
            "worker": self._worker,
        }
        with self._database.across() as conn:
            rows: list[tuple[Any, ...]] = []
            for lease in _LEASES if encoder else _LEASES_WITHOUT:
                rows = rows or conn.execute(query(lease), asked).fetchall()
        return [replace(noted_of(tuple(row)), anew=anew) for *row, anew in rows]

    def done(self, noted: Sequence[Noted], *, encoder: str) -> list[Noted]:
        """These are filed; see the port. Raises: Unavailable."""
        given = {"encoder": encoder, "has_encoder": bool(encoder), **self._leased(noted)}
        try:
            rows = self._done(given)
        except Conflict:
            # Somebody who wrote several of these at once was let through first.
            rows = self._done(given)
        return [noted_of(tuple(row)) for *row, changed in rows if changed]

    def _done(self, given: dict[str, Any]) -> list[tuple[Any, ...]]:
        with self._database.across() as conn:
            return conn.execute(query("lease_done"), given).fetchall()

    def give_back(self, noted: Sequence[Noted]) -> None:
        """These were not begun; see the port. Raises: Unavailable."""
        with self._database.across() as conn:
            conn.execute(query("give_back"), self._leased(noted))

    def hold(self, noted: Sequence[Noted], *, seconds: float) -> None:
        """Keep a lease for so much longer; see the port. Raises: Unavailable."""
        with self._database.across() as conn:
            conn.execute(query("hold"), {"seconds": seconds, **self._leased(noted)})

    def waiting(self) -> tuple[int, float]:
        """How much waits, and since how many seconds. Raises: Unavailable."""
        with self._database.across() as conn:
            row = conn.execute(query("waiting")).fetchone()
        return (0, 0.0) if row is None else (int(row[0]), float(row[1]))

    def renew(self) -> int:
        """Let everything that is kept wait again; see the port. Raises: Unavailable."""
        with self._database.across(deadline_s=_VACUUM_S) as conn:
            return conn.execute(query("renew")).rowcount

    def tidy(self) -> int:
        """Let go of old calls and of what is deleted; see the port. Raises: Unavailable.

        A small table is written anew: a mere VACUUM leaves bytes of what was there in its pages.
        """
        if self._pruned_at is None or self._clock() - self._pruned_at >= _PRUNED_EVERY:
            self._pruned_at = self._clock()
            self._prune_calls()
        with self._database.across() as conn:
            stale = [noted_of(row) for row in conn.execute(query("stale")).fetchall()]
        if stale:
            # Outside a transaction; what a running one may still see stays until the next time.
            with self._database.bare(deadline_s=_VACUUM_S) as conn:
                is_clean = self._vacuum(conn)
            if is_clean:
                with self._database.across() as conn:
                    conn.execute(query("clean"), _columns(stale))
        return len(stale)

    def _leased(self, noted: Sequence[Noted]) -> dict[str, Any]:
        return {"worker": self._worker, **_columns(noted)}

    def _vacuum(self, conn: Connection) -> bool:
        """Whether no table was so busy that it is to be written anew the next time."""
        is_clean = True
        conn.execute(query("vacuum_patiently"))
        try:
            for table in map(sql.Identifier, self._tables):
                is_clean &= _vacuum_table(conn, table)
        finally:
            if not conn.closed:
                conn.execute(query("vacuum_no_more"))
        return is_clean

    def _prune_calls(self) -> None:
        """Each user's own, as that user: across users the log is not seen."""
        before = render_time(self._clock() - CALLS_KEPT)
        with self._database.across() as conn:
            users = [row[0] for row in conn.execute(query("users")).fetchall()]
        for user in users:
            with self._database.within(user, commit="soon") as conn:
                conn.execute(query("prune_calls"), {"user_id": user, "before": before})


def _vacuum_table(conn: Connection, table: sql.Identifier) -> bool:
    """Whether nobody was in the way, as far as the table's size asks for it."""
    size = conn.execute(query("size"), {"table": table.as_string()}).fetchone()
    is_small = size is not None and size[0] <= _REWRITTEN_BYTES
    for vacuum in ("VACUUM (FULL) {}",) * is_small + ("VACUUM (INDEX_CLEANUP ON) {}",):
        try:
            conn.execute(statement(vacuum).format(table))
        except LockNotAvailable:
            continue
        return vacuum.startswith("VACUUM (FULL)") or not is_small
    return False


def refuse_other_role(conn: Connection) -> None:
    """Refuse a role that what waits is not shown to. Raises: Denied."""
    row = conn.execute(query("is_worker")).fetchone()
    if row is None or not row[0]:
        raise Denied(
            "This role is not the worker's: it would see nothing that waits.",
            hint="Connect as commonplace_worker, which `commonplace memory migrate` makes.",
        )


def _columns(noted: Sequence[Noted]) -> dict[str, list[Any]]:
    return {"users": [each.owner for each in noted], **columns_of(noted)}
