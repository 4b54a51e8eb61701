"""The wiring of timelines: this owner's, and any other's alone."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.app.cached import locked_cached_property
from commonplace.app.owner_context import found_entries, lazy_source
from commonplace.app.process import holder
from commonplace.app.wiring.memory.wiring import shared_of
from commonplace.core.errors import CommonplaceError
from commonplace.core.files import may_exist
from commonplace.core.owner_folders import make_owner_folder, parse_owner
from commonplace.journals.table import with_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.app.owner_context import OwnerContext, SearchStack
    from commonplace.app.wiring.catching_up import CatchingUp
    from commonplace.core.brief_item import BriefItem
    from commonplace.core.ports import OpensRefs, OwnerIndex, Portable, Source
    from commonplace.core.project_folders import ProjectFolders
    from commonplace.core.rollups import Lineage
    from commonplace.core.values import Finding
    from commonplace.journals.timeline.feed import Feeding
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace.journals.timeline.model_texts import ModelTexts
    from commonplace.journals.timeline.ports import SharedTimeline
    from commonplace.journals.timeline.rollups import Rollups
    from commonplace.search.filing.port import FilingPort
    from commonplace.verbs.imports.taking_back import GivesImportsBack
    from commonplace.verbs.timeline.amend import TimelineAmender
    from commonplace.verbs.timeline.service import TimelineService
    from commonplace.verbs.toolset import Toolset

FOLDER = "journal"


class TimelineWiring:
    """The timeline of one owner, its rollups and its verbs."""

    name = "timeline"
    title = "The timeline"

    def __init__(self, context: OwnerContext) -> None:
        self._context = context
        self.wiring = context.wiring

    @property
    def is_shared(self) -> bool:
        """Whether it lies in a database that servers share."""
        return self._context.is_in_database(self.name)

    @locked_cached_property
    def journal(self) -> TimelineJournal:
        """The timeline of this owner, there or not, wherever it lies.

        What a served user has in a file from the time before the database moves into it.
        Raises: Unavailable for a database.
        """
        return self._journal_of(self._context.settings.owner)

    @locked_cached_property
    def rollups(self) -> Rollups:
        """What rolls this owner's timeline up."""
        return self._rollups_of(self.journal, feed=self.feeding)

    @locked_cached_property
    def feeding(self) -> Feeding | None:
        """What lets entries of other journals count in this owner's rollups."""
        if not self._context.fed():
            return None
        from commonplace.journals.timeline.feed import Feeding

        fed = self._context.fed
        return Feeding(
            self.journal, sources=lambda: list(found_entries(fed())), openers=self._fed_pages
        )

    def _fed_pages(self) -> dict[str, OpensRefs]:
        found: dict[str, OpensRefs] = {}
        for each in self._context.fed():
            with suppress(CommonplaceError):
                if each.is_there():
                    found[each.name] = each.pages()
        return found

    @locked_cached_property
    def catching_up(self) -> CatchingUp:
        """What rolls up in the background, for a page and after a server's start."""
        from commonplace.app.wiring.catching_up import CatchingUp

        context = self._context
        return CatchingUp(
            self.service,
            rolls_up=not context.settings.read_only,
            index=lambda: context.index,
            holder=holder(),
            finish=self._finish_rolling_up,
        )

    def begin_rolling_up(self) -> None:
        """Roll up all that is due, and apply retention, in the background of a server that starts.

        Nothing is opened where there is no timeline, and no journal that feeds one.
        """
        context = self._context
        if context.fed() or self._may_be_begun():
            self.catching_up.begin_at_start()

    def stop_rolling_up(self) -> None:
        """Begin nothing more, and wait a while for what is under way; may be called twice."""
        if "catching_up" in self.__dict__:
            self.catching_up.stop()

    def _finish_rolling_up(self, renew: Callable[[], None]) -> None:
        """What `rollup --due` does beside rolling up, where the settings let a server do it."""
        service, settings = self.service(), self._context.settings
        if settings.llm.background or settings.timeline.retention != "off":
            from commonplace.verbs.timeline.commands import TimelineCommands

            TimelineCommands(service, lambda: self.background_model_texts(service)).roll_up(
                progress=lambda _made, _left: renew()
            )
        service.filing().refresh(1.0)

    def service(self) -> TimelineService:
        """The timeline's verbs."""
        return self._service

    @locked_cached_property
    def _service(self) -> TimelineService:
        context = self._context
        filing, finder = context.filing_for(self.name), context.finder_for(self.name)
        return self._service_over(
            self.rollups,
            filing=lambda: filing,
            finder=lambda: finder,
            feeding=self.feeding,
            rolls_up=not context.settings.read_only,
        )

    def service_of(self, owner: str) -> TimelineService:
        """The timeline of any owner alone, its words and vectors in that owner's index.

        Close its filing and its journal after use. Raises: Invalid for what cannot be an owner.
        """
        journal = self._journal_of(parse_owner(owner))
        alone = self._stack_of(journal)
        return self._service_over(
            self._rollups_of(journal), filing=lambda: alone.filing, finder=lambda: alone.finder
        )

    def index_of(self, owner: str) -> OwnerIndex:
        """The index that an owner's timeline is found in, wherever that lies."""
        context = self._context
        if not context.is_in_database(self.name, owner):
            return context.shared.indexes.of_owner(owner)
        memories = shared_of(context.shared)
        return memories.alone(context, memories.store_of(owner, context.clock)).index

    def _stack_of(self, journal: TimelineJournal) -> SearchStack[FilingPort]:
        """What files and finds one timeline alone, in its owner's index wherever that lies."""
        from commonplace.journals.timeline.source import TimelineSource

        context, owner = self._context, journal.owner
        if not context.is_in_database(self.name, owner):
            return context.alone(owner, TimelineSource(journal), lineage=journal)
        memories = shared_of(context.shared)
        stack = memories.alone(context, memories.store_of(owner, context.clock))
        finder = context.shared.finder_over(
            stack.index, stack.filing, lineage=journal, hidden=context.hidden_of(owner)
        )
        return replace(stack, finder=finder)

    def _service_over(self, rollups: Rollups, **more: Any) -> TimelineService:
        from commonplace.journals.timeline.retention import parse_retention
        from commonplace.verbs.timeline.service import TimelineService

        context = self._context
        return TimelineService(
            rollups=rollups,
            clock=context.clock,
            present=context.present,
            former=context.former_of(rollups.journal.owner),
            retention=parse_retention(context.settings.timeline.retention),
            **more,
        )

    def background_model_texts(self, service: TimelineService) -> ModelTexts | None:
        """What has models put a timeline into words where no person asked for it.

        None unless `llm.background` is true and a model is set. Raises: as `Languages.client`.
        """
        context = self._context
        if not context.settings.llm.background:
            return None
        return context.languages_of(service.journal.owner).model_texts(service.rollups)

    def toolsets(self) -> Mapping[str, Callable[[], Toolset]]:
        """Its toolsets by name; making one opens nothing."""
        return {"timeline": self.toolset}

    def toolset(self) -> Toolset:
        """Its tools; making this opens nothing."""
        from commonplace.verbs.timeline.service import TimelineService

        return TimelineService.toolset(self.service)

    def brief_items(self, project: ProjectFolders | None) -> Sequence[BriefItem]:
        """How the newest day and week went: they are of no project."""
        context = self._context
        if project is not None or not self._may_be_begun():
            return ()
        from commonplace.core.time_book import EXPIRING, TimeBook
        from commonplace.journals.timeline.newest import list_newest

        now = context.clock().timestamp()
        # Of a timeline in a file every entry's end is in a file too: no database is asked.
        book = context.expiry_book if self.is_shared else TimeBook(context.folder, EXPIRING)
        times = book.read().values()
        return list_newest(self.rollups, min((x for x in times if x > now), default=None))

    def is_there(self) -> bool:
        """Whether there may be one; a look at one file."""
        offered = "timeline" in with_parts(self._context.settings.toolsets)
        return offered or self.is_shared or self._may_be_begun()

    def _may_be_begun(self) -> bool:
        """Whether there may be an entry; of one in a database that is asked there."""
        if self.is_shared:
            return self.journal.exists
        return may_exist(self._context.folder / FOLDER / "journal.db")

    def pages(self) -> OpensRefs:
        """What opens its refs."""
        from commonplace.journals.timeline.pages import TimelinePages

        return TimelinePages(self.journal, self.rollups.find_open)

    def amender(self) -> TimelineAmender:
        """What corrects its entries."""
        from commonplace.verbs.timeline.amend import TimelineAmender

        return TimelineAmender(self.service())

    def gives_back(self) -> GivesImportsBack:
        """What takes imported entries out of it."""
        from commonplace.verbs.imports.giving_back import FromTimeline

        return FromTimeline(self.amender())

    def portable(self) -> Portable | None:
        """What exports and imports the journal."""
        from commonplace.journals.timeline.portable import PortableTimeline

        return PortableTimeline(self.journal)

    def sources(self) -> Sequence[Source]:
        """What the index on this machine follows, even if it is begun while a server runs.

        One in a database has an outbox.
        """
        return [] if self.is_shared else self.entries()

    def entries(self) -> Sequence[Source]:
        """What forgetting follows."""
        return [lazy_source(self, self._source)]

    def _source(self) -> Source:
        from commonplace.journals.timeline.source import TimelineSource

        if self.is_shared:
            return shared_of(self._context.shared).timeline_source(self.journal)
        return TimelineSource(self.journal)

    def lineage(self) -> Lineage:
        """What knows which summaries an entry went into, once there is a timeline."""
        from commonplace.search.filing.lazy_source import LazyLineage

        return LazyLineage(is_there=self.is_there, find=lambda: self.journal)

    def problems(self) -> Iterator[Finding]:
        """Where its database lies, and what is wrong with it and its summaries; changes nothing."""
        from commonplace.journals.timeline.repair import file_of, find_problems

        if self.is_shared:
            return
        journal = self.journal
        yield f"{file_of(journal).path}{'' if journal.exists else ', not made yet'}"
        yield from find_problems(journal, self.feeding)

    def repair(self) -> Iterator[str]:
        """Repair what can be repaired; a sentence for each thing done. Raises: Unavailable."""
        from commonplace.journals.timeline.repair import repair

        if self.is_shared:
            return
        if self.journal.exists:
            # Another program, or a death, may have deleted what summaries still quote.
            self.service().feed()
        yield from repair(self.journal)

    def close(self) -> None:
        """Close the database."""
        if "journal" in self.__dict__:
            self.journal.close()

    def _journal_of(self, owner: str) -> TimelineJournal:
        """The timeline of an owner, wherever it lies; see `journal`."""
        if not self._context.is_in_database(self.name, owner):
            return self._journal_over(owner)
        from commonplace.journals.timeline.moving import move_timeline

        context = self._context
        store = shared_of(context.shared).timeline_of(owner, context.clock)
        made = self._journal_over(owner, store)
        unfile = partial(context.drop_from_index, owner=owner)
        if move_timeline(self._journal_over(owner), made, store, unfile=unfile):
            context.expiry_book_of(owner).read()  # what moved keeps its end, from the first answer
        return made

    def _journal_over(self, owner: str, store: SharedTimeline | None = None) -> TimelineJournal:
        from commonplace.journals.timeline.journal import TimelineJournal

        settings = self._context.settings
        return TimelineJournal(
            self._context.shared.folder_of(owner) / FOLDER,
            owner=owner,
            zone=settings.timezone,
            clock=self._context.clock,
            prepare=lambda: make_owner_folder(settings.home / "users", owner),
            screen=self._context.shared.screen,
            replaced=self._context.replaced_of(owner),
            hidden=self._context.shared.hidden_of(owner, self._context.clock),
            store=store,
        )

    def _rollups_of(self, journal: TimelineJournal, feed: Feeding | None = None) -> Rollups:
        from commonplace.inference.language.extract import Extractive
        from commonplace.journals.timeline.rollups import Rollups

        grace = timedelta(minutes=self._context.settings.timeline.grace_minutes)
        return Rollups(journal, Extractive(), grace=grace, feed=feed)
