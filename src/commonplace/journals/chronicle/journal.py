"""Owns chronicle, the log of what was done and when: its verbs over a database or a Markdown tree.

Never keeps a word anywhere but in chronicle's own storage, and never says "written" too early.
"""

from __future__ import annotations

import base64
import binascii
import re
import uuid
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import Invalid, already_superseded
from commonplace.core.expiring import nothing_hidden
from commonplace.core.ids import key_id
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.redact import Screen
from commonplace.core.spaces import author_at_work
from commonplace.core.text import opening, storable
from commonplace.db.sqlite import BUSY_S
from commonplace.journals.chronicle.database import ChronicleDatabase
from commonplace.journals.chronicle.event import (
    JOURNAL,
    NEVER,
    SUPERSEDES,
    UNKNOWN,
    Changes,
    Event,
    EventDraft,
    EventQuery,
    Mention,
    TagCount,
    TagFilter,
    UnlessSaid,
    checked_message,
    checked_tags,
    doc_of,
    fold_tag,
    own_tags,
    parse_event_id,
    parse_tag_filter,
)
from commonplace.journals.chronicle.examined_stamps import ExaminedStamps
from commonplace.journals.chronicle.times import SECOND_NS, to_instant
from commonplace.journals.chronicle.words import Words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo
    from pathlib import Path

    from commonplace.core.expiring import Hidden
    from commonplace.core.import_notes import NotesImport
    from commonplace.core.project_folders import ProjectFolders
    from commonplace.core.values import Interval, Problem
    from commonplace.journals.chronicle.markdown_tree import ChronicleTree
    from commonplace.journals.chronicle.places import ChroniclePlace
    from commonplace.journals.chronicle.ports import ChronicleStore
    from commonplace.journals.chronicle.upgrade import Upgraded

__all__ = [
    "Author",
    "ChronicleJournal",
    "Event",
    "EventAdded",
    "EventPage",
    "Mention",
    "TagCount",
    "TagFilter",
    "doc_of",
    "fold_tag",
    "parse_tag_filter",
]

MOST_EVENTS = 10_000
_IMPORTED_AT_ONCE = 500

# Before every place of an instant.
_FIRST = -(2**63) - 1
# An instant in nanoseconds and a place, each within 64 bits or a little more.
_PLACE = re.compile(r"(-?[0-9]{1,21})\.(-?[0-9]{1,19})", re.ASCII)
_KEYS = uuid.UUID("5b0c7ff0-6a68-5d1f-8f6e-2f4d8a7c9e13")


class Author(Struct, frozen=True, kw_only=True):
    """Who logs: the machine, the user and the folder, each `unknown` where it is not known."""

    hostname: str = UNKNOWN
    username: str = UNKNOWN
    directory: str = UNKNOWN


def _as_written(author: Author) -> Author:
    names = (author.hostname, author.username, author.directory)
    hostname, username, directory = (storable(name) or UNKNOWN for name in names)
    return Author(hostname=hostname, username=username, directory=directory)


class EventAdded(Struct, frozen=True, kw_only=True):
    """An entry that is there now.

    Attributes:
        repeated: An earlier call with the same key made it.
    """

    event: Event
    repeated: bool = False


class EventPage(Struct, frozen=True, kw_only=True):
    """Some entries, newest first.

    Attributes:
        cursor: Asks for the next ones, empty after the last.
    """

    events: tuple[Event, ...]
    cursor: str = ""


class ChronicleJournal:
    """What one owner did and when, in the storage that chronicle itself reads and writes.

    Thread-safe.

    Args:
        place: Where the storage is on this machine.
        store: Keeps the entries in its place, as on a server that others share; None for files.
        owner: Makes idempotency keys his own.
        zone: Of the local times written.
        clock: The present, aware.
        patience_s: How long a lock of another program is waited for.
        screen: What every message and tag goes through that is written.
        hidden: Gives the refs of what has expired, which no reader may see.
        only_ours: Whether no program but ours writes the files.
    """

    def __init__(
        self,
        place: ChroniclePlace,
        *,
        store: ChronicleStore | None = None,
        owner: str,
        zone: tzinfo,
        clock: Callable[[], datetime],
        author: Author | None = None,
        patience_s: float = BUSY_S,
        new_id: Callable[[], object] = uuid.uuid4,
        screen: Screen | None = None,
        hidden: Hidden = nothing_hidden,
        only_ours: bool = False,
    ) -> None:
        self._store: ChronicleStore = store or _store_in(
            place, zone=zone, patience_s=patience_s, hidden=hidden, only_ours=only_ours
        )
        self._path = place.path
        self._owner = owner
        self._clock = clock
        self._author = _as_written(author or Author())
        self._new_id = new_id
        self._screen = screen or Screen()
        self.zone = zone

    @property
    def store(self) -> ChronicleStore:
        """Where the entries are."""
        return self._store

    @property
    def files(self) -> ChronicleDatabase | ChronicleTree:
        """Where they are in files, for what follows and mends these; only for such a journal."""
        if isinstance(self._store, ChronicleDatabase):
            return self._store
        from commonplace.journals.chronicle.markdown_tree import ChronicleTree

        assert isinstance(self._store, ChronicleTree)
        return self._store

    @cached_property
    def examined(self) -> ExaminedStamps:
        """What an examination read of such a journal, for what follows it."""
        return ExaminedStamps(self.files)

    @property
    def path(self) -> Path:
        """The database's file or the tree's folder, there or not."""
        return self._path

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self._owner

    @property
    def author(self) -> Author:
        """Who logs here."""
        return self._author

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._store.close()

    def add_event(
        self,
        message: str,
        *,
        tags: Sequence[str] = (),
        at: datetime | None = None,
        idempotency_key: str | None = None,
        directory: str | None = None,
    ) -> EventAdded:
        """Log what was done. The same key twice is one entry: the first call's.

        The message has up to 10 MB; the blanks around it go, NUL and lone surrogates become U+FFFD.
        Raises: Invalid, Conflict for a storage that is only read, Denied, Unavailable.
        """
        draft = self._draft(message, tags, at, directory)
        if idempotency_key is not None:
            named = key_id(_KEYS, storable(self._owner), storable(idempotency_key))
            draft = replace(draft, id=named)
        event, repeated = self._store.add(draft)
        return EventAdded(event=event, repeated=repeated)

    def remember_event(
        self,
        message: str,
        *,
        tags: Sequence[str] = (),
        within: Interval,
        is_same: Callable[[Event], bool],
    ) -> EventAdded:
        """Log what was done just now, unless an entry inside the interval says the same.

        Looked for under the lock that the entry is written under: of two processes that log
        the same at once, one writes. is_same: quick, and pure. Raises: as `add_event`.
        """
        unless = UnlessSaid(question=_question(within), is_same=is_same)
        event, repeated = self._store.add(self._draft(message, tags), unless=unless)
        return EventAdded(event=event, repeated=repeated)

    def _draft(
        self,
        message: str,
        tags: Sequence[str],
        at: datetime | None = None,
        directory: str | None = None,
    ) -> EventDraft:
        now = self._clock()
        return EventDraft(
            id=str(self._new_id()),
            instant=to_instant(now if at is None else at),
            written=to_instant(now),
            message=checked_message(self._screen(message)),
            tags=checked_tags(self._screen.values([*tags])),
            hostname=self._author.hostname,
            username=storable(author_at_work()) or self._author.username,
            directory=(directory and storable(self._screen(directory))) or self._author.directory,
        )

    def import_events(
        self,
        entries: Sequence[Event],
        *,
        noting: NotesImport = NOT_NOTED,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Add entries of an export or of another storage as they were; how many were added.

        Each once, however often it is called: an entry whose UUID is here stays as it is here, one
        without a UUID gets an id that follows from it. noting: takes what is added.
        progress: called with (done, still to do).
        Raises: Conflict for a storage that is only read, Denied, Unavailable; what is done stays.
        """
        from commonplace.journals.chronicle.import_ids import add_noted, is_uuid, new_drafts

        drafts = new_drafts(entries, self._events_around([x for x in entries if not is_uuid(x.id)]))
        # Exports begin with the newest: the order of writing is to be that of the time logged.
        now = to_instant(self._clock())
        drafts = [replace(self._copied(x), written=now) for x in reversed(drafts)]
        drafts.sort(key=lambda x: x.instant)
        added = 0
        for done in range(0, len(drafts), _IMPORTED_AT_ONCE):
            batch = drafts[done : done + _IMPORTED_AT_ONCE]
            added += add_noted(self._store, batch, noting)
            if progress is not None:
                progress(done + len(batch), len(drafts) - done - len(batch))
        return added

    def _copied(self, draft: EventDraft) -> EventDraft:
        """A draft without secrets in its message, tags and names."""
        copied = self._screen.copied
        return replace(
            draft,
            message=copied(draft.message),
            tags=tuple(map(copied, draft.tags)),
            hostname=copied(draft.hostname),
            username=copied(draft.username),
            directory=copied(draft.directory),
        )

    def _events_around(self, entries: Sequence[Event]) -> Iterator[Event]:
        """All that is here of the seconds between the first and the last of these."""
        if not entries:
            return
        first = min(x.instant for x in entries) // SECOND_NS * SECOND_NS
        below = ((max(x.instant for x in entries) // SECOND_NS + 1) * SECOND_NS, _FIRST)
        while True:
            question = EventQuery(start=first, below=below)
            events = self._store.newest(MOST_EVENTS, question)
            yield from events
            if len(events) < MOST_EVENTS:
                return
            below = (events[-1].instant, events[-1].place)

    def read_event(self, ref: str) -> Event:
        """The entry under a ref, an id, or the beginning of one that no other id shares.

        A number of the oldest generation is still found after an upgrade.
        Raises: Invalid, NotFound, Unavailable.
        """
        return self._store.find(parse_event_id(ref))

    def read_events(self, refs: Sequence[str]) -> dict[str, Event]:
        """The entries under whole refs, less those that are gone. Raises: Invalid, Unavailable."""
        identities = [ref.removeprefix(f"{JOURNAL}:") for ref in refs]
        return {event.ref: event for event in self._store.get_many(identities)}

    def list_mentions(self, text: str, *, within: Interval | None = None) -> list[Mention]:
        """Every entry inside the interval that bears all words of a text, tags too, newest first.

        In any form of each word, as a search finds it; stop words do not count. However many.
        Raises: Invalid, Unavailable.
        """
        return self._store.mentions(Words(text), _question(within))

    def read_around(self, event: Event) -> tuple[Event | None, Event | None]:
        """The entries before and after this one in time, None at either end.

        Raises: Invalid, Unavailable.
        """
        question = EventQuery(start=-NEVER, below=(event.instant, event.place))
        return next(iter(self._store.newest(1, question)), None), self._store.after(event)

    def list_events(
        self,
        *,
        limit: int = 10,
        within: Interval | None = None,
        tags: TagFilter | Sequence[str] = (),
        directory: str | None = None,
        cursor: str = "",
    ) -> EventPage:
        """The newest entries inside the interval with these tags, newest first.

        limit: 1 to 10,000. tags: plain ones any of, `+tag` required, `-tag` excluded, in any case.
        Raises: Invalid, Unavailable.
        """
        if not 1 <= limit <= MOST_EVENTS:
            raise Invalid(f"Invalid limit: {limit}.", hint=f"Use 1 to {MOST_EVENTS}.")
        question = _question(within)
        if cursor:
            question = replace(question, below=min(question.below, _parse_cursor(cursor)))
        wanted = tags if isinstance(tags, TagFilter) else parse_tag_filter(tags)
        question = replace(question, tags=wanted, directory=directory)
        events = self._store.newest(limit + 1, question)
        more = _render_cursor(events[limit - 1]) if len(events) > limit else ""
        return EventPage(events=tuple(events[:limit]), cursor=more)

    def list_newest(self, project: ProjectFolders, *, limit: int) -> list[Event]:
        """The newest entries of a project that no later one took the place of, newest first.

        Of those that were written last; see the stores. Raises: Invalid, Conflict, Unavailable.
        """
        return self._store.newest_of(project, limit)

    def edit_event(
        self,
        ref: str,
        *,
        message: str | None = None,
        tags: Sequence[str] | None = None,
        at: datetime | None = None,
        directory: str | None = None,
        expected: str | None = None,
    ) -> Event:
        """Change an entry's message, tags, time or folder; what is not named stays.

        expected: the stamp that was read.
        Raises: Invalid, NotFound, Conflict when the entry is another by now, Denied, Unavailable.
        """
        changes = Changes(
            message=None if message is None else checked_message(self._screen(message)),
            tags=None if tags is None else checked_tags(self._screen.values([*tags])),
            instant=None if at is None else to_instant(at),
            directory=directory,
        )
        if changes == Changes():
            raise Invalid("Nothing to change.", hint="Give a message, tags or a time.")
        return self._store.edit(parse_event_id(ref), changes, expected=expected)

    def supersede_event(
        self,
        ref: str,
        message: str,
        *,
        tags: Sequence[str] | None = None,
        at: datetime | None = None,
        directory: str | None = None,
    ) -> EventAdded:
        """Log an entry in the place of another; both stay.

        Looked for under the lock that the entry is written under: of two processes that supersede
        one entry at once, one does.

        Without tags it has those of the former; without a time its time and folder: it corrects it.
        directory: The folder that it has instead.
        Returns: The new entry; the one that is there, `repeated`, where this was done before.

        Raises: Conflict where another entry has taken its place, or the storage is only read;
        Invalid, NotFound, Denied, Unavailable.
        """
        old = self._store.find(parse_event_id(ref))
        link = f"{SUPERSEDES}{old.id}"
        folder = directory or (old.directory if at is None else None)
        own = own_tags(old.tags) if tags is None else tags
        draft = self._draft(message, [*own, link], at, folder)
        if at is None:
            draft = replace(draft, instant=old.instant)
        unless = UnlessSaid(
            question=_bearing(link, since=min(old.instant, draft.instant)),
            is_same=lambda event: link in event.tags,
        )
        event, repeated = self._store.find_successors([old.id]).get(old.id), True
        if event is None:
            event, repeated = self._store.add(draft, unless=unless)
        if repeated and event.message != draft.message:
            raise already_superseded(old.ref, event.ref)
        return EventAdded(event=event, repeated=repeated)

    def find_successor(self, event: Event) -> Event | None:
        """The entry that took the place of this one; None for none. Raises: Unavailable."""
        return self.find_successors([event]).get(event.id)

    def find_successors(self, events: Sequence[Event]) -> dict[str, Event]:
        """The entry that took the place of each, by the id of that one. Raises: Unavailable."""
        return self._store.find_successors([event.id for event in events])

    def delete_event(self, ref: str, *, expected: str | None = None) -> Event:
        """Remove an entry; answers what it was. Raises: as `edit_event`."""
        return self._store.delete(parse_event_id(ref), expected=expected)

    def delete_many(self, stamps: Mapping[str, str]) -> list[Event]:
        """Remove the entries, by refs, that have these stamps; answers what is gone.

        Raises: Unavailable.
        """
        ids = {ref.removeprefix(f"{JOURNAL}:"): stamp for ref, stamp in stamps.items()}
        return self._store.delete_all(ids)

    def list_tags(self) -> list[TagCount]:
        """Every tag with how many entries bear it: by frequency, then name. Raises: Unavailable.

        Tags that name a superseded entry are not among them.
        """
        return [count for count in self._store.tags() if own_tags([count.tag])]

    def upgrade(self) -> Upgraded:
        """Make the newest layout of an older database, the original kept beside it.

        May be called twice. Raises: Invalid, Denied, Unavailable; the original is then untouched.
        """
        from commonplace.journals.chronicle.upgrade import upgrade

        return upgrade(self.files, self._clock())

    def problems(self) -> list[Problem]:
        """What is wrong with the storage now; reads everything, changes nothing."""
        from commonplace.journals.chronicle.repair import find_problems

        return list(find_problems(self.files, self.examined))

    def repair(self) -> list[str]:
        """Mend what can be mended without touching an entry. Raises: Denied, Unavailable."""
        from commonplace.journals.chronicle.repair import repair

        return repair(self.files)


def author_here(environ: Mapping[str, str], *, hostname: str, directory: Path | None) -> Author:
    """Who logs in this process, as chronicle itself would say."""
    return Author(
        hostname=hostname or UNKNOWN,
        username=environ.get("USER") or UNKNOWN,
        directory=str(directory) if directory else UNKNOWN,
    )


def _question(within: Interval | None) -> EventQuery:
    end = to_instant(within.end) if within and within.end else NEVER
    return EventQuery(
        start=to_instant(within.start) if within and within.start else -NEVER,
        below=(end, _FIRST),
    )


def _bearing(tag: str, *, since: int) -> EventQuery:
    tags = TagFilter(required=frozenset({fold_tag(tag)}))
    return EventQuery(start=since, below=(NEVER, _FIRST), tags=tags)


def _render_cursor(event: Event) -> str:
    return base64.urlsafe_b64encode(f"{event.instant}.{event.place}".encode()).decode().rstrip("=")


def _parse_cursor(cursor: str) -> tuple[int, int]:
    with suppress(ValueError, binascii.Error):
        text = base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode()
        if found := _PLACE.fullmatch(text):
            return int(found[1]), int(found[2])
    raise Invalid(
        f"Invalid cursor: {opening(cursor, 40)!a}.", hint="Use the one that the last page gave."
    )


def _store_in(
    place: ChroniclePlace, *, zone: tzinfo, patience_s: float, hidden: Hidden, only_ours: bool
) -> ChronicleDatabase | ChronicleTree:
    if place.form == "tree":
        from commonplace.journals.chronicle.markdown_tree import ChronicleTree

        return ChronicleTree(place.path, zone=zone, patience_s=patience_s, hidden=hidden)
    return ChronicleDatabase(
        place.path, zone=zone, patience_s=patience_s, hidden=hidden, only_ours=only_ours
    )
