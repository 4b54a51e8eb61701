"""Owns the ledger: which entries a notebook's history holds, by section, id and hash.

Derived from git alone; never holds an entry's text beyond its summary. May be deleted at any time.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from datetime import UTC, datetime
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from commonplace.core.digest import sha256
from commonplace.core.errors import Corrupted, Unavailable
from commonplace.core.files import make_folder
from commonplace.db.queries import read_queries
from commonplace.db.sqlite import Database, connect, erase, transaction, translated
from commonplace.journals.git.history import parse_commit, read_history
from commonplace.journals.git.trees import compare_trees
from commonplace.journals.notebook.format import parse_file, parse_message
from commonplace.journals.notebook.history_rows import (
    NEVER,
    EndRow,
    HistoryRow,
    MergeRow,
    MovedRows,
    MoveRow,
    rows_of,
)
from commonplace.journals.notebook.links import Link, beginnings_of, entry_links, links_of
from commonplace.journals.notebook.names import current_name, file_of, find_section, names_of
from commonplace.journals.notebook.sections import (
    Backlinks,
    EntryLine,
    LinkingText,
    ReplacedEntry,
    SectionCount,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace.journals.git.history import Commit
    from commonplace.journals.git.repo import GitRepository

_LAYOUT = 8
_TRIES = 20
_COLUMNS = 6
"""Of an entry in a list."""
_TABLES = (
    *("entries", "by_section", "by_hash", "by_former", "by_end"),
    *("ends", "ends_by_entry", "moves", "merges", "links", "links_by_target"),
    *("branch_state", "branch_commits", "branch_entries", "branch_entries_by_section"),
    *("branch_entries_by_id", "branch_entries_by_hash", "branch_ends", "elsewhere"),
)
BRANCH_TABLES = ("branch_state", "branch_commits", "branch_entries", "branch_ends")
"""What is held of other branches; see `branches`."""
_AT_ONCE = 200
"""Overviews that are read in one call of git."""


@cache
def queries() -> Mapping[str, str]:
    """The named queries of the ledger."""
    return read_queries("commonplace.journals.notebook", "ledger.sql")


class _Step(Struct, frozen=True, kw_only=True):
    """What of a history is gone, then what has come.

    Attributes:
        overviews: The links of each overview that may be another, by its section.
        whole: It takes the place of all that was.
        swept: What was removed of each entry that was swept and whose end changes.
    """

    gone: list[HistoryRow] = field(default_factory=list)
    come: list[HistoryRow] = field(default_factory=list)
    overviews: Mapping[str, Sequence[Link]] = field(default_factory=dict)
    whole: bool = False
    swept: list[dict[str, Any]] = field(default_factory=list)


class _NeedsWholeHistory(Exception):
    """Only the whole history says what the ledger must hold."""


class Ledger:
    """The entries of one repository's branch, in a database of ours. Thread-safe.

    An entry that has expired is in no list, nor beside another, nor in a chain of replaced ones:
    only its id or its hash leads to it. What asks it raises Unavailable or Denied where git or the
    disk refuses.
    """

    def __init__(self, repo: GitRepository, path: Path, clock: Clock) -> None:
        self._repo = repo
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._database: Database | None = None

    @property
    def exists(self) -> bool:
        """Whether its file is there; it is derived, and made when it is asked."""
        return self._path.exists()

    def close(self) -> None:
        """Close the file; may be called twice."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def rebuild(self) -> None:
        """Read the whole history again, in the place of all that is held."""
        head = self._repo.head().commit
        whole = self._whole(head)
        try:
            self._apply(whole, at=self._head(), head=head)
        except Corrupted:
            self.close()
            self._remove()
        self.catch_up()

    def erase(self) -> None:
        """Erase what the file still holds of entries that are gone."""
        with self._open().using() as conn, translated(self._path):
            erase(conn)

    def clear(self) -> None:
        """Leave nothing in it; the next question reads the history again."""
        self._apply(_Step(whole=True), at=self._head(), head="")
        self.erase()

    def clear_others(self) -> None:
        """Leave nothing in the ledgers beside this one: a notebook that moved leaves one behind.

        That of a notebook which is used still is filled again.
        """
        for other in self._others():
            other.clear()

    def sweep(self, entry_ids: Sequence[str]) -> None:
        """Remove what is held of the text of entries that have expired."""
        with self._open().using() as conn, translated(self._path):
            with transaction(conn):
                asked = [{"id": entry_id} for entry_id in entry_ids]
                changed = conn.executemany(queries()["sweep"], asked).rowcount
                changed += conn.executemany(queries()["sweep_elsewhere"], asked).rowcount
                conn.executemany(queries()["sweep_links"], asked)
            if changed > 0:
                erase(conn)

    def sweep_others(self, entry_ids: Sequence[str]) -> None:
        """The same for the ledgers beside this one."""
        for other in self._others():
            other.sweep(entry_ids)

    def _others(self) -> Iterator[Ledger]:
        """The ledgers beside this one, each open until the next."""
        for path in self._path.parent.glob("*.db"):
            if path != self._path:
                other = Ledger(self._repo, path, self._clock)
                try:
                    yield other
                finally:
                    other.close()

    def digest(self) -> str:
        """What it holds, as a hash: two ledgers that answer alike have the same one."""
        made = sha256()
        with self._open().using() as conn, translated(self._path):
            for query in ("all_entries", "all_moves", "held_links"):
                for row in conn.execute(queries()[query]):
                    made.update(repr(row).encode("utf-8", "surrogateescape"))
        return str(made.hexdigest())

    def catch_up(self, to: str | None = None) -> str:
        """Read what the history has more, or has in another's place; the commit it is at then.

        to: the commit whose history it is to hold; the branch's where none is named.
        """
        for _ in range(_TRIES):
            known = self._head()
            head = self._repo.head().commit if to is None else to
            if known == head:
                return head
            # No lock is held while git reads: the first process to come back files what it read.
            if self._apply(self._read(known, head), at=known, head=head):
                return head
        raise Unavailable(
            "The notebook {place} kept changing while it was read.",
            hint="Try again.",
            place=self._repo.folder,
        )

    def append(self, commit: Commit, overviews: Mapping[str, str]) -> None:
        """File one commit of ours, if the ledger stands at its parent; else it is read later.

        overviews: What it writes, by their sections.
        """
        parent = commit.parents[0] if commit.parents else ""
        links = {section: links_of(text) for section, text in overviews.items()}
        step = _Step(come=list(rows_of(commit)), overviews=links)
        self._apply(step, at=parent, head=commit.hash)

    def copy_to(self, path: Path) -> Ledger:
        """A ledger of its own that holds what this one holds now; the file must not be there."""
        copy = Ledger(self._repo, path, self._clock)
        with self._open().using() as conn, copy._open().using() as fresh, translated(path):
            conn.backup(fresh)
        return copy

    def total(self) -> int:
        """How many entries there are, each counted once in each of its sections."""
        return int(self.ask("total")[0][0])

    def count(self, section: str) -> int:
        """How many entries a section has, with those that have expired, as its file states it."""
        return int(self.ask("count", section=section)[0][0])

    def count_expired(self, section: str = "") -> int:
        """How many entries have expired, of a section or of all."""
        if not section:
            return int(self.ask("count_expired")[0][0])
        return int(self.ask("count_expired_of", section=section)[0][0])

    def list_expired(self) -> list[EntryLine]:
        """The entries that have expired, the last one first; without a summary once swept."""
        return lines_of(self.ask("expired"))

    def list_ends(self) -> list[EntryLine]:
        """The entries that expire and were not yet swept, the next first."""
        return lines_of(self.ask("set_ends"))

    def last_end_set(self, entry_id: str) -> datetime | None:
        """When the last commit was made that says when an entry expires; None for none."""
        at = self.ask("last_end_set", id=entry_id)[0][0]
        return None if at is None else _instant(at)

    def list_set_ends(self) -> list[str]:
        """The ids of the entries of which later commits say when they expire."""
        return [entry_id for (entry_id,) in self.ask("set_end_ids")]

    def list_left_replaced(self) -> dict[str, datetime]:
        """When each entry was replaced whose successor has expired, by its ref."""
        rows = self.ask("left_replaced")
        lines = lines_of(row[:_COLUMNS] for row in rows)
        return {x.ref: _instant(row[_COLUMNS]) for x, row in zip(lines, rows, strict=True)}

    def newest(self, section: str, *, start: int = 0, length: int = 1) -> list[EntryLine]:
        """Entries of a section, newest first."""
        return lines_of(self.ask("newest", section=section, start=start, length=length))

    def by_id(self, entry_id: str) -> list[EntryLine]:
        """The entry with an id; several lines for a commit by hand in several sections."""
        return lines_of(self.ask("by_id", id=entry_id))

    def by_id_start(self, start: str) -> list[EntryLine]:
        """The entries whose id begins so, at most 50."""
        return lines_of(self.ask("by_id_start", low=start, high=f"{start}g"))

    def newest_at(self, section: str) -> datetime | None:
        """When the newest entry of a section was, whether or not it has expired."""
        at = self.ask("newest_at", section=section)[0][0]
        return None if at is None else _instant(at)

    def find_successor(self, entry_id: str) -> EntryLine | None:
        """The entry that took the place of the one with this id, the newest of several."""
        return next(iter(lines_of(self.ask("successors", id=entry_id))), None)

    def list_expired_successors(self, entry_id: str) -> list[str]:
        """The ids of the entries that took the place of one, and have expired."""
        return [found for (found,) in self.ask("expired_successors", id=entry_id)]

    def find_former(self, entry_id: str) -> EntryLine | None:
        """The entry with an id that another names as replaced; None for none, and for an empty id.

        Where it has expired, the one whose place it had taken.
        """
        return next(iter(lines_of(self.ask("formers", id=entry_id))), None) if entry_id else None

    def list_replaced(self, section: str) -> list[ReplacedEntry]:
        """The replaced entries of a section with their successors, newest successors first."""
        rows = self.ask("replaced", section=section)
        olds = lines_of(row[:_COLUMNS] for row in rows)
        news = lines_of(row[_COLUMNS:-1] for row in rows)
        return [
            ReplacedEntry(former=old, successor=new, is_on_one_line=bool(row[-1]))
            for old, new, row in zip(olds, news, rows, strict=True)
        ]

    def list_backlinks(
        self, names: Sequence[str], entry_names: Sequence[str], *, length: int
    ) -> Backlinks:
        """The texts that link to a section, or to an entry of it: overviews, then the newest.

        names: Of the section, as links may have them; entry_names: the entry's id and hash, none
        for the section itself.
        """
        marks = json.dumps(beginnings_of(entry_names) or [""])
        targets = [
            {"section": section, "entry": entry}
            for section, entry in self.ask("link_targets", sections=json.dumps(names), marks=marks)
        ]
        overviews = {x for each in targets for (x,) in self.ask("linking_overviews", **each)}
        # What calls it by several names stands in the list of each of them.
        most = length if len(targets) == 1 else -1
        asked = (self.ask("linking_entries", **each, length=most) for each in targets)
        rows = {row[:2]: row for found in asked for row in found}
        newest = sorted(rows.values(), key=itemgetter(3, _COLUMNS), reverse=True)
        lines = lines_of(row[:_COLUMNS] for row in newest)
        count = len(lines)
        if len(targets) == 1:
            count = self.ask("count_linking", **targets[0])[0][0]
        texts = [
            *(LinkingText(section=name) for name in sorted(overviews)),
            *(LinkingText(section=each.section, line=each) for each in lines),
        ]
        return Backlinks(texts=tuple(texts[:length]), count=len(overviews) + count)

    def list_links(self) -> list[tuple[Link, LinkingText]]:
        """Each link of the overviews, and of the entries that hold, with where it stands."""
        found: list[tuple[Link, LinkingText]] = []
        for section, entry, *row in self.ask("all_links"):
            (line,) = lines_of([tuple(row)])
            source = LinkingText(section=line.section, line=line if line.id else None)
            found.append((Link(section, entry), source))
        return found

    def by_hash(self, prefix: str) -> list[EntryLine]:
        """The entries whose commit's hash begins so, at most 50."""
        return lines_of(self.ask("by_hash", low=prefix, high=f"{prefix}g"))

    def current_section(self, entry_id: str, named: str) -> str:
        """Where an entry is now that its commit puts into the section `named`."""
        found = self.ask("place", id=entry_id, named=named)
        return found[0][0] if found else named

    def number_of(self, entry_id: str) -> int:
        """Where an entry stands in the order in which they were written; 0 for an unknown one."""
        return int(self.ask("number", id=entry_id)[0][0])

    def shown_section(self, entry_id: str, named: str) -> str:
        """The same; empty for an entry that has expired."""
        found = self.ask("place", id=entry_id, named=named)
        if not found:
            return named
        section, expires = found[0]
        return section if expires > self._clock().timestamp() else ""

    def around(self, section: str, entry_id: str) -> tuple[EntryLine | None, EntryLine | None]:
        """The entries before and after one, in its section."""
        before = lines_of(self.ask("before", section=section, id=entry_id))
        after = lines_of(self.ask("after", section=section, id=entry_id))
        return next(iter(before), None), next(iter(after), None)

    def section_counts(self) -> dict[str, SectionCount]:
        """Each section that has an entry which has not expired."""
        rows = self.ask("section_counts")
        return {section: SectionCount(count, _instant(newest)) for section, count, newest in rows}

    def current_name(self, section: str) -> str:
        """What a section is called now; the name itself where it never moved."""
        return current_name(
            section, lambda old: next((new for (new,) in self.ask("moved_to", old=old)), None)
        )

    def names_of(self, section: str) -> list[str]:
        """What a section is called, and then what it was called before it was moved."""
        return names_of(section, self.ask("all_moves"))

    def now(self) -> float:
        """The present, in seconds since 1970."""
        return self._clock().timestamp()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Change what is held, all of it or nothing."""
        with self._open().using() as conn, translated(self._path), transaction(conn):
            yield conn

    def ask(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        """What one query finds."""
        asked = {"now": self.now(), **values}
        with self._open().using() as conn:
            return conn.execute(queries()[query], asked).fetchall()

    def _head(self) -> str:
        return str(self.ask("state")[0][1])

    def _read(self, known: str, head: str) -> _Step:
        """What leads from one commit's history to another's."""
        common = self._repo.merge_base(known, head) if known and head else ""
        if common:
            touched = set[str]()
            step = _Step(
                gone=[] if common == known else list(self._rows(known, touched, since=head)),
                come=list(self._rows(head, touched, since=known)),
            )
            if not self._needs_whole(step):
                if any(isinstance(x, MergeRow) for x in (*step.gone, *step.come)):
                    touched |= compare_trees(self._repo, known, head).keys()
                return replace(step, overviews=self._overview_links(head, touched))
        return self._whole(head)

    def _rows(self, head: str, touched: set[str], *, since: str) -> Iterator[HistoryRow]:
        """The rows of a history; the paths that its commits changed are added to those touched."""
        for commit in read_history(self._repo, head, since=since):
            touched.update(each.path for each in commit.touched)
            yield from rows_of(commit)

    def _overview_links(self, head: str, paths: Iterable[str]) -> dict[str, tuple[Link, ...]]:
        """The links of the overviews under these paths, by section; none where no file is left."""
        sections = sorted(x for path in paths if (x := find_section(path)) is not None)
        found: dict[str, tuple[Link, ...]] = {}
        for start in range(0, len(sections), _AT_ONCE):
            names = sections[start : start + _AT_ONCE]
            blobs = self._repo.read_blobs(head, [file_of(x) for x in names])
            for name, blob in zip(names, blobs, strict=True):
                content = blob.content if blob and blob.kind == "blob" else b""
                found[name] = links_of(parse_file(content).overview)
        return found

    def _whole(self, head: str) -> _Step:
        """A whole history, with each entry where the moves beside it have put it."""
        moves = MovedRows()
        commits = read_history(self._repo, head) if head else ()
        return _Step(
            come=[row for commit in commits for row in moves.rows_of(commit)],
            overviews=self._overview_links(head, self._repo.list_files(head)),
            whole=True,
        )

    def _needs_whole(self, step: _Step) -> bool:
        """Whether only the whole history says where entries are, as merges bring moves together.

        Every clone is to read the same, whatever it read before.
        """
        if any(isinstance(x, MoveRow) for x in step.gone):
            return True
        if not any(isinstance(x, MergeRow) for x in step.come):
            return False
        named = {x["named"] for x in step.come if isinstance(x, dict)}
        return any(isinstance(x, MoveRow) for x in step.come) or any(
            old in named for (old,) in self.ask("old_names")
        )

    def _apply(self, step: _Step, *, at: str, head: str) -> bool:
        """Take a step from one commit to another; False where the ledger is elsewhere by now."""
        if not step.whole:
            step.swept.extend(self._swept([*step.gone, *step.come]))
        try:
            with self._open().using() as conn, transaction(conn):
                if conn.execute(queries()["state"]).fetchone() != (_LAYOUT, at):
                    return False
                _take_step(conn, step)
                conn.execute(queries()["set_state"], {"head": head})
        except _NeedsWholeHistory:
            return self._apply(self._whole(head), at=at, head=head)
        return True

    def _swept(self, rows: Iterable[HistoryRow]) -> Iterator[dict[str, Any]]:
        """What was removed of swept entries whose ends change: they may be shown again."""
        for row in (x for x in rows if isinstance(x, EndRow)):
            for name, named, at in self.ask("swept", id=row.id):
                (blob,) = self._repo.read_objects([name])
                if blob is not None:
                    said = parse_message(parse_commit(name, blob.content).message)
                    links = entry_links(said.summary, said.text)
                    names = {"id": row.id, "named": named, "hash": name, "at": at}
                    yield {**names, "summary": said.summary, "links": links}

    def _open(self) -> Database:
        with self._lock:
            if self._database is None:
                make_folder(self._path.parent)
                try:
                    self._database = self._create_tables()
                except Corrupted:
                    self._remove()
                    self._database = self._create_tables()
            return self._database

    def _remove(self) -> None:
        """Remove the file: it is derived, and made again from the history."""
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.unlink(f"{self._path}{suffix}")

    def _create_tables(self) -> Database:
        database = Database(self._path, open_connection=partial(connect, synchronous="normal"))
        try:
            with database.using() as conn, translated(self._path), transaction(conn):
                conn.execute(queries()["create_state"])
                conn.execute(queries()["begin_state"], {"layout": _LAYOUT})
                is_known = conn.execute(queries()["state"]).fetchone()[0] == _LAYOUT
                for name in _TABLES if is_known else ():
                    conn.execute(queries()[f"create_{name}"])
        except BaseException:
            database.close()
            raise
        if not is_known:  # derived: nothing of another layout is worth keeping
            database.close()
            raise Corrupted("The ledger {place} has another layout.", place=self._path)
        return database


def _take_step(conn: sqlite3.Connection, step: _Step) -> None:
    """Take out what is gone, and file what has come. Raises: _NeedsWholeHistory."""
    sql = queries()
    gone = [x for x in step.gone if isinstance(x, dict)]
    for table in ("entries", "moves", "merges", "ends", "links") if step.whole else ():
        conn.execute(sql[f"clear_{table}"])
    # What our branch has lost other branches may hold: they are read again.
    for table in BRANCH_TABLES if step.whole or step.gone else ():
        conn.execute(sql[f"clear_{table}"])
    conn.executemany(sql["drop_copy"], gone)
    conn.executemany(sql["drop_gone"], gone)
    conn.executemany(sql["drop_gone_links"], gone)
    _add(conn, step.come)
    _put_links(conn, [x for x in step.come if isinstance(x, dict)])
    _put_links(
        conn, [{"id": "", "named": x, "at": 0, "links": y} for x, y in step.overviews.items()]
    )
    _settle_ends(conn, step)
    if any(conn.execute(sql["is_at"], x).fetchone() for x in gone):
        raise _NeedsWholeHistory  # another copy of it is left, and its hash is unknown


def _settle_ends(conn: sqlite3.Connection, step: _Step) -> None:
    """File the commits that say when entries expire, and what follows for those entries."""
    sql = queries()
    gone = [x for x in step.gone if isinstance(x, EndRow)]
    conn.executemany(sql["drop_end"], [{"hash": x.hash} for x in gone])
    come = [to_builtins(x) for x in step.come if isinstance(x, EndRow)]
    conn.executemany(sql["add_end"], come)
    if step.whole:
        conn.execute(sql["settle_ends"])
    elif gone or conn.execute(sql["has_ends"]).fetchone():
        rows = (*step.gone, *step.come)
        ids = {x.id for x in rows if isinstance(x, EndRow)}
        ids |= {x["id"] for x in rows if isinstance(x, dict)}
        conn.executemany(sql["settle_end"], [{"id": each} for each in ids])
    conn.executemany(sql["bring_back"], step.swept)
    _put_links(conn, step.swept)


def _put_links(conn: sqlite3.Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Put the links of texts in the place of those that they had."""
    sql = queries()
    conn.executemany(sql["drop_links"], rows)
    links = ({**row, "section": x.section, "entry": x.entry} for row in rows for x in row["links"])
    conn.executemany(sql["add_link"], links)


def _add(conn: sqlite3.Connection, rows: Iterable[HistoryRow]) -> None:
    """File entries, moves and merges, in the order of the history."""
    sql = queries()
    for is_entry, same in groupby(rows, lambda x: isinstance(x, dict)):
        if is_entry:
            conn.executemany(sql["add_entry"], (x for x in same if isinstance(x, dict)))
            continue
        for row in same:
            if isinstance(row, MoveRow):
                names = {"old": row.old, "new": row.new}
                conn.execute(sql["add_move"], names)
                conn.execute(sql["move_entries"], names)
            elif isinstance(row, MergeRow):
                conn.execute(sql["add_merge"])


def lines_of(rows: Iterable[tuple[Any, ...]]) -> list[EntryLine]:
    """Rows as lines: those of other branches have them, as JSON, at their end."""
    return [
        EntryLine(
            id=id_,
            section=section,
            hash=hash_,
            at=_instant(at),
            summary=summary,
            expires=None if expires == NEVER else _instant(expires),
            branches=tuple(json.loads(branches[0])) if branches else (),
        )
        for id_, section, hash_, at, summary, expires, *branches in rows
    ]


def _instant(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
