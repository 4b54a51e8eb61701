"""Owns what workers of all memories on Postgres agree on: whose vectors are made, what is tidied.

Never sees a text: across users its role is shown the outbox, and which workers there are.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from uuid import uuid4

from commonplace.db.postgres import statement
from commonplace.db.queries import read_queries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from psycopg import sql

    from commonplace.db.postgres import Postgres


@cache
def _texts() -> Mapping[str, str]:
    return read_queries("commonplace.journals", "memory_upkeep.sql")


def query(name: str) -> sql.SQL:
    """One of the queries of upkeep, for the driver."""
    return statement(_texts()[name])


class MemoryUpkeep:
    """The upkeep of one database, as one worker sees it; implements `core.memory.Upkeep`.

    database: opened as the worker's role. Thread-safe.
    """

    def __init__(self, database: Postgres) -> None:
        self._database = database
        self._worker = uuid4()

    def work_with(self, encoder: str, *, seconds: float) -> str:
        """Be there with this encoder; see the port. Raises: Unavailable."""
        asked = {"worker": self._worker, "encoder": encoder, "seconds": seconds}
        with self._database.across() as conn:
            conn.execute(query("hold_charge"))
            with conn.pipeline():
                conn.execute(query("drop_workers"))
                conn.execute(query("note_worker"), asked)
                conn.execute(query("take_charge"), asked)
                found = conn.execute(query("in_charge"))
            row = found.fetchone()
        return "" if row is None else str(row[0])

    def leave(self) -> None:
        """Be there no more. Raises: Unavailable."""
        with self._database.across() as conn:
            conn.execute(query("drop_worker"), {"worker": self._worker})

    def outlived(self, encoder: str, *, kept_s: float) -> list[str]:
        """Users who may have vectors to be let go of; see the port. Raises: Unavailable."""
        asked = {"encoder": encoder, "kept_s": kept_s}
        with self._database.across() as conn:
            row = conn.execute(query("note_whole"), asked).fetchone()
            if row is None or not row[0]:
                return []
            return [str(user) for (user,) in conn.execute(query("users")).fetchall()]

    def cleared(self, encoder: str) -> None:
        """No vector of another encoder than this is left. Raises: Unavailable."""
        with self._database.across() as conn:
            conn.execute(query("note_cleared"), {"encoder": encoder})
