"""Owns one user's chronicle on Postgres: entries are added, altered, listed and deleted here.

Never reads a row of another user, and files nothing: a trigger writes the outbox, in the
transaction of each change.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import chain, islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.errors import Lost, NotFound, has_changed
from commonplace.core.text import storable
from commonplace.journals.chronicle.event import (
    EVERYTHING,
    JOURNAL,
    SUPERSEDES,
    Changes,
    Event,
    EventQuery,
    Mention,
    ambiguous_id,
    changed,
    count_tags,
    fold_tag,
    held_of,
    links_to,
    relinked,
    render_tags,
    stamp_of,
    successors_among,
    written_apart,
)
from commonplace.journals.chronicle.times import SECOND_NS, from_instant, to_instant
from commonplace_server.postgres.database import MOVING_S
from commonplace_server.postgres.text_lists import Texts
from commonplace_server.store.entries import EntryRow, EntryRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from commonplace.core.clock import Clock
    from commonplace.core.project_folders import ProjectFolders
    from commonplace.journals.chronicle.event import EventDraft, TagCount, UnlessSaid
    from commonplace.journals.chronicle.words import Words
    from commonplace_server.postgres.database import Connection, Postgres

SURVEYED = 500
"""Of how many of the newest entries those of a project are listed."""

_AT_ONCE = 200
_PAST_EVERY_ID = "\U0010ffff"
_FIRST_NS = to_instant(datetime.min.replace(tzinfo=UTC))
_LAST_NS = to_instant(datetime.max.replace(tzinfo=UTC)) + 999
_PLACES = 2**63


class ChroniclePostgres:
    """One user's chronicle in a database that all users share; implements `SharedChronicle`.

    Thread-safe.

    Args:
        database: Shared by all users of the process; its owner closes it.
        clock: By which entries have expired, which no reader sees.
    """

    def __init__(self, database: Postgres, *, owner: str, clock: Clock) -> None:
        self._rows = EntryRows(database, owner=owner, journal=JOURNAL, clock=clock)

    @property
    def owner(self) -> str:
        """Whose entries these are."""
        return self._rows.owner

    def close(self) -> None:
        """Nothing is held: the connections are shared by all users."""

    def find(self, wanted: str) -> Event:
        """The one entry with this id, or whose id alone begins so; see the port."""
        with self._rows.reading() as conn:
            return self._find(conn, wanted)

    def get_many(self, identities: Sequence[str]) -> list[Event]:
        """The entries with just these ids that there are; see the port."""
        with self._rows.reading() as conn:
            return self._events(self._rows.read(conn, "of_ids", ids=_ids(identities)))

    def newest(self, limit: int, question: EventQuery) -> list[Event]:
        """The newest entries that are asked for, newest first; see the port."""
        with self._rows.reading() as conn:
            return [*islice(self._matching(conn, question, limit), limit)]

    def oldest(self, limit: int, after: tuple[int, int]) -> list[Event]:
        """The entries after an (instant, place), oldest first; see the port."""
        with self._rows.reading() as conn:
            return self._events(self._rows.read(conn, "oldest", limit=limit, **_place_of(after)))

    def list_all(self) -> Iterator[Event]:
        """All entries, newest first; few are held in memory."""
        asked = EVERYTHING
        while events := self.newest(_AT_ONCE, asked):
            yield from events
            asked = replace(asked, below=(events[-1].instant, events[-1].place))

    def after(self, event: Event) -> Event | None:
        """The entry that follows this one in time; see the port."""
        return next(iter(self.oldest(1, (event.instant, event.place))), None)

    def newest_of(self, project: ProjectFolders, limit: int) -> list[Event]:
        """The newest entries of a project that hold; of the SURVEYED newest, see the port."""
        seen = self.newest(SURVEYED, EVERYTHING)
        links = {f"{SUPERSEDES}{each}" for each in self.find_successors([x.id for x in seen])}
        return [*islice(held_of(seen, project, links), limit)]

    def mentions(self, words: Words, question: EventQuery) -> list[Mention]:
        """The entries asked for that bear every word, newest first; see the port."""
        asked = {"beginning": words.beginning, **_span_of(question)}
        with self._rows.reading() as conn:
            found = {
                x.place: x for x in self._events(self._rows.read(conn, "that_may_bear", **asked))
            }
        bearing = words.among(
            (place, " ".join([event.message, *event.own_tags])) for place, event in found.items()
        )
        events = sorted((found[place] for place in bearing), key=_order_of, reverse=True)
        return [Mention(event.ref, event.instant) for event in events]

    def find_successors(self, ids: Sequence[str]) -> dict[str, Event]:
        """The newest entry that took the place of each, by its id; see the port."""
        if not ids:
            return {}
        with self._rows.reading() as conn:
            rows = self._rows.read(conn, "superseding", ids=_ids(ids))
            return successors_among(self._events(rows), ids)

    def tags(self) -> list[TagCount]:
        """All tags, most frequent first; see the port."""
        with self._rows.reading() as conn:
            rows = self._rows.ask(conn, "count_tags").fetchall()
        return count_tags((tuple(tags), count) for tags, count in rows)

    def add(self, draft: EventDraft, *, unless: UnlessSaid | None = None) -> tuple[Event, bool]:
        """Write an entry; see the port.

        What is not known to be done is done once more: an entry has its id before it is sent.
        """
        try:
            return self._add(draft, unless)
        except Lost:
            event, repeated = self._add(draft, unless)
            return event, repeated and (event.id, event.stamp) != (draft.id, self.stamp_for(draft))

    def add_all(self, drafts: Sequence[EventDraft], *, on_added: Callable[[Event], None]) -> int:
        """Write entries in one transaction, less those whose id is taken; see the port."""
        with self._rows.writing(deadline_s=MOVING_S) as conn:
            places = self._rows.add(conn, [*map(_row_of, drafts)])
        added = [
            _event_of(_row_of(draft, place))
            for draft, place in zip(drafts, places, strict=True)
            if place is not None
        ]
        for event in added:
            on_added(event)
        return len(added)

    def stamp_for(self, draft: EventDraft) -> str:
        """The stamp that an entry will have; see the port."""
        return _event_of(_row_of(draft)).stamp

    def edit(self, wanted: str, changes: Changes, *, expected: str | None) -> Event:
        """Change an entry in place; see the port."""
        with self._rows.writing() as conn:
            before = self._current(conn, wanted, expected)
            draft = changed(before, changes)
            self._rows.alter(conn, _row_of(draft))
            return _event_of(_row_of(draft, before.place))

    def delete(self, wanted: str, *, expected: str | None) -> Event:
        """Remove an entry; answers what it was; see the port."""
        with self._rows.writing() as conn:
            event = self._current(conn, wanted, expected)
            self._delete(conn, [event])
            return event

    def delete_all(self, stamps: Mapping[str, str]) -> list[Event]:
        """Remove entries in one transaction, less those whose stamp is another; see the port."""
        with self._rows.writing() as conn:
            rows = self._rows.read(conn, "of_ids", "of_ids_locked", ids=_ids(stamps))
            gone = [event for event in self._events(rows) if event.stamp == stamps[event.id]]
            self._delete(conn, gone)
            return gone

    def find_deleted(self, identities: Sequence[str]) -> set[str]:
        """Which of these ids entries had that were deleted; see `SharedChronicle`."""
        return self._rows.find_deleted(map(storable, identities))

    def mark(self) -> str:
        """A token that changes with every change; reads the outbox, and no entry."""
        return self._rows.mark()

    def changed_since(self, mark: str | None) -> list[str] | None:
        """The ids of all that changed after a mark; None for a mark that says not."""
        return self._rows.changed_since(mark)

    def _add(self, draft: EventDraft, unless: UnlessSaid | None) -> tuple[Event, bool]:
        with self._rows.writing() as conn:
            if unless is not None:
                self._rows.lock(conn)
                there = self._matching(conn, unless.question, _AT_ONCE)
                if (same := next(filter(unless.is_same, there), None)) is not None:
                    return same, True
            row = _row_of(draft)
            (place,) = self._rows.add(conn, [row])
            if place is not None:
                return _event_of(row._replace(place=place)), False
            # What has expired holds its id until it is forgotten.
            known = self._rows.find(conn, row.id, now=None)
            assert known is not None
            return _event_of(known), True

    def _delete(self, conn: Connection, gone: Sequence[Event]) -> None:
        """Remove entries; what replaced one is linked to what that one had replaced."""
        self._rows.delete(conn, [event.id for event in gone])
        links = links_to(gone)
        if not links:
            return
        ids = Texts([link.removeprefix(SUPERSEDES) for link in links])
        for later in self._events(self._rows.read(conn, "superseding", ids=ids, now=None)):
            link = later.supersedes.replace(f"{JOURNAL}:", SUPERSEDES, 1)
            tags = relinked(later, link, links[link])
            if tags != later.tags:
                self._rows.alter(conn, _row_of(changed(later, Changes(tags=tags))))

    def _current(self, conn: Connection, wanted: str, expected: str | None) -> Event:
        """An entry that nobody else changes until the end. Raises: NotFound, Invalid, Conflict."""
        identity = self._find(conn, wanted).id
        row = self._rows.find(conn, identity, "locked")
        if row is None:
            raise _not_found(wanted)
        event = _event_of(row)
        if expected is not None and event.stamp != expected:
            raise has_changed(event.ref)
        return event

    def _find(self, conn: Connection, wanted: str) -> Event:
        wanted = storable(wanted)
        spellings = dict.fromkeys((wanted, wanted.lower()))
        whole = (self._rows.read(conn, "of_id", id=each) for each in spellings)
        begun = (
            self._rows.read(conn, "of_prefix", low=each, high=each + _PAST_EVERY_ID)
            for each in spellings
        )
        for rows in chain(whole, begun):
            if len(rows) > 1:
                raise ambiguous_id(wanted, [row[0] for row in rows])
            if rows:
                return _event_of(rows[0])
        raise _not_found(wanted)

    def _matching(self, conn: Connection, question: EventQuery, batch: int) -> Iterator[Event]:
        """The entries that are asked for, newest first; reads few more than are taken."""
        asked = {
            **_span_of(question),
            "any_of": Texts(question.tags.any_of),
            "required": Texts(question.tags.required),
            "excluded": Texts(question.tags.excluded),
            "directory": None if question.directory is None else storable(question.directory),
            "limit": batch,
        }
        while True:
            events = self._events(self._rows.read(conn, "newest", **asked))
            yield from events
            if len(events) < batch:
                return
            asked |= _place_of((events[-1].instant, events[-1].place))

    def _events(self, rows: Iterable[EntryRow]) -> list[Event]:
        return [*map(_event_of, rows)]


def _row_of(draft: EventDraft, place: int = 0) -> EntryRow:
    """What is written of an entry. place: its place, where it has one."""
    tags, supersedes = _parted(draft.tags)
    more = {"hostname": storable(draft.hostname), "username": storable(draft.username)}
    return EntryRow(
        id=storable(draft.id),
        place=place,
        at=from_instant(draft.instant),
        nanos=draft.instant % 1000,
        # In whole seconds, as chronicle's own database has it: an export of either is the same.
        written_at=from_instant(draft.written // SECOND_NS * SECOND_NS),
        scope=storable(draft.directory),
        body=storable(draft.message),
        tags=tags,
        supersedes=supersedes,
        more=json.dumps(more, ensure_ascii=False),
        folded=[*map(fold_tag, _joined(tags, supersedes))],
    )


def _event_of(row: EntryRow) -> Event:
    """A row as an entry."""
    identity, place, at, nanos, written, scope, body, tags, supersedes, more, _ = row
    at, known = at.astimezone(UTC), json.loads(more)
    instant = to_instant(at) + nanos
    all_tags = _joined(tags, supersedes)
    parts = identity, body, known["hostname"], known["username"], scope, render_tags(all_tags)
    return Event(
        id=identity,
        at=at,
        nanos=nanos,
        message=body,
        tags=all_tags,
        hostname=known["hostname"],
        username=known["username"],
        directory=scope,
        stamp=stamp_of(instant, [part.encode() for part in parts]),
        place=place,
        written=written_apart(instant, to_instant(written.astimezone(UTC))),
    )


def _parted(tags: Iterable[str]) -> tuple[list[str], str]:
    """Tags less the first that names an entry whose place was taken; and that entry's id."""
    kept, supersedes = [], ""
    for tag in map(storable, tags):
        is_link = tag.startswith(SUPERSEDES) and tag != SUPERSEDES
        if is_link and not supersedes:
            supersedes = tag.removeprefix(SUPERSEDES)
        else:
            kept.append(tag)
    return kept, supersedes


def _joined(tags: Iterable[str], supersedes: str) -> tuple[str, ...]:
    return (*tags, *([f"{SUPERSEDES}{supersedes}"] if supersedes else []))


def _ids(identities: Iterable[str]) -> Texts:
    return Texts([storable(each) for each in identities])


def _order_of(event: Event) -> tuple[int, int]:
    return event.instant, event.place


def _place_of(place: tuple[int, int]) -> dict[str, object]:
    """An (instant, place) as the queries take one; what is past the calendar is at its end."""
    instant, number = place
    at, nanos = _time_of(instant)
    return {"at": at, "nanos": nanos, "place": min(max(number, -_PLACES), _PLACES - 1)}


def _span_of(question: EventQuery) -> dict[str, object]:
    since, nanos = _time_of(question.start)
    return {**_place_of(question.below), "since": since, "since_nanos": nanos}


def _time_of(instant: int) -> tuple[datetime | str, int]:
    if instant > _LAST_NS:
        return "infinity", 0
    if instant < _FIRST_NS:
        return "-infinity", 0
    return from_instant(instant), instant % 1000


def _not_found(wanted: str) -> NotFound:
    return NotFound(
        f"No entry {JOURNAL}:{wanted}.", hint="List or search to see the ids there are."
    )
