"""The wiring of memories in Postgres: one pool and one index for all users, and the worker.

Words and vectors of what lies in that database lie there too; no index on a disk has any of them.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal

from commonplace.app import Apps
from commonplace.app.owner_context import SearchStack
from commonplace.app.process import ProcessContext
from commonplace.app.wiring.memory.wiring import memories_of
from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.fence import visible_line
from commonplace.core.standstill import PROCESS
from commonplace.core.text import opening
from commonplace.core.values import Problem
from commonplace.journals.notebook.format import DEFAULT_AUTHOR
from commonplace.journals.timeline.due_periods import bounds
from commonplace.journals.transcripts.message import JOURNAL as TRANSCRIPTS
from commonplace_server.index import index
from commonplace_server.index.merged import MergedIndex
from commonplace_server.postgres.database import Postgres
from commonplace_server.postgres.kept import find_miscounted
from commonplace_server.postgres.quota import Quota
from commonplace_server.postgres.servers import Servers
from commonplace_server.records import store as records
from commonplace_server.records.backlog import MemoryBacklog
from commonplace_server.records.former_texts import MemoryFormerTexts
from commonplace_server.records.outbox_checks import note_filed
from commonplace_server.records.times import MemoryTimes
from commonplace_server.records.upkeep import MemoryUpkeep
from commonplace_server.state.spending import SpentDatabase
from commonplace_server.state.visitors import BrowsersOfOwner, VisitorDatabase
from commonplace_server.store import entries
from commonplace_server.store.chronicle import ChroniclePostgres
from commonplace_server.store.due_users import DueUsers
from commonplace_server.store.notebook import NotebookPostgres
from commonplace_server.store.timeline import TimelinePostgres
from commonplace_server.store.transcripts import TranscriptDocs, TranscriptsPostgres
from commonplace_server.wiring import journals
from commonplace_server.wiring.addresses import address_in
from commonplace_server.wiring.schema import check_database, check_worker
from commonplace_server.wiring.servers import (
    OF_WORKERS,
    announce_settings,
    describe_others,
    describe_servers,
    open_servers,
)
from commonplace_server.wiring.timelines import (
    following_in,
    rolling_in,
    source_of_timeline,
    timeline_in,
)
from commonplace_server.wiring.upkeep import UserUpkeep, upkeep_settings
from commonplace_server.worker.changes import JournalChanges
from commonplace_server.worker.merged_filing import MergedFiling
from commonplace_server.worker.users import UserRounds
from commonplace_server.worker.word_filing import WordFiling
from commonplace_server.worker.worker import MemoryWorker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from commonplace.app.owner_context import JournalWiring, OwnerContext
    from commonplace.config.table import Settings
    from commonplace.core.ports import Searched, Source
    from commonplace.core.time_book import TimeColumn
    from commonplace.journals.notebook.shared import SharedNotebook
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace.search.finder import Finder
    from commonplace_server.postgres.database import Connection
    from commonplace_server.postgres.pool_use import PoolUse
    from commonplace_server.store.private import PrivatePostgres
    from commonplace_server.store.source import SharedSource
    from commonplace_server.worker.changes import ReadsDocs


LATE_S = 300.0
"""What waits for longer than this waits in vain: no worker is at it."""

_COUNTING_S = 2.0
_NAMED = 3


class PostgresMemories:
    """Every user's memory in one database, opened when it is first used. Close it at the end."""

    def __init__(self, shared: ProcessContext) -> None:
        serve = shared.settings.serve
        # Commands on the machine are not held to it: who calls them sets the quota.
        quota = Quota(serve.most_entries, serve.most_bytes)
        is_held = shared.serves_owners and any(quota)
        self._database = Postgres(
            address_in(shared.settings, "url"),
            check=check_database,
            quota=quota if is_held else None,
            refuse=PROCESS.refuse,
        )
        self._index = index.PostgresIndex(self._database)
        self._shared = shared

    def store_of(self, owner: str, clock: Clock) -> records.MemoryPostgres:
        """The store of one user."""
        return records.MemoryPostgres(self._database, owner=owner, clock=clock)

    def is_there(self, owner: str) -> bool:
        """Always: whether anything was kept would have to be asked."""
        return True

    def is_known(self, owner: str) -> bool:
        """Whether anything was ever kept of a user, in any journal, here or there."""
        return os.path.isdir(self._shared.folder_of(owner)) or entries.is_kept(
            self._database, owner
        )

    def users(self) -> Sequence[str]:
        """No user: every query of the database is limited to one, so none can list them all."""
        return ()

    def chronicle_of(self, owner: str, clock: Clock) -> ChroniclePostgres:
        """The entries of one user's chronicle."""
        return ChroniclePostgres(self._database, owner=owner, clock=clock)

    def chronicle_source(self, store: ChroniclePostgres) -> SharedSource:
        """What follows them for the timeline and forgetting; the index has its outbox."""
        return journals.source_of_chronicle(store, self._shared.settings.timezone)

    def private_of(self, owner: str, clock: Clock) -> PrivatePostgres:
        """The entries of one user's private journal."""
        return journals.private_store(self._database, owner, clock, self._shared)

    def private_source(self, store: PrivatePostgres) -> SharedSource:
        """What follows them likewise."""
        return journals.source_of_private(store)

    def notebook_of(self, owner: str, clock: Clock, author: str | None) -> NotebookPostgres:
        """The sections and entries of one user's notebook."""
        return NotebookPostgres(
            self._database, owner=owner, clock=clock, author=author or DEFAULT_AUTHOR
        )

    def notebook_source(self, notebook: SharedNotebook) -> SharedSource:
        """What follows it likewise."""
        return journals.source_of_notebook(notebook)

    def timeline_of(self, owner: str, clock: Clock) -> TimelinePostgres:
        """What keeps one user's timeline."""
        return TimelinePostgres(self._database, owner=owner, clock=clock)

    def timeline_source(self, journal: TimelineJournal) -> SharedSource:
        """What follows a timeline that such a store keeps."""
        return source_of_timeline(self._database, journal)

    def transcripts_of(self, owner: str, clock: Clock) -> TranscriptsPostgres:
        """The sessions of one user."""
        return TranscriptsPostgres(self._database, owner=owner, clock=clock)

    def transcripts_source(self, store: TranscriptsPostgres) -> SharedSource:
        """What follows each message of them likewise."""
        return journals.source_of_transcripts(store, self._shared.settings.timezone)

    def is_due(self, owner: str, now: datetime) -> bool:
        """Whether a user's upkeep is due, or a period of their timeline, which others may feed."""
        settings = self._shared.settings
        next_at = DueUsers(self._database).next_upkeep(owner, upkeep_settings(settings), now)
        if next_at is not None and next_at <= now:
            return True
        store = self.timeline_of(owner, lambda: now)
        if settings.timeline.feed:
            return store.exists
        grace = timedelta(minutes=settings.timeline.grace_minutes)
        return bool(store.ask("count_due", **bounds(now, grace)))

    def times_of(self, owner: str, column: TimeColumn, journals: Sequence[str]) -> MemoryTimes:
        """What keeps such times of a user's entries, for every server of the database."""
        return MemoryTimes(self._database, owner=owner, column=column, journals=journals)

    def former_of(self, owner: str, journal: str) -> MemoryFormerTexts:
        """What keeps former texts of a user's entries, for every server of the database."""
        return MemoryFormerTexts(self._database, owner=owner, journal=journal)

    def budget_of(self, owner: str, clock: Clock) -> SpentDatabase:
        """The tokens that a user's language models have spent, on every server of the database."""
        settings = self._shared.settings
        return SpentDatabase(
            self._database,
            owner=owner,
            per_day=settings.llm.tokens_per_day,
            clock=clock,
            zone=settings.timezone,
        )

    def browsers_of(self, owner: str) -> BrowsersOfOwner:
        """What the signed-in browsers of a user were shown, at every server of the database."""
        return BrowsersOfOwner(VisitorDatabase(self._database), owner)

    def of_owner(self, context: OwnerContext) -> SearchStack[WordFiling]:
        """What files and finds this owner's: alone, as anybody's."""
        store = self.store_of(context.settings.owner, context.clock)
        return self._stack(context, store, quoting=context.quoting())

    def with_journals(self, context: OwnerContext) -> tuple[Finder, Searched]:
        """What finds this owner's memory and all other journals as one.

        A recall of who lies in the database alone asks it once for what took 11 transactions: of a
        server's processor 16.4 ms become 14.2 beside other work, of the database's 5.4 become 4.5.
        """
        mine, owner = self.of_owner(context), context.settings.owner
        if self._shared.is_served(owner) and not self._has_filed_here(context):
            return context.finder_over(mine.index, mine.filing), mine.index
        theirs = self._shared.journals_in_database(owner)
        index = MergedIndex(context.index, mine.index, journals=theirs)
        return context.finder_over(index, MergedFiling(context.filing, mine.filing)), index

    def _has_filed_here(self, context: OwnerContext) -> bool:
        """Whether an index on this disk may hold what a served user wrote before journals moved.

        None is made to be asked: on a full disk that fails, and so would the search.
        """
        if not self._shared.has_index(context.settings.owner):
            return False
        try:
            return context.index.counts("").docs > 0
        except CommonplaceError:
            return True

    def alone(
        self, context: OwnerContext, store: records.MemoryPostgres
    ) -> SearchStack[WordFiling]:
        """What files and finds what lies there of any user, by itself."""
        return self._stack(context, store, quoting=None)

    def _stack(
        self,
        context: OwnerContext,
        store: records.MemoryPostgres,
        *,
        quoting: Callable[[Sequence[str]], Sequence[str]] | None,
    ) -> SearchStack[WordFiling]:
        mine = self._index.of_owner(store.owner)
        filing = WordFiling(
            index=mine,
            store=store,
            read=JournalChanges(
                records=store,
                others=others_of(self._database, store.owner, context.clock, self._shared),
            ),
            note_filed=note_filed,
            shows_paths=context.shows_paths,
            quoting=quoting,
        )
        finder = context.shared.finder_over(mine, filing)
        return SearchStack(index=mine, filing=filing, finder=finder)

    def sources(
        self, journal: JournalWiring, open_store: Callable[[], records.MemoryPostgres]
    ) -> Sequence[Source]:
        """None: the index of all journals does not follow it."""
        return ()

    def problems(
        self,
        context: OwnerContext,
        store: records.MemoryPostgres,
    ) -> Iterator[Problem | str]:
        """What is wrong with the database that the settings name, and what is worth knowing."""
        return find_problems(context.settings)

    @staticmethod
    def problems_of(settings: Settings) -> Iterator[Problem | str]:
        """The same where no memory lies in it, as on the machine of a worker."""
        return find_problems(settings)

    def count_refused(self) -> int:
        """How many writes the quota has kept out."""
        return self._database.refused

    def pool_use(self) -> PoolUse:
        """How busy the connections of all users are."""
        return self._database.use()

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._index.close()
        self._database.close()


def has_due(shared: ProcessContext, owner: str, now: datetime) -> bool:
    """Whether anything of a user's is due that lies in a database. Raises: Unavailable, Denied."""
    memories = memories_of(shared)
    return isinstance(memories, PostgresMemories) and memories.is_due(owner, now)


def others_of(
    database: Postgres, owner: str, clock: Clock, shared: ProcessContext
) -> Mapping[str, ReadsDocs]:
    """What reads a user's entries of the journals beside memory, for the index."""
    timeline = source_of_timeline(database, timeline_in(database, owner, clock, shared))
    sources = (*journals.sources_of(database, owner, clock, shared), timeline)
    transcripts = TranscriptsPostgres(database, owner=owner, clock=clock)
    exchanges = TranscriptDocs(transcripts, shared.settings.timezone).exchanges_of
    return {**{each.name: each.docs_of for each in sources}, TRANSCRIPTS: exchanges}


@contextmanager
def open_backlog(settings: Settings) -> Iterator[MemoryBacklog]:
    """What waits for the worker of the database, asked as its role. Raises: Invalid."""
    database = Postgres(address_in(settings, "worker_url"), check=check_worker, most=1)
    try:
        yield MemoryBacklog(database)
    finally:
        database.close()


@contextmanager
def open_worker(
    shared: ProcessContext, clock: Clock = utc_now, *, apps: Apps | None = None
) -> Iterator[MemoryWorker]:
    """The worker of the database that the settings name. Raises: Invalid where they name none.

    apps: Those of the server it is part of; else it opens its own, where the users' role is named.
    """
    settings = shared.settings
    if settings.database.worker_url is None:
        raise Invalid(
            "The worker's address of the database is not named; memories in files need no worker.",
            hint="Set COMMONPLACE_DATABASE_WORKER_URL, as postgresql://commonplace_worker@host/name.",
        )
    with ExitStack() as opened:
        database = Postgres(address_in(settings, "worker_url"), check=check_worker)
        opened.callback(database.close)
        announce_settings(settings, Servers(database), OF_WORKERS)
        yield MemoryWorker(
            backlog=MemoryBacklog(database),
            upkeep=MemoryUpkeep(database, tables=(*entries.TABLES, *index.TABLES), clock=clock),
            read_of=lambda owner: JournalChanges(
                records=records.MemoryPostgres(database, owner=owner),
                others=others_of(database, owner, clock, shared),
            ),
            index_of=index.PostgresIndex(database).of_owner,
            of_many=database.of_many,
            encoder=shared.encoder,
            rolling=rolling_in(database, clock, shared),
            users=opened.enter_context(_rounds_in(database, clock, shared, apps)),
        )


@contextmanager
def _rounds_in(
    database: Postgres, clock: Clock, shared: ProcessContext, apps: Apps | None
) -> Iterator[UserRounds]:
    """What goes round users; it keeps them up where their own role is named beside the worker's."""
    settings, due = shared.settings, DueUsers(database)
    follow = following_in(database, due, clock, shared)
    if settings.database.url is None or settings.database.worker_url is None:
        yield UserRounds(due, follow=follow, upkeep=None, clock=clock)
        return
    with ExitStack() as opened:
        if apps is None:
            mine = ProcessContext(settings, encoder=shared.encoder, serves_owners=True)
            opened.callback(mine.close)
            apps = Apps(settings, user_home=None, clock=clock, shared=mine)
            opened.callback(apps.close)
        upkeep = UserUpkeep(apps, database, due, clock)
        upkeep.announce()
        yield UserRounds(due, follow=follow, upkeep=upkeep, clock=clock)


def find_problems(settings: Settings) -> Iterator[Problem | str]:
    """What is wrong with the database that the settings name, and what is worth knowing."""
    if settings.database.url is not None:
        yield from _check_role(settings, "url", check_database, _describe_answering)
        # What is wrong with the database was said.
        with suppress(CommonplaceError), open_servers(settings) as servers:
            yield from describe_servers(settings, servers)
    if settings.database.worker_url is not None:
        is_alone = settings.database.url is None
        describe = partial(_describe_work, settings) if is_alone else _describe_waiting
        yield from _check_role(settings, "worker_url", check_worker, describe)


def _check_role(
    settings: Settings,
    name: Literal["url", "worker_url"],
    check: Callable[[Connection, str], None],
    describe: Callable[[Postgres], Iterable[str | Problem]],
) -> Iterator[Problem | str]:
    database = None
    try:
        database = Postgres(address_in(settings, name), check=check)
        with database.across():
            pass
        yield from describe(database)
    except CommonplaceError as exc:
        yield Problem(what=exc.located, hint=exc.located_hint)
    finally:
        if database is not None:
            database.close()


def _describe_answering(database: Postgres) -> Iterator[str]:
    yield f"{database.name} answers."


def _describe_work(settings: Settings, database: Postgres) -> Iterator[str | Problem]:
    """What a machine that has a worker alone is told."""
    yield from _describe_answering(database)
    yield from describe_others(settings, Servers(database), OF_WORKERS)
    yield from _describe_waiting(database)


def _describe_waiting(database: Postgres) -> Iterator[str | Problem]:
    waiting, oldest_s = MemoryBacklog(database).waiting()
    said = f"{waiting:,} records wait for the worker"
    if waiting and oldest_s > LATE_S:
        yield Problem(
            what=f"{said}, for {oldest_s / 60:.0f} minutes.",
            hint="Run `commonplace memory worker`.",
        )
    else:
        yield f"{said}."
    looked, wrong = find_miscounted(database, within_s=_COUNTING_S)
    if wrong:
        named = ", ".join(repr(visible_line(opening(x, 60))) for x in wrong[:_NAMED])
        more = f" and {len(wrong) - _NAMED:,} more" if len(wrong) > _NAMED else ""
        yield Problem(
            what=f"Of {looked:,} users that were looked at {len(wrong):,} keep another number of"
            f" entries or bytes than is counted (cp_kept), as after some restores: {named}{more}.",
            hint="Count again, as the page `Operating it` says.",
        )
