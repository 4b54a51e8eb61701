"""Search by meaning where a vector store finds the nearest.

Never takes a store's word for a cosine, and never waits for one that is far behind the tables.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import CommonplaceError
from commonplace.core.files import locked, make_folder
from commonplace.core.values import Problem
from commonplace.db.sqlite import REPAIR_HINT, snapshot
from commonplace.index.scoring.score import NO_COSINES, Cosines
from commonplace.index.sqlite.doc_table import read_column
from commonplace.index.sqlite.loaded_vectors import unpacked
from commonplace.index.sqlite.meaning import STORES, Meaning
from commonplace.index.sqlite.watermarks import EncoderRow, Watermarks
from commonplace_chroma.vector_store import ListsVectors

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

    from commonplace.core.values import Vector
    from commonplace.index.scoring.doc_table import DocTable, Figures, Ids
    from commonplace.index.scoring.score import Nearness
    from commonplace.index.sqlite.docs import Queries, Reading
    from commonplace.index.sqlite.meaning import SeesVectors
    from commonplace.index.sqlite.row_filter import RowFilter
    from commonplace.index.sqlite.watermarks import Watermark
    from commonplace_chroma.vector_store import VectorStore

LAG_MOST = 1000
"""How many vectors a search gives to a store that lacks them; more are left to the next write."""

_AT_ONCE = 5000
_TRIES = 3
_NAMED = 5
_log = logging.getLogger(f"commonplace.{__name__}")


class _Mark(NamedTuple):
    """How far a store has taken in the tables, and of which index and encoder."""

    binding: str
    vector: int
    drop: int

    @classmethod
    def of(cls, marks: Watermarks, encoder: EncoderRow, reached: Watermark) -> _Mark:
        named = f"{marks.name}:{encoder.dimensions}:{encoder.identity}"
        return cls(sha256_hex(named.encode())[:16], *reached)

    @property
    def text(self) -> str:
        return f"{self.binding}:{self.vector}:{self.drop}"

    def last_read(self, text: str, pruned: int) -> _Mark | None:
        """The mark that a store keeps; None where it must begin again."""
        try:
            binding, vector, drop = text.split(":")
            found = _Mark(binding, int(vector), int(drop))
        except ValueError:
            return None
        return found if found.binding == self.binding and found.drop >= pruned else None


class StoredMeaning:
    """The vector stores of all encoders of one opening of an index, in place of `Meaning`.

    Where a store is broken, read-only or far behind, the tables answer: exactly, and slower.
    Thread-safe.

    Args:
        folder: the owner's index.
        sql: the named queries.
        name: of the kind of store; its folder bears it.
        open_store: a store over a folder, which need not be there.
    """

    def __init__(
        self, folder: Path, sql: Queries, *, name: str, open_store: Callable[[Path], VectorStore]
    ) -> None:
        self._stores = folder / STORES
        self._folder = self._stores / name
        self._sql = sql
        self._open_store = open_store
        self._exact = Meaning(folder, sql)
        self._lock = threading.Lock()
        self._opened: dict[int, VectorStore] = {}

    def view(self, conn: sqlite3.Connection, encoder: EncoderRow) -> SeesVectors:
        """The store of an encoder, once it has taken in all that this transaction sees.

        Else the vectors in the tables. Must be the first reading of the caller's transaction.
        """
        with self._lock:
            try:
                mark = self._follow(conn, encoder, most=LAG_MOST)
            except CommonplaceError as exc:
                self._give_up(encoder, exc)
                mark = None
            if mark is None:
                return self._exact.view(conn, encoder)
            return _StoreView(self, self._of(encoder), mark, encoder, self._sql)

    def nearest(
        self, store: VectorStore, mark: _Mark, query: Vector, limit: int, among: Ids | None
    ) -> Ids | None:
        """The nearest vectors while no process writes; None where another emptied the store.

        Raises: CommonplaceError, also where one of `among` was dropped a moment ago.
        """
        with locked(self._stores):
            held = mark.last_read(store.mark(), 0)
            if held is None or held.vector < mark.vector:
                return None
            return store.nearest(query, limit, among=among)

    def exact(self, reading: Reading, encoder: EncoderRow, *, failed: bool) -> SeesVectors:
        """The vectors in the tables. failed: the store is emptied, to be filled again."""
        # Under the lock from its first reading on, as `Meaning.view` asks.
        with self._lock:
            if failed:
                self._give_up(encoder, "it does not answer")
            with reading() as conn:
                return self._exact.view(conn, encoder)

    def is_lost(self, encoder: int) -> bool:
        """Whether a matrix file is to be written for searches: never, a store takes its place."""
        del encoder
        return False

    def is_due(self, conn: sqlite3.Connection, encoder: EncoderRow) -> bool:
        """Whether a store lacks so much that a write should give it more; opens nothing."""
        with self._lock:
            marks = self._exact.watermarks(conn, encoder.id)
            here = _Mark.of(marks, encoder, marks.newest)
            try:
                held = here.last_read(self._of(encoder).mark(), marks.pruned)
            except CommonplaceError:
                return False
        return here.vector - (0 if held is None else held.vector) > LAG_MOST

    def rewrite(self, conn: sqlite3.Connection, encoder: EncoderRow) -> None:
        """Give a store the next vectors it lacks; outside any transaction."""
        with self._lock:
            try:
                with snapshot(conn):
                    self._follow(conn, encoder, most=None)
            except CommonplaceError as exc:
                self._give_up(encoder, exc)

    def erase(self, conn: sqlite3.Connection) -> None:
        """Remove every store, since none erases single vectors, and rewrite matrices that lag."""
        self.close()
        self._exact.erase(conn)

    def discard(self, conn: sqlite3.Connection) -> None:
        """Remove every store and every matrix file that the tables do not note."""
        self.close()
        self._exact.discard(conn)

    def problems(self, conn: sqlite3.Connection) -> list[Problem]:
        """Where a store is not as the tables are; changes nothing."""
        found = []
        for encoder in self._encoders(conn):
            try:
                with self._lock:
                    what = self._difference(conn, encoder)
                if what:
                    found.append(Problem(what=what, hint=REPAIR_HINT, repairable=True))
            except CommonplaceError as exc:
                found.append(Problem(what=exc.located, hint=exc.located_hint, repairable=True))
        return found

    def repair(self, conn: sqlite3.Connection) -> list[str]:
        """Empty each store that is not as the tables are, and fill it again from them.

        Args:
            conn: In no transaction.

        Returns:
            A sentence for each thing done.

        Raises:
            Unavailable: A store cannot be filled.
        """
        done = []
        for encoder in self._encoders(conn):
            with self._lock:
                try:
                    why: object = self._difference(conn, encoder)
                except CommonplaceError as exc:
                    why = exc
                if not why:
                    continue
                self._give_up(encoder, why)
                is_behind = True
                while is_behind:
                    with snapshot(conn):
                        held = self._follow(conn, encoder, most=None)
                        newest = self._exact.watermarks(conn, encoder.id).newest
                    is_behind = held is not None and held.vector < newest.vector
            done.append(f"Filled the vector store of {encoder.identity} again from the index.")
        return done

    def close(self) -> None:
        """Close every store; the next use opens it again."""
        with self._lock:
            for each in self._opened.values():
                each.close()
            self._opened.clear()

    def _encoders(self, conn: sqlite3.Connection) -> list[EncoderRow]:
        """The encoders that may have a store."""
        if not self._folder.is_dir():
            return []
        return [EncoderRow(*row) for row in conn.execute(self._sql["list_encoders"]).fetchall()]

    def _difference(self, conn: sqlite3.Connection, encoder: EncoderRow) -> str:
        """What a store lacks of what its mark stands for, or has beyond that; empty for nothing.

        Asked under the lock. Raises: CommonplaceError, of a store that cannot be read.
        """
        with locked(self._stores), snapshot(conn):
            marks = self._exact.watermarks(conn, encoder.id)
            store = self._of(encoder)
            here = _Mark.of(marks, encoder, marks.newest)
            held = here.last_read(store.mark(), marks.pruned)
            if held is None or not isinstance(store, ListsVectors):
                return ""  # nothing is in it: searches and writes fill it
            asked = {"encoder": encoder.id, "last": held.vector}
            known = read_column(conn, self._sql["list_settled_vector_ids"], asked)
            drops = conn.execute(self._sql["list_newer_drops"], {"seen": held.drop}).fetchall()
            ids = store.list_ids()
            lost = np.setdiff1d(known, ids)
            extra = np.setdiff1d(ids, [*known.tolist(), *(row[0] for row in drops)])
            named = {"vectors": json.dumps(lost.tolist()), "limit": _NAMED + 1}
            refs = [row[0] for row in conn.execute(self._sql["list_refs_of_vectors"], named)]
        if len(lost):
            shown = ", ".join(refs[:_NAMED]) + (", …" if len(refs) > _NAMED else "")
            return (
                f"The vector store in {self._folder} lacks {len(lost):,} of {len(known):,} "
                f"vectors: of {shown}."
            )
        if len(extra):
            return f"The vector store in {self._folder} holds {len(extra):,} vectors too many."
        return ""

    def _of(self, encoder: EncoderRow) -> VectorStore:
        if encoder.id not in self._opened:
            self._opened[encoder.id] = self._open_store(self._folder / str(encoder.id))
        return self._opened[encoder.id]

    def _follow(
        self, conn: sqlite3.Connection, encoder: EncoderRow, *, most: int | None
    ) -> _Mark | None:
        """Give a store what it lacks, or a part; None where it lacks more than `most`."""
        marks = self._exact.watermarks(conn, encoder.id)
        here = _Mark.of(marks, encoder, marks.newest)
        store = self._of(encoder)
        make_folder(self._folder)
        with locked(self._stores):
            held = here.last_read(store.mark(), marks.pruned)
            lacks = here.vector - (0 if held is None else held.vector)
            if most is not None and lacks > most:
                return None
            if held is None:
                store.clear()
                held = here._replace(vector=0)
            if held.drop < here.drop:
                drops = conn.execute(self._sql["list_newer_drops"], {"seen": held.drop})
                held = held._replace(drop=here.drop)
                store.drop(np.array([row[0] for row in drops], dtype=np.int64), mark=held.text)
            if held.vector < here.vector:
                bounds = {"seen": held.vector, "encoder": encoder.id, "limit": _AT_ONCE}
                bounds["last"] = here.vector
                rows = conn.execute(self._sql["list_placed_vectors"], bounds).fetchall()
                # Ids are shared by all encoders: where fewer came, those up to the newest are in.
                last = rows[-1][0] if len(rows) == _AT_ONCE else here.vector
                held = held._replace(vector=last)
                numbers, vectors = unpacked(rows, encoder.dimensions)
                store.put(numbers[0], vectors, mark=held.text)
        return held

    def _give_up(self, encoder: EncoderRow, why: object) -> None:
        _log.warning("The vector store in %s is made again: %s", self._folder, why)
        found = self._opened.pop(encoder.id, None)
        if found is not None:
            with contextlib.suppress(CommonplaceError), locked(self._stores):
                found.clear()


class _StoreView:
    """What a store held when a search began."""

    def __init__(
        self,
        meaning: StoredMeaning,
        store: VectorStore,
        mark: _Mark,
        encoder: EncoderRow,
        sql: Queries,
    ) -> None:
        self._meaning = meaning
        self._store = store
        self._mark = mark
        self._encoder = encoder
        self._sql = sql

    def nearness(
        self, query: Vector, row_filter: RowFilter, table: DocTable, reading: Reading
    ) -> Nearness:
        """How near the docs let in are. table: these docs."""
        if not len(table):
            return NO_COSINES
        return _StoreNearness(self, query, row_filter, table, reading)

    def nearest(self, near: _StoreNearness, limit: int) -> Ids:
        """The docs of the nearest vectors; from the tables where the store keeps failing."""
        failed = True
        for _ in range(_TRIES):
            try:
                found = self._nearest_docs(near, limit)
            except CommonplaceError as exc:
                # Another process may have dropped one of them meanwhile.
                _log.info("A vector store is asked again: %s", exc)
                self._store.close()
                continue
            if found is not None:
                return found
            failed = False
            break
        view = self._meaning.exact(near.reading, self._encoder, failed=failed)
        return view.nearness(near.query, near.row_filter, near.table, near.reading).nearest(limit)

    def _nearest_docs(self, near: _StoreNearness, limit: int) -> Ids | None:
        wanted = limit
        while True:
            with near.reading() as conn:
                among = self._among(conn, near)
            found = self._meaning.nearest(self._store, self._mark, near.query, wanted, among)
            if found is None:
                return None
            with near.reading() as conn:
                asked = {"vectors": json.dumps(found.tolist())}
                docs = np.unique(read_column(conn, self._sql["list_docs_of_vectors"], asked))
            if len(docs) >= limit or len(found) < wanted:
                return docs
            wanted *= 4  # many chunks of few docs: look further down

    def _among(self, conn: sqlite3.Connection, near: _StoreNearness) -> Ids | None:
        if near.row_filter.is_whole:
            return None
        asked = {"docs": json.dumps(near.table.ids.tolist()), "encoder": self._encoder.id}
        return read_column(conn, self._sql["list_vector_ids"], {**asked, "last": self._mark.vector})

    def cosines_of(self, near: _StoreNearness, docs: Ids) -> Cosines:
        """Of every chunk of some docs, computed from the tables."""
        asked = {"docs": json.dumps(docs.tolist()), "encoder": self._encoder.id}
        with near.reading() as conn:
            rows = conn.execute(self._sql["list_vectors_of"], asked).fetchall()
        numbers, vectors = unpacked(rows, self._encoder.dimensions)
        return Cosines(numbers[1], np.einsum("ij,j->i", vectors, near.query))


class _StoreNearness(NamedTuple):
    """How near docs are to one question; see `index.scoring.score.Nearness`."""

    stored: _StoreView
    query: Vector
    row_filter: RowFilter
    table: DocTable
    reading: Reading

    def of(self, ids: Ids) -> Figures:
        """The best chunk of each doc, NaN for one that has none."""
        return self.stored.cosines_of(self, ids).of(ids)

    def nearest(self, limit: int) -> Ids:
        """The ids of the docs with the best chunks."""
        return self.stored.nearest(self, limit)
