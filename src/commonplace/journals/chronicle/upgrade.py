"""Owns how an older chronicle database becomes the newest layout, its original kept beside it.

Never touches the original before its copy is whole on disk, and never stops half-way.
"""

from __future__ import annotations

import contextlib
import glob
import os
import sqlite3
from datetime import UTC
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.core.errors import Invalid
from commonplace.core.files import sync_folder, translated
from commonplace.core.plain_files import rename_over
from commonplace.db.sqlite import connect_read_only, transaction
from commonplace.journals.chronicle.event import parse_tags, render_tags
from commonplace.journals.chronicle.layouts import SQL, Layout, complete, numbered_id, text_of
from commonplace.journals.chronicle.markdown_tree import ChronicleTree
from commonplace.journals.chronicle.times import columns_of, parse_timestamp

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from commonplace.journals.chronicle.database import ChronicleDatabase
    from commonplace.journals.chronicle.layouts import Generation


class Upgraded(Struct, frozen=True, kw_only=True):
    """What an upgrade did.

    Attributes:
        backup: The original's copy, None where there was nothing to do.
        entries: How many there are.
        without_time: Those whose time nobody can read; they stay as they are, and are not listed.
    """

    path: Path
    generation: Generation
    backup: Path | None = None
    entries: int = 0
    without_time: int = 0


def upgrade(store: ChronicleDatabase | ChronicleTree, now: datetime) -> Upgraded:
    """Bring a database of any generation to the newest layout, in one transaction.

    now: aware, names the copy. May be called twice: what is new already is left alone. A number of
    the oldest generation becomes an id that follows from it, so that it is still found.
    Raises: Invalid for a tree, Denied, Unavailable; the original is then as it was.
    """
    if isinstance(store, ChronicleTree):
        raise Invalid(
            f"{store.path} is a Markdown tree: there is nothing to upgrade.",
            hint="Use it as it is, or import it into a database.",
        )
    layout = store.layout()
    if _is_newest(layout):
        return Upgraded(path=store.path, generation=layout.generation)
    with store.connection_to_write() as conn:
        # Only outside a transaction can it be switched; dropping `tags` must not ask `entries`.
        conn.execute("PRAGMA foreign_keys = OFF")
        try:
            with transaction(conn):
                return _upgrade(conn, store, now)
        finally:
            conn.execute("PRAGMA foreign_keys = ON")


def _is_newest(layout: Layout) -> bool:
    return layout.generation == "new" or (layout.generation == "D2" and layout.whole)


def _upgrade(conn: sqlite3.Connection, store: ChronicleDatabase, now: datetime) -> Upgraded:
    layout = store.layout_of(conn)
    if _is_newest(layout):  # another process was faster
        return Upgraded(path=store.path, generation=layout.generation)
    backup = _keep_original(store.path, now)
    try:
        if layout.is_current:
            complete(conn)
        else:
            _remake(conn, layout)
        conn.execute(SQL["rebuild_words"])
        entries = conn.execute(SQL["count_entries"]).fetchone()[0]
        without = len(conn.execute(SQL["list_without_instant"]).fetchall())
    except BaseException:
        # The original is as it was: a copy of it is one too many.
        with contextlib.suppress(OSError):
            os.unlink(backup)
        raise
    return Upgraded(
        path=store.path,
        generation=layout.generation,
        backup=backup,
        entries=entries,
        without_time=without,
    )


def _remake(conn: sqlite3.Connection, layout: Layout) -> None:
    conn.execute(SQL["create_kept"])
    conn.execute(f"{SQL['keep_entries']} {layout.reading('')}")
    highest = conn.execute(SQL["read_sequence"]).fetchone()
    for name in ("ai", "ad", "au"):
        conn.execute(f"DROP TRIGGER IF EXISTS entries_{name}")
    for name in ("entries_fts", "tags", "entries"):
        conn.execute(f"DROP TABLE IF EXISTS {name}")
    complete(conn)
    reader = conn.cursor()
    rows = reader.execute(SQL["list_kept"])
    conn.executemany(SQL["add_kept"], (_copied_rows(row, layout) for row in rows))
    if highest is not None and highest[0] is not None:
        conn.execute(SQL["drop_sequence"])
        conn.execute(SQL["add_sequence"], {"highest": highest[0]})
    conn.execute(SQL["drop_kept"])


def _copied_rows(row: tuple[Any, ...], layout: Layout) -> dict[str, object]:
    number, timestamp, identity, tags, created_at, hostname = row
    was_number = layout.generation == "A" or not identity
    try:
        seconds, nanosecond = columns_of(parse_timestamp(text_of(timestamp)))
        instant: tuple[int | None, int | None] = seconds, nanosecond
    except Invalid:
        instant = None, None
    return {
        "number": number,
        "id": numbered_id(number, text_of(created_at), text_of(hostname))
        if was_number
        else text_of(identity),
        "seconds": instant[0],
        "nanosecond": instant[1],
        "tags": render_tags(parse_tags(text_of(tags))),
    }


def _keep_original(path: Path, now: datetime) -> Path:
    """A whole copy of the database beside it, durable, under a name that says when.

    It takes the place of one of the same second, which a killed upgrade left of the same database.
    """
    backup = path.with_name(f"{path.name}.backup-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}")
    temp = path.with_name(f"{backup.name}.part")
    # Nobody else is here: the caller holds the write lock. What lies there is of a killed one.
    for left in path.parent.glob(f"{glob.escape(path.name)}.backup-*.part*"):
        _discard(left)
    with translated(backup), contextlib.ExitStack() as undo:
        mode = os.stat(path).st_mode & 0o7777
        os.close(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        undo.callback(_discard, temp)
        with (
            contextlib.closing(connect_read_only(path)) as source,
            contextlib.closing(sqlite3.connect(temp)) as target,
        ):
            source.backup(target)
        os.chmod(temp, mode)
        descriptor = os.open(temp, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        rename_over(temp, backup)
        undo.pop_all()
        sync_folder(backup.parent)
    return backup


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
