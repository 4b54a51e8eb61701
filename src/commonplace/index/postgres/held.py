"""The vectors of small users that a process keeps, as long as the rows they are of.

Never more than so many bytes of all users, and never ahead of the transaction they are read in.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from commonplace.index.scoring.score import Cosines

if TYPE_CHECKING:
    from commonplace.core.values import Vector
    from commonplace.index.postgres.transaction import Asking
    from commonplace.index.scoring.doc_table import DocTable, Ids

HELD_CHUNKS = 1_000
"""Vectors up to which a user's are kept; of more, the server computes the products."""

HELD_BYTES = 64_000_000
"""Bytes of vectors that a process keeps, those of the users last asked about: 400 users of 100."""


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """All vectors of one user and model, by doc, as of a change; name: of the user's rows."""

    name: str
    change: int
    docs: Ids
    matrix: Vector

    def cosines(self, query: Vector, roll: DocTable) -> Cosines:
        """How near those of the docs in a roll are."""
        inside = np.flatnonzero(roll.places_of(self.docs) >= 0)
        figures = self.matrix @ query
        return Cosines(self.docs[inside], figures[inside])


def read_held(asking: Asking, *, name: str, change: int, model: str, dimensions: int) -> Held:
    """The vectors as this transaction sees them."""
    (sent,) = asking.ask("list_vectors", model=model).fetchone() or (None,)
    row = np.dtype([("doc", ">i8"), ("head", ">i4"), ("numbers", ">f4", (dimensions,))])
    found = np.frombuffer(sent or b"", dtype=row)
    matrix = np.ascontiguousarray(found["numbers"], dtype=np.float32)
    return Held(name, change, found["doc"].astype(np.int64), matrix)


class HeldVectors:
    """What is kept of each user and model, those last asked about. Thread-safe.

    Without it a search of a user of 100 records takes 5 ms more of 30 on a busy machine, and 1.2 ms
    of processors more beside 11.
    """

    def __init__(self, *, most_bytes: int = HELD_BYTES) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[str, str], Held] = OrderedDict()
        self._bytes = 0

    def find(self, owner: str, model: str, *, name: str, change: int) -> Held | None:
        """What is of this change; None where there is nothing."""
        with self._lock:
            held = self._held.get((owner, model))
            if held is None or (held.name, held.change) != (name, change):
                return None
            self._held.move_to_end((owner, model))
            return held

    def keep(self, owner: str, model: str, held: Held) -> None:
        """Keep it, and evict the vectors of users who were not asked about for the longest."""
        with self._lock:
            before = self._held.pop((owner, model), None)
            self._bytes += held.matrix.nbytes - (0 if before is None else before.matrix.nbytes)
            self._held[owner, model] = held
            while self._bytes > self._most and self._held:
                self._bytes -= self._held.popitem(last=False)[1].matrix.nbytes

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._held.clear()
            self._bytes = 0
