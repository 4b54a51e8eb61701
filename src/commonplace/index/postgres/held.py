"""The vectors and docs of small users that a process keeps, as long as the rows they are of.

Never more than so many bytes of all users, and never ahead of the transaction they are read in.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from commonplace.index.scoring.score import Cosines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.core.values import Doc, Vector
    from commonplace.index.postgres.transaction import Asking
    from commonplace.index.scoring.doc_table import Ids, Roll

HELD_CHUNKS = 1_000
"""Vectors up to which a user's are kept; of more, the server computes the products."""

HELD_BYTES = 64_000_000
"""Bytes of vectors that a process keeps, those of the users last asked about: 400 users of 100."""

HELD_DOC_BYTES = 32_000_000
"""Likewise of docs, so that whoever asks on reads those once which are found again."""

# What a doc takes beside its text.
_DOC_BYTES = 1_000


class _Rows(Protocol):
    """What was read of a user's rows. name, change: when; nbytes: how much it is."""

    @property
    def name(self) -> str: ...

    @property
    def change(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


_Row = TypeVar("_Row", bound=_Rows)


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """All vectors of one user and model, by doc, as of a change; name: of the user's rows."""

    name: str
    change: int
    docs: Ids
    matrix: Vector

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return self.matrix.nbytes

    def cosines(self, query: Vector, roll: Roll) -> Cosines:
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


@dataclass(frozen=True, slots=True, eq=False)
class HeldDocs:
    """Docs of one user that were read, as of a change; name: of the user's rows."""

    name: str
    change: int
    docs: Mapping[int, Doc]

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        return sum(_DOC_BYTES + len(doc.text) for doc in self.docs.values())


class HeldRows(Generic[_Row]):
    """What is kept of each user, under keys, those last asked about. Thread-safe."""

    def __init__(self, *, most_bytes: int = HELD_BYTES) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[str, ...], tuple[_Row, int]] = OrderedDict()
        self._bytes = 0

    def find(self, *key: str, name: str, change: int) -> _Row | None:
        """What is of this change; None where there is nothing."""
        with self._lock:
            held, _ = self._held.get(key, (None, 0))
            if held is None or (held.name, held.change) != (name, change):
                return None
            self._held.move_to_end(key)
            return held

    def keep(self, *key: str, held: _Row) -> None:
        """Keep it, and let go of whoever was not asked about for the longest."""
        nbytes = held.nbytes
        with self._lock:
            self._bytes += nbytes - self._held.pop(key, (None, 0))[1]
            self._held[key] = held, nbytes
            while self._bytes > self._most and self._held:
                self._bytes -= self._held.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._held.clear()
            self._bytes = 0
