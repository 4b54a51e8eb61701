"""Homes whose chronicle is large: written by plain SQLite, as the Go tool would, or filed already.

Never touches the chronicle of whoever runs it.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import uuid
from contextlib import closing
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from bench.corpus import DAYS, FIRST_DAY, make_lines
from bench.homes import UTC, Home, is_marked, mark, put_synthetic_vectors
from commonplace.journals.chronicle.layouts import SQL, complete
from commonplace.journals.chronicle.times import (
    columns_of,
    render_created,
    render_local,
    to_instant,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

FOLDERS = ("api", "web", "infra", "notes")
TAGS = ("deployment", "bug-fix", "decision", "learning", "testing", "review", "meeting", "work")


class Row(NamedTuple):
    """One entry to be, as the table of chronicle's newest layout holds it."""

    id: str
    instant: int
    message: str
    tags: tuple[str, ...]
    directory: str

    def columns(self) -> dict[str, object]:
        """Its columns by the names that the statement has for them."""
        seconds, nanosecond = columns_of(self.instant)
        return {
            "id": self.id,
            "timestamp": render_local(self.instant, UTC),
            "seconds": seconds,
            "nanosecond": nanosecond,
            "message": self.message,
            "hostname": "desk",
            "username": "ada",
            "directory": self.directory,
            "tags": json.dumps(self.tags, separators=(",", ":")),
            "created_at": render_created(self.instant),
        }


def make_rows(count: int, *, seed: int = 21, first: datetime = FIRST_DAY) -> Iterator[Row]:
    """Entries spread evenly over 400 days, oldest first: the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311  a corpus, no secret
    step = timedelta(days=DAYS) / max(count, 1)
    for number, line in enumerate(islice(make_lines(seed=seed), count)):
        yield Row(
            id=str(uuid.UUID(int=chance.getrandbits(128), version=4)),
            instant=to_instant(first + step * number),
            message=line,
            tags=tuple(chance.sample(TAGS, chance.choice((1, 1, 2)))),
            directory=f"/home/ada/{chance.choice(FOLDERS)}",
        )


def open_database(path: Path) -> sqlite3.Connection:
    """A database of chronicle's newest layout, made if it is not there; every commit is synced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    complete(database)
    return database


def insert(database: sqlite3.Connection, columns: Mapping[str, object]) -> None:
    """One row in the transaction that is open; the layout's trigger files its words."""
    database.execute(SQL["add_entry"], columns)


def foreign_home(cache: Path, count: int) -> Home:
    """A home with so many entries that no index has seen; kept in the cache."""
    home = Home(cache / f"log-{count}").make()
    if not is_marked(home, "written"):
        write_log(home, count)
        mark(home, "written")
    return home


def write_log(home: Home, count: int, *, first: datetime = FIRST_DAY) -> None:
    """Write so many entries to a home's chronicle in one transaction, none being there before."""
    home.chronicle.unlink(missing_ok=True)
    with closing(open_database(home.chronicle)) as database:
        database.execute("BEGIN IMMEDIATE")
        for row in make_rows(count, first=first):
            insert(database, row.columns())
        database.execute("COMMIT")


def seen_home(cache: Path, count: int) -> Home:
    """The same entries filed by the product, with vectors that no encoder made; kept as well."""
    home = Home(cache / f"seen-log-{count}")
    if not is_marked(home, "copied"):
        copied(foreign_home(cache, count), home.folder)
        mark(home, "copied")
    with home.opened() as app:
        app.filing.sweep()
        put_synthetic_vectors(app)
    return home


def copied(home: Home, folder: Path) -> Home:
    """The same home elsewhere, its files as old as they were, so that marks stay equal."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(home.folder, folder)
    return Home(folder)
