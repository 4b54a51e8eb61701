"""What can be wrong with an index file, how it is noticed, and how it is put right.

Never touches a journal: what cannot be repaired here is removed and filled again from there.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from commonplace.core.errors import CommonplaceError, Corrupted
from commonplace.core.values import Problem
from commonplace.db.sqlite import REPAIR_HINT, snapshot, transaction, translated
from commonplace.index.sqlite.damage import MISREAD, is_damaged
from commonplace.index.sqlite.matrix import read_matrix
from commonplace.index.sqlite.watermarks import Binding, EncoderRow

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.index.sqlite.docs import Queries
    from commonplace.index.sqlite.file import IndexFile
    from commonplace.index.sqlite.matrix import Rows
    from commonplace.index.sqlite.watermarks import Watermark

_VECTORS_AT_ONCE = 4096

Fault: TypeAlias = Literal["pages", "words", "tally", "orphans", "matrices"]

_SHOWN: dict[Fault, str] = {
    "pages": "{path} is corrupt.",
    "words": "The word index in {path} does not match its docs.",
    "tally": "The number of docs noted in {path} is wrong.",
    "orphans": "{path} holds vectors of docs that are gone or changed.",
    "matrices": "A matrix file beside {path} is missing or damaged.",
}


def list_problems(file: IndexFile, sql: Queries) -> list[Problem]:
    """What is wrong with an index file; nothing is changed and no file is made."""
    try:
        faults = find_faults(file, sql)
    except Corrupted:
        faults = ["pages"]
    except CommonplaceError as exc:
        return [Problem(what=exc.located, hint=exc.located_hint)]
    return [
        Problem(what=_SHOWN[fault].format(path=file.path), hint=REPAIR_HINT, repairable=True)
        for fault in faults
    ]


def find_faults(file: IndexFile, sql: Queries) -> list[Fault]:
    """The faults of a file that can be opened. Raises: as `IndexFile.look`."""
    conn = file.look()
    if conn is None:
        return []
    try:
        with translated(file.path):
            if is_damaged(conn, sql):
                return ["pages"]
            faults: list[Fault] = []
            if not _words_match(conn, sql):
                faults.append("words")
            docs, kept, _ = conn.execute(sql["tally_docs"]).fetchone()
            if docs != kept:
                faults.append("tally")
            if conn.execute(sql["count_orphan_vectors"]).fetchone()[0]:
                faults.append("orphans")
            if broken_matrices(conn, sql, file.folder):
                faults.append("matrices")
            return faults
    except MISREAD:
        return ["pages"]
    finally:
        conn.close()


def broken_matrices(conn: sqlite3.Connection, sql: Queries, folder: Path) -> list[EncoderRow]:
    """The encoders whose noted matrix file is not whole."""
    name = conn.execute("SELECT name FROM state").fetchone()[0]
    broken = []
    for number, identity, dimensions, file in conn.execute(sql["list_matrices"]).fetchall():
        encoder = EncoderRow(number, identity, dimensions)
        read = read_matrix(folder / file, Binding(name, identity, dimensions))
        if read is not None:
            with snapshot(conn):
                differs = _matrix_differs(conn, sql, encoder, read)
            if not differs:
                continue
        # Another process may have put a new one in its place at this moment.
        if file in {row[3] for row in conn.execute(sql["list_matrices"])}:
            broken.append(encoder)
    return broken


def repair_tables(conn: sqlite3.Connection, sql: Queries, faults: list[Fault]) -> list[str]:
    """Put right what can be derived from the docs in the file; a sentence for each thing done."""
    done = []
    with transaction(conn):
        if "words" in faults:
            conn.execute(sql["rebuild_words"])
            done.append("Rebuilt the word index from the docs.")
        if "tally" in faults:
            conn.execute(sql["keep_tally"])
            done.append("Counted the docs again.")
        if "orphans" in faults:
            gone = conn.execute(sql["drop_orphan_vectors"]).rowcount
            done.append(f"Removed {gone} vectors of docs that are gone or changed.")
    return done


def _words_match(conn: sqlite3.Connection, sql: Queries) -> bool:
    docs, _, filed = conn.execute(sql["tally_docs"]).fetchone()
    if docs != filed:
        return False
    try:
        with transaction(conn):
            # Without rank = 1 the check passes on an index that differs from its docs.
            conn.execute(sql["check_words"])
    except sqlite3.DatabaseError as exc:
        # Where nothing may be written, not even this check can be asked for.
        return exc.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
    return True


def _matrix_differs(
    conn: sqlite3.Connection, sql: Queries, encoder: EncoderRow, matrix: tuple[Rows, Watermark]
) -> bool:
    """Whether a matrix file holds other vectors than the tables do, as far as it reaches."""
    rows, reached = matrix
    gone = conn.execute(sql["list_newer_drops"], {"seen": reached.drop}).fetchall()
    alive = ~np.isin(rows.ids, np.array([row[0] for row in gone], dtype=np.int64))
    places = np.flatnonzero(alive)[np.argsort(rows.ids[alive], kind="stable")]
    seen, start = 0, 0
    while True:
        bounds = {"seen": seen, "last": reached.vector, "encoder": encoder.id}
        asked = {**bounds, "limit": _VECTORS_AT_ONCE}
        found = conn.execute(sql["list_placed_vectors"], asked).fetchall()
        if not found:
            return start != len(places)
        here = places[start : start + len(found)]
        numbers = np.array([row[:3] for row in found], dtype=np.int64)
        held = np.column_stack([rows.ids[here], rows.docs[here], rows.facets[here]])
        vectors = b"".join(row[3] for row in found)
        if not np.array_equal(numbers, held) or rows.matrix[here].tobytes() != vectors:
            return True
        seen, start = found[-1][0], start + len(found)
