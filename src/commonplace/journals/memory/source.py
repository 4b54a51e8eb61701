"""Owns how the index follows a user's memory: its mark, and what its outbox says has changed.

Never writes to the memory, and never logs a record's text.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Drop, Put
from commonplace.journals.memory.entry import change_now, change_of, kept_of
from commonplace.journals.memory.records import JOURNAL, KINDS, ref_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from commonplace.core.values import Change, Since
    from commonplace.journals.memory.database import MemoryDatabase
    from commonplace.journals.memory.ports import MemoryStore
    from commonplace.journals.memory.records import Kind, Record

_AT_ONCE = 500
_PAST_EVERY_CHANGE = 2**63 - 1
_UNREADABLE = "unreadable"


class MemorySource:
    """One user's memory, as the index follows it.

    Args:
        database: What holds the records of the store.
        zone: Whose dates the records bear in words.
    """

    cheap_mark = True
    """Its mark reads the end of one table."""
    exact_mark = True

    def __init__(self, store: MemoryStore, database: MemoryDatabase, zone: tzinfo = UTC) -> None:
        self._store = store
        self._zone = zone
        self._database = database

    @property
    def name(self) -> str:
        """`memory`."""
        return JOURNAL

    def mark(self) -> str:
        """Which file it is, and how far its outbox goes; empty where there is none."""
        try:
            state = self._database.ask("state")
        except CommonplaceError as exc:
            return f"{_UNREADABLE} {exc.message}"
        return f"{state[0][0]} {state[0][1]}" if state else ""

    def count(self, since: Since) -> tuple[int, int]:
        """How many records there are but for drafts, and how many are filed. Raises: as `scan`."""
        held = sum(each.records - each.drafts for each in self._store.count_kinds())
        return held, len(since.stamps(f"{JOURNAL}:"))

    def scan(self, since: Since) -> Iterator[Change]:
        """Puts and drops of what changed since, the last change first; else of all that differs.

        None while there is no file: what was filed stays.

        Raises: Unavailable where the file cannot be read.
        """
        if not self._database.exists:
            return  # a file that is gone is not an empty one
        name, _, known = (since.mark or "").partition(" ")
        state = self._database.ask("state")
        if state and state[0][0] == name and known.isdecimal():
            yield from self._changed(int(known), since)
        else:
            yield from _everything(self._store, since, self._zone)

    def _changed(self, seq: int, since: Since) -> Iterator[Change]:
        asked = {"user_id": self._store.owner, "seq": seq, "limit": _AT_ONCE}
        below = _PAST_EVERY_CHANGE
        while rows := self._database.ask("changed_since", below=below, **asked):
            for number, kind, ref_id in rows:
                below = number
                record = self._store.find(kind, ref_id)
                ref = ref_of(kind, ref_id)
                change = change_now(kind, ref_id, record, self._zone)
                stamp = change.doc.stamp if isinstance(change, Put) else None
                if since.stamps(ref).get(ref) != stamp:
                    yield change


class WholeMemory:
    """All that one user keeps, as it is read to be forgotten: drafts too, which no index has.

    Args:
        store: Of that user, in a file or on a server.
        kinds: What is read of it.
    """

    name = JOURNAL
    cheap_mark = False
    exact_mark = False

    def __init__(self, store: MemoryStore, kinds: Sequence[Kind] = KINDS) -> None:
        self._store = store
        self._kinds = kinds

    def mark(self) -> str:
        """None: it is read whole."""
        return ""

    def scan(self, since: Since) -> Iterator[Change]:
        """Puts of all records that are not as they are known. Raises: Unavailable."""
        known = since.stamps(f"{JOURNAL}:")
        for record in _records(self._store, self._kinds):
            change = kept_of(record)
            if isinstance(change, Put) and known.get(change.doc.ref) != change.doc.stamp:
                yield change


def _records(store: MemoryStore, kinds: Sequence[Kind] = KINDS) -> Iterator[Record]:
    for kind in kinds:
        cursor = ""
        while True:
            found = store.list_records(kind, limit=_AT_ONCE, cursor=cursor)
            yield from found.records
            if not (cursor := found.cursor):
                break


def _everything(store: MemoryStore, since: Since, zone: tzinfo) -> Iterator[Change]:
    """Puts of all records that are not as they are known, newest first, then drops.

    Raises: Unavailable.
    """
    known = since.stamps(f"{JOURNAL}:")
    seen: set[str] = set()
    changed: list[Put] = []
    for change in (change_of(record, zone) for record in _records(store)):
        if isinstance(change, Put):
            seen.add(change.doc.ref)
            if known.get(change.doc.ref) != change.doc.stamp:
                changed.append(change)
    yield from sorted(changed, key=lambda put: put.doc.at, reverse=True)
    yield from (Drop(ref) for ref in sorted(known.keys() - seen))
