"""The leg of a search that goes by meaning: an encoder's vectors, kept in step with the tables.

Never compares vectors of two encoders, and never answers from a matrix file that is behind unseen.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import threading
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from commonplace.core.errors import Corrupted
from commonplace.core.files import locked
from commonplace.db.sqlite import REPAIR_HINT, snapshot, transaction
from commonplace.index.scoring.score import Cosines
from commonplace.index.sqlite.matrix import Binding, Reached, Rows, read_matrix, write_matrix

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from commonplace.core.values import Problem, Vector
    from commonplace.index.scoring.doc_table import Ids
    from commonplace.index.sqlite.docs import Queries
    from commonplace.index.sqlite.row_filter import RowFilter

# A matrix file is written again when this many vectors lie beside it, and a share of its own rows.
TAIL_LEAST, TAIL_SHARE = 1000, 0.125
DEAD_LEAST, DEAD_SHARE = 100, 0.1

STORES = "vectors"
"""The folder of vector stores beside the index, one folder a kind: see `stored`."""

_FLOAT_BYTES = 4


class EncoderRow(NamedTuple):
    """An encoder as the tables know it."""

    id: int
    identity: str
    dimensions: int


class Position(NamedTuple):
    """How far the tables reach, and the matrix file noted for an encoder, if any."""

    name: str
    pruned: int
    newest: Reached
    file: str | None
    rows: int
    reached: Reached

    @property
    def is_worn(self) -> bool:
        """Whether the matrix file lacks so much, or holds so much that is gone, that it is due."""
        added = self.newest.vector - self.reached.vector
        gone = self.newest.drop - self.reached.drop
        return added > TAIL_LEAST + self.rows * TAIL_SHARE or (
            self.file is not None and gone > DEAD_LEAST + self.rows * DEAD_SHARE
        )


@dataclass(frozen=True, slots=True)
class View:
    """All vectors of one encoder as one transaction sees them."""

    parts: tuple[Rows, ...]

    def cosines(self, query: Vector, row_filter: RowFilter) -> Cosines:
        """How near every chunk of the docs let in is."""
        found = [part.similarities(query, row_filter) for part in self.parts]
        if len(found) == 1 and self.parts[0].ordered:
            return Cosines(*found[0])
        docs = np.concatenate([docs for docs, _ in found])
        order = np.argsort(docs, kind="stable")
        return Cosines(docs[order], np.concatenate([figures for _, figures in found])[order])


class Meaning:
    """The matrices of all encoders of one opening of an index. Thread-safe."""

    def __init__(self, folder: Path, sql: Queries) -> None:
        self._folder = folder
        self._sql = sql
        self._lock = threading.Lock()
        self._live: dict[int, _Live] = {}

    def view(self, conn: sqlite3.Connection, encoder: EncoderRow) -> View:
        """The vectors of an encoder as the caller's transaction sees them.

        It must be the first reading of that transaction: then no later one has been here before,
        and what is taken in is never ahead of it.
        """
        return self._view(conn, encoder)[0]

    def position(self, conn: sqlite3.Connection, encoder: int) -> Position:
        """How far the tables and an encoder's matrix file reach."""
        row = conn.execute(self._sql["read_position"], {"encoder": encoder}).fetchone()
        name, pruned, newest_vector, newest_drop, file, rows, last_vector, last_drop = row
        return Position(
            name,
            pruned,
            Reached(newest_vector, newest_drop),
            file,
            rows or 0,
            Reached(last_vector or 0, last_drop or 0),
        )

    def is_lost(self, encoder: int) -> bool:
        """Whether a noted matrix file could not be used, so that all was read from tables."""
        with self._lock:
            live = self._live.get(encoder)
            return live is not None and live.is_lost

    def rewrite(self, conn: sqlite3.Connection, encoder: EncoderRow) -> None:
        """Write an encoder's matrix file again and note it; outside any transaction, under a lease.

        Raises: OSError where the file cannot be written.
        """
        with snapshot(conn):
            view, reached = self._view(conn, encoder)
            binding = self._binding(self.position(conn, encoder.id), encoder)
        file = f"index-{encoder.id}-{secrets.token_hex(6)}.matrix"
        rows = write_matrix(self._folder / file, view.parts, binding, reached)
        with transaction(conn):
            if self.position(conn, encoder.id).name != binding.name:
                # Cleared meanwhile: what was written is of an index that is no more.
                (self._folder / file).unlink(missing_ok=True)
                return
            noted = {"encoder": encoder.id, "file": file, "rows": rows}
            noted |= {"last_vector": reached.vector, "last_drop": reached.drop}
            conn.execute(self._sql["keep_matrix"], noted)
            conn.execute(self._sql["keep_pruned"])
            conn.execute(self._sql["prune_dropped"])
        self.sweep(conn)

    @staticmethod
    def _binding(position: Position, encoder: EncoderRow) -> Binding:
        return Binding(position.name, encoder.identity, encoder.dimensions)

    def is_due(self, conn: sqlite3.Connection, encoder: EncoderRow) -> bool:
        """Whether an encoder's matrix file, if there is to be one, should be written again."""
        return self.position(conn, encoder.id).is_worn

    def erase(self, conn: sqlite3.Connection) -> None:
        """Leave nothing of dropped vectors in matrix files, nor in what other settings left."""
        for *row, _ in conn.execute(self._sql["list_matrices"]).fetchall():
            encoder = EncoderRow(*row)
            position = self.position(conn, encoder.id)
            if position.newest.drop > position.reached.drop:
                self.rewrite(conn, encoder)
        self._remove_stores()

    def discard(self, conn: sqlite3.Connection) -> None:
        """Remove the matrix files that the tables do not note, and all vector stores."""
        self.sweep(conn)
        self._remove_stores()

    def _remove_stores(self) -> None:
        folder = self._folder / STORES
        if folder.is_dir():
            # The folder stays: it is what processes lock.
            with locked(folder):
                for each in folder.iterdir():
                    shutil.rmtree(each)

    def problems(self, conn: sqlite3.Connection) -> list[Problem]:
        """None: `repair.broken_matrices` looks at the files."""
        del conn
        return []

    def repair(self, conn: sqlite3.Connection) -> list[str]:
        """Nothing: `rewrite` makes a file again."""
        del conn
        return []

    def close(self) -> None:
        """Nothing is open: what is mapped goes with the object."""

    def sweep(self, conn: sqlite3.Connection) -> None:
        """Remove the matrix files that the tables do not note."""
        wanted = {row[3] for row in conn.execute(self._sql["list_matrices"])}
        for path in self._folder.glob("index-*.matrix"):
            if path.name not in wanted:
                # Where files in use cannot be removed, a later sweep does it.
                with contextlib.suppress(OSError):
                    path.unlink()

    def _view(self, conn: sqlite3.Connection, encoder: EncoderRow) -> tuple[View, Reached]:
        with self._lock:
            position = self.position(conn, encoder.id)
            live = self._live.get(encoder.id)
            if live is None or not live.can_follow(position):
                binding = self._binding(position, encoder)
                live = self._live[encoder.id] = _Live.opened(self._folder, position, binding)
            live.take_drops(conn, self._sql, position)
            live.take_vectors(conn, self._sql, position, encoder.id)
            return live.view(), live.seen


class _Live:
    """One encoder's rows in memory: those of its matrix file, and the tail added since."""

    def __init__(
        self, file: str | None, base: Rows | None, seen: Reached, signature: _Signature | None
    ) -> None:
        self.file = file
        self.seen = seen
        self._base = base
        self._signature = signature
        self._tail: _Tail | None = None

    @classmethod
    def opened(cls, folder: Path, position: Position, binding: Binding) -> _Live:
        """From the noted matrix file, or from nothing: then all vectors come from the tables."""
        nothing = Reached(0, position.newest.drop)
        live = cls(position.file, None, nothing, None)
        if position.file is not None:
            path = folder / position.file
            signature = _Signature.of(path)
            read = read_matrix(path, binding)
            if read is not None and read[1].drop >= position.pruned:
                live = cls(position.file, read[0], read[1], signature)
        live._tail = _Tail(binding.dimensions)
        return live

    @property
    def is_lost(self) -> bool:
        """Whether the noted matrix file could not be used."""
        return self.file is not None and self._base is None

    def can_follow(self, position: Position) -> bool:
        """Whether what came since can be taken in; not once the file is another or was changed."""
        return (
            self.file == position.file
            and self.seen.drop >= position.pruned
            and (self._signature is None or self._signature.holds())
        )

    def take_drops(self, conn: sqlite3.Connection, sql: Queries, position: Position) -> None:
        """Rows that left the tables are dead."""
        if position.newest.drop == self.seen.drop:
            return
        drops = conn.execute(sql["list_newer_drops"], {"seen": self.seen.drop})
        gone = np.array([row[0] for row in drops], dtype=np.int64)
        if self._base is not None:
            self._base = _without(self._base, gone)
        if self._tail is not None:
            self._tail.drop(gone)
        self.seen = Reached(self.seen.vector, position.newest.drop)

    def take_vectors(
        self, conn: sqlite3.Connection, sql: Queries, position: Position, encoder: int
    ) -> None:
        """Rows that came into the tables join the tail."""
        if position.newest.vector == self.seen.vector or self._tail is None:
            return
        bounds = {"seen": self.seen.vector, "encoder": encoder}
        self._tail.extend(conn.execute(sql["list_newer_vectors"], bounds).fetchall())
        self.seen = Reached(position.newest.vector, self.seen.drop)

    def view(self) -> View:
        """What is held now; later changes do not touch it."""
        parts = [part for part in (self._base, self._tail and self._tail.rows()) if part]
        return View(tuple(parts))


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
