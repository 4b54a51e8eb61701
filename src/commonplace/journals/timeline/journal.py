"""Owns one owner's timeline: entries are added, read, listed, altered and deleted here.

Never says an entry is recorded before it is; never rolls up, which `rollups` does.
"""

from __future__ import annotations

import heapq
import json
import os
from contextlib import suppress
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import parse_time, render_time, utc_now
from commonplace.core.errors import (
    CommonplaceError,
    Conflict,
    Invalid,
    NotFound,
    already_superseded,
)
from commonplace.core.expiring import nothing_hidden
from commonplace.core.ids import key_id
from commonplace.core.redact import Screen
from commonplace.core.text import opening, well_formed
from commonplace.core.values import Drop, Put
from commonplace.journals.timeline.add import AddedEntry, EntryAdder
from commonplace.journals.timeline.database import TimelineDatabase
from commonplace.journals.timeline.due_periods import DuePeriods, check_zone, note_change
from commonplace.journals.timeline.entry import (
    FACT,
    JOURNAL,
    KEYS,
    LEVELS,
    RAW,
    SUPERSEDES,
    TimelineDraft,
    TimelineEntry,
    authored,
    check_time,
    doc_of,
    find_rollup_key,
    id_of,
    pack_id,
    parse_content,
    ref_of,
    refuse_other_version,
    unpack_id,
)
from commonplace.journals.timeline.queries import entry_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime, tzinfo
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace.core.expiring import Hidden
    from commonplace.core.time_book import TimeBook
    from commonplace.core.values import Change, Interval
    from commonplace.journals.timeline.ports import TimelineRows, TimelineStore
    from commonplace.journals.timeline.privacy_delete import Rollup

MOST_LISTED = 1000
_LAST_YEAR = 9990
_LONGEST_SEQ = 18  # digits of a number that SQLite holds
_BEYOND = "9999-12-31T23:59:59.999999Z"

# A rollup of a level ends at the most so long after a span that it overlaps.
LONGEST: tuple[timedelta, ...] = (
    timedelta(),
    timedelta(hours=2),
    timedelta(hours=27),
    timedelta(days=9),
    timedelta(days=33),
    timedelta(days=368),
)


class Deleted(Struct, frozen=True, kw_only=True):
    """An entry that is gone.

    Attributes:
        refs: Of it and of every rollup it went into: none is as it was.
    """

    refs: tuple[str, ...]
    rollups: int


class Listed(Struct, frozen=True, kw_only=True):
    """Entries newest first, and where the next ones begin; cursor is empty at the end."""

    entries: tuple[TimelineEntry, ...]
    cursor: str = ""


class TimelineJournal:
    """One owner's timeline, there or not; nothing is made before the first write. Thread-safe.

    Args:
        folder: where `journal.db` lies; None where `store` keeps it.
        owner: whose it is.
        zone: what cuts periods, unless the owner has set a zone.
        clock: the present instant.
        random_bytes: makes the random part of an id.
        prepare: called before the folder is made.
        screen: what every text goes through that is written.
        replaced: notes which entries were replaced by one that is gone.
        hidden: gives the refs of what has expired, which no reader may see.
        store: what keeps it in place of a file there.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        owner: str,
        zone: tzinfo,
        clock: Clock = utc_now,
        random_bytes: Callable[[int], bytes] = os.urandom,
        prepare: Callable[[], object] | None = None,
        screen: Screen | None = None,
        replaced: TimeBook | None = None,
        hidden: Hidden = nothing_hidden,
        store: TimelineStore | None = None,
    ) -> None:
        self.owner = owner
        self.replaced = replaced
        self.clock = clock
        self.database: TimelineStore = store or _file_in(folder, prepare, hidden)
        self.due_periods = DuePeriods(owner, zone)
        self._random_bytes = random_bytes
        self.screen = screen or Screen()

    @property
    def exists(self) -> bool:
        """Whether anything was ever written."""
        return self.database.exists

    @property
    def zone(self) -> tzinfo:
        """The zone that cuts this owner's periods now."""
        with self.database.reading() as conn:
            return self.due_periods.zone(conn)

    def set_zone(self, name: str) -> None:
        """Keep a zone for this owner; what is rolled up from now on is cut by it.

        What was rolled up before stays until the new zone has its own. Raises: Invalid.
        """
        check_zone(name)
        self.due_periods.first_zone = ""
        with self.database.writing() as conn:
            conn.run("set_zone", {"zone": name})

    def claim_zone(self, name: str) -> None:
        """Keep a zone with the next write for an owner who has none; empty for none to keep.

        Raises: Invalid where another zone is kept; Unavailable.
        """
        state = self.database.ask("state") if name else []
        kept = state[0][1] if state else ""
        if kept and kept != name:
            raise Invalid(
                f"The timeline of {opening(self.owner, 60)!r} is cut by {kept}, not by {name}.",
                hint="Open it without a timezone, or with that one; set_timezone changes it.",
            )
        self.due_periods.first_zone = name

    def add(
        self,
        content: str,
        *,
        entry_type: str = RAW,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str = "",
    ) -> AddedEntry:
        """Record one entry. The same key twice is one entry: the first.

        Raises: Invalid for a blank or overlong text, another type, or metadata beyond JSON.
        """
        draft = TimelineDraft(
            content=content,
            entry_type=entry_type,
            at=at,
            metadata=authored(metadata or {}),
            key=idempotency_key,
        )
        return self.add_many([draft])[0]

    def add_many(self, drafts: Sequence[TimelineDraft]) -> list[AddedEntry]:
        """Record several entries in one transaction: all of them, or none.

        Raises: Invalid, as `add` does.
        """
        now = self.clock()
        with self.database.writing() as conn:
            return self.adder(conn, now).add_all(drafts)

    def adder(self, conn: TimelineRows, now: datetime) -> EntryAdder:
        """An object that adds entries in the caller's transaction."""
        return EntryAdder(
            conn,
            owner=self.owner,
            due_periods=self.due_periods,
            now=now,
            random_bytes=self._random_bytes,
            screen=self.screen,
        )

    def read(self, entry_id: str) -> TimelineEntry:
        """The entry with an id, archived or not; a rollup with what it was made from.

        Raises: NotFound, which says whether the entry expired, was deleted, or never existed.
        """
        entry_id = well_formed(entry_id)
        entry = self.find(entry_id)
        if entry is not None:
            return entry
        shown = opening(entry_id, 100)
        gone = self.database.ask("find_tombstone", id=pack_id(entry_id))
        if gone:
            why = "it expired" if gone[0][1] else "it was deleted"
            raise _no_longer_kept(entry_id, why)
        if find_rollup_key(entry_id):
            raise NotFound(
                f"No entry {shown!r}: its period is not over yet, or nothing happened in it.",
                hint="Read the period with timeline_rollup.",
            )
        raise NotFound(f"No entry {shown!r}.", hint="Use an id as a search or a list has shown it.")

    def is_gone(self, entry_id: str) -> bool:
        """Whether there was an entry with this id that expired or was deleted."""
        packed = pack_id(well_formed(entry_id))
        return bool(self.database.ask("find_tombstone", id=packed))

    def has_expired(self, entry_id: str) -> bool:
        """Whether retention deleted an entry with this id, of which what is counted is left."""
        found = self.database.ask("find_tombstone", id=pack_id(well_formed(entry_id)))
        return any(expired for _, expired in found)

    def absent(self, keys: Sequence[str]) -> list[str]:
        """Those of the keys of entries whose entry is not there."""
        return [key for key in keys if self.find(key_id(KEYS, self.owner, key)) is None]

    def find(self, entry_id: str) -> TimelineEntry | None:
        """The entry with an id, as `read` gives it; None where there is none."""
        with self.database.reading() as conn:
            if conn is None:
                return None
            row = conn.run("by_id", {"id": well_formed(entry_id)}).fetchone()
            return None if row is None else self.whole(conn, entry_of(row))

    def profile(self) -> TimelineEntry | None:
        """The newest snapshot of who the owner is."""
        found = self.database.ask("profile")
        return entry_of(found[0]) if found else None

    def list_entries(
        self,
        interval: Interval,
        *,
        level: int | None = None,
        types: Sequence[str] = (),
        limit: int = 100,
        cursor: str = "",
    ) -> Listed:
        """What is shown and overlaps a span, newest first; of one level, or of all.

        A rollup stands at the last instant of its period. cursor: of the list before.
        Raises: Invalid.
        """
        if not 1 <= limit <= MOST_LISTED:
            raise Invalid(f"Invalid limit: {limit}.", hint=f"Use 1 to {MOST_LISTED}.")
        if level is not None and not 0 <= level <= len(LEVELS):
            raise Invalid(f"Invalid level: {level}.", hint=f"Use 0 to {len(LEVELS)}.")
        asked = _query_values(interval, types, limit + 1, cursor)
        with self.database.reading() as conn:
            if conn is None:
                return Listed(entries=())
            levels = range(len(LEVELS) + 1) if level is None else (level,)
            parts = (conn.run("range", _of_level(asked, x)) for x in levels)
            newest = heapq.merge(*parts, key=lambda row: (row[5], row[0]), reverse=True)
            entries = [entry_of(row) for row in islice(newest, limit + 1)]
        more = len(entries) > limit
        entries = entries[:limit]
        last = entries[-1] if more else None
        return Listed(
            entries=tuple(entries),
            cursor=f"{render_time(last.at)}/{last.seq}" if last else "",
        )

    def update(
        self,
        entry_id: str,
        *,
        content: str | None = None,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        expected: str = "",
    ) -> TimelineEntry:
        """Alter an entry; what is None stays. Every rollup of its time, old and new, is due again.

        metadata: in place of all there is; expected: the version that was read, empty for any.

        Raises:
            Conflict: The entry is another than the one that was read.
            NotFound; Invalid for a rollup, which follows what it is made from; Unavailable.
        """
        now = self.clock()
        with self._changing(entry_id) as conn:
            old = self._read_written(conn, entry_id)
            refuse_other_version(old, expected)
            moved = old.at if at is None else check_time(at)
            link = {SUPERSEDES: old.supersedes} if old.supersedes else {}
            draft = TimelineDraft(
                content=old.content if content is None else content,
                entry_type=old.entry_type,
                metadata=old.metadata if metadata is None else {**link, **metadata},
            )
            row = self.adder(conn, now).row(draft, moved, old.id)
            conn.run("update", {**row, "seq": old.seq})
            if (draft.content, draft.metadata) != (old.content, old.metadata):
                conn.run("note_erasing", {"erasing": True})
            change = note_change(conn, old.seq)
            for when in {old.at, moved} if old.entry_type == RAW else ():
                self.due_periods.mark(conn, when, change=change, now=now)
            self._blank_compared(conn, old)
            return entry_of(conn.run("by_seq", {"seq": old.seq}).fetchone())

    def supersede(
        self,
        entry_id: str,
        content: str,
        *,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AddedEntry:
        """Record an entry in the place of another, of the same type; both stay.

        The former's time and metadata are those of the new one where none are given. Where this was
        done before the entry that is there is returned, not `is_new`.

        Raises:
            Conflict: Another entry has taken its place.
            Invalid, NotFound, Unavailable.
        """
        content = parse_content(self.screen(content))
        with self._changing(entry_id) as conn:
            old = self._read_written(conn, entry_id)
            row = conn.run("successor", {"ref": old.ref}).fetchone()
            if row is not None:
                known = entry_of(row)
                if known.content != content:
                    raise already_superseded(old.ref, known.ref)
                return AddedEntry(entry=known, is_new=False)
            draft = TimelineDraft(
                content=content,
                entry_type=old.entry_type,
                at=at or old.at,
                metadata={
                    **authored(old.metadata if metadata is None else metadata),
                    SUPERSEDES: old.ref,
                },
            )
            added = self.adder(conn, self.clock()).add_all([draft])[0]
            self._mark_replaced(conn, old)
            return added

    def _mark_replaced(self, conn: TimelineRows, entry: TimelineEntry) -> None:
        """Mark the periods of an entry as due: it was replaced, or holds again."""
        if entry.entry_type == RAW:
            change = note_change(conn, 0)
            self.due_periods.mark(conn, entry.at, change=change, now=self.clock())
            self._blank_compared(conn, entry)

    def _blank_compared(self, conn: TimelineRows, entry: TimelineEntry) -> None:
        """Blank what models wrote when they were shown the periods that an entry was in."""
        from commonplace.journals.timeline.privacy_delete import blank_compared

        if entry.entry_type == RAW:
            blank_compared(conn, self.due_periods, entry.at, self.clock())

    def find_successor(self, entry: TimelineEntry) -> str:
        """The ref of the entry that took the place of this one; empty for none."""
        found = self.database.ask("successor", ref=entry.ref)
        return entry_of(found[0]).ref if found else ""

    def delete(self, entry_id: str, *, expected: str = "") -> Deleted:
        """Delete an entry for good, its text in every rollup that it went into included.

        Nothing of the text stays in the file; the index is the caller's: it forgets `refs`, and
        files the rollups that are made again. A profile is deleted likewise.

        Args:
            entry_id: Of an entry that was written.
            expected: The version that was read; empty to delete any.

        Raises:
            Conflict: The entry is another than the one that was read.
            NotFound; Invalid for a rollup; Unavailable.
        """
        entry_id = well_formed(entry_id)
        with self._changing(entry_id) as conn:
            above = self._remove(conn, entry_id, expected)
        self.erase_deleted()  # also after one who deleted it was killed before that
        if above is None:
            raise _no_longer_kept(entry_id, "it was deleted")
        refs = [entry_id, *(unpack_id(name) for _, name in above if name)]
        return Deleted(refs=tuple(ref_of(name) for name in refs), rollups=len(above))

    def delete_many(self, versions: Mapping[str, str]) -> Deleted:
        """Delete the entries, by ids, that have these versions, all of them or none.

        With them what is left of those that retention deleted.

        Their bytes leave the file with `erase_deleted`. Raises: Unavailable.
        """
        gone: list[str] = []
        above: dict[int, str | bytes] = {}
        blanked: set[int] = set()
        with self.database.writing() as conn:
            for entry_id, version in versions.items():
                with suppress(NotFound, Conflict):
                    # What had expired has no version: an entry that is there is another one.
                    found = self._remove(conn, entry_id, version or "expired", blanked)
                    if found is not None:
                        above |= dict(found)
                        gone.append(entry_id)
        names = [*gone, *(unpack_id(name) for name in above.values() if name)]
        return Deleted(refs=tuple(map(ref_of, names)), rollups=len(above))

    def _remove(
        self,
        conn: TimelineRows,
        entry_id: str,
        expected: str,
        blanked: set[int] | None = None,
    ) -> list[Rollup] | None:
        """Take an entry out of every table; the rollups it went into, None where it was gone.

        Raises: as `delete`.
        """
        from commonplace.journals.timeline.privacy_delete import remove

        entry: TimelineEntry | int
        gone = conn.run("find_tombstone", {"id": pack_id(entry_id)}).fetchone()
        if gone is None:
            entry = self._read_written(conn, entry_id)
            refuse_other_version(entry, expected)
            self._close_chain(conn, entry)
        elif gone[1]:
            entry = gone[0]
        else:
            # It is gone from every table, and perhaps not from every byte.
            return None
        return remove(conn, self.due_periods, entry_id, entry, now=self.clock(), blanked=blanked)

    def erase_deleted(self) -> None:
        """Leave no byte of what was deleted in the file. Raises: Unavailable."""
        self.database.erase()

    def release(self, entry_ids: Sequence[str]) -> None:
        """Let the keys of entries that were deleted write them again. Raises: Unavailable."""
        with self.database.writing() as conn:
            conn.run_each("release", [{"id": pack_id(each)} for each in entry_ids])

    def _close_chain(self, conn: TimelineRows, gone: TimelineEntry) -> None:
        """Link the entry that replaced one that goes to the entry that this one had replaced."""
        if not gone.supersedes:
            return
        with suppress(NotFound):
            former = id_of(gone.supersedes)
            self._mark_replaced(conn, self._read_written(conn, former))
        row = conn.run("successor", {"ref": gone.ref}).fetchone()
        if row is not None and (later := entry_of(row)).ref != gone.supersedes:
            now, change = self.clock(), note_change(conn, later.seq)
            draft = TimelineDraft(
                content=later.content,
                entry_type=later.entry_type,
                metadata={**later.metadata, SUPERSEDES: gone.supersedes},
            )
            row = self.adder(conn, now).row(draft, later.at, later.id)
            conn.run("update", {**row, "seq": later.seq})
            if later.entry_type == RAW:
                self.due_periods.mark(conn, later.at, change=change, now=now)

    def docs(self, entries: Sequence[TimelineEntry]) -> list[Change]:
        """What the index should hold of these entries now."""
        zone = self.zone
        changes: list[Change] = []
        with self.database.reading() as conn:
            for entry in entries:
                if conn is None or entry.status != "active" or not entry.content:
                    changes.append(Drop(entry.ref))
                    continue
                covers = self.covers(entry.seq) if entry.level else ()
                changes.append(Put(doc_of(entry, zone, self.owner, covers)))
        return changes

    def covers(self, seq: int) -> tuple[str, ...]:
        """The refs that a rollup was made from, oldest first."""
        found = self.database.ask("links", rollup=seq)
        # What another journal adds has its whole ref for a name, and a number below 0.
        return tuple(
            ref_of(unpack_id(name)) if source > 0 else name for source, name, *_ in found if name
        )

    def whole_of(self, entries: Sequence[TimelineEntry]) -> tuple[TimelineEntry, ...]:
        """Entries that were listed, as `read` gives each; what is computed stays as it is."""
        with self.database.reading() as conn:
            if conn is None:
                return tuple(entries)
            return tuple(x if x.partial else self.whole(conn, x) for x in entries)

    def whole(self, conn: TimelineRows, entry: TimelineEntry) -> TimelineEntry:
        """An entry with what stands around it: what it went into, and what it was made from."""
        parents = conn.run("parents", {"source": entry.seq}).fetchall()
        parent = entry.parent_id or next((row[1] for row in parents), None)
        if not entry.level:
            return replace(entry, parent_id=parent)
        links = conn.run("links", {"rollup": entry.seq}).fetchall()
        asked = {"tz": entry.zone_name, "level": entry.level}
        marked = conn.run(
            "find_dirty", {**asked, "period_start": render_time(entry.start)}
        ).fetchone()
        return replace(
            entry,
            parent_id=parent,
            sources=tuple(unpack_id(name) for _, name, *_ in links if name),
            # What expired has no hash of its own to differ by.
            stale=marked is not None or any(now and then != now for *_, then, now in links),
        )

    def above(self, refs: Sequence[str]) -> dict[str, frozenset[str]]:
        """The refs of all rollups that each of these went into; see `core.rollups.Lineage`."""
        found: dict[str, list[str]] = {ref: [] for ref in refs}
        ids = [id_of(ref) for ref in found if ref.startswith(f"{JOURNAL}:")]
        asked = {"ids": json.dumps(ids), "refs": json.dumps([*found])}
        with suppress(CommonplaceError), self.database.reading() as conn:
            for ref, rollup in conn.run("list_above", asked) if conn else ():
                found[ref].append(rollup)
        return {ref: frozenset(rollups) for ref, rollups in found.items()}

    def count_types(self) -> Iterator[tuple[str, str, int, datetime, datetime]]:
        """(type, status, how many, time of the first, of the last) of all entries."""
        for kind, status, count, first, last in self.database.ask("count_types"):
            yield kind, status, count, parse_time(first), parse_time(last)

    def close(self) -> None:
        """Close the file; may be called twice."""
        self.database.close()

    def _changing(self, entry_id: str) -> AbstractContextManager[TimelineRows]:
        """As `writing`, for an entry that is there: what is refused makes no file."""
        if not self.exists:
            self.read(entry_id)
        return self.database.writing()

    def _read_written(self, conn: TimelineRows, entry_id: str) -> TimelineEntry:
        """An entry that a caller added. Raises: NotFound, Invalid for a rollup."""
        row = conn.run("by_id", {"id": well_formed(entry_id)}).fetchone()
        if row is None:
            self.read(entry_id)
            raise NotFound(f"No entry {opening(entry_id, 100)!r}.")
        entry = entry_of(row)
        if entry.level:
            raise Invalid(
                f"{opening(entry_id, 100)!r} is a rollup: it follows what it is made from.",
                hint="Alter or delete the entries themselves.",
            )
        return entry


def _file_in(
    folder: Path | None, prepare: Callable[[], object] | None, hidden: Hidden
) -> TimelineDatabase:
    assert folder is not None
    return TimelineDatabase(folder, prepare, hidden)


def _query_values(
    interval: Interval, types: Sequence[str], limit: int, cursor: str
) -> dict[str, Any]:
    before, _, seq = cursor.partition("/")
    is_cursor = cursor.isascii() and seq.isdecimal() and len(before) == len(_BEYOND)
    if cursor and not (is_cursor and len(seq) <= _LONGEST_SEQ):
        raise Invalid(
            f"Invalid cursor: {opening(cursor, 60)!r}.", hint="Use the one a list has given."
        )
    return {
        "start": render_time(interval.start) if interval.start else "",
        "end": render_time(interval.end) if interval.end else _BEYOND,
        "until": interval.end,
        "before": before or _BEYOND,
        "before_seq": int(seq or 0),
        "types": json.dumps(list(types)) if types else "",
        "facts": FACT if FACT in types else "",
        "limit": limit,
    }


def _of_level(asked: dict[str, Any], level: int) -> dict[str, Any]:
    until = asked["until"]
    is_far = until is None or until.year >= _LAST_YEAR
    reach = _BEYOND if is_far else render_time(until + LONGEST[level])
    values = {key: value for key, value in asked.items() if key != "until"}
    return {**values, "level": level, "reach": reach}


def _no_longer_kept(entry_id: str, why: str) -> NotFound:
    return NotFound(f"The entry {opening(entry_id, 100)!r} is no longer kept: {why}.")
