"""The timeline as a library: many owners, each with a store of their own; entries are plain dicts.

Never mixes owners: every call names one, and each has a folder, a file and an index of their own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from commonplace.core.clock import utc_now
from commonplace.core.errors import Invalid
from commonplace.core.values import Interval
from commonplace.journals.timeline.entry import LEVELS, parse_level
from commonplace.journals.timeline.journal import MOST_LISTED
from commonplace.services.timeline.service import parse_period

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from commonplace.app import App
    from commonplace.config.table import Settings
    from commonplace.core.clock import Clock
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.memories import MemoryBackend
    from commonplace.services.timeline.finding import TimelineHit
    from commonplace.services.timeline.service import TimelineService

_log = logging.getLogger(__name__)

MOST_OPEN = 32
_LEAVING_S = 60.0


class Timeline:
    """The timelines of all owners below one folder; synchronous and thread-safe. Close it.

    Args:
        home: Our folder, else where settings say.
        timezone: What cuts periods of an owner who has no zone of their own, an IANA name.
        settings: In place of those that environment and files give.
        clock: The present, aware.
        monotonic: Tells how long an owner has not been asked for, in seconds.
    """

    def __init__(
        self,
        *,
        home: Path | str | None = None,
        timezone: str | None = None,
        settings: Settings | None = None,
        clock: Clock = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings or _settings(home, timezone)
        self._clock = clock
        self._lock = threading.RLock()
        self._base: App | None = None
        self._monotonic = monotonic
        self._services: OrderedDict[str, TimelineService] = OrderedDict()
        self._leaving: list[tuple[float, TimelineService]] = []

    def add_entry(
        self,
        thread_id: str,
        content: str,
        entry_type: str = "raw",
        metadata: Mapping[str, Any] | None = None,
        *,
        at: datetime | None = None,
        idempotency_key: str = "",
    ) -> str:
        """Record an entry, `raw` or `profile_snapshot`; its id. Raises: Invalid, Unavailable."""
        written = self.service(thread_id).add(
            content,
            entry_type=entry_type,
            at=at,
            metadata=metadata,
            idempotency_key=idempotency_key,
        )
        return written.entry.id

    def add_message(
        self,
        thread_id: str,
        role: str,
        text: str,
        message_id: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
    ) -> str:
        """Record what was said in a conversation, once for each message_id; its id.

        Messages without an id, a blank one, are each an entry of their own.
        """
        said = {"source": f"{role}_message", "role": role, "message_id": message_id}
        return self.add_entry(
            thread_id,
            text,
            metadata={**said, **(metadata or {})},
            at=at,
            idempotency_key=f"message {message_id}" if message_id.strip() else "",
        )

    def search(
        self,
        thread_id: str,
        query: str,
        time_range: tuple[datetime, datetime] | None = None,
        entry_types: Sequence[str] | None = None,
        limit: int = 10,
    ) -> list[dict[str, Any]]:
        """The best entries by words and meaning, each with score, similarity, by and also.

        A blank query lists, newest first. Without time_range a time in the query is read ("last
        week"). Raises: Invalid, Unavailable.
        """
        found = self.service(thread_id).find(
            query,
            interval=None if time_range is None else _interval(*time_range),
            types=tuple(entry_types or ()),
            limit=limit,
        )
        return [_hit_dict(hit) for hit in found.hits]

    def get_entry(self, thread_id: str, entry_id: str) -> dict[str, Any]:
        """One entry. Raises: NotFound, which says whether it is gone or never existed."""
        return self.service(thread_id).journal.read(entry_id).as_dict()

    def get_time_range(
        self,
        thread_id: str,
        start: datetime,
        end: datetime,
        rollup_level: int | None = None,
        *,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """What overlaps [start, end), newest first: of one level (0 raw … 5 year), or of all.

        Of a level of rollups the period that is still open comes first, computed and marked
        `partial` in its metadata.

        Args:
            thread_id: The owner.
            start: An aware instant.
            end: As start.
            rollup_level: None for all levels.
            limit: None for all there is.

        Raises:
            Invalid: A time without a zone, or a level that is none.
        """
        service = self.service(thread_id)
        interval = _interval(start, end)
        level = parse_level(rollup_level) if rollup_level in range(len(LEVELS) + 1) else None
        current = service.find_open(interval, level) if level else None
        found = [] if current is None else [current.as_dict()]
        # A clock that was set back opens a period again that is rolled up already.
        again = {x["id"] for x in found}
        listed = (x for x in _listed(service, interval, rollup_level) if x["id"] not in again)
        return list(islice(chain(found, listed), limit))

    def get_rollup(
        self,
        thread_id: str,
        period: str,
        timestamp: datetime | None = None,
        *,
        partial: bool = False,
    ) -> dict[str, Any] | None:
        """The rollup of the period (`hourly` … `yearly`) that holds an instant, else of now's.

        None for a period that is still open, unless it is asked for as partial. One in which
        nothing was recorded has no content and 0 sources. Raises: Invalid, Unavailable.
        """
        found = self.service(thread_id).rollup(period, _aware(timestamp), partial=partial)
        return None if found is None else found.as_dict()

    def get_profile_snapshot(self, thread_id: str) -> dict[str, Any] | None:
        """The newest profile snapshot; None where there is none."""
        found = self.service(thread_id).journal.profile()
        return None if found is None else found.as_dict()

    def update_entry(
        self,
        thread_id: str,
        entry_id: str,
        *,
        content: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
    ) -> dict[str, Any]:
        """Alter an entry; what is None stays. Raises: Invalid, NotFound."""
        written = self.service(thread_id).update(
            entry_id, content=content, metadata=metadata, at=_aware(at)
        )
        return written.entry.as_dict()

    def delete_entry(self, thread_id: str, entry_id: str) -> list[str]:
        """Delete an entry for good, from every rollup and index too; refs of what it stood in."""
        deleted, _ = self.service(thread_id).delete(entry_id)
        return list(deleted.refs)

    def context(self, thread_id: str, query: str, budget_tokens: int = 1200) -> str:
        """What a prompt should hold: the profile, fitting rollups, the nearest entries; fenced."""
        return self.service(thread_id).context(query, budget_tokens=budget_tokens).text

    def trends(
        self,
        thread_id: str,
        start: datetime | None = None,
        end: datetime | None = None,
        period: str = "daily",
    ) -> dict[str, Any]:
        """Counts, active hours, projects and tags of each period, from data alone."""
        interval = Interval(start=_aware(start), end=_aware(end))
        return self.service(thread_id).trends(interval, level=parse_period(period)).as_dict()

    def memories(self, thread_id: str) -> MemoryBackend:
        """A memory system's storage on this owner's timeline: `create_memory`, `list_memories`."""
        from commonplace.journals.timeline.memories import MemoryBackend

        service = self.service(thread_id)

        def filed(entries: Sequence[TimelineEntry]) -> None:
            service.filing().file(service.journal.docs(entries))

        return MemoryBackend(service.journal, filed=filed)

    def roll_up(self, thread_id: str) -> int:
        """Roll up all that is due, at any time and as often as one likes; how many were made.

        Where `llm.background` is true, a model puts them into words, and one that fails is logged.
        What retention does not keep is deleted then, where it is switched on.
        """
        from commonplace.services.timeline.keeping import TimelineKeeping

        service = self.service(thread_id)
        wiring = self._app().timeline
        keeping = TimelineKeeping(lambda: service, lambda: wiring.background_rewording(service))
        done = keeping.roll_up()
        for note in done.notes:
            _log.warning("%s", note)
        return done.made

    def set_timezone(self, thread_id: str, timezone: str) -> None:
        """Keep a zone for this owner; periods from now on are cut by it. Raises: Invalid."""
        self.service(thread_id).journal.set_zone(timezone)

    def service(self, thread_id: str) -> TimelineService:
        """What works with one owner's timeline; opened at the first call. Do not keep it.

        Raises: Invalid for what cannot be an owner.
        """
        with self._lock:
            found = self._services.pop(thread_id, None)
            if found is None:
                found = self._app().timeline.service_of(thread_id)
            self._services[thread_id] = found
            self._evict()
            return found

    def close(self) -> None:
        """Close all files; may be called twice."""
        with self._lock:
            while self._services:
                self._close(self._services.popitem()[1])
            while self._leaving:
                self._close(self._leaving.pop()[1])
            if self._base is not None:
                self._base.close()
                self._base = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _evict(self) -> None:
        """Close what has not been asked for in a while: another thread may still be using it."""
        now = self._monotonic()
        while len(self._services) > MOST_OPEN:
            self._leaving.append((now, self._services.popitem(last=False)[1]))
        while self._leaving and now - self._leaving[0][0] > _LEAVING_S:
            self._close(self._leaving.pop(0)[1])

    def _close(self, service: TimelineService) -> None:
        service.filing().close()
        service.journal.close()
        self._app().shared.close_idle(service.journal.owner)

    def _app(self) -> App:
        from commonplace.app import App

        if self._base is None:
            self._base = App(self._settings, user_home=None, clock=self._clock)
            self._base.encoder.start()
        return self._base


def _listed(
    service: TimelineService, interval: Interval, level: int | None
) -> Iterator[dict[str, Any]]:
    cursor = ""
    while True:
        page = service.list_entries(interval, level=level, limit=MOST_LISTED, cursor=cursor)
        yield from (x.as_dict() for x in page.entries)
        if not (cursor := page.cursor):
            return


def _settings(home: Path | str | None, timezone: str | None) -> Settings:
    from commonplace.config.settings import (
        read_settings,
        user_home,
    )

    flags = {"home": None if home is None else str(Path(home).absolute()), "timezone": timezone}
    return read_settings(flags=flags, cwd=Path.cwd(), home=user_home())


def _interval(start: datetime, end: datetime) -> Interval:
    interval = Interval(start=_aware(start), end=_aware(end))
    if start >= end:
        raise Invalid("Invalid time range: its end is not after its start.", hint="Swap them.")
    return interval


def _aware(at: datetime | None) -> datetime | None:
    if at is not None and at.tzinfo is None:
        raise Invalid(f"Invalid time: {at} has no time zone.", hint="Give an aware datetime.")
    return at


def _hit_dict(hit: TimelineHit) -> dict[str, Any]:
    return {
        **hit.entry.as_dict(),
        "score": hit.score,
        "similarity": hit.similarity,
        "by": hit.by,
        "also": list(hit.also),
    }
