"""Owns the copies that an upgrade leaves beside the database, and takes single entries out of them.

Never upgrades one, and never changes the entries that stay.
"""

from __future__ import annotations

import contextlib
import glob
import json
import re
import sqlite3
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.db.sqlite import BUSY_S, connect_read_only, erase, transaction, translated
from commonplace.journals.chronicle.layouts import SQL, detect, numbered_id, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from commonplace.journals.chronicle.event import Event
    from commonplace.journals.chronicle.layouts import Layout

_NAME = re.compile(r"\.backup-\d{8}T\d{6}Z")


def find_originals(path: Path, events: Sequence[Event]) -> Iterator[Path]:
    """The copies beside a database that hold any of these entries, also as before an edit."""
    for copy in sorted(path.parent.glob(f"{glob.escape(path.name)}.backup-*")):
        if _NAME.fullmatch(copy.name.removeprefix(path.name)):
            # One that cannot be read is named by the proof, which looks through its bytes.
            with (
                contextlib.suppress(CommonplaceError, sqlite3.Error),
                contextlib.closing(connect_read_only(copy)) as conn,
                translated(copy),
            ):
                if _rows_of(conn, copy, events)[1]:
                    yield copy


def take_out_of_originals(path: Path, events: Sequence[Event]) -> tuple[str, ...]:
    """Delete entries from every copy beside a database; a note on each copy that stays."""
    notes = []
    for copy in find_originals(path, events):
        try:
            _take_out(copy, events)
        except CommonplaceError as exc:
            notes.append(f"It stays in the copy of an upgrade {copy}: {exc.located}")
    return tuple(notes)


def _take_out(copy: Path, events: Sequence[Event]) -> None:
    with (
        translated(copy),
        contextlib.closing(sqlite3.connect(copy, timeout=BUSY_S, isolation_level=None)) as conn,
    ):
        conn.execute("PRAGMA secure_delete = ON")
        layout, rows = _rows_of(conn, copy, events)
        with transaction(conn):
            for row in rows:
                if not layout.is_current:
                    conn.execute(SQL["drop_former_tags"], {"rowid": row})
                conn.execute(SQL["drop_entry"], {"rowid": row})
            if layout.is_current and layout.whole:
                conn.execute(SQL["rebuild_words"])
        erase(conn)


def _rows_of(
    conn: sqlite3.Connection, copy: Path, events: Sequence[Event]
) -> tuple[Layout, list[int]]:
    """The layout of a copy, and the rows in it with the ids of entries, or what became these."""
    conn.text_factory = bytes
    layout = detect(conn, copy)
    ids = {event.id for event in events}
    reading = layout.reading("where_ids")
    found = {row[0] for row in conn.execute(reading, {"ids": json.dumps([*ids])})}
    for number, created_at, hostname in conn.execute(SQL["list_created"]):
        if numbered_id(number, text_of(created_at), text_of(hostname)) in ids:
            found.add(number)
    return layout, sorted(found)
