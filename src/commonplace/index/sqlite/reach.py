"""How far a search reaches: a filter as a span of rows and a set of shelves, before any ranking.

Never looks at words or vectors.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from commonplace.core.clock import micros
from commonplace.core.text import fold_name
from commonplace.index.sqlite.columns import read_column
from commonplace.index.sqlite.docs import SECOND_BITS, plain

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from commonplace.core.values import Filter, Interval
    from commonplace.index.scoring.doc_table import DocTable, Ids
    from commonplace.index.sqlite.docs import Queries


_FIRST, _LAST = -(1 << 62), 1 << 62
_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Reach:
    """The docs a search may look at: low <= id < high, not barred, on a shelf, among the tagged.

    shelves, tagged: in order; None lets all in.
    """

    low: int
    high: int
    barred: Ids
    shelves: Ids | None
    tagged: Ids | None

    @property
    def all_time(self) -> bool:
        """Whether neither bound cuts anything off."""
        return (self.low, self.high) == (_FIRST, _LAST)

    @property
    def is_whole(self) -> bool:
        """Whether every doc is in reach."""
        bounded = self.shelves is not None or self.tagged is not None or len(self.barred)
        return self.all_time and not bounded

    def mask(self, docs: Ids, shelves: Ids | None) -> NDArray[np.bool_] | None:
        """Which of these docs are let in, the span of time aside; None for all.

        shelves: the shelf of each doc, None where the caller has seen to that already.
        """
        masks = []
        if self.shelves is not None and shelves is not None:
            masks.append(_on_shelves(shelves, self.shelves))
        if self.tagged is not None:
            masks.append(_among(docs, self.tagged))
        if len(self.barred):
            masks.append(~_among(docs, self.barred))
        return np.logical_and.reduce(masks) if masks else None


EVERYTHING = Reach(_FIRST, _LAST, np.empty(0, dtype=np.int64), None, None)


def inside(roll: DocTable, reach: Reach) -> DocTable:
    """The roll of the docs in reach."""
    part = roll if reach.all_time else roll.between(reach.low, reach.high)
    mask = reach.mask(part.ids, part.shelves)
    return part if mask is None else part.taken(mask)


def reach_of(conn: sqlite3.Connection, sql: Queries, within: Filter) -> Reach:
    """What a filter means for this index now. Raises: Invalid for a bound without a time zone."""
    low, high, barred = _span(conn, sql, within.within)
    shelves = None
    if within.journals or within.kinds or within.scopes or within.headings:
        found = conn.execute(
            sql["find_shelves"],
            {
                "journals": json.dumps([plain(each) for each in within.journals]),
                "kinds": json.dumps([plain(each) for each in within.kinds]),
                "scopes": json.dumps([plain(each) for each in within.scopes]),
                "headings": json.dumps([plain(fold_name(each)) for each in within.headings]),
            },
        )
        shelves = np.array(sorted(row[0] for row in found), dtype=np.int64)
        # A filter that every shelf passes is none, and costs nothing then.
        if len(shelves) == conn.execute(sql["count_shelves"]).fetchone()[0]:
            shelves = None
    if within.excluded_tags:
        barred = np.union1d(barred, _tagged(conn, sql, within.excluded_tags))
    tagged = _tagged(conn, sql, within.tags) if within.tags else None
    for tag in within.required_tags:
        bearing = _tagged(conn, sql, (tag,))
        tagged = bearing if tagged is None else np.intersect1d(tagged, bearing)
    return Reach(low, high, barred, shelves, tagged)


def _tagged(conn: sqlite3.Connection, sql: Queries, tags: Sequence[str]) -> Ids:
    """The docs that bear any of these tags, in order."""
    named = json.dumps([plain(each) for each in tags])
    return np.unique(read_column(conn, sql["list_tagged"], {"tags": named}))


def _span(conn: sqlite3.Connection, sql: Queries, span: Interval) -> tuple[int, int, Ids]:
    start = None if span.start is None else micros(span.start)
    end = None if span.end is None else micros(span.end)
    low = _FIRST if start is None else start // _SECOND_US << SECOND_BITS
    high = _LAST if end is None else -(-end // _SECOND_US) << SECOND_BITS
    # Inside a second rows lie as they came: those of a cut second are asked for their instant.
    barred: set[int] = set()
    for cut in (start, end):
        if cut is not None and cut % _SECOND_US:
            second = cut // _SECOND_US << SECOND_BITS
            bounds = {
                "low": second,
                "high": second + (1 << SECOND_BITS),
                "start": _FIRST if start is None else start,
                "end": _LAST if end is None else end,
            }
            barred.update(read_column(conn, sql["list_barred"], bounds).tolist())
    return low, high, np.array(sorted(barred), dtype=np.int64)


def _on_shelves(shelves: Ids, members: Ids) -> NDArray[np.bool_]:
    """Which shelves are among members; numbered from 1 and few, they are looked up in a table."""
    table = np.zeros(max(shelves.max(initial=0), members.max(initial=0)) + 1, dtype=np.bool_)
    table[members] = True
    return table[shelves]


def _among(values: Ids, members: Ids) -> NDArray[np.bool_]:
    """Which values are among members, which are in order."""
    if not len(members):
        return np.zeros(len(values), dtype=np.bool_)
    places = np.searchsorted(members, values)
    places[places == len(members)] = 0
    return np.asarray(members[places] == values)
