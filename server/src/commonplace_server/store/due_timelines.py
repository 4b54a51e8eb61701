"""Owns whose timelines on Postgres have a period that is due, and which worker has which in hand.

Never sees a text: across users its role is shown when periods end, and nothing of what is in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from commonplace_server.store.timeline import query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace_server.postgres.database import Postgres

_SEEN = 4096
"""How many periods are looked at, the first that ended, for the users to whom they belong."""


class DueTimelines:
    """What waits in the timelines of all users; what one worker has leased no other is given.

    A lease is of a user, not of a period: a day is made from its hours. Thread-safe.

    Args:
        database: Opened as the worker's role.
    """

    def __init__(self, database: Postgres) -> None:
        self._database = database
        self.worker = uuid4()

    def lease(self, limit: int, *, bounds: Mapping[str, str], seconds: float) -> list[str]:
        """Take users of whom something is due, the longest first. Raises: Unavailable.

        Args:
            limit: The most users.
            bounds: Until when a period of each level must have ended; see `due_periods.bounds`.
            seconds: How long another worker passes them by, if this one dies.
        """
        asked = {"limit": limit, "seen": _SEEN, "seconds": seconds, "worker": self.worker}
        with self._database.across() as conn:
            rows = conn.execute(query("lease_due"), {**asked, **bounds}).fetchall()
        return [str(owner) for (owner,) in rows]

    def give_back(self, owner: str, *, rest_s: float) -> None:
        """Let any worker have a user again, after so long. Raises: Unavailable."""
        asked = {"owner": owner, "worker": self.worker, "seconds": rest_s}
        with self._database.across() as conn:
            conn.execute(query("give_back"), asked)
