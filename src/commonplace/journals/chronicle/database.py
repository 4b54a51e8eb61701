"""Owns chronicle's database: reads and writes the newest layout as chronicle itself does.

Never changes a file in order to read it, and never writes what is not wholly chronicle's.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.errors import CommonplaceError, Conflict, NotFound, Unavailable, has_changed
from commonplace.core.expiring import nothing_hidden
from commonplace.db.hiding import HiddenRows
from commonplace.db.sqlite import BUSY_S, erase, snapshot, transaction, translated
from commonplace.journals.chronicle.entry_stamps import EntryStamps, LocalWrites, SeenEvent
from commonplace.journals.chronicle.event import (
    JOURNAL,
    NEVER,
    SUPERSEDES,
    Mention,
    ambiguous_id,
    count_tags,
    held_of,
    links_to,
    parse_tags,
    relinked,
    render_tags,
    said_with_tags,
    successors_among,
)
from commonplace.journals.chronicle.file import ChronicleFile, explained
from commonplace.journals.chronicle.layouts import (
    SQL,
    Layout,
    Unreadable,
    admits,
    complete,
    detect,
    event_of,
    id_of,
    instant_in,
    is_numbered,
    label_of,
    newest_first,
    oldest_first,
    readable_events,
    seen_of,
    text_of,
    written,
)
from commonplace.journals.chronicle.times import columns_of, render_created, render_local

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from commonplace.core.expiring import Hidden
    from commonplace.core.project_folders import ProjectFolders
    from commonplace.journals.chronicle.event import (
        Changes,
        Event,
        EventDraft,
        EventQuery,
        TagCount,
        UnlessSaid,
    )
    from commonplace.journals.chronicle.words import Words

UPGRADE_HINT = "Run `commonplace chronicle upgrade`; the original is kept beside it."

SURVEYED = 10_000
"""How many of the entries that were written last are looked at for those of a project."""

_LAYOUTS_KEPT = 16
_log = logging.getLogger(__name__)
_ABSENT = "absent"
_PAST_EVERY_ID = "\U0010ffff"


class _Write(NamedTuple):
    """How a write of ours left the files, while a connection's data version stands still."""

    conn: sqlite3.Connection
    version: int
    state: str


class ChronicleDatabase:
    """The entries in one database file, there or not; the file may be replaced at any time.

    Thread-safe.

    Args:
        zone: Of the times written.
        patience_s: How long a lock of others is waited for.
        hidden: Gives the refs that no reader may see.
        only_ours: Whether no other program writes, so that the numbers given tell of every write.
    """

    def __init__(
        self,
        path: Path,
        *,
        zone: tzinfo,
        patience_s: float = BUSY_S,
        hidden: Hidden = nothing_hidden,
        only_ours: bool = False,
    ) -> None:
        self.path = path
        self.only_ours = only_ours
        self._rows = HiddenRows(hidden, lambda: {"entries": SQL["visible_entries"]})
        self.local_writes = LocalWrites()
        self._zone = zone
        self._file = ChronicleFile(path, patience_s=patience_s)
        self._last: _Write | None = None
        self._tagged: tuple[str, list[TagCount]] | None = None

    def close(self) -> None:
        """Close the file; may be called twice, and the next use opens it again."""
        self._file.close()

    def layout(self) -> Layout:
        """What the file is now. Raises: Invalid, Denied, Unavailable."""
        with self.examining() as (_, layout):
            return layout

    @contextlib.contextmanager
    def reading(self) -> Iterator[tuple[sqlite3.Connection, Layout]]:
        """One state of the entries; of a file that is not there or empty, an empty newest layout.

        Raises: Conflict for an older generation, else as `layout`.
        """
        with self.examining() as (conn, layout):
            self._refuse_older(layout)
            if layout.generation == "new":
                with contextlib.closing(sqlite3.connect(":memory:")) as empty:
                    complete(empty)
                    yield empty, Layout(generation="D2")
                return
            self._rows.hide(conn)
            yield conn, layout

    @contextlib.contextmanager
    def examining(self) -> Iterator[tuple[sqlite3.Connection, Layout]]:
        """One state of a database of any generation; of a file that is not there, an empty one."""
        reader = self._file.to_read()
        if reader is None:
            with contextlib.closing(sqlite3.connect(":memory:")) as empty:
                yield empty, Layout(generation="new")
            return
        with explained(self.path), reader.using() as conn, snapshot(conn):
            self._rows.show(conn)
            yield conn, self.layout_of(conn)

    @contextlib.contextmanager
    def writing(
        self, refs: Sequence[str] = (), *, erases: bool = False
    ) -> Iterator[sqlite3.Connection]:
        """The write lock, and the newest layout under it; all that is done is done, or none.

        refs: all that is written, so that the index looks at no other; they may grow meanwhile.
        erases: nothing of what is deleted stays in the file, unless another program reads it now.
        Raises: Conflict for an older generation; Invalid, Denied, Unavailable.
        """
        writer = self._file.opened_to_write()
        if writer is None:
            # A first look that changes nothing: opening switches a file to WAL.
            self._refuse_older(self.layout())
            writer = self._file.to_write()
        with explained(self.path), writer.using() as conn:
            with transaction(conn):
                layout = self.layout_of(conn)
                self._refuse_older(layout)
                last, version = self._last, _data_version(conn)
                # As our last write left it, unless another process committed since.
                is_ours = last is not None and (last.conn, last.version) == (conn, version)
                before = last.state if last and is_ours else self._file.state()
                if layout.generation != "D2" or not layout.whole:
                    complete(conn)
                given = self.numbered_state(conn) if self.only_ours else ""
                changes = conn.total_changes
                yield conn
                then = self._number(conn, given) if conn.total_changes > changes else given
                if erases:
                    conn.execute(SQL["merge_words"])
            if erases:
                self._erase(conn)
            if not self.only_ours:
                given, then = before, self._file.state()
                # It stands still for our own commits: nobody else committed up to this look.
                if _data_version(conn) != version:
                    return
                self._last = _Write(conn, version, then)
            if refs and not (self.only_ours and then == given):
                self.local_writes.add(given, then, *refs)

    def _number(self, conn: sqlite3.Connection, given: str) -> str:
        """Give a write that added no entry a number as well; the state that it leaves.

        No write of ours adds entries and alters others as well: the number would not tell of these.
        """
        if given and self.numbered_state(conn) == given:
            conn.execute(SQL["raise_sequence"])
        return self.numbered_state(conn) if given else ""

    @contextlib.contextmanager
    def connection_to_write(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection, outside a transaction. Raises: Invalid, Denied, Unavailable."""
        with explained(self.path), self._file.to_write().using() as conn:
            yield conn

    def erase(self) -> None:
        """Leave nothing of what was deleted or altered in the file, unless it is being read.

        A file that may not be written, or that an older chronicle made, stays as it is; none is
        made where there is none.
        """
        with contextlib.suppress(CommonplaceError):
            layout = self.layout()
            if layout.is_current and layout.generation != "new":
                with self.connection_to_write() as conn:
                    self._erase(conn)

    def _erase(self, conn: sqlite3.Connection) -> None:
        with contextlib.suppress(CommonplaceError), translated(self.path):
            if erase(conn):
                return
        _log.warning(
            "%s is in use: bytes of what was deleted stay in it until the next deletion.", self.path
        )

    def _refuse_older(self, layout: Layout) -> None:
        if layout.is_current:
            return
        state = "half-upgraded" if layout.half_upgraded else "of an older chronicle"
        raise Conflict(
            f"The database {{place}} is {state} (generation {layout.generation}): it is used once"
            " it is upgraded.",
            hint=UPGRADE_HINT,
            place=self.path,
        )

    def layout_of(self, conn: sqlite3.Connection) -> Layout:
        """What the database of an open connection is. Raises: Invalid."""
        version = conn.execute("PRAGMA schema_version").fetchone()[0]
        layouts = self._file.layouts
        layout = layouts.get(version)
        if layout is None:
            layout = detect(conn, self.path)
            if len(layouts) >= _LAYOUTS_KEPT:
                layouts.clear()
            layouts[version] = layout
        return layout

    def find(self, wanted: str) -> Event:
        """The one entry with this id, or whose id alone begins so.

        Raises: NotFound, Invalid for several, Unavailable.
        """
        with self.reading() as (conn, layout):
            return event_of(self._row(conn, layout, wanted))

    def _row(self, conn: sqlite3.Connection, layout: Layout, wanted: str) -> tuple[object, ...]:
        for rows in self._searches(conn, layout, wanted):
            if len(rows) > 1:
                raise ambiguous_id(wanted, [id_of(row) for row in rows])
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
                f"The entry {label_of(row)} of {{place}} cannot be read: {exc}",
                hint="Mend it with the program that wrote it.",
                place=self.path,
            ) from exc
        return row

    def _searches(
        self, conn: sqlite3.Connection, layout: Layout, wanted: str
    ) -> Iterator[list[tuple[object, ...]]]:
        for spelled in dict.fromkeys((wanted, wanted.lower())):
            yield conn.execute(layout.reading("where_id"), {"id": spelled}).fetchall()
        if layout.generation == "D2" and wanted.isascii() and wanted.isdecimal():
            # A number of the first generation, asked for after the upgrade.
            number = min(int(wanted), 2**63 - 1)
            rows = conn.execute(layout.reading("where_row"), {"rowid": number}).fetchall()
            yield [row for row in rows if is_numbered(row)]
        for low in dict.fromkeys((wanted, wanted.lower())):
            bounds = {"low": low, "high": low + _PAST_EVERY_ID}
            yield conn.execute(layout.reading("where_prefix"), bounds).fetchall()

    def newest(self, limit: int, question: EventQuery) -> list[Event]:
        """The newest entries that are asked for, newest first. Raises: Unavailable, Invalid."""
        with self.reading() as (conn, layout):
            return list(islice(_matching(conn, layout, question), limit))

    def newest_of(self, project: ProjectFolders, limit: int) -> list[Event]:
        """The newest entries of a project that no later one took the place of, newest first.

        Of the SURVEYED entries that were written last. Raises: Unavailable, Invalid.
        """
        with self.reading() as (conn, layout):
            if layout.generation == "D2" and layout.whole:
                match = f"tags : {SUPERSEDES.removesuffix(':')}"
                asked: dict[str, object] = {"surveyed": SURVEYED, "match": match}
                tags = conn.execute(SQL["list_links"], asked)
                links = {tag for (x,) in tags for tag in parse_tags(x.decode("utf-8", "replace"))}
                asked |= {"folders": json.dumps(project.folders), "limit": 2 * limit}
                rows = conn.execute(layout.reading("newest_in_folders"), asked)
                found = [*readable_events(rows)]
            else:
                timed = newest_first(conn, layout, NEVER)
                found = [event_of(x.row) for x in islice(timed, SURVEYED)]
                links = {tag for event in found for tag in event.tags}
            return [*islice(held_of(found, project, links), limit)]

    def oldest(self, limit: int, after: tuple[int, int]) -> list[Event]:
        """The entries after an (instant, place), oldest first. Raises: Unavailable, Invalid."""
        with self.reading() as (conn, layout):
            timed = oldest_first(conn, layout, after[0])
            later = (x.row for x in timed if (x.instant, x.place) > after)
            return [*islice(readable_events(later), limit)]

    def mentions(self, words: Words, question: EventQuery) -> list[Mention]:
        """The entries asked for that bear every word, newest first. Raises: Unavailable, Invalid.

        Looks at all messages: 0.1 s at 100,000 entries, 0.4 s where a third bear the words.
        """
        found = []
        with self.reading() as (conn, layout):
            rows = conn.execute(SQL["list_messages"], {"beginning": words.beginning})
            among = words.among((row[0], said_with_tags(text_of(row[1]), row[2])) for row in rows)
            rowids = {"rowids": json.dumps(among)}
            for row in conn.execute(layout.reading("where_rows"), rowids):
                with contextlib.suppress(Unreadable):
                    found.append((instant_in(row), row[0], row[4].decode("utf-8", "replace")))
        found.sort(reverse=True)
        return [
            Mention(f"{JOURNAL}:{identity}", instant)
            for instant, place, identity in found
            if question.start <= instant and (instant, place) < question.below
        ]

    def find_successors(self, ids: Sequence[str]) -> dict[str, Event]:
        """The newest entry that took the place of each, by its id. Raises: Unavailable, Invalid.

        By chronicle's own word index: 0.1 ms an id at 100,000 entries, where a pass over all tags
        takes 300 ms on a busy machine. A layout without that index takes one pass for all ids.
        """
        if not ids:
            return {}
        with self.reading() as (conn, layout):
            if layout.generation == "D2" and layout.whole:
                reading = layout.reading("where_tag_words")
                links = [f"{SUPERSEDES}{each}".replace('"', '""') for each in ids]
                asked = [{"match": f'tags : "{link}"'} for link in links]
            else:
                reading, asked = layout.reading("where_tag"), [{"tag": SUPERSEDES}]
            rows = (row for each in asked for row in conn.execute(reading, each))
            return successors_among(readable_events(rows), ids)

    def after(self, event: Event) -> Event | None:
        """The entry that follows this one in time. Raises: Unavailable, Invalid."""
        with self.reading() as (conn, layout):
            for instant, place, row in oldest_first(conn, layout, event.instant):
                if (instant, place) > (event.instant, event.place):
                    return event_of(row)
        return None

    def add(self, draft: EventDraft, *, unless: UnlessSaid | None = None) -> tuple[Event, bool]:
        """Write an entry; (what was there, True) where its id is taken, or it is needless.

        Raises: Conflict, Invalid, Denied, Unavailable.
        """
        columns = self._columns(draft)
        with self.writing([f"{JOURNAL}:{draft.id}"]) as conn:
            if unless is not None:
                there = _matching(conn, Layout(generation="D2"), unless.question)
                same = next(filter(unless.is_same, there), None)
                if same is not None:
                    return same, True
            try:
                place = conn.execute(SQL["add_entry"], columns).lastrowid or 0
            except sqlite3.IntegrityError as exc:
                _refuse_unless_id_is_taken(exc, self.path)
                return event_of(self._row(conn, Layout(generation="D2"), draft.id)), True
        return written(draft, str(columns["tags"]), place), False

    def add_all(self, drafts: Sequence[EventDraft], *, on_added: Callable[[Event], None]) -> int:
        """Write entries in one transaction, less those whose id is taken; how many were written.

        on_added: called with each once all are written. Raises: as add; then none is written.
        """
        added = []
        with self.writing() as conn:
            for draft in drafts:
                columns = self._columns(draft)
                try:
                    place = conn.execute(SQL["add_entry"], columns).lastrowid or 0
                except sqlite3.IntegrityError as exc:
                    _refuse_unless_id_is_taken(exc, self.path)
                    continue
                added.append(written(draft, str(columns["tags"]), place))
        for event in added:
            on_added(event)
        return len(added)

    def stamp_for(self, draft: EventDraft) -> str:
        """The stamp that an entry will have."""
        return written(draft, render_tags(draft.tags), 0).stamp

    def _columns(self, draft: EventDraft) -> dict[str, object]:
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
            "created_at": render_created(draft.written),
        }

    def edit(self, wanted: str, changes: Changes, *, expected: str | None) -> Event:
        """Change an entry in place; its parts that are not named stay byte for byte.

        Raises: NotFound, Conflict where it is not `expected` any more, Invalid, Unavailable.
        """
        event = self.find(wanted)
        erased = (changes.message, changes.tags, changes.directory)
        erases = any(each is not None for each in erased)
        with self.writing([event.ref], erases=erases) as conn:
            rowid = self._current(conn, event.id, expected).place
            if changes.message is not None:
                conn.execute(SQL["set_message"], {"rowid": rowid, "message": changes.message})
            if changes.tags is not None:
                tags = render_tags(changes.tags)
                conn.execute(SQL["set_tags"], {"rowid": rowid, "tags": tags})
            if changes.directory is not None:
                folder = {"rowid": rowid, "directory": changes.directory}
                conn.execute(SQL["set_directory"], folder)
            if changes.instant is not None:
                seconds, nanosecond = columns_of(changes.instant)
                time = {
                    "rowid": rowid,
                    "timestamp": render_local(changes.instant, self._zone),
                    "seconds": seconds,
                    "nanosecond": nanosecond,
                }
                conn.execute(SQL["set_time"], time)
            reading = Layout(generation="D2").reading("where_row")
            return event_of(conn.execute(reading, {"rowid": rowid}).fetchone())

    def delete(self, wanted: str, *, expected: str | None) -> Event:
        """Remove an entry; answers what it was. Raises: as edit."""
        event = self.find(wanted)
        refs = [event.ref]
        with self.writing(refs, erases=True) as conn:
            event = self._current(conn, event.id, expected)
            conn.execute(SQL["drop_entry"], {"rowid": event.place})
            refs += self._close_chain(conn, [event])
            return event

    def delete_all(self, stamps: Mapping[str, str]) -> list[Event]:
        """Remove entries in one transaction, less those whose stamp is another by now.

        Answers what is gone. Raises: Conflict, Invalid, Denied, Unavailable; then all are there.
        """
        gone = []
        with self.writing(erases=True) as conn:
            ids = {"ids": json.dumps([*stamps])}
            rows = conn.execute(Layout(generation="D2").reading("where_ids"), ids).fetchall()
            for event in readable_events(rows):
                if event.stamp == stamps[event.id]:
                    conn.execute(SQL["drop_entry"], {"rowid": event.place})
                    gone.append(event)
            self._close_chain(conn, gone)
        return gone

    def hand_over(self, take: Callable[[Sequence[Event]], object]) -> None:
        """Give all entries away, expired ones too, and remove them.

        Under the write lock: what another process writes comes before, or stays. take: keeps them;
        where it raises, all stay. Raises: as delete; Unavailable for an entry that cannot be read.
        """
        with self.writing(erases=True) as conn:
            rows = conn.execute(Layout(generation="D2").reading("")).fetchall()
            events = [event_of(self._readable(row)) for row in rows]
            take(events)
            for event in events:
                conn.execute(SQL["drop_entry"], {"rowid": event.place})

    def _close_chain(self, conn: sqlite3.Connection, gone: Sequence[Event]) -> list[str]:
        """Link the entries that replaced deleted ones to what those had replaced; their refs."""
        refs = []
        reading = Layout(generation="D2").reading("where_tag")
        for link, first in links_to(gone).items():
            for later in readable_events(conn.execute(reading, {"tag": link}).fetchall()):
                tags = relinked(later, link, first)
                if tags != later.tags:
                    changes = {"rowid": later.place, "tags": render_tags(tags)}
                    conn.execute(SQL["set_tags"], changes)
                    refs.append(later.ref)
        return refs

    def _current(self, conn: sqlite3.Connection, identity: str, expected: str | None) -> Event:
        event = event_of(self._row(conn, Layout(generation="D2"), identity))
        if expected is not None and event.stamp != expected:
            raise has_changed(event.ref)
        return event

    def tags(self) -> list[TagCount]:
        """All tags, most frequent first. Raises: Unavailable, Invalid.

        Counted again once the files changed: over 30,000 entries that is four fifths of the time
        that the page of a search takes.
        """
        at = self.mark()  # before the rows: what is written in between is counted the next time
        if self._tagged is None or self._tagged[0] != at:
            with self.reading() as (conn, _):
                rows = conn.execute(SQL["count_tag_columns"])
                texts = [((tags or b"").decode("utf-8", "replace"), count) for tags, count in rows]
            self._tagged = at, count_tags((parse_tags(text), count) for text, count in texts)
        return [*self._tagged[1]]

    def get(self, identity: str) -> Event | None:
        """The entry with just this id, if there is one that can be read."""
        with self.reading() as (conn, layout):
            rows = conn.execute(layout.reading("where_id"), {"id": identity})
            return next(readable_events(rows), None)

    def get_many(self, identities: Sequence[str]) -> list[Event]:
        """The entries with just these ids that there are, in no order."""
        with self.reading() as (conn, layout):
            ids = {"ids": json.dumps(identities)}
            return [*readable_events(conn.execute(layout.reading("where_ids"), ids))]

    def changed_ns(self) -> int:
        """When the files changed last, by the disk's clock."""
        return self._file.changed_ns()

    def files_state(self) -> str:
        """Size and mtime of the file and of what waits beside it; changes with every commit."""
        return self._file.state()

    def mark(self) -> str:
        """The state of the files, and the count of entries and their highest number.

        max(updated_at) is left out: it takes 15 ms at 100,000 entries, these three take 1 ms.
        """
        return self._mark(lambda _conn: self._file.state())

    def numbered_mark(self) -> str:
        """As `mark`, by the numbers that were given in place of the state of the files."""
        return self._mark(self.numbered_state)

    def _mark(self, state_of: Callable[[sqlite3.Connection], str]) -> str:
        with self.examining() as (conn, layout):
            self._refuse_older(layout)
            if layout.generation == "new":
                return _ABSENT
            self._rows.hide(conn)
            count, highest = conn.execute(SQL["count_entries"]).fetchone()
            state = state_of(conn) if layout.generation == "D2" else self._file.state()
            return f"{state} {count}:{highest}"

    def numbered_state(self, conn: sqlite3.Connection) -> str:
        """Which file it is, and the highest number that it ever gave."""
        return f"{self._file.number}#{_highest_given(conn)}"

    def count(self) -> int:
        """How many entries there are. Raises: Unavailable, Invalid."""
        with self.reading() as (conn, _):
            return int(conn.execute(SQL["count_entries"]).fetchone()[0])

    def read_stamps(self) -> EntryStamps:
        """One pass over all entries: their instants and stamps. Raises: Unavailable, Invalid."""
        stamps = EntryStamps({}, [])
        with self.reading() as (conn, layout):
            for row in conn.execute(layout.reading("")):
                try:
                    instant, stamp = seen_of(row)
                except Unreadable as exc:
                    stamps.unreadable.append((label_of(row), str(exc)))
                    continue
                ref = f"{JOURNAL}:{row[4].decode('utf-8', 'replace')}"
                stamps.seen[ref] = SeenEvent(instant, stamp, row[0])
        return stamps

    def read_many(self, keys: Sequence[object]) -> list[Event]:
        """The entries under keys of `read_stamps`; what is gone or broken by now is left out."""
        with self.reading() as (conn, layout):
            rowids = {"rowids": json.dumps(list(keys))}
            return [*readable_events(conn.execute(layout.reading("where_rows"), rowids))]


def _matching(conn: sqlite3.Connection, layout: Layout, question: EventQuery) -> Iterator[Event]:
    """The entries that are asked for, newest first; reads no more than are taken."""
    for instant, place, row in newest_first(conn, layout, question.below[0] + 1):
        if instant < question.start:
            return
        if (instant, place) < question.below and admits(question, row):
            yield event_of(row)


def _refuse_unless_id_is_taken(exc: sqlite3.IntegrityError, path: Path) -> None:
    """Let pass that an id is taken; another rule of the table is an error."""
    if exc.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_UNIQUE:
        raise Unavailable(
            "The database {place} refuses the entry: its tables have a rule that is not"
            " chronicle's.",
            hint="Look for triggers and checks on its table `entries`.",
            place=path,
        ) from exc


def _highest_given(conn: sqlite3.Connection) -> int:
    return int(conn.execute(SQL["read_sequence"]).fetchone()[0] or 0)


def _data_version(conn: sqlite3.Connection) -> int:
    return int(conn.execute("PRAGMA data_version").fetchone()[0])
