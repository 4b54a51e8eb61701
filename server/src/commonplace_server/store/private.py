"""Owns one user's private journal on Postgres: entries are written, altered and deleted here.

Never reads a row of another user, and files nothing: a trigger writes the outbox, in the
transaction of each change.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from commonplace.core.errors import Conflict, Lost, NotFound, has_changed
from commonplace.core.ids import key_digest
from commonplace.core.redact import Screen
from commonplace.core.text import opening, storable, well_formed
from commonplace.core.values import Interval
from commonplace.journals.private.copied import key_of_copy, updated_text
from commonplace.journals.private.format import (
    decode,
    first_micros,
    mark_superseded,
    render_day,
    render_stem,
    render_thoughts,
    rewritten,
    version_of,
    with_frontmatter,
    without_superseded,
    written_of,
)
from commonplace.journals.private.markdown import SUPERSEDES, parse_frontmatter, split_frontmatter
from commonplace.journals.private.note import USER, PrivateNote, entry_of, note_of, parse_ref
from commonplace.journals.private.places import SCHEME
from commonplace.journals.private.shared import list_notes
from commonplace.journals.private.source import JOURNAL
from commonplace.journals.private.superseding import marks_without, refuse_other_text
from commonplace.journals.private.write import (
    NewText,
    ThoughtsWritten,
    checked_text,
    checked_thoughts,
    entry_times,
    refuse_elsewhere,
    render_new,
)
from commonplace_server.postgres.text_lists import Texts
from commonplace_server.store.entries import EntryRow, EntryRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace.journals.private.copied import Copy
    from commonplace.journals.private.format import PrivateEntry
    from commonplace.journals.private.roots import Kind
    from commonplace.journals.private.write import EntryTimes
    from commonplace_server.postgres.database import Connection, Postgres

_NAMES_TRIED = 10_000


class PrivatePostgres:
    """One user's private journal in a database that all users share; implements `SharedThoughts`.

    All that is the user's own has the scope `user`, project notes too, since nobody who is served
    stands in a project; other scopes came with an import. Thread-safe.

    Args:
        database: Shared by all users of the process; its owner closes it.
        clock: When a thought is written, and by which entries have expired.
        random_micros: 0..999, the last digits of a name.
        screen: What every text goes through that is written.
    """

    note = ""
    has_project = False

    def __init__(
        self,
        database: Postgres,
        *,
        owner: str,
        zone: tzinfo,
        clock: Clock,
        random_micros: Callable[[], int],
        screen: Screen | None = None,
    ) -> None:
        self._rows = EntryRows(database, owner=owner, journal=JOURNAL, clock=clock)
        self.zone = zone
        self._clock = clock
        self._random_micros = random_micros
        self._screen = screen or Screen()

    def scopes(self, kind: Kind) -> tuple[str, ...]:
        """The scopes that a search of this kind looks at; see the port."""
        return (USER,) if kind == "user" else ()

    def path_of(self, ref: str) -> Path:
        """None: an entry is no file."""
        raise NotFound(f"{ref} is no file.", hint="Go by its ref.")

    def write(
        self,
        thoughts: Mapping[str, str],
        *,
        at: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> ThoughtsWritten:
        """Write thoughts; see the port."""
        checked = checked_thoughts(self._screen.values(dict(thoughts)))
        times = entry_times(at, self._clock())
        return self._write(NewText(render_thoughts(checked)), times, idempotency_key or "")

    def write_copy(self, copy: Copy, key: str) -> ThoughtsWritten:
        """Write an entry that another program had, once for each key; see the port."""
        text = NewText(copy.text.strip("\n"), copy.headers())
        return self._write(text, entry_times(copy.at, self._clock()), key)

    def supersede_by(
        self, ref: str, thoughts: Mapping[str, str], *, at: datetime | None = None
    ) -> tuple[PrivateEntry, ThoughtsWritten]:
        """Write thoughts in the place of an entry; see the port."""
        checked = checked_thoughts(thoughts)
        scope = parse_ref(ref).removeprefix(SCHEME).partition("/")[0]
        if scope != USER:
            refuse_elsewhere(checked, frozenset({scope.partition("@")[0]}))
        return self.supersede(ref, render_thoughts(checked), at=at)

    def supersede(
        self, ref: str, content: str, *, at: datetime | None = None
    ) -> tuple[PrivateEntry, ThoughtsWritten]:
        """Write an entry in the place of another; see the port."""
        text = checked_text(self._screen(split_frontmatter(well_formed(content))[1]))
        times = entry_times(at, self._clock())
        try:
            return self._supersede(ref, text, times)
        except Lost:  # the same again finds what is there
            return self._supersede(ref, text, times)

    def read_entry(self, path_or_ref: str) -> PrivateEntry:
        """The entry under a ref or a path; see the port."""
        ref = parse_ref(path_or_ref)
        with self._rows.reading() as conn:
            row = self._rows.find(conn, ref.removeprefix(SCHEME))
        if row is None:
            raise _not_found(path_or_ref)
        return entry_of(_note_in(row), self.zone)

    def open_written(self, path_or_ref: str) -> PrivateEntry:
        """The same: all of a user lies in one place."""
        return self.read_entry(path_or_ref)

    def list_entries(
        self, *, limit: int, kind: Kind = "both", within: Interval | None = None
    ) -> list[PrivateEntry]:
        """The newest entries inside the interval, newest first; see the port."""
        asked = within or Interval()
        scope = next(iter(self.scopes(kind)), None)
        given = {"scope": scope, "start": asked.start, "end": asked.end, "limit": max(limit, 0)}
        with self._rows.reading() as conn:
            rows = self._rows.read(conn, "newest", **given)
        return [entry_of(_note_in(row), self.zone) for row in rows]

    def find_notes(self, refs: Sequence[str]) -> list[PrivateNote]:
        """The notes with these refs that there are, in no order; see the port."""
        ids = Texts([ref.removeprefix(SCHEME) for ref in refs])
        with self._rows.reading() as conn:
            return [*map(_note_in, self._rows.read(conn, "of_ids", ids=ids))]

    def get_many(self, identities: Sequence[str]) -> list[PrivateEntry]:
        """The entries with just these ids that there are, in no order."""
        notes = self.find_notes([f"{SCHEME}{each}" for each in identities])
        return [entry_of(note, self.zone) for note in notes]

    def list_all(self) -> Iterator[PrivateEntry]:
        """All entries, oldest first; few are held in memory."""
        return (entry_of(note, self.zone) for note in list_notes(self))

    def list_oldest(self, limit: int, after: tuple[datetime, str] | None) -> list[PrivateNote]:
        """The notes after a (time, ref), oldest first; see the port."""
        at, ref = after or ("-infinity", "")
        given = {"at": at, "id": ref.removeprefix(SCHEME), "limit": limit}
        with self._rows.reading() as conn:
            return [*map(_note_in, self._rows.read(conn, "oldest", **given))]

    def find_around(self, entry: PrivateEntry) -> tuple[PrivateEntry | None, PrivateEntry | None]:
        """The nearest entries of its scope before and after it; see the port."""
        given = {
            "scope": entry.scope,
            "at": entry.at,
            "turn": entry.written if entry.written not in {None, entry.at} else "-infinity",
            "id": entry.ref.removeprefix(SCHEME),
        }
        with self._rows.reading() as conn:
            found = [self._rows.read(conn, side, **given) for side in ("before", "behind")]
        before, after = (entry_of(_note_in(rows[0]), self.zone) if rows else None for rows in found)
        return before, after

    def edit(self, ref: str, content: str, *, expected: str | None = None) -> PrivateEntry:
        """Replace an entry's text; see the port."""
        text = checked_text(self._screen(well_formed(content)))
        with self._rows.writing() as conn:
            before = self._current(conn, ref, expected)
            text = with_frontmatter(text, decode(before.content))
            return entry_of(self._alter(conn, before, text.encode()), self.zone)

    def delete(self, ref: str, *, expected: str | None = None) -> None:
        """Remove an entry; see the port."""
        with self._rows.writing() as conn:
            self._rows.lock(conn)
            note = self._current(conn, ref, expected)
            self._close_chain(conn, entry_of(note, self.zone))
            self._rows.delete(conn, [note.id])

    def find_successor(self, entry: PrivateEntry) -> str:
        """The ref of the entry that took its place, while that is there; see the port."""
        if not entry.superseded_by:
            return ""
        with self._rows.reading() as conn:  # one that has expired too, until it is forgotten
            later = self._linked(conn, entry.superseded_by, now=None)
        return "" if later is None else later.ref

    def mark_replaced(self, ref: str, successor: str) -> PrivateEntry:
        """Name in an entry which one took its place; empty for none; see the port."""
        mark = partial(mark_superseded, successor=successor) if successor else without_superseded
        with self._rows.writing() as conn:
            self._rows.lock(conn)
            note = self._current(conn, ref, None)
            return entry_of(self._mark(conn, note, mark), self.zone)

    def update_copy(self, there: PrivateEntry, copy: Copy) -> PrivateEntry:
        """Put what another program says now in the place of what it said; see the port."""
        return self.edit(there.ref, updated_text(there, copy, self.zone), expected=there.version)

    def find_copy(self, key: str) -> PrivateEntry | Literal["never", "deleted here"]:
        """The entry that `write_copy` wrote with a key; see the port."""
        with self._rows.reading() as conn:
            known = self._find_key(conn, key)
            if known is None:
                return "never"
            return self._linked(conn, known.refs[0]) or "deleted here"

    def find_written_copy(self, key: str) -> PrivateEntry | None:
        """The same; None where it is gone."""
        found = self.find_copy(key)
        return None if isinstance(found, str) else found

    def release_keys(self, keys: Sequence[str]) -> None:
        """Let the keys of entries that are gone write again; see the port."""
        with self._rows.writing() as conn:
            self._rows.ask(conn, "release_keys", keys=Texts(map(key_digest, keys)))

    def find_kept(self, ref: str) -> PrivateEntry | None:
        """None: a note of a project lies here itself."""
        return None

    def find_gone(self, ref: str) -> PrivateEntry | None:
        """None, likewise."""
        return None

    def forget_copies(self, refs: Sequence[str]) -> None:
        """Nothing, likewise."""

    def add_notes(self, notes: Sequence[PrivateNote]) -> list[str]:
        """Write notes, less those whose ref is taken; see the port."""
        keys = {
            key_digest(key): ([note.ref], note.at)
            for note in notes
            if (key := key_of_copy(decode(note.content)))
        }
        with self._rows.writing() as conn:
            places = self._rows.add(conn, [_row_of(note, self.zone) for note in notes])
            self._keep_keys(conn, keys)
        return [note.ref for note, place in zip(notes, places, strict=True) if place is not None]

    def find_known(self, refs: Sequence[str]) -> set[str]:
        """Those of these refs whose notes are there, or were deleted there; see the port."""
        ids = Texts([ref.removeprefix(SCHEME) for ref in refs])
        with self._rows.reading() as conn:
            return {f"{SCHEME}{row[0]}" for row in self._rows.ask(conn, "known", ids=ids)}

    def note_keys(self, digests: Mapping[str, tuple[Sequence[str], datetime]]) -> None:
        """Keep what keys stand for, unless they are known; see the port."""
        with self._rows.writing() as conn:
            self._keep_keys(conn, digests)

    def mark(self) -> str:
        """A token that changes with every change; reads the outbox, and no entry."""
        return self._rows.mark()

    def changed_since(self, mark: str | None) -> list[str] | None:
        """The ids of all that changed after a mark; None for a mark that says not."""
        return self._rows.changed_since(mark)

    def _write(self, text: NewText, times: EntryTimes, key: str) -> ThoughtsWritten:
        """Write an entry; what is not known to be done is done once more, under the same name."""
        key = key if key.strip() else ""
        drafted = self._drafted(USER, text, times)
        try:
            return self._written(drafted, key, was_sent=False)
        except Lost:
            return self._written(drafted, key, was_sent=True)

    def _written(self, drafted: PrivateNote, key: str, *, was_sent: bool) -> ThoughtsWritten:
        with self._rows.writing() as conn:
            if key:
                self._rows.lock(conn)
                if (known := self._find_key(conn, key)) is not None:
                    there = [self._linked(conn, ref) for ref in known.refs]
                    is_ours = was_sent and drafted.content in {
                        each.raw.encode() for each in there if each is not None
                    }
                    return replace(known, entries=tuple(filter(None, there)), repeated=not is_ours)
            note = self._insert(conn, drafted, was_sent=was_sent)
            if key:
                self._keep_keys(conn, {key_digest(key): ([note.ref], note.at)})
        return self._as_written(note)

    def _as_written(self, note: PrivateNote) -> ThoughtsWritten:
        return ThoughtsWritten(refs=(note.ref,), at=note.at, entries=(entry_of(note, self.zone),))

    def _insert(
        self, conn: Connection, drafted: PrivateNote, *, was_sent: bool = False
    ) -> PrivateNote:
        """Write a note under the first name of its time that is free. Raises: Conflict."""
        folder, _, micros = drafted.ref.rpartition("-")
        for tried in range(_NAMES_TRIED):
            number = (int(micros) + tried) % 1_000_000
            note = replace(drafted, ref=f"{folder}-{number:06d}")
            (place,) = self._rows.add(conn, [_row_of(note, self.zone)])
            if place is not None:
                return note
            there = self._rows.find(conn, note.id) if was_sent else None
            if there is not None and _note_in(there).content == note.content:
                return note
        raise Conflict(
            f"{_NAMES_TRIED} names for {drafted.at.isoformat()} are taken.",
            hint="Write with another time.",
        )

    def _drafted(self, scope: str, text: NewText, times: EntryTimes) -> PrivateNote:
        day = render_day(times.at, self.zone)
        micros = first_micros(times.at, self._random_micros())
        return PrivateNote(
            ref=f"{SCHEME}{scope}/{day}/{render_stem(times.at, self.zone, micros)}",
            content=render_new(text, times, self.zone),
            at=times.at,
        )

    def _supersede(
        self, ref: str, text: str, times: EntryTimes
    ) -> tuple[PrivateEntry, ThoughtsWritten]:
        with self._rows.writing() as conn:
            self._rows.lock(conn)
            former = self._current(conn, ref, None)
            now = entry_of(former, self.zone)
            later = self._linked(conn, now.superseded_by)
            if later is not None and later.supersedes == now.ref:
                # It replaced this entry, or one between the two that was deleted since.
                refuse_other_text(later, now.ref, text)
                return now, ThoughtsWritten(
                    refs=(later.ref,), at=later.at, entries=(later,), repeated=True
                )
            new = NewText(text.strip("\n"), f"{SUPERSEDES}: {now.ref}\n")
            note = self._insert(conn, self._drafted(now.scope, new, times))
            marked = self._mark(conn, former, partial(mark_superseded, successor=note.ref))
        return entry_of(marked, self.zone), self._as_written(note)

    def _close_chain(self, conn: Connection, gone: PrivateEntry) -> None:
        """Mark the entries beside one that goes; see `marks_without`."""
        former = self._linked(conn, gone.supersedes)
        later = self._linked(conn, gone.superseded_by)
        for ref, mark in marks_without(gone, former, later):
            self._mark(conn, self._current(conn, ref, None), mark)

    def _linked(self, conn: Connection, ref: str, **asked: None) -> PrivateEntry | None:
        """The entry that a text or a key names, if it is there; the ref may be of any origin."""
        if not ref.startswith(SCHEME) or "\0" in ref:
            return None
        row = self._rows.find(conn, well_formed(ref.removeprefix(SCHEME)), **asked)
        return None if row is None else entry_of(_note_in(row), self.zone)

    def _current(self, conn: Connection, ref: str, expected: str | None) -> PrivateNote:
        """A note that nobody else changes until the end. Raises: NotFound, Invalid, Conflict."""
        row = self._rows.find(conn, parse_ref(ref).removeprefix(SCHEME), "locked")
        if row is None:
            raise _not_found(ref)
        note = _note_in(row)
        if expected is not None and version_of(note.content) != expected:
            raise has_changed(note.ref)
        return note

    def _mark(
        self, conn: Connection, note: PrivateNote, change: Callable[[str], str]
    ) -> PrivateNote:
        """Change the frontmatter of a note; what it is then."""
        content = rewritten(note.content, change)
        return note if content == note.content else self._alter(conn, note, content)

    def _alter(self, conn: Connection, before: PrivateNote, content: bytes) -> PrivateNote:
        changed = self._clock()
        note = note_of(before.ref, content, changed=changed, zone=self.zone, project=before.project)
        self._rows.alter(conn, _row_of(note, self.zone))
        return note

    def _find_key(self, conn: Connection, key: str) -> ThoughtsWritten | None:
        """What a key stands for; without its entries."""
        row = self._rows.ask(conn, "key_of", key=key_digest(key)).fetchone()
        if row is None:
            return None
        refs = tuple(f"{SCHEME}{each}" for each in row[0])
        return ThoughtsWritten(refs=refs, at=row[1].astimezone(UTC), repeated=True)

    def _keep_keys(
        self, conn: Connection, digests: Mapping[str, tuple[Sequence[str], datetime]]
    ) -> None:
        for digest, (refs, at) in digests.items():
            ids = Texts([ref.removeprefix(SCHEME) for ref in refs])
            self._rows.ask(conn, "keep_key", key=digest, ids=ids, at=at)


def _row_of(note: PrivateNote, zone: tzinfo) -> EntryRow:
    """What is written of a note."""
    raw = decode(note.content)
    body = storable(raw)
    more = {
        **({"changed": note.changed.isoformat()} if note.changed else {}),
        **({"project": note.project} if note.project else {}),
        # Bytes that are no text as Postgres has it are kept beside it.
        **({} if body.encode() == note.content else {"bytes": _packed(note.content)}),
    }
    return EntryRow(
        id=note.id,
        place=0,
        at=note.at,
        nanos=0,
        written_at=written_of(parse_frontmatter(raw), zone) or note.at,
        scope=note.scope,
        body=body,
        tags=(),
        supersedes="",
        more=json.dumps(more, ensure_ascii=False),
    )


def _note_in(row: EntryRow) -> PrivateNote:
    more = json.loads(row.more)
    packed, changed = more.get("bytes"), more.get("changed")
    return PrivateNote(
        ref=f"{SCHEME}{row.id}",
        content=row.body.encode() if packed is None else base64.b64decode(packed),
        at=row.at.astimezone(UTC),
        changed=None if changed is None else datetime.fromisoformat(changed),
        project=more.get("project", ""),
    )


def _packed(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _not_found(ref: str) -> NotFound:
    return NotFound(
        f"There is no entry {opening(ref, 200)!r}.",
        hint="Use a ref that a search or a list has shown.",
    )
