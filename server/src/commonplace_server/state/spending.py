"""What an owner's language models have taken each day, counted by all servers of a database.

Never holds a word of a question or an answer. One statement decides who gets the last tokens.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import retried
from commonplace.db.queries import read_queries
from commonplace.inference.language.budget import day_is_spent
from commonplace_server.postgres.database import statement

if TYPE_CHECKING:
    from datetime import tzinfo

    from psycopg import sql

    from commonplace.core.clock import Clock
    from commonplace_server.postgres.database import Postgres

_DEADLINE_S = 5.0


class SpentDatabase:
    """The tokens of one owner; see `KeepsBudget`. Thread-safe.

    Args:
        database: Its owner closes it.
        owner: Whose tokens.
        per_day: The most of a day.
        clock: Gives the time.
        zone: The time zone that says when a day begins.
    """

    def __init__(
        self, database: Postgres, *, owner: str, per_day: int, clock: Clock, zone: tzinfo
    ) -> None:
        self._database = database
        self._owner = owner
        self.per_day = per_day
        self._clock = clock
        self._zone = zone

    def spent(self) -> int:
        """Tokens spent or set aside today."""
        given = self._given(self._today())

        def ask() -> int:
            with self._database.owner_transaction(self._owner, commit="soon") as conn:
                row = conn.execute(_query("spent"), given).fetchone()
            return 0 if row is None else int(row[0])

        return retried(ask)

    def set_aside(self, tokens: int, model: str) -> str:
        """Take so many out of today's; what to `settle` them with, once. Raises: Denied."""
        day = self._today()
        given = {**self._given(day), "tokens": tokens, "most": self.per_day}
        # Done twice where a connection was lost, it counts once too often, and never too seldom.
        taken = self._database.ask_in_one_trip(
            self._owner, _query("set_aside"), given, deadline_s=_DEADLINE_S
        )
        if not taken:
            raise day_is_spent(self.spent(), self.per_day, tokens)
        return f"{day} {tokens}"

    def settle(self, key: str, tokens_in: int, tokens_out: int, model: str) -> None:
        """Count what it was in the end, on the day when it was set aside."""
        day, tokens = key.split()
        given = {**self._given(day), "more": tokens_in + tokens_out - int(tokens)}
        with self._database.owner_transaction(self._owner, commit="soon") as conn:
            conn.execute(_query("settle"), given)
            conn.execute(_query("drop_former"), given)

    def _today(self) -> str:
        return self._clock().astimezone(self._zone).date().isoformat()

    def _given(self, day: str) -> dict[str, Any]:
        return {"owner": self._owner, "day": day}


@cache
def _query(name: str) -> sql.SQL:
    return statement(read_queries("commonplace_server.state", "spending.sql")[name])
