"""The doc table of one opening of an index, kept in step with its tables as docs come and leave.

Never ahead of the transaction it is read in: what other processes filed is taken in there. Columns
of numbers come as one text each: a row at a time, 20,000 numbers take 11 ms in place of 3.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from commonplace.index.scoring.doc_order import ordered_table, updated_table

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from commonplace.index.scoring.doc_table import DocTable, Ids
    from commonplace.index.sqlite.docs import Queries

# Past so many moves reading every doc again is cheaper than fitting them in.
MOVES_TAKEN = 2_000


class DocTables:
    """Keeps the last doc table that was read; its caller lets only one thread read at once.

    Without it a search of 8,000 docs takes 23 ms instead of 9 besides the encoding.
    """

    def __init__(self, sql: Queries) -> None:
        self._sql = sql
        self._held: tuple[str, int, DocTable] | None = None

    def table(self, conn: sqlite3.Connection) -> DocTable:
        """Every doc as the caller's transaction sees them."""
        name, newest, oldest = conn.execute(self._sql["read_doc_table_position"]).fetchone()
        held = self._held
        if held is not None and held[:2] == (name, newest):
            return held[2]
        table = None
        if held is not None and held[0] == name and oldest - 1 <= held[1] <= newest:
            table = self._updated(conn, held[2], held[1])
        if table is None:
            columns = np.stack(read_columns(conn, self._sql["list_doc_table"]))
            table = ordered_table(columns, partial(self._turns, conn))
        self._held = name, newest, table
        return table

    def count_facets(self, conn: sqlite3.Connection) -> dict[int, int]:
        """How many docs have each facet, by its number."""
        facets, docs = np.unique(self.table(conn).facets, return_counts=True)
        return dict(zip(facets.tolist(), docs.tolist(), strict=True))

    def _updated(self, conn: sqlite3.Connection, table: DocTable, seen: int) -> DocTable | None:
        moved = read_column(conn, self._sql["list_moved"], {"seen": seen})
        if len(moved) > MOVES_TAKEN:
            return None
        asked = {"ids": json.dumps(moved.tolist())}
        fresh = np.stack(read_columns(conn, self._sql["list_doc_table_of"], asked))
        return updated_table(table, moved, fresh, partial(self._turns, conn))

    def _turns(self, conn: sqlite3.Connection, ids: Sequence[int]) -> Mapping[int, tuple[int, str]]:
        found = conn.execute(self._sql["list_turns"], {"ids": json.dumps(ids)})
        return {number: (turn, ref) for number, turn, ref in found}


def read_columns(
    conn: sqlite3.Connection, statement: str, asked: Mapping[str, object] | None = None
) -> list[Ids]:
    """The columns of a query whose every column is a `group_concat` of whole numbers."""
    return [
        np.fromstring(listed, dtype=np.int64, sep=",") if listed else np.empty(0, dtype=np.int64)
        for listed in conn.execute(statement, asked or {}).fetchone()
    ]


def read_column(
    conn: sqlite3.Connection, statement: str, asked: Mapping[str, object] | None = None
) -> Ids:
    """The same of a query of one column."""
    return read_columns(conn, statement, asked)[0]
