"""Owns taking over a database of the program this journal's design was first built in.

Never alters that database: it is kept beside ours as `journal.original.db`. Its rollups joined
texts of windows that were no periods; those of which the entries are there are made again.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.fence import shows_nothing
from commonplace.core.files import locked, sync_folder
from commonplace.db.sqlite import connect_read_only, translated
from commonplace.journals.timeline.entry import (
    PROFILE,
    RAW,
    TimelineDraft,
    check_time,
    render_metadata,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


KEPT_NAME = "journal.original.db"

_ADOPTING = "adopting"
_COLUMNS = ("id", "content", "entry_type", "timestamp", "metadata", "status", "period_start")

_log = logging.getLogger(__name__)


def is_original(path: Path) -> bool:
    """Whether a file holds that program's entries and none of our migrations."""
    if not os.path.exists(path) or not os.path.getsize(path):
        return False
    try:
        return _is_original(path)
    except Unavailable as exc:
        if getattr(exc.__cause__, "sqlite_errorcode", 0) != sqlite3.SQLITE_READONLY_ROLLBACK:
            raise
    # A process was killed over a write: it is rolled back, as by any program that opens the file.
    with translated(path), closing(sqlite3.connect(path)) as conn:
        conn.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return _is_original(path)


def _is_original(path: Path) -> bool:
    with translated(path), closing(connect_read_only(path)) as conn:
        return _has(conn, "journal_entries") and not _has(conn, "applied_migrations")


def adopt(path: Path, fill: Callable[[Path, Iterator[TimelineDraft]], int]) -> None:
    """Put a timeline of ours in the place of such a file; may be called again after a crash.

    Args:
        path: of the journal file.
        fill: makes a timeline in a folder from drafts, and says how many entries it has.

    Raises:
        Unavailable.
    """
    folder = path.parent
    with locked(folder):
        if not is_original(path):
            return  # another process was faster
        aside = folder / _ADOPTING
        shutil.rmtree(aside, ignore_errors=True)
        with translated(path), closing(connect_read_only(path)) as conn:
            count = fill(aside, _drafts(conn))
        for suffix in ("", "-wal", "-shm"):
            old = path.with_name(path.name + suffix)
            if os.path.exists(old):
                os.replace(old, path.with_name(KEPT_NAME + suffix))
        os.replace(aside / path.name, path)
        sync_folder(path.parent)
        shutil.rmtree(aside, ignore_errors=True)
    _log.info("Took over %d entries; the old database is %s.", count, folder / KEPT_NAME)


def _has(conn: sqlite3.Connection, table: str) -> bool:
    query = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
    return conn.execute(query, (table,)).fetchone() is not None


def _drafts(conn: sqlite3.Connection) -> Iterator[TimelineDraft]:
    known = {row[1] for row in conn.execute("PRAGMA table_info(journal_entries)")}
    columns = ", ".join(x if x in known else f"NULL AS {x}" for x in _COLUMNS)
    rows = conn.execute(f"SELECT {columns} FROM journal_entries ORDER BY timestamp, rowid")  # noqa: S608  names of our own
    entries = [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
    times = sorted(x["timestamp"] or "" for x in entries if x["entry_type"] == RAW)
    for each in entries:
        if each["status"] == "deleted":
            continue
        kind, metadata = each["entry_type"], _metadata(each["metadata"])
        if kind not in {RAW, PROFILE}:
            start, end = each["period_start"] or "", each["timestamp"] or ""
            if start and any(start <= x <= end for x in times):
                continue
            # Its entries are gone: what it says is all there is of them.
            metadata, kind = {**metadata, "original_type": kind}, RAW
        content = each["content"]
        if not isinstance(content, str) or shows_nothing(content):
            continue
        with suppress(Invalid):
            yield TimelineDraft(
                id=each["id"],
                content=content,
                entry_type=kind,
                at=_instant(each["timestamp"]),
                metadata=metadata,
            )


def _instant(text: object) -> datetime:
    """Naive times are UTC, as that program wrote them."""
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError as exc:
        raise Invalid("No time.") from exc
    return check_time(at if at.tzinfo else at.replace(tzinfo=UTC))


def _metadata(text: object) -> dict[str, Any]:
    try:
        parsed = json.loads(text) if isinstance(text, str) else {}
        render_metadata(parsed)
    except (ValueError, Invalid):
        return {"original_metadata": str(text)[:1000]}
    return parsed if isinstance(parsed, dict) else {"original_metadata": parsed}
