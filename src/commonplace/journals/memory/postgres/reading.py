"""Reads records of several users for a worker, each as that user.

Never has the rows of two users in reach at once.
"""

from __future__ import annotations

from datetime import UTC
from itertools import groupby
from typing import TYPE_CHECKING

from commonplace.db.postgres.turns import turns
from commonplace.journals.memory.postgres.store import ask_all
from commonplace.journals.memory.rows import record_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from commonplace.core.memory import Kind, Noted, Record
    from commonplace.db.postgres.database import Postgres


class MemoryReading:
    """The records that lines of the outbox stand for, of any users. Thread-safe."""

    def __init__(self, database: Postgres) -> None:
        self._database = database

    def read(self, noted: Sequence[Noted]) -> list[Record | None]:
        """The records of these as they are now, in this order. Raises: Unavailable."""
        found: dict[tuple[str, Kind, str], Record] = {}
        with turns(self._database) as given:
            asked = []
            for (owner, kind), some in groupby(sorted(noted, key=_shelf), key=_shelf):
                ids = [each.ref_id for each in some]
                asked.append((owner, kind, ask_all(given.give_to(owner), owner, kind, ids)))
            for owner, kind, rows in asked:
                for row in rows:
                    record = record_of(kind, row, instant=_instant)
                    found[owner, kind, record.id] = record
        return [found.get((each.owner, each.kind, each.ref_id)) for each in noted]


def _shelf(noted: Noted) -> tuple[str, Kind]:
    return noted.owner, noted.kind


def _instant(at: datetime) -> datetime:
    return at.astimezone(UTC)
