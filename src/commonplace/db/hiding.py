"""Hides rows of a database from a connection: a temporary view stands before their table.

Never changes the file, and no other connection sees any of it. A connection whose rows are hidden
cannot write to those tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping

    from commonplace.core.expiring import Hidden

_VERSIONS = 2**31 - 1
"""How many sets of refs a connection's `user_version` tells apart; 0 is for none."""


class HiddenRows:
    """The rows of one database that no reader may see now.

    Args:
        hidden: Gives the refs of the entries.
        views: Gives for each table that has rows of them the query that selects its other rows; the
            query finds the refs in `temp.hidden`.
    """

    def __init__(self, hidden: Hidden, views: Callable[[], Mapping[str, str]]) -> None:
        self._hidden = hidden
        self._views = views
        self.has_hidden = False
        """Whether a connection may have hidden some."""

    def hide(self, conn: sqlite3.Connection) -> None:
        """Hide them from a connection that is about to read. Raises: Unavailable."""
        refs = self._hidden()
        if refs or self.has_hidden:
            self.has_hidden = True
            self._set(conn, refs)

    def show(self, conn: sqlite3.Connection) -> None:
        """Hide nothing from a connection that is about to write or to be examined."""
        if self.has_hidden:
            self._set(conn, frozenset())

    def _set(self, conn: sqlite3.Connection, refs: frozenset[str]) -> None:
        # What a connection hides is noted in its own temporary part, and is undone with that.
        wanted = hash(refs) % _VERSIONS + 1 if refs else 0
        if conn.execute("PRAGMA temp.user_version").fetchone()[0] == wanted:
            return
        views = self._views()
        for table in views:
            conn.execute(f"DROP VIEW IF EXISTS temp.{table}")
        conn.execute("CREATE TEMP TABLE IF NOT EXISTS hidden (ref TEXT PRIMARY KEY)")
        conn.execute("DELETE FROM temp.hidden")
        conn.executemany("INSERT INTO temp.hidden VALUES (?)", [(ref,) for ref in refs])
        for table, query in views.items() if refs else ():
            conn.execute(f"CREATE TEMP VIEW {table} AS {query}")
        conn.execute(f"PRAGMA temp.user_version = {wanted}")
