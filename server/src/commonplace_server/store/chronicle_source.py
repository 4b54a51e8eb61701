"""Owns how the timeline and forgetting follow a chronicle on Postgres; the index has its outbox.

Never writes.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Drop, Put
from commonplace.journals.chronicle.event import EVERYTHING, JOURNAL, doc_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from commonplace.core.values import Change, Since
    from commonplace_server.store.chronicle import ChroniclePostgres

_AT_ONCE = 500


class SharedChronicleSource:
    """One user's chronicle on Postgres; see `core.ports.Source`."""

    name = JOURNAL
    cheap_mark = False
    exact_mark = True

    def __init__(self, store: ChroniclePostgres, zone: tzinfo) -> None:
        self._store = store
        self._zone = zone

    def mark(self) -> str:
        """How often its entries changed; see the port."""
        try:
            return self._store.mark()
        except CommonplaceError as exc:
            return f"unreadable {exc.message}"

    def scan(self, since: Since) -> Iterator[Change]:
        """Puts and drops of what changed since, the last change first; else of all that differs."""
        changed = self._store.changed_since(since.mark)
        if changed is None:
            yield from self._everything(since)
            return
        ids = iter(changed)
        while batch := list(islice(ids, _AT_ONCE)):
            found = {event.id: event for event in self._store.get_many(batch)}
            for each in batch:
                ref = f"{JOURNAL}:{each}"
                known, event = since.stamps(ref).get(ref), found.get(each)
                if event is not None and known != event.stamp:
                    yield Put(doc_of(event, self._zone))
                elif event is None and known is not None:
                    yield Drop(ref)

    def _everything(self, since: Since) -> Iterator[Change]:
        """Puts of what is new or altered, newest first, then drops; reads every entry."""
        known = since.stamps(f"{JOURNAL}:")
        seen: set[str] = set()
        asked = EVERYTHING
        while events := self._store.newest(_AT_ONCE, asked):
            seen.update(event.ref for event in events)
            changed = (event for event in events if known.get(event.ref) != event.stamp)
            yield from (Put(doc_of(event, self._zone)) for event in changed)
            asked = replace(asked, below=(events[-1].instant, events[-1].place))
        yield from (Drop(ref) for ref in sorted(known.keys() - seen))
