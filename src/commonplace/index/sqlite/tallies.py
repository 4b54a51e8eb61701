"""Counts over every doc, kept until a doc or a vector comes or goes.

At 100,000 docs counting those that wait for a vector takes 15 to 33 ms; checking that nothing has
changed since takes 0.1 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from commonplace.index.sqlite.docs import Queries

Counted = TypeVar("Counted")


class TallyCache:
    """Keeps the last answer to each question, valid in the caller's transaction. Thread-safe."""

    def __init__(self, sql: Queries) -> None:
        self._sql = sql
        self._kept: dict[tuple[str, int], tuple[object, Any]] = {}

    def read(
        self,
        conn: sqlite3.Connection,
        question: str,
        encoder: int,
        count: Callable[[sqlite3.Connection, int], Counted],
    ) -> Counted:
        """The kept answer where nothing has changed since; else what `count` returns now."""
        position = conn.execute(self._sql["tally_position"]).fetchone()
        kept = self._kept.get((question, encoder))
        if kept is not None and kept[0] == position:
            answer: Counted = kept[1]
            return answer
        found = count(conn, encoder)
        self._kept[question, encoder] = position, found
        return found
