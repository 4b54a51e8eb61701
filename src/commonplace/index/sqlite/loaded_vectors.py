"""One encoder's vectors in memory: those of its matrix file, and the tail that came since.

Never answers from a matrix file that was changed underneath.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import Corrupted
from commonplace.db.sqlite import REPAIR_HINT
from commonplace.index.scoring.score import Cosines
from commonplace.index.sqlite.matrix import Rows, read_matrix
from commonplace.index.sqlite.watermarks import Watermark

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from commonplace.core.values import Vector
    from commonplace.index.scoring.doc_table import DocTable, Ids
    from commonplace.index.sqlite.docs import Queries, Reading
    from commonplace.index.sqlite.row_filter import RowFilter
    from commonplace.index.sqlite.watermarks import Binding, Watermarks

_FLOAT_BYTES = 4


class View(Struct, frozen=True):
    """All vectors of one encoder as one transaction sees them."""

    parts: tuple[Rows, ...]

    def nearness(
        self, query: Vector, row_filter: RowFilter, table: DocTable, reading: Reading
    ) -> Cosines:
        """How near every chunk of the docs let in is, by what is held here alone."""
        found = [part.similarities(query, row_filter) for part in self.parts]
        if len(found) == 1 and self.parts[0].ordered:
            return Cosines(*found[0])
        docs = np.concatenate([docs for docs, _ in found])
        order = np.argsort(docs, kind="stable")
        return Cosines(docs[order], np.concatenate([figures for _, figures in found])[order])


class LoadedVectors:
    """One encoder's rows in memory: those of its matrix file if it is whole, and the tail since.

    Without the file all vectors come from the tables.
    """

    def __init__(self, folder: Path, marks: Watermarks, binding: Binding) -> None:
        self.file = marks.file
        self.seen = Watermark(0, marks.newest.drop)
        self._base: Rows | None = None
        self._signature: _Signature | None = None
        self._tail = _Tail(binding.dimensions)
        if marks.file is None:
            return
        path = folder / marks.file
        signature = _Signature.of(path)
        read = read_matrix(path, binding)
        if read is not None and read[1].drop >= marks.pruned:
            self._base, self.seen = read
            self._signature = signature

    @property
    def is_lost(self) -> bool:
        """Whether the noted matrix file could not be used."""
        return self.file is not None and self._base is None

    def can_follow(self, marks: Watermarks) -> bool:
        """Whether what came since can be taken in; not once the file is another or was changed."""
        return (
            self.file == marks.file
            and self.seen.drop >= marks.pruned
            and (self._signature is None or self._signature.holds())
        )

    def take_drops(self, conn: sqlite3.Connection, sql: Queries, marks: Watermarks) -> None:
        """Rows that left the tables are dead."""
        if marks.newest.drop == self.seen.drop:
            return
        drops = conn.execute(sql["list_newer_drops"], {"seen": self.seen.drop})
        gone = np.array([row[0] for row in drops], dtype=np.int64)
        if self._base is not None:
            self._base = _without(self._base, gone)
        self._tail.drop(gone)
        self.seen = Watermark(self.seen.vector, marks.newest.drop)

    def take_vectors(
        self, conn: sqlite3.Connection, sql: Queries, marks: Watermarks, encoder: int
    ) -> None:
        """Rows that came into the tables join the tail."""
        if marks.newest.vector == self.seen.vector:
            return
        bounds = {"seen": self.seen.vector, "encoder": encoder}
        self._tail.extend(conn.execute(sql["list_newer_vectors"], bounds).fetchall())
        self.seen = Watermark(marks.newest.vector, self.seen.drop)

    def view(self) -> View:
        """What is held now; later changes do not touch it."""
        return View(tuple(part for part in (self._base, self._tail.rows()) if part is not None))


class _Tail:
    """Rows in the order they came, with room to grow so that a few more cost little."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._count = 0
        self._numbers = np.empty((3, 0), dtype=np.int64)
        self._matrix = np.empty((0, dimensions), dtype=np.float32)
        self._alive: NDArray[np.bool_] | None = None

    def extend(self, found: list[tuple[int, int, int, bytes, int]]) -> None:
        if not found:
            return
        numbers, vectors = unpacked(found, self.dimensions)
        start, stop = self._count, self._count + len(found)
        if stop > len(self._matrix):
            room = max(stop, 2 * start)
            numbers_before, matrix_before = self._numbers, self._matrix
            self._numbers = np.empty((3, room), dtype=np.int64)
            self._matrix = np.empty((room, self.dimensions), dtype=np.float32)
            self._numbers[:, :start] = numbers_before[:, :start]
            self._matrix[:start] = matrix_before[:start]
        # Views of earlier transactions end at `start`: these rows are not theirs.
        self._numbers[:, start:stop] = numbers
        self._matrix[start:stop] = vectors
        if self._alive is not None:
            self._alive = np.concatenate([self._alive, np.ones(len(found), dtype=np.bool_)])
        self._count = stop

    def drop(self, gone: Ids) -> None:
        self._alive = _without(self.rows(), gone).alive

    def rows(self) -> Rows:
        ids, docs, facets = self._numbers[:, : self._count]
        matrix = self._matrix[: self._count]
        return Rows(ids, docs, facets, matrix, ordered=False, alive=self._alive)


class _Signature(NamedTuple):
    """What a mapped file looked like when it was read through."""

    path: Path
    size: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path) -> _Signature | None:
        try:
            found = os.stat(path)
        except OSError:
            return None
        return cls(path, found.st_size, found.st_mtime_ns)

    def holds(self) -> bool:
        """Whether it is unchanged or gone; gone it stays mapped, shrunk it kills its readers."""
        now = _Signature.of(self.path)
        return now is None or now == self


def unpacked(
    found: Sequence[tuple[int, int, int, bytes, int]], dimensions: int
) -> tuple[NDArray[np.int64], Vector]:
    """Rows of ids, docs, facets, vectors and their sums: (3, n), and (n, dimensions) float32.

    Raises: Corrupted.
    """
    size = dimensions * _FLOAT_BYTES
    if any(len(row[3]) != size or zlib.crc32(row[3]) != row[4] for row in found):
        raise Corrupted("A vector in the index is not as it was filed.", hint=REPAIR_HINT)
    numbers = np.array([row[:3] for row in found], dtype=np.int64).reshape(-1, 3).T
    vectors = np.frombuffer(b"".join(row[3] for row in found), dtype="<f4")
    return numbers, vectors.reshape(-1, dimensions)


def _without(rows: Rows, gone: Ids) -> Rows:
    dead = np.isin(rows.ids, gone)
    if not dead.any():
        return rows
    return replace(rows, alive=~dead if rows.alive is None else rows.alive & ~dead)
