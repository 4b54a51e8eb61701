"""Owns the file of one user's memory: how it is opened.

Never decides what is kept or found; holds no transaction but those its callers begin.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from commonplace.db.owned import OwnedDatabase
from commonplace.db.queries import read_queries
from commonplace.db.sqlite import BUSY_S, transaction

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping

FILE_NAME = "memory.db"

_SHORT_MS = 250


@cache
def sql() -> Mapping[str, str]:
    """The queries of memory by name."""
    return read_queries(MemoryDatabase.package, "queries.sql")


class MemoryDatabase(OwnedDatabase):
    """The file of one user."""

    name = FILE_NAME
    package = "commonplace.journals.memory"
    queries = staticmethod(sql)

    @staticmethod
    def visible() -> Mapping[str, str]:
        """Each table of records, with the query of those that have not expired."""
        return {
            "wb_message": sql()["visible_messages"],
            "wb_journal": sql()["visible_journals"],
            "wb_todo": sql()["visible_todos"],
            "wb_gratitude": sql()["visible_gratitudes"],
            "wb_preferences": sql()["visible_preferences"],
        }

    @contextmanager
    def writing_soon(self) -> Iterator[sqlite3.Connection]:
        """`writing` for what waits neither for other writers nor for the disk: a log's line.

        Raises: Unavailable.
        """
        with self.bare() as conn:
            conn.execute(f"PRAGMA busy_timeout = {_SHORT_MS}")
            conn.execute("PRAGMA synchronous = NORMAL")
            try:
                with transaction(conn):
                    yield conn
            finally:
                conn.execute(f"PRAGMA busy_timeout = {int(BUSY_S * 1000)}")
                conn.execute("PRAGMA synchronous = FULL")
