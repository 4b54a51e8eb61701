"""The leg of a search that goes by meaning: an encoder's vectors, kept in step with the tables.

Never compares vectors of two encoders, and never answers from a matrix file that is behind unseen.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from typing import TYPE_CHECKING

from commonplace.core.files import locked
from commonplace.db.sqlite import snapshot, transaction
from commonplace.index.sqlite.positions import Binding, EncoderRow, Position, Reached

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from commonplace.core.values import Problem
    from commonplace.index.sqlite.docs import Queries
    from commonplace.index.sqlite.live import Live, View

STORES = "vectors"
"""The folder of vector stores beside the index, one folder a kind: see `stored`."""


class Meaning:
    """The matrices of all encoders of one opening of an index. Thread-safe."""

    def __init__(self, folder: Path, sql: Queries) -> None:
        self._folder = folder
        self._sql = sql
        self._lock = threading.Lock()
        self._live: dict[int, Live] = {}

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
        from commonplace.index.sqlite.matrix import write_matrix

        with snapshot(conn):
            view, reached = self._view(conn, encoder)
            binding = self._binding(self.position(conn, encoder.id), encoder)
        file = f"index-{encoder.id}-{os.urandom(6).hex()}.matrix"
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
        from commonplace.index.sqlite.live import Live

        with self._lock:
            position = self.position(conn, encoder.id)
            live = self._live.get(encoder.id)
            if live is None or not live.can_follow(position):
                binding = self._binding(position, encoder)
                live = self._live[encoder.id] = Live.opened(self._folder, position, binding)
            live.take_drops(conn, self._sql, position)
            live.take_vectors(conn, self._sql, position, encoder.id)
            return live.view(), live.seen
