"""Vectors as rows in Postgres: those of texts that are still there, and how many there are.

Never compares; callers hold the transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from commonplace.core.text import storable
from commonplace.index.scoring.vectors import checked_passages
from commonplace_server.index.docs import ref_id_of
from commonplace_server.index.transaction import Floats, Longs
from commonplace_server.postgres.text_lists import Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.values import Encoded, Vector
    from commonplace_server.index.transaction import OwnerTransaction


class _EncodedDoc(NamedTuple):
    id: int
    kind: str
    text_hash: str
    chunks: int


def put_vectors(tx: OwnerTransaction, model: str, encoded: Sequence[Encoded]) -> None:
    """File the vectors of texts that are still there; all are checked. Raises: Invalid."""
    with tx.pipelined():
        ask_vectors(tx, model, encoded)()


def ask_vectors(tx: OwnerTransaction, model: str, encoded: Sequence[Encoded]) -> Callable[[], None]:
    """Ask what `put_vectors` has to know; what it gives reads the answer, and files."""
    tx.plan_for_all()
    tx.query("hold")
    refs = Texts([storable(each.ref) for each in encoded])
    found = tx.query("find_encoded", model=model, refs=refs)
    return lambda: _put(tx, model, encoded, found.fetchall())


def _put(
    tx: OwnerTransaction, model: str, encoded: Sequence[Encoded], rows: Sequence[tuple[Any, ...]]
) -> None:
    held = {ref: _EncodedDoc(*rest) for _, ref, *rest in rows}
    # Where nothing is held under these refs, nothing of them is filed.
    dimensions: int | None = rows[0][0] if rows else None
    fresh: dict[str, tuple[_EncodedDoc, Encoded, Vector]] = {}
    for each in encoded:
        vectors = checked_passages(each, dimensions)
        dimensions = vectors.shape[1]
        on = held.get(storable(each.ref))
        # Two processes may encode one doc: the same again changes nothing.
        if on and on.text_hash == each.text_hash and on.chunks != len(vectors):
            fresh[storable(each.ref)] = (on, each, vectors)
    if fresh:
        _write(tx, model, fresh, dimensions or 0)


def _write(
    tx: OwnerTransaction,
    model: str,
    fresh: dict[str, tuple[_EncodedDoc, Encoded, Vector]],
    dimensions: int,
) -> None:
    replaced = [on for on, _, _ in fresh.values() if on.chunks]
    rows: list[tuple[Any, ...]] = []
    made: list[Vector] = []
    for ref, (on, each, vectors) in fresh.items():
        made.append(vectors)
        for chunk, (low, high) in enumerate(each.spans):
            ref_id = ref_id_of(ref, on.kind)
            rows.append((on.kind, ref_id, each.text_hash, chunk, on.id, low, high))
    if replaced:
        tx.query("drop_model_vectors", model=model, ids=Longs([on.id for on in replaced]))
    kinds, ref_ids, hashes, *numbers = zip(*rows, strict=True)
    chunks, docs, lows, highs = map(Longs, numbers)
    tx.query(
        "add_vectors",
        model=model,
        dimensions=dimensions,
        floats=Floats(np.concatenate(made)),
        more=len(fresh) - len(replaced),
        more_chunks=len(rows) - sum(on.chunks for on in replaced),
        kinds=Texts(kinds),
        ref_ids=Texts(ref_ids),
        hashes=Texts(hashes),
        chunks=chunks,
        docs=docs,
        lows=lows,
        highs=highs,
    )
