"""Owns how entries of an export or of another storage come in, each once, and under which ids.

Never adds an entry whose id is taken.
"""

from __future__ import annotations

import contextlib
import uuid
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.text import storable
from commonplace.journals.chronicle.event import JOURNAL, EventDraft
from commonplace.journals.chronicle.times import SECOND_NS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.chronicle.event import Event
    from commonplace.journals.chronicle.ports import ChronicleStore

_ADOPTED = uuid.UUID("0f6c2b1e-8f0f-5b57-9a55-3d1f0c8c7a42")


class EntryKey(NamedTuple):
    """What two readings of one entry have in common, whichever id and fraction each gives it."""

    second: int
    hostname: str
    message: str


def entry_key(entry: Event | EventDraft) -> EntryKey:
    """What to know an entry by where its id says nothing outside of its own database."""
    return EntryKey(entry.instant // SECOND_NS, storable(entry.hostname), storable(entry.message))


def is_uuid(identity: str) -> bool:
    """Whether an id is a UUID: the same entry in every database. The first version counted."""
    with contextlib.suppress(ValueError):
        return str(uuid.UUID(identity)) == identity.lower()
    return False


def new_drafts(entries: Sequence[Event], there: Iterable[Event]) -> list[EventDraft]:
    """The entries as they are to be added, less those that are known to be there.

    there: at least all entries of the seconds that entries without a UUID are of. Such an entry
    gets an id that follows from what it is; it is there if that id is, or as often as others like
    it are. Entries with a UUID are all given back: the storage knows its ids.
    """
    known: defaultdict[EntryKey, list[str]] = defaultdict(list)
    for each in there:
        known[entry_key(each)].append(each.id)
    drafts = [_draft(each) for each in entries]
    foreign = [not is_uuid(each.id) for each in entries]
    rest = []
    for draft, is_foreign in zip(drafts, foreign, strict=True):
        same = known[entry_key(draft)] if is_foreign else []
        if draft.id in same:
            same.remove(draft.id)
        else:
            rest.append((draft, is_foreign))
    added = []
    for draft, is_foreign in rest:
        if is_foreign and known[entry_key(draft)]:
            known[entry_key(draft)].pop()
        else:
            added.append(draft)
    return added


def _draft(entry: Event) -> EventDraft:
    """What an import writes: the entry as it was, only made fit for every generation."""
    entry_id = entry.id
    if not is_uuid(entry_id):
        parts = f"{entry.id}\0{entry.instant // SECOND_NS}\0{entry.hostname}\0{entry.message}"
        entry_id = str(uuid.uuid5(_ADOPTED, storable(parts)))
    return EventDraft(
        id=entry_id,
        instant=entry.instant,
        message=storable(entry.message),
        tags=tuple(storable(tag) for tag in entry.tags),
        hostname=storable(entry.hostname),
        username=storable(entry.username),
        directory=storable(entry.directory),
        written=entry.instant,
    )


def add_noted(store: ChronicleStore, drafts: Sequence[EventDraft], noting: NotesImport) -> int:
    """Write entries, less those whose id is taken; how many were written. Raises: as `add_all`."""
    there = {event.id for event in store.get_many([draft.id for draft in drafts])}
    noting.put_planned(
        {f"{JOURNAL}:{x.id}": store.stamp_for(x) for x in drafts if x.id not in there}
    )
    added: dict[str, str] = {}
    count = store.add_all(drafts, on_added=lambda event: added.update({event.ref: event.stamp}))
    noting.put_added(added)
    return count
