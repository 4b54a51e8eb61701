"""Files words and vectors of several owners at once in Postgres, in one transaction of many turns.

Never has two owners' rows in reach at once: each row is written as its own owner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.values import Drop
from commonplace.db.postgres.turns import turns
from commonplace.index.postgres.docs import changing
from commonplace.index.postgres.transaction import Asking
from commonplace.index.postgres.vectors import putting
from commonplace.index.sqlite.docs import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from commonplace.core.values import Encoded, Filing, Still
    from commonplace.db.postgres.database import Postgres
    from commonplace.db.postgres.turns import Turns

# Docs whose vectors leave in one transaction, 0.08 s in which what is filed for their owner waits.
_FORMER_AT_ONCE = 1_000
_BEFORE_ALL = -1 << 63


class PostgresFiling:
    """What a worker files, of any owners; implements `core.ports.FilesForAll`. Thread-safe.

    Whoever files takes owners in the order of their names: else two would wait for each other.
    """

    def __init__(self, database: Postgres) -> None:
        self._database = database

    def file(self, filings: Sequence[Filing]) -> None:
        """Make these changes; see the port. Raises: Unavailable, Invalid, Conflict."""
        with turns(self._database) as given:
            ordered = sorted(filings, key=lambda each: each.owner)
            given.step((each.owner, _filed(given, each)) for each in ordered)

    def file_vectors(self, identity: str, encoded: Mapping[str, Sequence[Encoded]]) -> None:
        """File vectors of present texts; see the port. Raises: Unavailable, Invalid, Conflict."""
        model = plain(identity)
        with turns(self._database) as given:
            given.step(
                (owner, putting(Asking(given.conn, owner), model, each))
                for owner, each in sorted(encoded.items())
            )

    def drop_former(self, identity: str, owner: str, *, still: Still) -> bool:
        """Drop other encoders' vectors; see the port. Raises: Unavailable, Conflict."""
        bound = {"model": plain(identity), "limit": _FORMER_AT_ONCE}
        after: int | None = _BEFORE_ALL
        while after is not None:
            with self._database.within(owner, commit="soon") as conn:
                asking = Asking(conn, owner)
                # Nobody files vectors of this owner from here on: what holds now holds to the end.
                asking.ask("hold")
                if not all(asking.tell(still)()):
                    return False
                ((after,),) = asking.ask("drop_former", after=after, **bound).fetchall()
        return True


def _filed(given: Turns, filing: Filing) -> Iterator[None]:
    asking = Asking(given.conn, filing.owner)
    yield from changing(asking, filing.changes, anew=filing.anew, still=filing.still)
    if any(isinstance(each, Drop) for each in filing.changes):
        asking.ask("drop_bare_shelves")
