"""An owner's timeline as a library: what happened, and how hours, days and years went.

Never mixes owners: each has a folder, a file and an index of their own, and an object is of one.
"""

from __future__ import annotations

import logging
from itertools import islice
from typing import TYPE_CHECKING, Any

from commonplace.journals.memory.entry import parse_role
from commonplace.journals.timeline.due_periods import check_zone
from commonplace.journals.timeline.entry import (
    JOURNAL,
    PROFILE,
    ROLLUP_TYPES,
    id_of,
    parse_kinds,
)
from commonplace.journals.timeline.journal import MOST_LISTED
from commonplace.library import MessageLibrary, check_aware, check_limit, interval_of
from commonplace.verbs.timeline.amend import TimelineAmender
from commonplace.verbs.timeline.finding import MOST, TimelineFound
from commonplace.verbs.timeline.reading import parse_period
from commonplace.verbs.timeline.service import TimelineService

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.clock import Level
    from commonplace.core.ports import OwnerIndex
    from commonplace.core.values import Interval
    from commonplace.journals.memory.records import Role
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.memories import MemoryBackend
    from commonplace.journals.timeline.trends import Trends
    from commonplace.search.filing.port import Refreshing

_HITS = 10

_log = logging.getLogger(__name__)


class Timeline(MessageLibrary[TimelineService]):
    """The timeline of one owner; see `Library` for how it is opened, and for its verbs.

    The first timezone that it is opened with is kept for the owner with the first entry; another
    one is Invalid after that, until `set_timezone` keeps it.
    """

    _journal = JOURNAL
    _claims_zone = True

    def save_entry(
        self,
        text: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
        idempotency_key: str = "",
        supersedes: str = "",
        expires: datetime | None = None,
    ) -> str:
        """Keep what happened; its ref. Raises: Invalid, Unavailable."""
        how = {"at": at, "idempotency_key": idempotency_key, "supersedes": supersedes}
        return self._save(expires, text, metadata=metadata, **how)

    def save_profile(
        self,
        text: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
        idempotency_key: str = "",
        supersedes: str = "",
        expires: datetime | None = None,
    ) -> str:
        """Keep who the owner is now, its ref; earlier ones stay. Raises: Invalid, Unavailable."""
        how = {"at": at, "idempotency_key": idempotency_key, "supersedes": supersedes}
        return self._save(expires, text, entry_type=PROFILE, metadata=metadata, **how)

    def save_message(
        self,
        role: Role,
        text: str,
        *,
        at: datetime | None = None,
        idempotency_key: str = "",
        supersedes: str = "",
        expires: datetime | None = None,
    ) -> str:
        """Keep what a user or an assistant said; see `MessageLibrary`.

        The key stands in the metadata as `message_id`.
        """
        role = parse_role(role)
        metadata = {"source": f"{role}_message", "role": role, "message_id": idempotency_key}
        key = f"message {idempotency_key}" if idempotency_key.strip() else ""
        how = {"at": at, "idempotency_key": key, "supersedes": supersedes}
        return self._save(expires, text, metadata=metadata, **how)

    def edit_entry(
        self,
        ref: str,
        *,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
    ) -> TimelineEntry:
        """Alter an entry; what is None stays. Raises: Invalid, NotFound."""
        check_aware("at", at)
        amender = self._amender_of(self.service)
        return amender.update(id_of(ref), content=text, metadata=metadata, at=at).entry

    def get(self, ref: str) -> TimelineEntry:
        """One entry or summary. Raises: NotFound, which says whether it is gone or never was."""
        return self.service.journal.read(id_of(ref))

    def list(
        self,
        *,
        kinds: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
    ) -> Sequence[TimelineEntry]:
        """What overlaps a time, newest first; see `Library.list`. Raises: Invalid.

        Of a kind of summary that is asked for, the period that is still open comes first, computed
        and marked `partial` in its metadata.
        """
        check_limit(limit)
        interval = interval_of(since, until)
        types = parse_kinds(kinds)
        levels = [level for level, name in ROLLUP_TYPES.items() if name in types]
        return [*islice(self._listed(interval, types, levels), limit)]

    def search(
        self,
        query: str,
        *,
        kinds: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
    ) -> TimelineFound:
        """The best entries by words and meaning; see `Library.search`.

        Entries come first, and summaries below them, unless kinds names a summary or the query asks
        how a time went. A blank query lists, newest first. Where no time is given, one in the query
        is read ("last week"). Ten hits, unless limit says otherwise. Raises: Invalid, Unavailable.
        """
        wanted = _HITS if limit is None else limit
        check_limit(wanted, most=MOST)
        check_aware("as_of", as_of)
        interval = interval_of(since, until)
        given = interval if since or until else None
        return self.service.find(
            query, interval=given, types=tuple(kinds), limit=wanted, before=as_of
        )

    def context(self, question: str, budget_tokens: int = 1200) -> str:
        """What a prompt should hold: the profile, fitting summaries, the nearest entries; fenced.

        A blank question asks for what is new. Raises: Invalid, Unavailable.
        """
        return self.service.context(question, budget_tokens=budget_tokens).text

    def rollup(
        self, period: str, at: datetime | None = None, *, partial: bool = False
    ) -> TimelineEntry | None:
        """The summary of the period (`hourly` … `yearly`) that holds an instant, else of now's.

        None for a period that is still open, unless it is asked for as partial. One in which
        nothing was recorded has no text and 0 sources. Raises: Invalid, Unavailable.
        """
        check_aware("at", at)
        return self.service.rollup(period, at, partial=partial)

    def profile(self) -> TimelineEntry | None:
        """The newest profile; None where none was kept."""
        return self.service.journal.profile()

    def trends(
        self,
        period: str = "daily",
        *,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Trends:
        """Counts, active hours, projects and tags of each period, from data. Raises: Invalid."""
        return self.service.trends(interval_of(since, until), level=parse_period(period))

    def memories(self) -> MemoryBackend:
        """A memory system's storage on this timeline: `create_memory`, `list_memories`."""
        from commonplace.journals.timeline.memories import MemoryBackend

        service = self.service

        def filed(entries: Sequence[TimelineEntry]) -> None:
            service.filing().file(service.journal.docs(entries))

        return MemoryBackend(service.journal, filed=filed)

    def roll_up(self) -> int:
        """Roll up all that is due, at any time and as often as one likes; how many were made.

        Where `llm.background` is true, a model puts them into words, and one that fails is logged.
        What retention does not keep is deleted then, where it is switched on.
        """
        from commonplace.verbs.timeline.commands import TimelineCommands

        service, wiring = self.service, self._app.timeline
        done = TimelineCommands(service, lambda: wiring.background_model_texts(service)).roll_up()
        for note in done.facts["notes"]:
            _log.warning("%s", note)
        return int(done.facts["made"])

    def set_timezone(self, timezone: str) -> None:
        """Keep a zone for this owner; periods from now on are cut by it. Raises: Invalid."""
        check_zone(timezone)
        self._claims_zone = False  # this may have been opened with another zone than the one kept
        self.service.journal.set_zone(timezone)

    def _open(self) -> TimelineService:
        service = self._app.timeline.service_of(self.owner)
        try:
            if self._claims_zone:
                service.journal.claim_zone(self._shared.first_zone)
        except BaseException:
            self._close(service)
            raise
        return service

    def _close(self, service: TimelineService) -> None:
        service.filing().close()
        service.journal.close()
        self._app.shared.close_idle(self.owner)

    def _filed(self, service: TimelineService) -> tuple[Refreshing, OwnerIndex]:
        return service.filing(), self._app.timeline.index_of(self.owner)

    def _amender_of(self, service: TimelineService) -> TimelineAmender:
        return TimelineAmender(service)

    def _save(self, expires: datetime | None, text: str, **how: Any) -> str:
        return self._save_expiring(expires, lambda: self.service.add(text, **how).entry.ref)

    def _listed(
        self, interval: Interval, types: Sequence[str], going_on: Sequence[Level]
    ) -> Iterator[TimelineEntry]:
        cursor = ""
        while True:
            page = self.service.list_entries(
                interval, types=types, limit=MOST_LISTED, cursor=cursor, going_on=going_on
            )
            yield from page.entries
            if not (cursor := page.cursor):
                return
