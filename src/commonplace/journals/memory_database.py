"""Owns the file of one user's memory: how it is opened, and what its rows are.

Never decides what is kept or found; holds no transaction but those its callers begin.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import parse_time, render_time
from commonplace.core.memory import (
    Gratitude,
    JournalEntry,
    Kind,
    Message,
    Preferences,
    Record,
    Todo,
)
from commonplace.db.owned import OwnedDatabase
from commonplace.db.queries import read_queries
from commonplace.db.sqlite import BUSY_S, transaction
from commonplace.journals.memory_entry import render_flags

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

FILE_NAME = "memory.db"

_SHORT_MS = 250


@cache
def sql() -> Mapping[str, str]:
    """The queries of memory by name."""
    return read_queries("commonplace.journals", "memory.sql")


class MemoryDatabase(OwnedDatabase):
    """The file of one user. prepare: called before it is made."""

    def __init__(self, folder: Path, prepare: Callable[[], object] | None = None) -> None:
        super().__init__(
            folder / FILE_NAME,
            package="commonplace.journals",
            migrations="memory_migrations",
            queries=sql,
            prepare=prepare,
        )

    @contextmanager
    def writing_soon(self) -> Iterator[sqlite3.Connection]:
        """`writing` for what waits neither for other writers nor for the disk: a log's line.

        Raises: Unavailable.
        """
        with self.bare() as conn:
            conn.execute(f"PRAGMA busy_timeout = {_SHORT_MS}")
            conn.execute("PRAGMA synchronous = NORMAL")
            try:
                with transaction(conn):
                    yield conn
            finally:
                conn.execute(f"PRAGMA busy_timeout = {int(BUSY_S * 1000)}")
                conn.execute("PRAGMA synchronous = FULL")


def record_of(kind: Kind, row: tuple[Any, ...]) -> Record:
    """A record from the columns that the queries of its kind read it in."""
    if kind == "message":
        ref_id, role, text, at = row
        return Message(id=ref_id, role=role, text=text, at=parse_time(at))
    *rest, created, updated = row
    at, changed = parse_time(created), parse_time(updated)
    match kind:
        case "journal":
            ref_id, title, body, is_draft = rest
            return JournalEntry(
                id=ref_id, title=title, body=body, is_draft=bool(is_draft), at=at, updated=changed
            )
        case "todo":
            ref_id, title, done = rest
            return Todo(id=ref_id, title=title, done=bool(done), at=at, updated=changed)
        case "gratitude":
            ref_id, text = rest
            return Gratitude(id=ref_id, text=text, at=at, updated=changed)
        case "preference":
            language, religion, flags = rest
            return Preferences(
                language=language,
                religion=religion,
                flags=json.loads(flags),
                at=at,
                updated=changed,
            )


def row_of(record: Record) -> dict[str, Any]:
    """The columns that the query which saves a record takes."""
    row: dict[str, Any] = {"id": record.id, "created_at": render_time(record.at)}
    match record:
        case Message():
            return {**row, "role": record.role, "content": record.text}
        case JournalEntry():
            row |= {"title": record.title, "body": record.body, "is_draft": record.is_draft}
        case Todo():
            row |= {"title": record.title, "done": record.done}
        case Gratitude():
            row |= {"content": record.text}
        case Preferences():
            row |= {"language": record.language, "religion": record.religion}
            row |= {"flags": render_flags(record.flags)}
    return {**row, "updated_at": render_time(record.updated)}
