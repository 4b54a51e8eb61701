"""Reads what lines of the outbox stand for, of whichever journal: as its entries are now.

Never files anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from commonplace.core.values import Drop, Put
from commonplace.journals.chronicle import event
from commonplace.journals.memory.entry import change_now

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from commonplace.core.values import Change
    from commonplace.journals.chronicle.event import Event
    from commonplace.journals.memory.records import Record
    from commonplace_server.records.outbox import OutboxLine


class ReadsRecords(Protocol):
    """The records of memory that lines of the outbox stand for, of any user, read as that user."""

    def read(self, noted: Sequence[OutboxLine]) -> list[Record | None]:
        """The records of these as they are now, in this order. Raises: Unavailable."""
        ...


class ReadsEventsByIds(Protocol):
    """The entries of a user's chronicle."""

    def get_many(self, identities: Sequence[str]) -> list[Event]:
        """Those with just these ids that there are, in no order. Raises: Unavailable."""
        ...


class ReadsChanges(Protocol):
    """What reads the changes of one user's lines."""

    def __call__(self, noted: Sequence[OutboxLine], /) -> list[Change]:
        """What the index is to hold of each, in this order. Raises: Unavailable."""
        ...


class JournalChanges:
    """What the index is to hold of one user's lines; see `ReadsChanges`.

    Args:
        records: Those of memory.
        events: Those of chronicle.
        zone: The zone of the dates that chronicle's entries are found by.
    """

    def __init__(self, *, records: ReadsRecords, events: ReadsEventsByIds, zone: tzinfo) -> None:
        self._records = records
        self._events = events
        self._zone = zone

    def __call__(self, noted: Sequence[OutboxLine]) -> list[Change]:
        """What the index is to hold of each; see `ReadsChanges`."""
        ids = [each.ref_id for each in noted if each.kind == event.JOURNAL]
        events = {each.id: each for each in self._events.get_many(ids)} if ids else {}
        records = [each for each in noted if each.kind != event.JOURNAL]
        changes = iter(changes_now(self._records, records) if records else ())
        return [
            self._change_of(each.ref_id, events.get(each.ref_id))
            if each.kind == event.JOURNAL
            else next(changes)
            for each in noted
        ]

    def _change_of(self, identity: str, found: Event | None) -> Change:
        if found is None:
            return Drop(f"{event.JOURNAL}:{identity}")
        return Put(event.doc_of(found, self._zone))


def changes_now(records: ReadsRecords, noted: Sequence[OutboxLine]) -> list[Change]:
    """What the index is to hold of memory's lines, as its records are now. Raises: Unavailable."""
    return [
        change_now(each.kind, each.ref_id, record)
        for each, record in zip(noted, records.read(noted), strict=True)
    ]
