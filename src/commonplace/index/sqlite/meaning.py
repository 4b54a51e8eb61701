"""Search by meaning: an encoder's vectors, kept in step with the tables.

Never compares vectors of two encoders, and never answers from a matrix file that is behind unseen.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from typing import TYPE_CHECKING, Protocol

from commonplace.core.files import locked
from commonplace.db.sqlite import snapshot, transaction
from commonplace.index.sqlite.watermarks import Binding, EncoderRow, Watermark, Watermarks

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from commonplace.core.values import Problem, Vector
    from commonplace.index.scoring.doc_table import DocTable
    from commonplace.index.scoring.score import Nearness
    from commonplace.index.sqlite.docs import Queries, Reading
    from commonplace.index.sqlite.loaded_vectors import LoadedVectors, View
    from commonplace.index.sqlite.row_filter import RowFilter

STORES = "vectors"
"""The folder beside the index where another distribution may keep vectors of its own, by kind."""


class SeesVectors(Protocol):
    """All vectors of one encoder as one transaction sees them."""

    def nearness(
        self, query: Vector, row_filter: RowFilter, table: DocTable, reading: Reading
    ) -> Nearness:
        """How near the docs let in are, which are those of the table."""
        ...


class Meaning:
    """The matrices of all encoders of one opening of an index. Thread-safe.

    What takes its place, from another distribution, has all its public methods.
    """

    def __init__(self, folder: Path, sql: Queries) -> None:
        self._folder = folder
        self._sql = sql
        self._lock = threading.Lock()
        self._loaded: dict[int, LoadedVectors] = {}

    def view(self, conn: sqlite3.Connection, encoder: EncoderRow) -> SeesVectors:
        """The vectors of an encoder as the caller's transaction sees them.

        It must be the first reading of that transaction: then no later one has been here before,
        and what is taken in is never ahead of it.
        """
        return self._view(conn, encoder)[0]

    def watermarks(self, conn: sqlite3.Connection, encoder: int) -> Watermarks:
        """How far the tables and an encoder's matrix file reach."""
        row = conn.execute(self._sql["read_position"], {"encoder": encoder}).fetchone()
        name, pruned, newest_vector, newest_drop, file, rows, last_vector, last_drop = row
        return Watermarks(
            name,
            pruned,
            Watermark(newest_vector, newest_drop),
            file,
            rows or 0,
            Watermark(last_vector or 0, last_drop or 0),
        )

    def is_lost(self, encoder: int) -> bool:
        """Whether a noted matrix file could not be used, so that all was read from tables."""
        with self._lock:
            loaded = self._loaded.get(encoder)
            return loaded is not None and loaded.is_lost

    def rewrite(self, conn: sqlite3.Connection, encoder: EncoderRow) -> None:
        """Write an encoder's matrix file again and note it; outside any transaction, under a lease.

        Raises: OSError where the file cannot be written.
        """
        from commonplace.index.sqlite.matrix import write_matrix

        with snapshot(conn):
            view, reached = self._view(conn, encoder)
            binding = self._binding(self.watermarks(conn, encoder.id), encoder)
        file = f"index-{encoder.id}-{os.urandom(6).hex()}.matrix"
        rows = write_matrix(self._folder / file, view.parts, binding, reached)
        with transaction(conn):
            if self.watermarks(conn, encoder.id).name != binding.name:
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
    def _binding(marks: Watermarks, encoder: EncoderRow) -> Binding:
        return Binding(marks.name, encoder.identity, encoder.dimensions)

    def is_due(self, conn: sqlite3.Connection, encoder: EncoderRow) -> bool:
        """Whether an encoder's matrix file, if there is to be one, should be written again."""
        return self.watermarks(conn, encoder.id).is_worn

    def erase(self, conn: sqlite3.Connection) -> None:
        """Leave nothing of dropped vectors in matrix files, nor in what other settings left."""
        for *row, _ in conn.execute(self._sql["list_matrices"]).fetchall():
            encoder = EncoderRow(*row)
            marks = self.watermarks(conn, encoder.id)
            if marks.newest.drop > marks.reached.drop:
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

    def _view(self, conn: sqlite3.Connection, encoder: EncoderRow) -> tuple[View, Watermark]:
        from commonplace.index.sqlite.loaded_vectors import LoadedVectors

        with self._lock:
            marks = self.watermarks(conn, encoder.id)
            loaded = self._loaded.get(encoder.id)
            if loaded is None or not loaded.can_follow(marks):
                binding = self._binding(marks, encoder)
                loaded = self._loaded[encoder.id] = LoadedVectors(self._folder, marks, binding)
            loaded.take_drops(conn, self._sql, marks)
            loaded.take_vectors(conn, self._sql, marks, encoder.id)
            return loaded.view(), loaded.seen
