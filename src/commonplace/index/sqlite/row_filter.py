"""A filter as a span of rows and a set of facets, applied before anything is ranked.

Never looks at words or vectors.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from commonplace.core.clock import micros
from commonplace.core.text import fold_name, storable
from commonplace.index.sqlite.doc_table import read_column, read_columns
from commonplace.index.sqlite.docs import SECOND_BITS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from commonplace.core.values import Asked, Filter, Interval
    from commonplace.index.scoring.doc_table import DocTable, Ids
    from commonplace.index.sqlite.docs import Queries


_FIRST, _LAST = -(1 << 62), 1 << 62
_SECOND_US = 1_000_000


class RowFilter(Struct, frozen=True):
    """The docs a search may look at.

    Args:
        low: The least id.
        high: Above the highest id.
        excluded: Ids that are kept out all the same.
        facets: Numbers of facets, in order; None for all.
        tagged: Ids that bear the tags asked for, in order; None for all.
        later: Ids of what was written too late, in order; they are among `excluded` too.
    """

    low: int
    high: int
    excluded: Ids
    facets: Ids | None
    tagged: Ids | None
    later: Ids

    @property
    def all_time(self) -> bool:
        """Whether neither bound cuts anything off."""
        return (self.low, self.high) == (_FIRST, _LAST)

    @property
    def is_whole(self) -> bool:
        """Whether every doc is admitted."""
        bounded = self.facets is not None or self.tagged is not None or len(self.excluded)
        return self.all_time and not bounded

    def mask(self, docs: Ids, facets: Ids | None) -> NDArray[np.bool_] | None:
        """Which of some docs are admitted, the span of time aside; None for all.

        Args:
            docs: (n,) ids.
            facets: (n,) their facets; None where these were filtered before.
        """
        masks = []
        if self.facets is not None and facets is not None:
            masks.append(_is_among_few(facets, self.facets))
        if self.tagged is not None:
            masks.append(_among(docs, self.tagged))
        if len(self.excluded):
            masks.append(~_among(docs, self.excluded))
        return np.logical_and.reduce(masks) if masks else None

    def in_any_time(self) -> RowFilter:
        """The same without its span, facets and tags: all that was there by then."""
        return RowFilter(_FIRST, _LAST, self.later, None, None, self.later)


_NONE = np.empty(0, dtype=np.int64)


def filtered_table(table: DocTable, row_filter: RowFilter, asked: Asked) -> DocTable:
    """The doc table of the docs that are admitted.

    Of the newest alone where these are only listed, and so weighed against no other: 10 % of the
    first page.
    """
    newest = asked.limit if asked.newest and not asked.words else None
    part = table if row_filter.all_time else table.between(row_filter.low, row_filter.high)
    mask = row_filter.mask(part.ids, part.facets)
    if mask is None:
        return part if newest is None else part.taken(slice(max(len(part) - newest, 0), None))
    admitted = np.flatnonzero(mask)
    return part.taken(admitted if newest is None else admitted[max(len(admitted) - newest, 0) :])


def row_filter_of(
    conn: sqlite3.Connection, sql: Queries, where: Filter, table: DocTable
) -> RowFilter:
    """What a filter means for this index now. Raises: Invalid for a bound without a time zone.

    table: Every doc there is.
    """
    low, high, excluded = _span(conn, sql, where.interval)
    facets = None
    if where.journals or where.kinds or where.scopes or where.headings:
        found = conn.execute(
            sql["find_facets"],
            {
                "journals": json.dumps([storable(each) for each in where.journals]),
                "kinds": json.dumps([storable(each) for each in where.kinds]),
                "scopes": json.dumps([storable(each) for each in where.scopes]),
                "headings": json.dumps([storable(fold_name(each)) for each in where.headings]),
            },
        )
        facets = np.array(sorted(row[0] for row in found), dtype=np.int64)
        # A filter that every facet passes is none, and costs nothing then.
        if len(facets) == conn.execute(sql["count_facets"]).fetchone()[0]:
            facets = None
    if where.excluded_tags:
        excluded = np.union1d(excluded, _tagged(conn, sql, where.excluded_tags))
    if where.excluded_refs:
        named = json.dumps([storable(each) for each in where.excluded_refs])
        excluded = np.union1d(excluded, read_column(conn, sql["list_named"], {"refs": named}))
    tagged = _tagged(conn, sql, where.tags) if where.tags else None
    for tag in where.required_tags:
        bearing = _tagged(conn, sql, (tag,))
        tagged = bearing if tagged is None else np.intersect1d(tagged, bearing)
    later = _NONE
    if where.written_before is not None:
        later = _written_later(conn, sql, micros(where.written_before), table)
        excluded = np.union1d(excluded, later)
    return RowFilter(low, high, excluded, facets, tagged, later)


def _written_later(conn: sqlite3.Connection, sql: Queries, before_us: int, table: DocTable) -> Ids:
    """The docs that were written down at an instant or later, in order."""
    apart, written_us = read_columns(conn, sql["list_written_apart"])
    by_time = table.ids[np.searchsorted(table.at_us, before_us) :]
    return np.union1d(np.setdiff1d(by_time, apart), apart[written_us >= before_us])


def _tagged(conn: sqlite3.Connection, sql: Queries, tags: Sequence[str]) -> Ids:
    """The docs that bear any of these tags, in order."""
    named = json.dumps([storable(each) for each in tags])
    return np.unique(read_column(conn, sql["list_tagged"], {"tags": named}))


def _span(conn: sqlite3.Connection, sql: Queries, span: Interval) -> tuple[int, int, Ids]:
    start = None if span.start is None else micros(span.start)
    end = None if span.end is None else micros(span.end)
    low = _FIRST if start is None else start // _SECOND_US << SECOND_BITS
    high = _LAST if end is None else -(-end // _SECOND_US) << SECOND_BITS
    # Inside a second rows lie as they came: those of a cut second are asked for their instant.
    excluded: set[int] = set()
    for cut in (start, end):
        if cut is not None and cut % _SECOND_US:
            second = cut // _SECOND_US << SECOND_BITS
            bounds = {
                "low": second,
                "high": second + (1 << SECOND_BITS),
                "start": _FIRST if start is None else start,
                "end": _LAST if end is None else end,
            }
            excluded.update(read_column(conn, sql["list_excluded"], bounds).tolist())
    return low, high, np.array(sorted(excluded), dtype=np.int64)


def _is_among_few(facets: Ids, members: Ids) -> NDArray[np.bool_]:
    """Which facets are among members; numbered from 1 and few, they are looked up in a table."""
    table = np.zeros(max(facets.max(initial=0), members.max(initial=0)) + 1, dtype=np.bool_)
    table[members] = True
    return table[facets]


def _among(values: Ids, members: Ids) -> NDArray[np.bool_]:
    """Which values are among members, which are in order."""
    if not len(members):
        return np.zeros(len(values), dtype=np.bool_)
    places = np.searchsorted(members, values)
    places[places == len(members)] = 0
    return np.asarray(members[places] == values)
