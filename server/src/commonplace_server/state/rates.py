"""How often each owner has asked, counted by all servers of a database together.

Never decides who is admitted, nor is asked at each request: see `RateLimiter`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from commonplace.db.queries import read_queries
from commonplace_server.postgres.database import statement

if TYPE_CHECKING:
    from psycopg import sql

    from commonplace_server.postgres.database import Postgres

_DEADLINE_S = 2.0


class RateDatabase:
    """The buckets of all users of a database; see `SharesRates`. Thread-safe.

    Args:
        database: Its owner closes it.
        per_second: How many tokens a bucket gets.
        burst: How many it holds.
    """

    def __init__(self, database: Postgres, *, per_second: float, burst: int) -> None:
        self._database = database
        self._given = {"per_second": per_second, "burst": burst}

    def spend(self, owner: str, spent: int) -> float:
        """Take tokens out of an owner's bucket; what is left. Raises: Unavailable, Denied."""
        given = {**self._given, "owner": owner, "spent": spent}
        ((left,),) = self._database.ask_in_one_trip(owner, _query(), given, deadline_s=_DEADLINE_S)
        return float(left)


@cache
def _query() -> sql.SQL:
    return statement(read_queries("commonplace_server.state", "rates.sql")["spend"])
