"""Rows of a database that anyone may have written are read, and none is waited for without end."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from commonplace.core.errors import Invalid
from commonplace.db.foreign import ForeignDatabase

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"


def test_a_row_that_never_comes_is_not_waited_for():
    """The error says so; the next query has its time again."""
    with closing(sqlite3.connect(":memory:")) as connection:
        database = ForeignDatabase(connection, "a.db", row_s=0.05)
        with pytest.raises(Invalid, match=r"a row took longer than 0\.05 s"):
            list(database.rows(ENDLESS.format("count(*)")))
        assert list(database.rows("SELECT ?", (1,))) == [(1,)]


def test_each_row_has_its_time():
    """However many there are: a large database is no slow one."""
    with closing(sqlite3.connect(":memory:")) as connection:
        endless = ForeignDatabase(connection, "a.db", row_s=60.0).rows(ENDLESS.format("x"))
        assert [next(endless)[0] for _ in range(100_000)][-1] == 100_000
        endless.close()
