"""The meaning of a question in Postgres: exact products, or the nearest by a user's own index.

Never looks into an index that two users share: it would lose the rows of a user who has few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from psycopg import sql

from commonplace.index.postgres.transaction import Asking, Floats, Longs, statements
from commonplace.index.scoring.score import NO_COSINES, Cosines

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from commonplace.core.values import Vector
    from commonplace.index.postgres.held import Held
    from commonplace.index.postgres.known import DocsInReach
    from commonplace.index.scoring.doc_table import Figures, Ids
    from commonplace.index.scoring.score import Nearness

    Within: TypeAlias = Callable[[], AbstractContextManager[Asking]]

# How many more are sought than wanted: of their chunks some are of one doc.
_MORE = 2
# Of 60 questions to 100,000 records, 200 and 300 found 0.99 to 0.998 of the nearest eight; each 100
# take 1 ms.
_EF_LEAST, _EF_MOST = 250, 1000
_SENT = np.dtype([("doc", ">i8"), ("figure", ">f8")])


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of one model that a user has.

    indexed_from: docs in reach from which their own index is asked; None where there is none.
    held: all of them, where they are few.
    """

    model: str
    dimensions: int
    chunks: int
    indexed_from: int | None
    held: Held | None = None


def nearness(within: Within, vectors: Vectors, query: Vector, reach: DocsInReach) -> Nearness:
    """How near the docs in reach are. within: opens a transaction of the user."""
    if not len(reach.roll):
        return NO_COSINES
    if vectors.held is not None:
        return vectors.held.cosines(query, reach.roll)
    if vectors.indexed_from is not None and len(reach.roll) >= vectors.indexed_from:
        return _Near(within, vectors, query, reach)
    return _exact(within, vectors, query, reach)


def _exact(within: Within, vectors: Vectors, query: Vector, reach: DocsInReach) -> Cosines:
    """Of every doc in reach."""
    bound = {"model": vectors.model, "query": Floats(query)}
    with within() as asking:
        if not reach.is_whole and 2 * len(reach.roll) < vectors.chunks:
            return _read(asking, reach, "list_cosines_of", ids=Longs(reach.roll.ids), **bound)
        return _read(
            asking, reach, "list_cosines", low=reach.span.low, high=reach.span.high, **bound
        )


def _read(asking: Asking, reach: DocsInReach, name: str, **bound: object) -> Cosines:
    (sent,) = asking.ask(name, **bound).fetchone() or (None,)
    found = np.frombuffer(sent or b"", dtype=_SENT)
    docs, figures = found["doc"].astype(np.int64), found["figure"].astype(np.float32)
    inside = np.flatnonzero(reach.roll.places_of(docs) >= 0)
    order = inside[np.argsort(docs[inside], kind="stable")]
    return Cosines(docs[order], figures[order])


class _Near:
    """The nearest by the user's own index; of any other doc, the exact figure when asked for."""

    def __init__(self, within: Within, vectors: Vectors, query: Vector, reach: DocsInReach) -> None:
        self._within = within
        self._vectors = vectors
        self._query = query
        self._reach = reach
        self._all: Cosines | None = None

    def of(self, ids: Ids) -> Figures:
        """The best chunk of each doc, NaN for one that has none."""
        if self._all is not None:
            return self._all.of(ids)
        bound = {"model": self._vectors.model, "query": Floats(self._query)}
        with self._within() as asking:
            found = _read(asking, self._reach, "list_cosines_of", ids=Longs(ids), **bound)
        return found.of(ids)

    def nearest(self, limit: int) -> Ids:
        """The ids of the docs with the best chunks; exact where too few of those are let in."""
        share = len(self._reach.roll) / max(self._vectors.chunks, 1)
        sought = int(_MORE * limit / min(share, 1.0)) + 1
        if sought <= _EF_MOST:
            docs = self._by_index(sought)
            docs = docs[self._reach.roll.places_of(docs) >= 0]
            # Nearest first: of each doc its best chunk is the first.
            first = np.sort(np.unique(docs, return_index=True)[1])[:limit]
            if len(first) >= min(limit, len(self._reach.roll)):
                return np.sort(docs[first])
        self._all = _exact(self._within, self._vectors, self._query, self._reach)
        return self._all.nearest(limit)

    def _by_index(self, sought: int) -> Ids:
        """The docs of the nearest vectors, nearest first."""
        look_at = sql.SQL("SET LOCAL hnsw.ef_search = {}").format(
            sql.Literal(max(sought, _EF_LEAST))
        )
        query = statements()["list_nearest"].format(
            dimensions=sql.Literal(self._vectors.dimensions)
        )
        bound = {"model": self._vectors.model, "query": Floats(self._query)}
        with self._within() as asking, asking.at_once():
            asking.run(look_at)
            rows = asking.run(query, limit=sought, **bound).fetchall()
        return np.array([row[0] for row in rows], dtype=np.int64)
