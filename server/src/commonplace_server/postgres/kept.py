"""Owns whether what is counted of users is what they keep, which some ways to restore get wrong.

Never corrects the counts, and reads no text: an administrator does, as `Operating it` says.
"""

from __future__ import annotations

from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from commonplace.db.queries import read_queries
from commonplace_server.postgres.database import statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import sql

    from commonplace_server.postgres.database import Postgres


class Counted(NamedTuple):
    """How many users were looked at, and those of whom other numbers stand there."""

    looked: int
    wrong: Sequence[str]


def find_miscounted(database: Postgres, *, within_s: float) -> Counted:
    """Compare what is counted of users with what they keep, by their names, while there is time.

    Args:
        database: Asked as the worker, who is shown which users there are.
        within_s: When no more users are looked at; one of 1,000 entries takes some milliseconds.

    Raises:
        Unavailable, Denied.
    """
    began, user, wrong, looked = monotonic(), "", [], 0
    while monotonic() - began < within_s:
        with database.across() as conn:
            row = conn.execute(_query("next_user"), {"after": user}).fetchone()
        if row is None:
            break
        user = str(row[0])
        looked += 1
        with database.owner_transaction(user) as conn:
            found = conn.execute(_query("is_miscounted"), {"owner": user}).fetchone()
        if found is not None and found[0]:
            wrong.append(user)
    return Counted(looked, wrong)


@cache
def _query(name: str) -> sql.SQL:
    return statement(read_queries("commonplace_server.postgres", "kept.sql")[name])
