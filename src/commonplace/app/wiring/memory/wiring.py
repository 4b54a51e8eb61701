"""The wiring of memories: this owner's, and any other user's alone."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from commonplace.app.backends import MEMORIES
from commonplace.app.cached import locked_cached_property
from commonplace.core.errors import CommonplaceError, NotFound
from commonplace.core.owner_folders import list_owners, parse_owner
from commonplace.core.text import opening
from commonplace.core.values import Problem
from commonplace.journals.table import with_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.app.owner_context import JournalWiring, OwnerContext, SearchStack
    from commonplace.app.process import ProcessContext
    from commonplace.core.brief_item import BriefItem
    from commonplace.core.clock import Clock
    from commonplace.core.former_texts import TakesOverFormerTexts
    from commonplace.core.ports import AmendsRefs, OpensRefs, Portable, Searched, Source
    from commonplace.core.project_folders import ProjectFolders
    from commonplace.core.time_book import KeepsTimes, TimeColumn
    from commonplace.core.values import Finding
    from commonplace.inference.language.budget import KeepsBudget
    from commonplace.journals.chronicle.ports import SharedChronicle
    from commonplace.journals.memory.ports import MemoryStore
    from commonplace.journals.notebook.ports import NotebookStore
    from commonplace.journals.private.ports import SharedThoughts
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace.journals.timeline.ports import SharedTimeline
    from commonplace.journals.transcripts.ports import SharedTranscripts
    from commonplace.search.filing.port import FilingPort
    from commonplace.search.finder import Finder
    from commonplace.verbs.imports.taking_back import GivesImportsBack
    from commonplace.verbs.memory.service import MemoryService
    from commonplace.verbs.toolset import Toolset


_MOST_NAMED = 12
"""How many owners are named where one is not known."""


class Memories(Protocol):
    """Where the memories of all users are kept: one of `app.backends.MEMORIES`."""

    def store_of(self, owner: str, clock: Clock) -> MemoryStore:
        """The store of one user, there or not."""
        ...

    def is_there(self, owner: str) -> bool:
        """Whether anything may be kept of a user; a look at one file at the most."""
        ...

    def is_known(self, owner: str) -> bool:
        """Whether anything may be kept of a user, in any journal. Raises: Unavailable."""
        ...

    def users(self) -> Sequence[str]:
        """The users who have a memory, sorted; empty where the database does not say."""
        ...

    def of_owner(self, context: OwnerContext) -> SearchStack[FilingPort]:
        """What files and finds the memory of an app's own owner."""
        ...

    def with_journals(self, context: OwnerContext) -> tuple[Finder, Searched] | None:
        """What finds memory and all other journals as one; None where one index has them all."""
        ...

    def alone(self, context: OwnerContext, store: Any) -> SearchStack[FilingPort]:
        """What files and finds any user's memory by itself."""
        ...

    def sources(self, journal: JournalWiring, open_store: Callable[[], Any]) -> Sequence[Source]:
        """What of it the index of all journals follows."""
        ...

    def problems(self, context: OwnerContext, store: Any) -> Iterator[Finding]:
        """What is wrong with what an owner has here, each with its next step; and what is known."""
        ...

    def close(self) -> None:
        """Close what all users share; may be called twice."""
        ...


class ShownElsewhere(Protocol):
    """What an owner's browsers were shown by any server, sealed so that none can be searched."""

    def is_there(self) -> bool:
        """Whether any of it is kept. Raises: Unavailable."""
        ...

    def wipe(self) -> None:
        """Take it from all of them, and sign none out. Raises: Unavailable, Denied."""
        ...


class SharedMemories(Memories, Protocol):
    """The same, in a database that many servers share, and what else of a user lies there."""

    def chronicle_of(self, owner: str, clock: Clock) -> SharedChronicle:
        """The entries of one user's chronicle."""
        ...

    def chronicle_source(self, store: Any) -> Source:
        """What follows them for the timeline and forgetting."""
        ...

    def private_of(self, owner: str, clock: Clock) -> SharedThoughts:
        """The entries of one user's private journal."""
        ...

    def private_source(self, store: Any) -> Source:
        """What follows them likewise."""
        ...

    def notebook_of(self, owner: str, clock: Clock, author: str | None) -> NotebookStore:
        """The sections and entries of one user's notebook. author: as `Name <address>`."""
        ...

    def notebook_source(self, notebook: Any) -> Source:
        """What follows them likewise."""
        ...

    def timeline_of(self, owner: str, clock: Clock) -> SharedTimeline:
        """What keeps one user's timeline."""
        ...

    def timeline_source(self, journal: TimelineJournal) -> Source:
        """What follows a timeline that such a store keeps."""
        ...

    def transcripts_of(self, owner: str, clock: Clock) -> SharedTranscripts:
        """The sessions of one user."""
        ...

    def transcripts_source(self, store: Any) -> Source:
        """What follows each message of them likewise."""
        ...

    def times_of(self, owner: str, column: TimeColumn, journals: Sequence[str]) -> KeepsTimes:
        """What keeps times of a user's entries for every server."""
        ...

    def former_of(self, owner: str, journal: str) -> TakesOverFormerTexts:
        """What keeps former texts of a user's entries for every server."""
        ...

    def browsers_of(self, owner: str) -> ShownElsewhere:
        """What the signed-in browsers of a user were shown, at every server."""
        ...

    def budget_of(self, owner: str, clock: Clock) -> KeepsBudget:
        """The tokens that a user's language models have spent on every server."""
        ...


def memories_of(shared: ProcessContext) -> Memories:
    """Where the memories of all users of a process are kept.

    Raises: Unavailable without the extra that it needs.
    """
    return shared.open_once("memories", _open_memories)


def check_known(shared: ProcessContext, owner: str) -> None:
    """Refuse the name of a user of whom nothing is kept, which may be a slip.

    Raises: Invalid, NotFound, Unavailable.
    """
    owner = parse_owner(owner)
    if memories_of(shared).is_known(owner):
        return
    known = list_owners(shared.settings.home / "users")
    named = ", ".join(opening(each, 60) for each in known[:_MOST_NAMED])
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    raise NotFound(
        f"Nothing is kept of the owner {opening(owner, 60)!r}.",
        # A database does not list the owners whom it knows.
        hint=f"Name an owner who has a folder here: {named}{more}."
        if known
        else "Save or import something for that owner first.",
    )


def budget_of(shared: ProcessContext, owner: str, clock: Clock) -> KeepsBudget:
    """The tokens that an owner's models have spent, here or on all servers of a database."""
    settings = shared.settings
    if settings.database.url is not None:
        return shared_of(shared).budget_of(owner, clock)
    from commonplace.inference.language.budget import TokenBudget

    return TokenBudget(
        shared.folder_of(owner) / "llm",
        per_day=settings.llm.tokens_per_day,
        clock=clock,
        zone=settings.timezone,
    )


def browsers_of(shared: ProcessContext, owner: str) -> ShownElsewhere | None:
    """What an owner's browsers were shown by all servers of a database; None without one."""
    if shared.settings.database.url is None:
        return None
    return shared_of(shared).browsers_of(owner)


def times_of(shared: ProcessContext, owner: str, column: TimeColumn) -> KeepsTimes | None:
    """What keeps times of a user's entries in a database; None without one."""
    journals = shared.journals_in_database(owner)
    if not journals:
        return None
    return LazyTimes(journals, lambda: shared_of(shared).times_of(owner, column, journals))


def former_on_servers(
    shared: ProcessContext, owner: str
) -> Mapping[str, Callable[[], TakesOverFormerTexts]]:
    """What keeps former texts of a user's entries in a database; nothing without one.

    Raises, when it is opened: Unavailable without the extra that the database needs.
    """
    return {
        journal: partial(_former_of, shared, owner, journal)
        for journal in shared.journals_in_database(owner)
    }


def _former_of(shared: ProcessContext, owner: str, journal: str) -> TakesOverFormerTexts:
    return shared_of(shared).former_of(owner, journal)


def shared_of(shared: ProcessContext) -> SharedMemories:
    """What lies in the database that the settings name.

    Raises: Unavailable without the extra that it needs.
    """
    return cast("SharedMemories", memories_of(shared))


class LazyTimes:
    """Times of a user's entries in a database, which is opened once they are asked for.

    Implements `KeepsTimes`; each method but `covers` raises Unavailable too without the extra that
    the database needs.
    """

    def __init__(self, journals: Sequence[str], open_times: Callable[[], KeepsTimes]) -> None:
        self._begins = tuple(f"{journal}:" for journal in journals)
        self._times = cache(open_times)

    def covers(self, ref: str) -> bool:
        """Whether a ref is that of an entry there; see the port."""
        return ref.startswith(self._begins)

    def read_times(self, refs: Sequence[str] | None = None) -> Mapping[str, float]:
        """The times of those of these records that have one, or all; see the port."""
        return self._times().read_times(refs)

    def list_due(self, now: float) -> Sequence[str]:
        """The refs of records whose time has come; see the port."""
        return self._times().list_due(now)

    def keep_times(self, times: Mapping[str, float]) -> None:
        """Set times, in place of any earlier ones; see the port."""
        self._times().keep_times(times)

    def take_over(self, times: Mapping[str, float]) -> Sequence[str]:
        """Set times that a file kept, unless a later one is there; see the port."""
        return self._times().take_over(times)

    def drop_times(self, refs: Sequence[str]) -> None:
        """Remove the times of records; see the port."""
        self._times().drop_times(refs)


def _open_memories(shared: ProcessContext) -> Memories:
    name = "files" if shared.settings.database.url is None else "postgres"
    made: Memories = MEMORIES[name].load()(shared)
    return made


class MemoryWiring:
    """The memory of one owner and its verbs."""

    name = "memory"
    title = "The memory"

    def __init__(self, context: OwnerContext) -> None:
        self._context = context
        self.wiring = context.wiring

    @locked_cached_property
    def journal(self) -> MemoryStore:
        """This owner's memory, there or not. Raises: Unavailable where an extra is missing."""
        return self._memories.store_of(self._context.settings.owner, self._context.clock)

    def service(self) -> MemoryService:
        """Memory's verbs."""
        return self._service

    @locked_cached_property
    def _service(self) -> MemoryService:
        context = self._context
        followed = cache(lambda: self._memories.of_owner(context))
        return self._service_over(self.journal, followed)

    def service_of(self, owner: str) -> MemoryService:
        """The memory of any user alone, in that user's own index.

        Close its filing and its store after use. Raises: Invalid for what is no owner.
        """
        store = self._memories.store_of(parse_owner(owner), self._context.clock)
        followed = cache(lambda: self._memories.alone(self._context, store))
        if not self._context.defers_filing:
            followed()
        return self._service_over(store, followed)

    def store_of(self, owner: str) -> MemoryStore:
        """The records of any user, without a search; close it after use.

        Raises: Invalid for a name that cannot be an owner's, NotFound for a user without a memory.
        """
        owner = parse_owner(owner)
        if not self._memories.is_there(owner) or not self._memories.is_known(owner):
            raise NotFound(
                f"Nothing is kept of {opening(owner, 60)!r}.", hint="Choose a user of the list."
            )
        return self._memories.store_of(owner, self._context.clock)

    def users(self) -> Sequence[str]:
        """The users who have a memory in files, sorted."""
        return self._memories.users()

    def toolsets(self) -> Mapping[str, Callable[[], Toolset]]:
        """Its toolsets by name; making one opens nothing."""
        return {"memory": self.toolset, "memory-write": self.write_toolset}

    def toolset(self) -> Toolset:
        """The tool that searches; making this opens nothing."""
        from commonplace.verbs.memory.service import MemoryService

        return MemoryService.toolset(self.service)

    def write_toolset(self) -> Toolset:
        """The tools that keep, delete and list; making this opens nothing."""
        from commonplace.verbs.memory.service import MemoryService

        return MemoryService.write_toolset(self.service)

    def brief_items(self, project: ProjectFolders | None) -> Sequence[BriefItem]:
        """The newest to-dos that are not done, newest first: they are of no project."""
        from commonplace.journals.memory.pages import list_newest

        is_kept = self._memories.is_there(self._context.settings.owner)
        return list_newest(self.journal) if project is None and is_kept else ()

    def is_there(self) -> bool:
        """Whether there may be one: a user who has none pays a look at one file."""
        offered = self.toolsets().keys() & with_parts(self._context.settings.toolsets)
        # What its driver is missing for is there: opening it says so.
        in_database = self._context.settings.database.url is not None
        return bool(offered) or in_database or self._memories.is_there(self._context.settings.owner)

    def pages(self) -> OpensRefs:
        """What opens its refs."""
        from commonplace.journals.memory.pages import MemoryPages

        return MemoryPages(self.journal)

    def amender(self) -> AmendsRefs:
        """What corrects its records."""
        from commonplace.verbs.memory.amend import MemoryAmender

        return MemoryAmender(self.service())

    def gives_back(self) -> GivesImportsBack:
        """What takes imported entries out of it."""
        from commonplace.verbs.imports.giving_back import FromMemory

        return FromMemory(self.service())

    def portable(self) -> Portable | None:
        """What exports and imports the journal."""
        from commonplace.journals.memory.portable import PortableMemory

        return PortableMemory(self.journal)

    def sources(self) -> Sequence[Source]:
        """What the index follows, even if it is begun while a server runs."""
        return self._memories.sources(self, lambda: self.journal)

    def whole_source(self) -> Source | None:
        """All that is kept of this owner, drafts among it, each time; None where nothing is."""
        from commonplace.journals.memory.source import WholeMemory

        if not self._memories.is_there(self._context.settings.owner):
            return None
        return WholeMemory(self.journal)

    def unindexed_source(self, filed: Mapping[str, int]) -> Source:
        """What is kept and no index holds: drafts, or all where it does not hold the rest.

        filed: How many docs of each journal it holds.
        """
        from commonplace.journals.memory.source import WholeMemory

        counted = self.journal.count_kinds()
        is_whole = sum(x.records - x.drafts for x in counted) == filed.get(self.name, 0)
        kinds = [each.kind for each in counted if each.drafts or not is_whole]
        return WholeMemory(self.journal, kinds)

    def problems(self) -> Iterator[Finding]:
        """What is wrong, each with its next step, and what is worth knowing; changes nothing."""
        try:
            yield from self._memories.problems(self._context, self.journal)
            named = self._context.settings.database
            if named.url is None and named.worker_url is not None:  # a worker alone runs here
                yield from MEMORIES["postgres"].load().problems_of(self._context.settings)
        except CommonplaceError as exc:
            yield Problem(what=exc.located, hint=exc.located_hint)

    def repair(self) -> list[str]:
        """Erase what deleted records left.

        Returns:
            A sentence where there was something.

        Raises:
            Unavailable: The memory cannot be opened or written.
        """
        is_there = self._memories.is_there(self._context.settings.owner)
        if is_there and self.journal.to_erase() and not self.service().erase():
            return ["Erased what deleted records had left."]
        return []

    def close(self) -> None:
        """Close the database."""
        if "journal" in self.__dict__:
            self.journal.close()

    @property
    def _memories(self) -> Memories:
        return memories_of(self._context.shared)

    def _service_over(
        self,
        store: MemoryStore,
        followed: Callable[[], SearchStack[FilingPort]],
    ) -> MemoryService:
        from commonplace.search import policy
        from commonplace.verbs.memory.finding import MemoryNumbers
        from commonplace.verbs.memory.service import MemoryService

        context, settings = self._context, self._context.settings
        filing = context.observed(lambda: followed().filing, store.owner)
        top_k, least, recency = (
            settings.memory.top_k,
            settings.memory.min_score,
            settings.memory.recency,
        )
        return MemoryService(
            store=store,
            filing=lambda: filing,
            finder=lambda: followed().finder,
            index=lambda: followed().index,
            encoder=context.encoder,
            clock=context.clock,
            owner_zone=settings.timezone,
            numbers=MemoryNumbers(
                top_k=top_k or policy.MEMORY_K,
                min_score=policy.MEMORY_FLOOR if least is None else least,
                recency=policy.MEMORY.recent if recency is None else recency,
            ),
            former=context.former_of(store.owner),
            shows_cards=settings.debug,
            screen=context.shared.screen,
        )
