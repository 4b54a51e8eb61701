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

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
        self._logged: set[str] = set()
        self._passed: tuple[str, int] | None = None
        self._remains = False

    @property
    def name(self) -> str:
        """`chronicle`."""
        return JOURNAL

    def mark(self) -> str:
        """A token that changes with every commit; about 1 ms at 100,000 entries."""
        try:
            return self._store.mark()
        except CommonplaceError as exc:
            return f"{_UNREADABLE} {exc.message}"

    def count(self, since: Since) -> tuple[int, int]:
        """How many entries there are, and how many of them are filed. Raises: as `scan`."""
        return self._store.count(), len(since.stamps(f"{JOURNAL}:"))

    def scan(self, since: Since) -> Iterator[Change]:
        """Puts of what is new or altered, newest first, then drops of what is gone.

        One pass compares the stamps of all entries, unless this process alone wrote since. Of a
        database that is not known at all the newest entries come before that pass.
        Raises: Invalid, Denied, Unavailable where the storage cannot be read.
        """
        now = self._store.files_state()
        if since.mark is not None:
            ours = self._store.local_writes.refs_between(since.mark.partition(" ")[0], now)
            if ours:
                yield from self._scan_refs(ours, since)
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

    def _scan_refs(self, refs: Sequence[str], since: Since) -> Iterator[Change]:
        for ref in dict.fromkeys(refs):
            known = since.stamps(ref).get(ref)
            event = self._store.get(ref.removeprefix(f"{JOURNAL}:"))
            if event is not None and event.stamp != known:
                yield Put(doc_of(event, self._zone, self._owner))
            elif event is None and known is not None:
                yield Drop(ref)

    def _log(self, label: str, why: str) -> None:
        if label not in self._logged:
            self._logged.add(label)
            _log.warning("The entry %s of %s is passed over: %s", label, self._store.path, why)
