"""Owns chronicle's database: reads every generation, writes the newest as chronicle itself does.

Never changes a file in order to read it, and never writes what is not wholly chronicle's.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
import stat
import threading
from itertools import islice
from typing import TYPE_CHECKING

from commonplace.core.errors import Conflict, Invalid, NotFound, Unavailable
from commonplace.core.files import make_folder, translated
from commonplace.db.sqlite import (
    BUSY_S,
    Corrupted,
    Database,
    Frozen,
    connect,
    connect_read_only,
    snapshot,
    transaction,
)
from commonplace.journals.chronicle_event import JOURNAL, count_tags, parse_tags, render_tags
from commonplace.journals.chronicle_layouts import (
    SQL,
    Layout,
    Unreadable,
    admits,
    complete,
    detect,
    event_of,
    is_numbered,
    label_of,
    newest_first,
    seen_of,
)
from commonplace.journals.chronicle_seen import OwnWrites, Seen, Survey
from commonplace.journals.chronicle_times import columns_of, render_local

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from commonplace.journals.chronicle_event import (
        Changes,
        Draft,
        Event,
        Question,
        TagCount,
        Unless,
    )

UPGRADE_HINT = "Run `commonplace chronicle upgrade`; the original is kept beside it."

_NAME_ANOTHER = "Check CHRONICLE_DB_PATH, or move what is there away."
_LAYOUTS_KEPT = 16
_ABSENT = "absent"
_PAST_EVERY_ID = "\U0010ffff"


class ChronicleDatabase:
    """The entries in one database file, there or not; the file may be replaced at any time.

    zone: of the times written. patience_s: how long a lock of others is waited for. Thread-safe.
    """

    def __init__(self, path: Path, *, zone: tzinfo, patience_s: float = BUSY_S) -> None:
        self.path = path
        self.own = OwnWrites()
        self._zone = zone
        self._patience_ms = int(patience_s * 1000)
        self._lock = threading.Lock()
        self._files = path, path.with_name(f"{path.name}-wal")
        self._identity: tuple[int, int] | None = None
        self._frozen: set[str] = set()
        self._layouts: dict[int, Layout] = {}
        self._reader: Database | None = None
        self._writer: Database | None = None

    def close(self) -> None:
        """Let go of the file; may be called twice, and the next use opens it again."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        for each in (self._reader, self._writer):
            if each is not None:
                each.close()
        self._reader = self._writer = None
        self._identity = None
        self._frozen = set()
        self._layouts = {}

    def layout(self) -> Layout:
        """What the file is now. Raises: Invalid, Denied, Unavailable."""
        with self.reading() as (_, layout):
            return layout

    @contextlib.contextmanager
    def reading(self) -> Iterator[tuple[sqlite3.Connection, Layout]]:
        """One state of the database, read; of a file that is not there, an empty one."""
        reader = self._opened_to_read()
        if reader is None:
            with contextlib.closing(sqlite3.connect(":memory:")) as empty:
                yield empty, Layout(generation="new")
            return
        with self._explained(), reader.using() as conn, snapshot(conn):
            yield conn, self.layout_of(conn)

    @contextlib.contextmanager
    def writing(self, ref: str = "") -> Iterator[sqlite3.Connection]:
        """The write lock, and the newest layout under it; all that is done is done, or none.

        ref: the one entry that is written, so that the index need not look at all others.
        Raises: Conflict for an older generation; Invalid, Denied, Unavailable.
        """
        if not self._is_opened_to_write():
            # A first look that changes nothing: opening switches a file to WAL.
            self._refuse(self.layout())
        with self.connection_to_write() as conn:
            with transaction(conn):
                layout = self.layout_of(conn)
                self._refuse(layout)
                before, version = self.files_state(), _data_version(conn)
                if layout.generation != "D2" or not layout.whole:
                    complete(conn)
                yield conn
            after = self.files_state()
            # It stands still for our own commits: nobody else committed up to this look.
            if ref and _data_version(conn) == version:
                self.own.add(before, after, ref)

    @contextlib.contextmanager
    def connection_to_write(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection, outside a transaction. Raises: Invalid, Denied, Unavailable."""
        with self._explained(), self._opened_to_write().using() as conn:
            yield conn

    def _refuse(self, layout: Layout) -> None:
        if layout.is_written:
            return
        state = "half-upgraded" if layout.half_upgraded else "of an older chronicle"
        raise Conflict(
            f"{self.path} is {state} (generation {layout.generation}): it is read, not written.",
            hint=UPGRADE_HINT,
        )

    def _opened_to_read(self) -> Database | None:
        with self._lock:
            if self._identified() is None:
                return None
            self._reader = self._reader or Database(self.path, open_connection=self._to_read)
            return self._reader

    def _is_opened_to_write(self) -> bool:
        with self._lock:
            self._identified()
            return self._writer is not None

    def _opened_to_write(self) -> Database:
        with self._lock:
            if self._identified() is None:
                make_folder(self.path.parent)
                self._make_file()
                self._identified()
            self._writer = self._writer or Database(self.path, open_connection=self._to_write)
            return self._writer

    def _identified(self) -> tuple[int, int] | None:
        identity = self._look()
        # Another file lies under the name by now, or it changed where that could not be watched:
        # open connections would not see it.
        if identity != self._identity or (self._frozen and self._frozen != {self.files_state()}):
            self._let_go()
            self._identity = identity
        return identity

    def _make_file(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        # Only a file that nobody had before may be opened and closed: see `_look`.
        with contextlib.suppress(FileExistsError), translated(self.path):
            os.close(os.open(os.path.realpath(self.path), flags, 0o600))

    def _look(self) -> tuple[int, int] | None:
        """Which file lies under the name. Raises: Invalid for what is no file, Denied.

        It is asked for its names alone. To open it, were it only to read how it begins, is to
        close it again, and with that the system drops every lock this process holds on it: another
        process would take itself for the last one, and remove the journal file under a connection
        of ours. What is in the file, SQLite says.
        """
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return None
        except OSError as exc:
            if exc.errno == errno.ELOOP:
                message = f"{self.path} is a link that leads back to itself."
                raise Invalid(message, hint=_NAME_ANOTHER) from exc
            with translated(self.path):
                raise
        identity = found.st_dev, found.st_ino
        if identity != self._identity:
            if not stat.S_ISREG(found.st_mode):
                raise Invalid(f"{self.path} is no plain file.", hint=_NAME_ANOTHER)
            if not os.access(self.path, os.R_OK):
                with translated(self.path):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return identity

    def _to_read(self, path: Path) -> sqlite3.Connection:
        state = self.files_state()
        try:
            conn = connect_read_only(path)
        except Unavailable as exc:
            code = getattr(exc.__cause__, "sqlite_errorcode", 0)
            if code != sqlite3.SQLITE_READONLY_ROLLBACK:
                raise
            _roll_back(path)
            conn = connect_read_only(path)
        if isinstance(conn, Frozen):
            self._frozen.add(state)
        return self._prepared(conn)

    def _to_write(self, path: Path) -> sqlite3.Connection:
        return self._prepared(connect(path))

    def _prepared(self, conn: sqlite3.Connection) -> sqlite3.Connection:
        conn.execute(f"PRAGMA busy_timeout = {self._patience_ms}")
        conn.text_factory = bytes  # other programs' texts need not be UTF-8
        return conn

    def layout_of(self, conn: sqlite3.Connection) -> Layout:
        """What the database of an open connection is. Raises: Invalid."""
        version = conn.execute("PRAGMA schema_version").fetchone()[0]
        layout = self._layouts.get(version)
        if layout is None:
            layout = detect(conn, self.path)
            if len(self._layouts) >= _LAYOUTS_KEPT:
                self._layouts.clear()
            self._layouts[version] = layout
        return layout

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except Corrupted as exc:
            code = getattr(exc.__cause__, "sqlite_errorcode", 0)
            if code == sqlite3.SQLITE_NOTADB:
                raise Invalid(
                    f"{self.path} is no SQLite database.",
                    hint="Check CHRONICLE_DB_PATH; if it was one, restore it from a backup.",
                ) from exc
            if code == sqlite3.SQLITE_CORRUPT_VTAB:
                message = f"{self.path} has a word index that does not fit its entries."
                raise Corrupted(message, hint="Run `commonplace doctor --repair`.") from exc
            raise Corrupted(
                exc.message, hint="Check CHRONICLE_DB_PATH, or restore the file from a backup."
            ) from exc
        except sqlite3.OperationalError as exc:
            raise Unavailable(
                f"{self.path} cannot be used: its tables or triggers are not as chronicle makes"
                " them.",
                hint="Run `commonplace doctor`, or check CHRONICLE_DB_PATH.",
            ) from exc

    def find(self, wanted: str) -> Event:
        """The one entry with this id, or whose id alone begins so.

        Raises: NotFound, Invalid for several, Unavailable.
        """
        with self.reading() as (conn, layout):
            return event_of(self._row(conn, layout, wanted))

    def _row(self, conn: sqlite3.Connection, layout: Layout, wanted: str) -> tuple[object, ...]:
        for rows in self._searches(conn, layout, wanted):
            if len(rows) > 1:
                raise Invalid(
                    f"Several entries have an id that begins with {wanted!r}.",
                    hint="Give more of the id.",
                )
            if rows:
                return self._readable(rows[0])
        raise NotFound(
            f"No entry {JOURNAL}:{wanted}.", hint="List or search to see the ids there are."
        )

    def _readable(self, row: tuple[object, ...]) -> tuple[object, ...]:
        try:
            event_of(row)
        except Unreadable as exc:
            raise Unavailable(
                f"The entry {label_of(row)} of {self.path} cannot be read: {exc}",
                hint="Mend it with the program that wrote it.",
            ) from exc
        return row

    def _searches(
        self, conn: sqlite3.Connection, layout: Layout, wanted: str
    ) -> Iterator[list[tuple[object, ...]]]:
        if layout.generation == "new":
            return
        for spelled in dict.fromkeys((wanted, wanted.lower())):
            yield conn.execute(layout.reading("where_id"), {"id": spelled}).fetchall()
        if layout.generation == "D2" and wanted.isascii() and wanted.isdecimal():
            # A number of the first generation, asked for after the upgrade.
            number = min(int(wanted), 2**63 - 1)
            rows = conn.execute(layout.reading("where_row"), {"rowid": number}).fetchall()
            yield [row for row in rows if is_numbered(row)]
        if layout.generation != "A":
            for low in dict.fromkeys((wanted, wanted.lower())):
                bounds = {"low": low, "high": low + _PAST_EVERY_ID}
                yield conn.execute(layout.reading("where_prefix"), bounds).fetchall()

    def newest(self, limit: int, question: Question) -> list[Event]:
        """The newest entries that are asked for, newest first. Raises: Unavailable, Invalid."""
        with self.reading() as (conn, layout):
            return list(islice(_asked_for(conn, layout, question), limit))

    def add(self, draft: Draft, *, unless: Unless | None = None) -> tuple[Event, bool]:
        """Write an entry; (what was there, True) where its id is taken, or it is needless.

        Raises: Conflict, Invalid, Denied, Unavailable.
        """
        with self.writing(f"{JOURNAL}:{draft.id}") as conn:
            if unless is not None:
                there = _asked_for(conn, Layout(generation="D2"), unless.question)
                same = next(filter(unless.is_same, there), None)
                if same is not None:
                    return same, True
            try:
                rowid = conn.execute(SQL["add_entry"], self._columns(draft)).lastrowid
            except sqlite3.IntegrityError as exc:
                _refuse_all_but_taken(exc, self.path)
                return event_of(self._row(conn, Layout(generation="D2"), draft.id)), True
            return self._read_row(conn, rowid), False

    def add_all(self, drafts: Sequence[Draft]) -> int:
        """Write entries in one transaction, less those whose id is taken; how many were written.

        Raises: as add; then none is written.
        """
        added = 0
        with self.writing() as conn:
            for draft in drafts:
                try:
                    conn.execute(SQL["add_entry"], self._columns(draft))
                except sqlite3.IntegrityError as exc:
                    _refuse_all_but_taken(exc, self.path)
                    continue
                added += 1
        return added

    def _columns(self, draft: Draft) -> dict[str, object]:
        seconds, nanosecond = columns_of(draft.instant)
        return {
            "id": draft.id,
            "timestamp": render_local(draft.instant, self._zone),
            "seconds": seconds,
            "nanosecond": nanosecond,
            "message": draft.message,
            "hostname": draft.hostname,
            "username": draft.username,
            "directory": draft.directory,
            "tags": render_tags(draft.tags),
        }

    def _read_row(self, conn: sqlite3.Connection, rowid: object) -> Event:
        reading = Layout(generation="D2").reading("where_row")
        return event_of(conn.execute(reading, {"rowid": rowid}).fetchone())

    def edit(self, wanted: str, changes: Changes, *, expected: str | None) -> Event:
        """Change an entry in place; its parts that are not named stay byte for byte.

        Raises: NotFound, Conflict where it is not `expected` any more, Invalid, Unavailable.
        """
        event = self.find(wanted)
        with self.writing(event.ref) as conn:
            rowid = self._current(conn, event.id, expected).place
            if changes.message is not None:
                conn.execute(SQL["set_message"], {"rowid": rowid, "message": changes.message})
            if changes.tags is not None:
                tags = render_tags(changes.tags)
                conn.execute(SQL["set_tags"], {"rowid": rowid, "tags": tags})
            if changes.instant is not None:
                seconds, nanosecond = columns_of(changes.instant)
                time = {
                    "rowid": rowid,
                    "timestamp": render_local(changes.instant, self._zone),
                    "seconds": seconds,
                    "nanosecond": nanosecond,
                }
                conn.execute(SQL["set_time"], time)
            return self._read_row(conn, rowid)

    def delete(self, wanted: str, *, expected: str | None) -> Event:
        """Remove an entry; answers what it was. Raises: as edit."""
        event = self.find(wanted)
        with self.writing(event.ref) as conn:
            event = self._current(conn, event.id, expected)
            conn.execute(SQL["drop_entry"], {"rowid": event.place})
            return event

    def _current(self, conn: sqlite3.Connection, identity: str, expected: str | None) -> Event:
        event = event_of(self._row(conn, Layout(generation="D2"), identity))
        if expected is not None and event.stamp != expected:
            raise Conflict(f"{event.ref} was changed meanwhile.", hint="Read it again, then write.")
        return event

    def last_of(self, hostname: str, username: str) -> Event:
        """The entry that a user of a machine added last. Raises: NotFound, Unavailable."""
        author = {"hostname": hostname, "username": username}
        with self.reading() as (conn, layout):
            if layout.generation != "new":
                row = conn.execute(SQL["find_last_of"], author).fetchone()
                if row is not None:
                    rows = conn.execute(layout.reading("where_row"), {"rowid": row[0]}).fetchall()
                    return event_of(self._readable(rows[0]))
        raise NotFound(f"{username} has no entry in {self.path} from {hostname}.")

    def tags(self) -> list[TagCount]:
        """All tags, most frequent first. Raises: Unavailable, Invalid."""
        with self.reading() as (conn, layout):
            if layout.generation == "new":
                return []
            has_rows = layout.generation in {"A", "B"}
            rows = conn.execute(SQL["count_tag_rows" if has_rows else "count_tag_columns"])
            texts = [((tags or b"").decode("utf-8", "replace"), count) for tags, count in rows]
        if has_rows:
            return count_tags(((tag,) if tag else (), count) for tag, count in texts)
        return count_tags((parse_tags(text), count) for text, count in texts)

    def get(self, identity: str) -> Event | None:
        """The entry with just this id, if there is one that can be read."""
        with self.reading() as (conn, layout):
            if layout.generation == "new":
                return None
            row = conn.execute(layout.reading("where_id"), {"id": identity}).fetchone()
            with contextlib.suppress(Unreadable):
                return None if row is None else event_of(row)
        return None

    def changed_ns(self) -> int:
        """When the files changed last, by the disk's clock."""
        return max((x.st_mtime_ns for x in map(_stat, self._files) if x), default=0)

    def files_state(self) -> str:
        """Size and mtime of the file and of what waits beside it; changes with every commit."""
        found = [_stat(x) for x in self._files]
        # An empty -wal comes and goes with whoever looks.
        return "/".join(f"{x.st_size}:{x.st_mtime_ns}" if x and x.st_size else "0" for x in found)

    def mark(self) -> str:
        """The state of the files, and the count of entries and their highest number.

        max(updated_at) is left out: it takes 15 ms at 100,000 entries, these three take 1 ms.
        """
        with self.reading() as (conn, layout):
            if layout.generation == "new":
                return _ABSENT
            count, highest = conn.execute(SQL["count_entries"]).fetchone()
            return f"{self.files_state()} {count}:{highest}"

    def survey(self) -> Survey:
        """One pass over all entries: their instants and stamps. Raises: Unavailable, Invalid."""
        survey = Survey({}, [])
        with self.reading() as (conn, layout):
            if layout.generation == "new":
                return survey
            for row in conn.execute(layout.reading("")):
                try:
                    instant, stamp = seen_of(row)
                except Unreadable as exc:
                    survey.unreadable.append((label_of(row), str(exc)))
                    continue
                ref = f"{JOURNAL}:{row[4].decode('utf-8', 'replace')}"
                survey.seen[ref] = Seen(instant, stamp, row[0])
        return survey

    def read_many(self, keys: Sequence[object]) -> list[Event]:
        """The entries under keys of a survey; what is gone or broken by now is left out."""
        with self.reading() as (conn, layout):
            if layout.generation == "new":
                return []
            rowids = {"rowids": json.dumps(list(keys))}
            found = []
            for row in conn.execute(layout.reading("where_rows"), rowids):
                with contextlib.suppress(Unreadable):
                    found.append(event_of(row))
            return found


def _asked_for(conn: sqlite3.Connection, layout: Layout, question: Question) -> Iterator[Event]:
    """The entries that are asked for, newest first; reads no more than are taken."""
    for instant, place, row in newest_first(conn, layout, question.below[0] + 1):
        if instant < question.start:
            return
        if (instant, place) < question.below and admits(question, row):
            yield event_of(row)


def _roll_back(path: Path) -> None:
    """Let SQLite take back what a killed writer left half done. Raises: Unavailable."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with contextlib.closing(sqlite3.connect(uri, timeout=BUSY_S, uri=True)) as conn:
            conn.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as exc:
        raise Unavailable(
            f"{path} holds a write that broke off, and it cannot be taken back from here.",
            hint="Open it once as somebody who may write there.",
        ) from exc


def _refuse_all_but_taken(exc: sqlite3.IntegrityError, path: Path) -> None:
    """Let pass that an id is taken; a rule that somebody added to the table is none of ours."""
    if exc.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_UNIQUE:
        raise Unavailable(
            f"{path} refuses the entry: its tables have a rule that is not chronicle's.",
            hint="Look for triggers and checks on its table `entries`.",
        ) from exc


def _data_version(conn: sqlite3.Connection) -> int:
    return int(conn.execute("PRAGMA data_version").fetchone()[0])


def _stat(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
