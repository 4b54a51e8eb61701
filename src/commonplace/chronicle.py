"""An owner's chronicle as a library: what was done or decided, and when.

Never mixes owners: each has a database and an index of their own, and an object is of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.journal_library import JournalFound, JournalLibrary
from commonplace.journals.chronicle.event import JOURNAL, KIND, Event, TagCount
from commonplace.library import check_entry_time, check_limit, interval_of
from commonplace.verbs.chronicle.service import ChronicleService

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from commonplace.app import App
    from commonplace.core.values import Filter, Hit

_PAGE = 1000


class Chronicle(JournalLibrary[ChronicleService, Event]):
    """The log of one owner; see `Library` for how it is opened, and for its verbs."""

    _journal = JOURNAL
    _kinds = (KIND,)

    def save_entry(
        self,
        text: str,
        *,
        tags: Sequence[str] = (),
        at: datetime | None = None,
        idempotency_key: str = "",
        supersedes: str = "",
        expires: datetime | None = None,
    ) -> str:
        """Log what was done or decided, with its subjects as tags; its ref.

        Raises: Invalid, Conflict, Unavailable.
        """
        check_entry_time(at)
        key = idempotency_key or None

        def save() -> str:
            added, _ = self.service.add(text, tags=tags, at=at, key=key, supersedes=supersedes)
            return added.event.ref

        return self._save_expiring(expires, save)

    def list(
        self,
        *,
        kinds: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
        tags: Sequence[str] = (),
    ) -> Sequence[Event]:
        """Entries newest first; see `Library.list`.

        tags: plain ones any of, `+tag` required, `-tag` excluded. Raises: Invalid, Unavailable.
        """
        check_limit(limit)
        within = self._within(kinds, interval_of(since, until)).interval
        found: list[Event] = []
        cursor = ""
        while len(found) < limit:
            length = min(limit - len(found), _PAGE)
            page = self.service.chronicle.list_events(
                limit=length, within=within, tags=tags, cursor=cursor
            )
            found += page.events
            if not (cursor := page.cursor):
                break
        return found

    def search(
        self,
        query: str,
        *,
        kinds: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
        tags: Sequence[str] = (),
    ) -> JournalFound[Event]:
        """The best entries by words and meaning, ten at the most; see `Library.search`.

        tags: as for `list`. Raises: Invalid, Unavailable.
        """
        within = self._within(kinds, interval_of(since, until), as_of)
        return self._search(query, replace(within, tags=tuple(tags)), limit)

    def tags(self) -> Sequence[TagCount]:
        """The tags of all entries, the most frequent first. Raises: Unavailable."""
        return self.service.chronicle.list_tags()

    def _service_in(self, app: App) -> ChronicleService:
        return app.chronicle.service()

    def _read(self, service: ChronicleService, ref: str) -> Event:
        return service.chronicle.read_event(ref)

    def _find(
        self, service: ChronicleService, query: str, within: Filter, limit: int
    ) -> tuple[Sequence[Hit], Sequence[str]]:
        found = service.searches.find(
            query,
            tags=within.tags,
            within=within.interval,
            limit=limit,
            before=within.written_before,
        )
        return found.hits, found.notes
