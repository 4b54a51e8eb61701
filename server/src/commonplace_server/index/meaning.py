"""The meaning of a question in Postgres: exact products, or the nearest by a user's own index.

Never looks into an index that two users share: it would lose the rows of a user who has few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import Struct
from psycopg import sql

from commonplace.index.scoring.score import NO_COSINES, Cosines
from commonplace_server.index.transaction import Floats, Longs, OwnerTransaction, statements

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from commonplace.core.values import Vector
    from commonplace.index.scoring.doc_table import Figures, Ids
    from commonplace.index.scoring.score import Nearness
    from commonplace_server.index.doc_cache import FilteredDocs
    from commonplace_server.index.vector_cache import CachedVectors

    OpenTransaction: TypeAlias = Callable[[], AbstractContextManager[OwnerTransaction]]

# How many more are sought than wanted: of their chunks some are of one doc.
_MORE = 2
# Of 60 questions to 100,000 records, 200 and 300 found 0.99 to 0.998 of the nearest eight; each 100
# take 1 ms.
_EF_LEAST, _EF_MOST = 250, 1000
_SENT = np.dtype([("doc", ">i8"), ("figure", ">f8")])


class Vectors(Struct, frozen=True):
    """The vectors of one model that a user has.

    Args:
        model: The encoder's identity.
        dimensions: Numbers in a vector.
        chunks: How many vectors there are.
        indexed_from: Docs to be looked at from which their own index is asked; None for no index.
        cached: All of them, where they are few.
    """

    model: str
    dimensions: int
    chunks: int
    indexed_from: int | None
    cached: CachedVectors | None = None


def nearness(
    open_transaction: OpenTransaction, vectors: Vectors, query: Vector, filtered: FilteredDocs
) -> Nearness:
    """How near the docs are that a filter admits.

    Args:
        open_transaction: Opens a transaction of the user.
        vectors: What there is of the model.
        query: (dimensions,), of length 1.
        filtered: The docs that the filter admits.
    """
    if not len(filtered.table):
        return NO_COSINES
    if vectors.cached is not None:
        return vectors.cached.cosines(query, filtered.table)
    if vectors.indexed_from is not None and len(filtered.table) >= vectors.indexed_from:
        return _Near(open_transaction, vectors, query, filtered)
    return _exact(open_transaction, vectors, query, filtered)


def _exact(
    open_transaction: OpenTransaction, vectors: Vectors, query: Vector, filtered: FilteredDocs
) -> Cosines:
    """The cosines of all these docs."""
    bound = {"model": vectors.model, "query": Floats(query)}
    with open_transaction() as tx:
        if not filtered.is_whole and 2 * len(filtered.table) < vectors.chunks:
            return _read(tx, filtered, "list_cosines_of", ids=Longs(filtered.table.ids), **bound)
        return _read(
            tx, filtered, "list_cosines", low=filtered.span.low, high=filtered.span.high, **bound
        )


def _read(tx: OwnerTransaction, filtered: FilteredDocs, name: str, **bound: object) -> Cosines:
    (sent,) = tx.query(name, **bound).fetchone() or (None,)
    found = np.frombuffer(sent or b"", dtype=_SENT)
    docs, figures = found["doc"].astype(np.int64), found["figure"].astype(np.float32)
    inside = np.flatnonzero(filtered.table.places_of(docs) >= 0)
    order = inside[np.argsort(docs[inside], kind="stable")]
    return Cosines(docs[order], figures[order])


class _Near:
    """The nearest by the user's own index; of any other doc, the exact figure when asked for."""

    def __init__(
        self,
        open_transaction: OpenTransaction,
        vectors: Vectors,
        query: Vector,
        filtered: FilteredDocs,
    ) -> None:
        self._writing = open_transaction
        self._vectors = vectors
        self._query = query
        self._filtered = filtered
        self._all: Cosines | None = None

    def of(self, ids: Ids) -> Figures:
        """The best chunk of each doc, NaN for one that has none."""
        if self._all is not None:
            return self._all.of(ids)
        bound = {"model": self._vectors.model, "query": Floats(self._query)}
        with self._writing() as tx:
            found = _read(tx, self._filtered, "list_cosines_of", ids=Longs(ids), **bound)
        return found.of(ids)

    def nearest(self, limit: int) -> Ids:
        """The ids of the docs with the best chunks; exact where too few of those are admitted."""
        share = len(self._filtered.table) / max(self._vectors.chunks, 1)
        sought = int(_MORE * limit / min(share, 1.0)) + 1
        if sought <= _EF_MOST:
            docs = self._by_index(sought)
            docs = docs[self._filtered.table.places_of(docs) >= 0]
            # Nearest first: of each doc its best chunk is the first.
            first = np.sort(np.unique(docs, return_index=True)[1])[:limit]
            if len(first) >= min(limit, len(self._filtered.table)):
                return np.sort(docs[first])
        self._all = _exact(self._writing, self._vectors, self._query, self._filtered)
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
        with self._writing() as tx, tx.pipelined():
            tx.query_composed(look_at)
            rows = tx.query_composed(query, limit=sought, **bound).fetchall()
        return np.array([row[0] for row in rows], dtype=np.int64)
