"""The roll of one opening of an index, kept in step with its tables as docs come and leave.

Never ahead of the transaction it is read in: what other processes filed is taken in there.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from commonplace.index.scoring.doc_order import followed, in_order
from commonplace.index.sqlite.columns import read_column, read_columns

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from commonplace.index.scoring.doc_table import DocTable
    from commonplace.index.sqlite.docs import Queries

MOVES_KEPT = 10_000
# Past so many moves reading every doc anew is cheaper than fitting them in.
MOVES_TAKEN = 2_000


class Rolls:
    """Keeps the last roll read; its caller sees to it that no two read at once."""

    def __init__(self, sql: Queries) -> None:
        self._sql = sql
        self._held: tuple[str, int, DocTable] | None = None

    def roll(self, conn: sqlite3.Connection) -> DocTable:
        """Every doc as the caller's transaction sees them."""
        name, newest, oldest = conn.execute(self._sql["read_roll_position"]).fetchone()
        held = self._held
        if held is not None and held[:2] == (name, newest):
            return held[2]
        roll = None
        if held is not None and held[0] == name and oldest - 1 <= held[1] <= newest:
            roll = self._followed(conn, held[2], held[1])
        if roll is None:
            roll = self._read(conn)
        self._held = name, newest, roll
        return roll

    def _read(self, conn: sqlite3.Connection) -> DocTable:
        columns = np.stack(read_columns(conn, self._sql["list_roll"]))
        return in_order(columns, partial(self._refs, conn))

    def _followed(self, conn: sqlite3.Connection, roll: DocTable, seen: int) -> DocTable | None:
        moved = read_column(conn, self._sql["list_moved"], {"seen": seen})
        if len(moved) > MOVES_TAKEN:
            return None
        asked = {"ids": json.dumps(moved.tolist())}
        fresh = np.stack(read_columns(conn, self._sql["list_roll_of"], asked))
        return followed(roll, moved, fresh, partial(self._refs, conn))

    def _refs(self, conn: sqlite3.Connection, ids: Sequence[int]) -> Mapping[int, str]:
        return dict(conn.execute(self._sql["list_refs"], {"ids": json.dumps(ids)}).fetchall())
