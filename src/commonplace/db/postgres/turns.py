"""One transaction in which owners take turns: one commit, and few round trips, for all of them.

Never has the rows of two owners there at once: whoever's turn it is sees and writes its own alone.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from psycopg import sql

from commonplace.core.owners import parse_owner
from commonplace.db.postgres.database import queries, statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from commonplace.db.postgres.database import Connection, Postgres


class Turns:
    """A transaction that is one owner's after the other's."""

    def __init__(self, conn: Connection) -> None:
        self.conn = conn

    def give_to(self, owner: str) -> Connection:
        """From here on the rows of this owner are there and no others. Raises: Invalid."""
        self.conn.execute(_turn(parse_owner(owner)))
        return self.conn

    def step(self, steps: Iterable[tuple[str, Iterator[None]]]) -> None:
        """Take each owner's steps, the first of all before the second of any.

        A step looks at answers to what the one before has asked: all owners' come at once.
        """
        left = list(steps)
        while left:
            left = [each for each in left if self._goes_on(*each)]

    def _goes_on(self, owner: str, steps: Iterator[None]) -> bool:
        self.give_to(owner)
        return next(steps, _END) is not _END


_END = object()


@contextmanager
def turns(database: Postgres) -> Iterator[Turns]:
    """One transaction, committed and on the disk at the end, rolled back for all on any error.

    Answers come when they are looked at. Waits for nobody's rows for longer than a second.
    Raises: as `Postgres.within`.
    """
    with database.across() as conn, conn.pipeline():
        conn.execute(statement(queries()["turn_briefly"]))
        yield Turns(conn)


@lru_cache(maxsize=1024)
def _turn(owner: str) -> bytes:
    return statement(queries()["turn"]).format(owner=sql.Literal(owner)).as_bytes()
