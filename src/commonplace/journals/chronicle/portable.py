"""Converts chronicle's entries into items of an export, and items into entries.

Never reads or writes a file of an export.
"""

from __future__ import annotations

from datetime import datetime  # noqa: TC003  a struct reads it at run time
from itertools import islice
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import Invalid
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.portable import PortableItem
from commonplace.core.text import storable
from commonplace.journals.chronicle.event import (
    JOURNAL,
    LONGEST_MESSAGE,
    NEVER,
    SUPERSEDES,
    Event,
    EventDraft,
    parse_event_id,
)
from commonplace.journals.chronicle.import_ids import add_noted
from commonplace.journals.chronicle.times import to_instant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.chronicle.journal import ChronicleJournal

_AT_ONCE = 5_000
_WRITTEN_AT_ONCE = 500
_FIRST = (-NEVER, 0)


class PortableEvent(PortableItem, frozen=True, kw_only=True):
    """An entry of chronicle.

    Attributes:
        message: What was done.
        nanos: 0..999, the nanoseconds of its time beyond the microseconds of `at`.
        written: When it was written down, where that is another time.
        tags: Its tags, less the one that names the entry whose place it took.
        hostname: The machine it was logged on.
        username: The user who logged it.
        directory: The folder it was logged in.
    """

    message: str
    nanos: int = 0
    written: datetime | None = None
    tags: tuple[str, ...] = ()
    hostname: str = ""
    username: str = ""
    directory: str = ""

    def page_text(self) -> str:
        """What was done."""
        return self.message

    def page_facts(self) -> Mapping[str, str]:
        """Its tags, and where it was logged."""
        return {"Tags": ", ".join(self.tags), "Folder": self.directory}


class PortableChronicle:
    """Exports a chronicle, and imports into an empty one. See `core.ports.Portable`."""

    journal = JOURNAL
    item_type: Any = PortableEvent

    def __init__(self, chronicle: ChronicleJournal) -> None:
        self._store = chronicle.store

    def is_empty(self) -> bool:
        """See `Portable.is_empty`."""
        return not self._store.oldest(1, _FIRST)

    def export_items(self, since: datetime | None) -> Iterator[PortableEvent]:
        """See `Portable.export_items`."""
        after = _FIRST if since is None else (to_instant(since) - 1, 1 << 63)
        given: set[str] = set()
        while events := [x for x in self._store.oldest(_AT_ONCE, after) if x.id not in given]:
            yield from map(_item_of, events)
            last = events[-1]
            # In a Markdown tree two entries may have one place.
            given = {x.id for x in events if (x.instant, x.place) == (last.instant, last.place)}
            after = (last.instant, last.place - 1)

    def check_item(self, item: PortableEvent) -> None:
        """See `Portable.check_item`."""
        _draft_of(item)

    def import_items(self, items: Iterator[PortableEvent], noting: NotesImport = NOT_NOTED) -> int:
        """See `Portable.import_items`."""
        added = 0
        while batch := [_draft_of(item) for item in islice(items, _WRITTEN_AT_ONCE)]:
            added += add_noted(self._store, batch, noting)
        return added


def _item_of(event: Event) -> PortableEvent:
    return PortableEvent(
        ref=event.ref,
        at=event.at,
        nanos=event.nanos,
        written=event.written,
        message=event.message,
        supersedes=event.supersedes,
        tags=tuple(event.own_tags),
        hostname=event.hostname,
        username=event.username,
        directory=event.directory,
    )


def _draft_of(item: PortableEvent) -> EventDraft:
    """An entry as it was. Raises: Invalid."""
    if len(item.message) > LONGEST_MESSAGE:
        raise Invalid(
            f"Invalid message of {item.ref}: {len(item.message):,} characters.",
            hint=f"Use at most {LONGEST_MESSAGE:,}.",
        )
    instant = to_instant(item.at) + item.nanos
    link = (f"{SUPERSEDES}{parse_event_id(item.supersedes)}",) if item.supersedes else ()
    return EventDraft(
        id=parse_event_id(item.ref),
        instant=instant,
        written=instant if item.written is None else to_instant(item.written),
        message=storable(item.message),
        tags=tuple(storable(tag) for tag in (*item.tags, *link)),
        hostname=storable(item.hostname),
        username=storable(item.username),
        directory=storable(item.directory),
    )
