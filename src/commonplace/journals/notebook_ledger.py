"""Owns the ledger: which entries a notebook's history holds, by section, id and hash.

Derived from git alone; never holds an entry's text beyond its summary. May be deleted at any time.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import Unavailable
from commonplace.core.files import make_folder
from commonplace.db.queries import read_queries
from commonplace.db.sqlite import Corrupted, Database, connect, transaction, translated
from commonplace.journals.gitrepo_history import read_history
from commonplace.journals.notebook_format import entries_of, parse_message, ref_of
from commonplace.journals.notebook_names import file_of, find_section

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from commonplace.journals.gitrepo import GitRepo
    from commonplace.journals.gitrepo_history import Commit

_LAYOUT = 1
_TRIES = 20
_TABLES = ("state", "entries", "by_section", "by_hash", "moves")


@cache
def _sql() -> Mapping[str, str]:
    return read_queries("commonplace.journals", "notebook_ledger.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An entry in a list: where it is now, its id for good, its commit now, its first line."""

    id: str
    section: str
    hash: str
    at: datetime
    summary: str

    @property
    def ref(self) -> str:
        """Its address for good: `notebook:api/errors#<entry id>`."""
        return ref_of(self.section, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionTally:
    """How many entries a section has, and when the newest was."""

    count: int
    newest: datetime


@dataclass(frozen=True, slots=True)
class _Move:
    old: str
    new: str


class Ledger:
    """The entries of one repository's branch, in a database of ours. Thread-safe."""

    def __init__(self, repo: GitRepo, path: Path) -> None:
        self._repo = repo
        self._path = path
        self._lock = threading.Lock()
        self._made: Database | None = None

    def close(self) -> None:
        """Let go of the file; may be called twice."""
        with self._lock:
            if self._made is not None:
                self._made.close()
                self._made = None

    def catch_up(self) -> str:
        """Read what the history has more, or all of it where it is another; the commit it is at.

        Raises: Unavailable, Denied, NotFound.
        """
        for _ in range(_TRIES):
            known = self._head()
            head = self._repo.head().commit
            if known == head:
                return head
            # No lock is held while git reads: whoever is first files what was read.
            goes_on = bool(known and head) and self._repo.is_ancestor(known, head)
            rows = list(self._read(head, since=known if goes_on else ""))
            if self._apply(rows, at=known, head=head, anew=not goes_on):
                return head
        raise Unavailable(
            f"The notebook {self._repo.folder} moves all the time.", hint="Try again."
        )

    def append(self, commit: Commit) -> None:
        """File one commit of ours, if the ledger stands at its parent; else it is read later."""
        rows = list(_rows_of(commit))
        parent = commit.parents[0] if commit.parents else ""
        self._apply(rows, at=parent, head=commit.hash, anew=False)

    def count(self, section: str) -> int:
        """How many entries a section has."""
        return int(self._ask("count", section=section)[0][0])

    def newest(self, section: str, *, start: int = 0, length: int = 1) -> list[Line]:
        """Entries of a section, newest first."""
        return _lines(self._ask("newest", section=section, start=start, length=length))

    def by_id(self, entry_id: str) -> list[Line]:
        """The entry with an id; several lines for a commit by hand in several sections."""
        return _lines(self._ask("by_id", id=entry_id))

    def by_hash(self, prefix: str) -> list[Line]:
        """The entries whose commit's hash begins so, at most 50."""
        return _lines(self._ask("by_hash", low=prefix, high=f"{prefix}g"))

    def place(self, entry_id: str, named: str) -> str:
        """Where an entry is now that its commit puts into the section `named`."""
        found = self._ask("place", id=entry_id, named=named)
        return found[0][0] if found else named

    def around(self, section: str, entry_id: str) -> tuple[Line | None, Line | None]:
        """The entries before and after one, in its section."""
        before = _lines(self._ask("before", section=section, id=entry_id))
        after = _lines(self._ask("after", section=section, id=entry_id))
        return next(iter(before), None), next(iter(after), None)

    def tallies(self) -> dict[str, SectionTally]:
        """Each section that ever had an entry."""
        return {
            section: SectionTally(count=count, newest=_instant(newest))
            for section, count, newest in self._ask("tallies")
        }

    def name_now(self, section: str) -> str:
        """What a section is called now; the name itself where it never moved."""
        seen = {section}
        while found := self._ask("moved_to", old=section):
            section = found[0][0]
            if section in seen:
                break
            seen.add(section)
        return section

    def _ask(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        with self._database().using() as conn:
            return conn.execute(_sql()[query], values).fetchall()

    def _head(self) -> str:
        found = self._ask("state")
        return found[0][1] if found and found[0][0] == _LAYOUT else ""

    def _read(self, head: str, *, since: str) -> Iterator[_Move | dict[str, object]]:
        if head:
            for commit in read_history(self._repo, head, since=since):
                yield from _rows_of(commit)

    def _apply(
        self, rows: Iterable[_Move | dict[str, object]], *, at: str, head: str, anew: bool
    ) -> bool:
        sql = _sql()
        with self._database().using() as conn, transaction(conn):
            layout, known = conn.execute(sql["state"]).fetchone()
            if (known if layout == _LAYOUT else "") != at:
                return False
            if anew or layout != _LAYOUT:
                conn.execute(sql["clear_entries"])
                conn.execute(sql["clear_moves"])
            for is_move, same in groupby(rows, lambda x: isinstance(x, _Move)):
                if not is_move:
                    conn.executemany(sql["add_entry"], (x for x in same if isinstance(x, dict)))
                    continue
                for names in ({"old": x.old, "new": x.new} for x in same if isinstance(x, _Move)):
                    conn.execute(sql["add_move"], names)
                    conn.execute(sql["move_entries"], names)
            conn.execute(sql["set_state"], {"head": head, "layout": _LAYOUT})
        return True

    def _database(self) -> Database:
        with self._lock:
            if self._made is None:
                self._made = self._opened()
            return self._made

    def _opened(self) -> Database:
        make_folder(self._path.parent)
        try:
            return self._laid_out()
        except Corrupted:
            # Derived: it is made again from the history.
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    os.unlink(f"{self._path}{suffix}")
            return self._laid_out()

    def _laid_out(self) -> Database:
        database = Database(self._path, open_connection=_connect)
        try:
            with database.using() as conn, translated(self._path), transaction(conn):
                for name in _TABLES:
                    conn.execute(_sql()[f"create_{name}"])
                conn.execute(_sql()["begin_state"], {"layout": _LAYOUT})
        except BaseException:
            database.close()
            raise
        return database


def _connect(path: Path) -> sqlite3.Connection:
    return connect(path, synchronous="normal")


def _rows_of(commit: Commit) -> Iterator[_Move | dict[str, object]]:
    message = parse_message(commit.message)
    named = (message.moved_from, message.section)
    if message.verb == "move" and all(find_section(file_of(x)) for x in named):
        yield _Move(message.moved_from, message.section)
    for entry in entries_of(commit, message):
        yield {
            "id": entry.id,
            "named": entry.section,
            "section": entry.section,
            "hash": entry.hash,
            "at": int(entry.at.timestamp()),
            "summary": entry.summary.encode("utf-8", "replace").decode(),
        }


def _lines(rows: Iterable[tuple[Any, ...]]) -> list[Line]:
    return [
        Line(id=id_, section=section, hash=hash_, at=_instant(at), summary=summary)
        for id_, section, hash_, at, summary in rows
    ]


def _instant(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
