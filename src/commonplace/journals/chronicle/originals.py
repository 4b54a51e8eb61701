"""Owns the copies that an upgrade leaves beside the database, and takes single entries out of them.

Never upgrades one, and never changes the entries that stay.
"""

from __future__ import annotations

import contextlib
import glob
import re
import sqlite3
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.db.sqlite import BUSY_S, connect_read_only, erase, transaction, translated
from commonplace.journals.chronicle.layouts import SQL, detect, numbered_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from commonplace.journals.chronicle.event import Event
    from commonplace.journals.chronicle.layouts import Layout

_NAME = re.compile(r"\.backup-\d{8}T\d{6}Z(?:-\d+)?")


def find_originals(path: Path, event: Event) -> Iterator[Path]:
    """The copies beside a database that hold an entry, also as it was before an edit."""
    for copy in sorted(path.parent.glob(f"{glob.escape(path.name)}.backup-*")):
        if _NAME.fullmatch(copy.name.removeprefix(path.name)):
            # One that cannot be read is named by whoever looks through its bytes.
            with (
                contextlib.suppress(CommonplaceError, sqlite3.Error),
                contextlib.closing(connect_read_only(copy)) as conn,
                translated(copy),
            ):
                if _rows_of(conn, copy, event)[1]:
                    yield copy


def take_out_of_original(copy: Path, event: Event) -> None:
    """Delete an entry from a copy, to the last byte. Raises: Unavailable, Corrupted."""
    with (
        translated(copy),
        contextlib.closing(sqlite3.connect(copy, timeout=BUSY_S, isolation_level=None)) as conn,
    ):
        conn.execute("PRAGMA secure_delete = ON")
        layout, rows = _rows_of(conn, copy, event)
        with transaction(conn):
            for row in rows:
                if not layout.is_current:
                    conn.execute(SQL["drop_former_tags"], {"rowid": row})
                conn.execute(SQL["drop_entry"], {"rowid": row})
            if layout.is_current and layout.whole:
                conn.execute(SQL["rebuild_words"])
        erase(conn)


def _rows_of(conn: sqlite3.Connection, copy: Path, event: Event) -> tuple[Layout, list[int]]:
    """The layout of a copy, and the rows in it with the id of an entry, or what became that id."""
    conn.text_factory = bytes
    layout = detect(conn, copy)
    rows = conn.execute(layout.reading("where_id"), {"id": event.id}).fetchall()
    found = {row[0] for row in rows}
    for number, created_at, hostname in conn.execute(SQL["list_created"]):
        if numbered_id(number, _decoded(created_at), _decoded(hostname)) == event.id:
            found.add(number)
    return layout, sorted(found)


def _decoded(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
