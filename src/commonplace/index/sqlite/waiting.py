"""Which docs wait for a vector: once none waits, only what came or moved since is asked.

Never counts again what did not change, and never holds a transaction open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3

    from commonplace.index.sqlite.docs import Queries


class WaitingDocs:
    """How many docs of an index wait for each encoder, and which. Thread-safe.

    Asking every doc takes 28 ms of a processor at 100,000, and is asked after every write.
    """

    def __init__(self, sql: Queries) -> None:
        self._sql = sql
        self._counted: dict[int, tuple[tuple[str, str], int]] = {}
        self._none_at: dict[int, tuple[str, int]] = {}

    def count(self, conn: sqlite3.Connection, encoder: int) -> int:
        """How many docs wait for an encoder; without one (below 0) all with words in them do.

        The caller reads from one state.
        """
        name, numbers, newest, oldest = self._position(conn)
        known = self._counted.get(encoder)
        if known is not None and known[0] == (name, numbers):
            return known[1]
        seen = self._seen(encoder, name, newest, oldest)
        query = "count_worded" if encoder < 0 else "count_unencoded"
        if seen is not None:
            query = "count_unencoded_since"
        asked = {"encoder": encoder, "seen": seen}
        count = int(conn.execute(self._sql[query], asked).fetchone()[0])
        self._counted[encoder] = (name, numbers), count
        self._note(encoder, name, newest, count)
        return count

    def rows(self, conn: sqlite3.Connection, encoder: int, limit: int) -> list[tuple[Any, ...]]:
        """Ref, text, hash and time of so many that wait, newest first; as `count`."""
        name, _, newest, oldest = self._position(conn)
        seen = self._seen(encoder, name, newest, oldest)
        query = "list_unencoded" if seen is None else "list_unencoded_since"
        asked = {"encoder": encoder, "seen": seen, "limit": limit}
        rows = conn.execute(self._sql[query], asked).fetchall()
        if limit:
            self._note(encoder, name, newest, len(rows))
        return rows

    def _position(self, conn: sqlite3.Connection) -> tuple[str, str, int, int]:
        row: tuple[str, str, int, int] = conn.execute(self._sql["read_pending_position"]).fetchone()
        return row

    def _seen(self, encoder: int, name: str, newest: int, oldest: int) -> int | None:
        """The move up to which no doc waited, where all moves since are kept."""
        known = self._none_at.get(encoder)
        if known is None or known[0] != name or not oldest - 1 <= known[1] <= newest:
            return None
        return known[1]

    def _note(self, encoder: int, name: str, newest: int, count: int) -> None:
        if not count and encoder >= 0:
            self._none_at[encoder] = name, newest
