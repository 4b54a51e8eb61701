"""What can be wrong with an index file, how it is noticed, and how it is put right.

Never touches a journal: what cannot be repaired here is removed and filled again from there.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Literal, TypeAlias

from commonplace.core.errors import CommonplaceError, Corrupted
from commonplace.core.values import Problem
from commonplace.db.sqlite import REPAIR_HINT, transaction, translated
from commonplace.index.sqlite.damage import MISREAD, is_damaged
from commonplace.index.sqlite.matrix import read_matrix
from commonplace.index.sqlite.watermarks import Binding, EncoderRow

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commonplace.index.sqlite.docs import Queries
    from commonplace.index.sqlite.file import IndexFile

Fault: TypeAlias = Literal["pages", "words", "matrices"]

_SHOWN: dict[Fault, str] = {
    "pages": "{path} is corrupt.",
    "words": "The word index in {path} does not match its docs.",
    "matrices": "A matrix file beside {path} is missing or damaged.",
}


def list_problems(file: IndexFile, find: Callable[[], list[Fault]]) -> list[Problem]:
    """What is wrong with an index file; nothing is changed and no file is made.

    find: Answers, or raises, as `find_faults` does.
    """
    try:
        faults = find()
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
        binding = Binding(name, identity, dimensions)
        if read_matrix(folder / file, binding) is not None:
            continue
        # Another process may have put a new one in its place at this moment.
        if file in {row[3] for row in conn.execute(sql["list_matrices"])}:
            broken.append(EncoderRow(number, identity, dimensions))
    return broken


def _words_match(conn: sqlite3.Connection, sql: Queries) -> bool:
    docs, filed = conn.execute(sql["count_filed_words"]).fetchone()
    if docs != filed:
        return False
    try:
        with transaction(conn):
            # Without rank = 1 the check passes on an index that differs from its docs.
            conn.execute(sql["check_words"])
    except sqlite3.DatabaseError as exc:
        code = exc.sqlite_errorcode & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise  # nothing was looked at
        # Where nothing may be written, not even this check can be asked for.
        return code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
    return True
