"""The roll of one opening of an index, kept in step with its tables as docs come and leave.

Never ahead of the transaction it is read in: what other processes filed is taken in there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from commonplace.index.columns import read_column, read_columns
from commonplace.index.roll import COLUMNS, roll_of

if TYPE_CHECKING:
    import sqlite3

    from commonplace.index.docs import Queries
    from commonplace.index.roll import Ids, Roll

MOVES_KEPT = 10_000
# Past so many moves reading every doc anew is cheaper than fitting them in.
_MOVES_TAKEN = 2_000


class Rolls:
    """Keeps the last roll read; its caller sees to it that no two read at once."""

    def __init__(self, sql: Queries) -> None:
        self._sql = sql
        self._held: tuple[str, int, Roll] | None = None

    def roll(self, conn: sqlite3.Connection) -> Roll:
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

    def _read(self, conn: sqlite3.Connection) -> Roll:
        columns = np.stack(read_columns(conn, self._sql["list_roll"]))
        return roll_of(columns[:, self._order(conn, columns)])

    def _followed(self, conn: sqlite3.Connection, roll: Roll, seen: int) -> Roll | None:
        moved = read_column(conn, self._sql["list_moved"], {"seen": seen})
        if len(moved) > _MOVES_TAKEN:
            return None
        asked = {"ids": json.dumps(moved.tolist())}
        fresh = np.stack(read_columns(conn, self._sql["list_roll_of"], asked))
        gone = roll.places_of(moved)
        stay = np.ones(len(roll), dtype=np.bool_)
        stay[gone[gone >= 0]] = False
        kept = np.stack([np.asarray(getattr(roll, name), dtype=np.int64) for name in COLUMNS])
        kept = kept[:, stay]
        fresh = fresh[:, np.argsort(fresh[1], kind="stable")]
        # Among docs of one instant the refs decide, which only the tables know.
        tied = np.isin(kept[1], fresh[1])
        if tied.any() or len(np.unique(fresh[1])) < fresh.shape[1]:
            columns = np.concatenate([kept, fresh], axis=1)
            return roll_of(columns[:, self._order(conn, columns)])
        places = np.searchsorted(kept[1], fresh[1])
        return roll_of(np.insert(kept, places, fresh, axis=1))

    def _order(self, conn: sqlite3.Connection, columns: Ids) -> Ids:
        """The order by (time, ref)."""
        ids, at_us = columns[0], columns[1]
        order = np.lexsort((ids, at_us))
        times = at_us[order]
        same = times[1:] == times[:-1]
        if not same.any():
            return order
        tied = np.zeros(len(order), dtype=np.bool_)
        tied[1:] |= same
        tied[:-1] |= same
        spots = np.flatnonzero(tied)
        asked = json.dumps(ids[order[spots]].tolist())
        refs = dict(conn.execute(self._sql["list_refs"], {"ids": asked}).fetchall())
        ranked = sorted(
            order[spots].tolist(), key=lambda i: (int(at_us[i]), str(refs.get(int(ids[i]), "")))
        )
        order[spots] = ranked
        return order
