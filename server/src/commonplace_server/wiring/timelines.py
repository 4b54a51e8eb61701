"""The wiring of timelines in Postgres: how one is opened, followed, and rolled up by a worker.

Decides nothing about periods.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.core.errors import Unavailable
from commonplace.inference.language.extract import Extractive
from commonplace.journals.timeline.entry import JOURNAL
from commonplace.journals.timeline.feed import Feeding
from commonplace.journals.timeline.journal import TimelineJournal
from commonplace.journals.timeline.rollups import Rollups
from commonplace_server.store.due_timelines import DueTimelines
from commonplace_server.store.source import SharedSource
from commonplace_server.store.timeline import TimelineDocs, TimelinePostgres
from commonplace_server.wiring import journals
from commonplace_server.worker.rolling import TimelineRolling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from commonplace.app.process import ProcessContext
    from commonplace.core.clock import Clock
    from commonplace.core.ports import OpensRefs
    from commonplace.journals.timeline.rollup_input import FedEntry
    from commonplace_server.postgres.database import Postgres
    from commonplace_server.store.due_users import DueUsers


def timeline_in(
    database: Postgres,
    owner: str,
    clock: Clock,
    shared: ProcessContext,
    *,
    worker: UUID | None = None,
) -> TimelineJournal:
    """One user's timeline, without what only a server notes beside it."""
    return TimelineJournal(
        owner=owner,
        zone=shared.settings.timezone,
        clock=clock,
        screen=shared.screen,
        store=TimelinePostgres(database, owner=owner, clock=clock, worker=worker),
    )


def source_of_timeline(database: Postgres, journal: TimelineJournal) -> SharedSource:
    """What follows a timeline in the database."""
    return SharedSource(JOURNAL, TimelineDocs(database, journal), lambda doc: doc)


class FedByDatabase:
    """What opens entries of other journals of the database, for a worker; see `Feed`.

    A summary that is also made of what lies on a home's disk is left to a server of that home.
    """

    def __init__(self, feeding: Feeding, journals: Sequence[str]) -> None:
        self._feeding = feeding
        self._journals = journals

    def read(self, refs: Sequence[str]) -> Mapping[str, FedEntry]:
        """The entries under these refs; see the port."""
        if others := {ref.partition(":")[0] for ref in refs}.difference(self._journals):
            raise Unavailable(
                f"What {', '.join(sorted(others))} adds to the timeline is on a home's disk.",
                hint="A server of that home rolls it up.",
            )
        return self._feeding.read(refs)


def rolling_in(database: Postgres, clock: Clock, shared: ProcessContext) -> TimelineRolling:
    """What rolls up the timelines of a database, connected as its worker.

    Args:
        database: Connected to as the worker's role.
        clock: The present.
        shared: Whose settings say the zone, the grace and which journals feed a timeline.
    """
    settings, due = shared.settings, DueTimelines(database)
    grace = timedelta(minutes=settings.timeline.grace_minutes)

    def rollups_of(owner: str) -> Rollups:
        journal = timeline_in(database, owner, clock, shared, worker=due.worker)
        pages = journals.pages_of(database, owner, clock, shared)
        feeding = _feeding(journal, database, clock, shared, pages)
        feeding.sync()
        return Rollups(journal, Extractive(), grace=grace, feed=FedByDatabase(feeding, [*pages]))

    return TimelineRolling(due, rollups_of=rollups_of, grace=grace, clock=clock)


def following_in(
    database: Postgres, due: DueUsers, clock: Clock, shared: ProcessContext
) -> Callable[[str], None]:
    """What notes what other journals add to a user's timeline, which begins with it if need be.

    Args:
        database: Connected to as the worker's role.
        due: Knows whether a user has anything of that.
        clock: The present.
        shared: Whose settings say the zone, and which journals feed a timeline.
    """
    names = shared.settings.timeline.feed

    def follow(owner: str) -> None:
        if names and due.feeds(owner, names):
            journal = timeline_in(database, owner, clock, shared)
            pages = journals.pages_of(database, owner, clock, shared)
            _feeding(journal, database, clock, shared, pages).sync()

    return follow


def _feeding(
    journal: TimelineJournal,
    database: Postgres,
    clock: Clock,
    shared: ProcessContext,
    pages: Mapping[str, OpensRefs],
) -> Feeding:
    sources = journals.sources_of(database, journal.owner, clock, shared)
    fed = [each for each in sources if each.name in shared.settings.timeline.feed]
    return Feeding(journal, sources=lambda: fed, openers=lambda: pages)
