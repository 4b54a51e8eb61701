"""Owns how the index follows chronicle: its mark, and what others added, edited and deleted.

Never writes to chronicle's storage, and never logs an entry's text.
"""

from __future__ import annotations

import logging
import time
from itertools import islice
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Drop, Put
from commonplace.journals.chronicle.database import ChronicleDatabase
from commonplace.journals.chronicle.entry_stamps import TICK_NS
from commonplace.journals.chronicle.event import EVERYTHING, JOURNAL, doc_of
from commonplace.journals.chronicle.numbered import NumberedEntries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from commonplace.core.values import Change, Since
    from commonplace.journals.chronicle.event import Event
    from commonplace.journals.chronicle.journal import ChronicleJournal

_AT_ONCE = 500
_UNREADABLE = "unreadable"

_log = logging.getLogger(__name__)


class ChronicleSource:
    """The storage of one owner's chronicle, as the index follows it."""

    cheap_mark = False
    exact_mark = False

    def __init__(self, chronicle: ChronicleJournal) -> None:
        self._store = chronicle.files
        self._examined = chronicle.examined
        self._zone, self._owner = chronicle.zone, chronicle.owner
        self._numbered: NumberedEntries | None = None
        if isinstance(self._store, ChronicleDatabase) and self._store.only_ours:
            self._numbered = NumberedEntries(self._store)
        self.settles_mark = self._numbered is not None
        self._logged: set[str] = set()
        self._passed: tuple[str, int] | None = None
        self._remains = False

    @property
    def name(self) -> str:
        """`chronicle`."""
        return JOURNAL

    def mark(self) -> str:
        """A token that changes with every commit; about 1 ms at 100,000 entries.

        Where only our programs write: with every commit of theirs, and that of no other but by the
        count of entries and the numbers given.
        """
        try:
            return self._numbered.mark() if self._numbered else self._store.mark()
        except CommonplaceError as exc:
            return f"{_UNREADABLE} {exc.message}"

    def count(self, since: Since) -> tuple[int, int]:
        """How many entries there are, and how many of them are filed. Raises: as `scan`."""
        return self._store.count(), len(since.stamps(f"{JOURNAL}:"))

    def scan(self, since: Since) -> Iterator[Change]:
        """Puts of what is new or altered, newest first, then drops of what is gone.

        One pass compares the stamps of all entries, unless this process alone wrote since, or our
        programs alone ever write and nothing but entries came. Of a database that is not known at
        all the newest entries come before that pass.
        Raises: Invalid, Denied, Unavailable where the storage cannot be read.
        """
        touched = None if since.mark is None else self._touched(since.mark)
        if touched is not None:
            yield from self._compare(touched, since)
            return
        known = since.stamps(f"{JOURNAL}:")
        state = self._store.mark()  # with what has expired, which no file says
        if since.mark is None and self._passed == (state, hash(frozenset(known.items()))):
            return
        if not known:
            newest = self._newest()
            yield from (Put(doc_of(x, self._zone, self._owner)) for x in newest)
            known = {x.ref: x.stamp for x in newest}
        began = time.time_ns()
        found = self._examined.take()
        for label, why in found.unreadable:
            self._log(label, why)
        differing = {ref: x for ref, x in found.seen.items() if known.get(ref) != x.stamp}
        changed = sorted(differing.values(), key=lambda x: x.instant, reverse=True)
        gone = sorted(known.keys() - found.seen.keys())
        self._remains = bool(gone) or not differing.keys().isdisjoint(known)
        waiting = iter(changed)
        while batch := list(islice(waiting, _AT_ONCE)):
            events = self._store.read_many([x.key for x in batch])
            events.sort(key=lambda x: x.instant, reverse=True)
            yield from (Put(doc_of(x, self._zone, self._owner)) for x in events)
        yield from (Drop(ref) for ref in gone)
        stamps = frozenset((ref, x.stamp) for ref, x in found.seen.items())
        settled = began - self._store.changed_ns() > TICK_NS
        self._passed = (state, hash(stamps)) if settled else None

    def erase_remains(self) -> None:
        """Leave nothing in the file of what the scan saw gone or altered; never raises."""
        if self._remains:
            self._remains = False
            self._store.erase()

    def _newest(self) -> list[Event]:
        """What is asked for first, newest first; of a tree nothing: it is read whole either way."""
        if not isinstance(self._store, ChronicleDatabase):
            return []
        return self._store.newest(_AT_ONCE, EVERYTHING)

    def _touched(self, mark: str) -> dict[str, Event | None] | None:
        """What may have changed since a mark, as it is now; None where that takes a pass."""
        now = self._numbered.state() if self._numbered else self._store.files_state()
        ours = self._store.local_writes.refs_between(mark.partition(" ")[0], now)
        if ours:
            refs = dict.fromkeys(ours)
            return {ref: self._store.get(ref.removeprefix(f"{JOURNAL}:")) for ref in refs}
        added = self._numbered.added_since(mark) if self._numbered else None
        return None if added is None else {event.ref: event for event in added}

    def _compare(self, touched: Mapping[str, Event | None], since: Since) -> Iterator[Change]:
        for ref, event in touched.items():
            known = since.stamps(ref).get(ref)
            if event is not None and event.stamp != known:
                yield Put(doc_of(event, self._zone, self._owner))
            elif event is None and known is not None:
                yield Drop(ref)

    def _log(self, label: str, why: str) -> None:
        if label not in self._logged:
            self._logged.add(label)
            _log.warning("The entry %s of %s is passed over: %s", label, self._store.path, why)
