"""Owns what waits for a worker in the memories of all users on Postgres, and who has what in hand.

Never sees a text: across users its role is shown the outbox alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from msgspec.structs import replace

from commonplace.core.errors import Conflict, Denied
from commonplace_server.postgres.text_lists import Texts
from commonplace_server.records.store import columns_of, line_of, query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace_server.postgres.database import Connection, Postgres
    from commonplace_server.records.outbox import OutboxLine

_RENEWING_S = 3600.0
# How many more lines are looked at than taken, so that a user's come together: 32,768 in 60 ms.
# Users behind more lines of one other wait until that many are left.
_SEEN = 64
# Of how many users at least lines are taken, where more than that wait.
_USERS = 8
_LEASES = ("lease_by_user", "lease_due", "lease_others_below", "lease_others_above")
_LEASES_WITHOUT = ("lease_words", "lease_plain")


class MemoryBacklog:
    """What changed in the memories of all users and waits for a worker; no text is in it.

    Several workers may share one database: what one has leased no other is given, until the lease
    runs out. Thread-safe.

    Args:
        database: Opened as the worker's role.
    """

    def __init__(self, database: Postgres) -> None:
        self._database = database
        self._worker = uuid4()

    def lease(self, limit: int, *, encoder: str, seconds: float) -> list[OutboxLine]:
        """Take what waits longest; where nothing waits, what has vectors of another encoder.

        Args:
            limit: The most lines to take.
            encoder: Whose vectors are made; empty for none: then only what has no words yet.
            seconds: How long the lease holds.

        Raises:
            Unavailable.
        """
        asked = {
            "limit": limit,
            "seen": limit * _SEEN,
            "share": max(limit // _USERS, 1),
            "encoder": encoder,
            "seconds": seconds,
            "worker": self._worker,
        }
        with self._database.across() as conn:
            rows: list[tuple[Any, ...]] = []
            for lease in _LEASES if encoder else _LEASES_WITHOUT:
                rows = rows or conn.execute(query(lease), asked).fetchall()
        return [
            replace(line_of(tuple(row)), has_words=has_words, is_lost=is_lost)
            for *row, has_words, is_lost in rows
        ]

    def done(self, noted: Sequence[OutboxLine], *, encoder: str) -> list[OutboxLine]:
        """Note lines as filed; gives those that changed since they were leased, which wait again.

        They do so even if another has filed the change: an earlier text may lie over it by now.

        Args:
            noted: What was leased.
            encoder: Whose vectors they have now; empty if none.

        Raises:
            Unavailable.
        """
        given = {"encoder": encoder, "has_encoder": bool(encoder), **self._leased(noted)}
        try:
            rows = self._done(given)
        except Conflict:
            # Another process that wrote several of these at once was let through first.
            rows = self._done(given)
        return [line_of(tuple(row)) for *row, changed in rows if changed]

    def _done(self, given: dict[str, Any]) -> list[tuple[Any, ...]]:
        with self._database.across() as conn:
            return conn.execute(query("lease_done"), given).fetchall()

    def give_back(self, noted: Sequence[OutboxLine]) -> None:
        """Give up a lease: the next worker may have these. Raises: Unavailable."""
        with self._database.across() as conn:
            conn.execute(query("give_back"), self._leased(noted))

    def hold(self, noted: Sequence[OutboxLine], *, seconds: float) -> None:
        """Keep a lease for so much longer, unless another has it by now. Raises: Unavailable."""
        with self._database.across() as conn:
            conn.execute(query("hold"), {"seconds": seconds, **self._leased(noted)})

    def waiting(self) -> tuple[int, float]:
        """How much waits, and since how many seconds. Raises: Unavailable."""
        with self._database.across() as conn:
            row = conn.execute(query("waiting")).fetchone()
        return (0, 0.0) if row is None else (int(row[0]), float(row[1]))

    def unpacked(self) -> tuple[float, int]:
        """For how many seconds anything has waited to be packed, and users of whom it failed.

        Raises: Unavailable.
        """
        with self._database.across() as conn:
            row = conn.execute(query("unpacked")).fetchone()
        return (0.0, 0) if row is None else (float(row[0]), int(row[1]))

    def renew(self) -> int:
        """Let everything wait again, as where an index was lost; how much it is.

        What is deleted is among it, to leave the index. Raises: Unavailable.
        """
        with self._database.across(deadline_s=_RENEWING_S) as conn:
            return conn.execute(query("renew")).rowcount

    def _leased(self, noted: Sequence[OutboxLine]) -> dict[str, Any]:
        return {"worker": self._worker, **columns_across(noted)}


def refuse_other_role(conn: Connection) -> None:
    """Refuse a role that what waits is not shown to. Raises: Denied."""
    row = conn.execute(query("is_worker")).fetchone()
    if row is None or not row[0]:
        raise Denied(
            f"The role {conn.info.user} is not the worker's, so it would see nothing to file.",
            hint="Connect as commonplace_worker, which `commonplace memory migrate` makes.",
        )


def columns_across(noted: Sequence[OutboxLine]) -> dict[str, Any]:
    """Lines of any users as the queries take them that mark several."""
    return {"users": Texts([each.owner for each in noted]), **columns_of(noted)}
