"""The wiring of chronicle."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.app.cached import locked_cached_property
from commonplace.app.wiring.memory.wiring import shared_of
from commonplace.core.files import may_exist

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from commonplace.app.owner_context import OwnerContext
    from commonplace.core.brief_item import BriefItem
    from commonplace.core.ports import OpensRefs, Portable, Source
    from commonplace.core.project_folders import ProjectFolders
    from commonplace.core.values import Finding
    from commonplace.journals.chronicle.journal import Author, ChronicleJournal
    from commonplace.journals.chronicle.ports import SharedChronicle
    from commonplace.verbs.chronicle.amend import ChronicleAmender
    from commonplace.verbs.chronicle.service import ChronicleService
    from commonplace.verbs.imports.taking_back import GivesImportsBack
    from commonplace.verbs.toolset import Toolset

_IN_A_BRIEF = 200
"""How many entries of a project a brief chooses from."""


class ChronicleWiring:
    """Chronicle on its own database, or on the one that a served user's lies in; and its verbs."""

    name = "chronicle"
    title = "Chronicle"

    def __init__(self, context: OwnerContext) -> None:
        self._context = context
        self.wiring = context.wiring

    @property
    def is_shared(self) -> bool:
        """Whether it lies in a database that servers share."""
        return self._context.is_in_database(self.name)

    @locked_cached_property
    def journal(self) -> ChronicleJournal:
        """Chronicle, wherever its entries are. Raises: Unavailable, for a database too.

        What a served user has in files from the time before the database moves into it.
        """
        if not self.is_shared:
            return self._journal_over()
        from commonplace.journals.chronicle.moving import move_entries

        move_entries(self._journal_over(), self._shared_store, unfile=self._context.drop_from_index)
        return self._journal_over(self._shared_store)

    @locked_cached_property
    def _shared_store(self) -> SharedChronicle:
        context = self._context
        return shared_of(context.shared).chronicle_of(context.settings.owner, context.clock)

    def _journal_over(self, store: SharedChronicle | None = None) -> ChronicleJournal:
        from commonplace.journals.chronicle.journal import ChronicleJournal
        from commonplace.journals.chronicle.places import resolve_chronicle

        context, settings = self._context, self._context.settings
        place = resolve_chronicle(
            db_path=settings.chronicle.path,
            config_home=_folder(os.environ.get("XDG_CONFIG_HOME")),
            data_home=_folder(os.environ.get("XDG_DATA_HOME")),
            home=context.user_home,
        )
        return ChronicleJournal(
            place,
            store=store,
            owner=settings.owner,
            zone=settings.timezone,
            clock=context.clock,
            author=self._author(),
            screen=context.shared.screen,
            hidden=context.hidden,
            only_ours=context.shared.is_served(settings.owner),
        )

    def _author(self) -> Author:
        """Who logs: nothing of the server's surroundings where another user is served."""
        from commonplace.journals.chronicle.journal import author_here

        shared, settings = self._context.shared, self._context.settings
        if shared.is_served(settings.owner):
            return author_here({"USER": settings.owner}, hostname="", directory=None)
        here = None if shared.serves_owners else settings.project or _working_folder()
        return author_here(os.environ, hostname=platform.node(), directory=here)

    def service(self) -> ChronicleService:
        """Chronicle's verbs."""
        return self._service

    @locked_cached_property
    def _service(self) -> ChronicleService:
        from commonplace.journals.chronicle.trust import TrustedLogs
        from commonplace.verbs.chronicle.service import ChronicleService

        context = self._context
        return ChronicleService(
            chronicle=self.journal,
            filing=context.filing_for(self.name),
            finder=context.finder_for(self.name),
            clock=context.clock,
            zone=context.settings.timezone,
            project=context.settings.project,
            folder=context.settings.work_folder,
            home=context.user_home,
            trusted=TrustedLogs(context.reach / "trusted"),
            replaced=context.replaced.find,
            former=context.former,
        )

    def toolsets(self) -> Mapping[str, Callable[[], Toolset]]:
        """Its toolsets by name; making one opens nothing."""
        return {"chronicle": self.toolset}

    def toolset(self) -> Toolset:
        """Its tools; making this opens nothing."""
        from commonplace.verbs.chronicle.pages import with_pages

        return with_pages(self.service)

    def brief_items(self, project: ProjectFolders | None) -> Sequence[BriefItem]:
        """The newest entries of a project that hold, newest first; without one there are none."""
        from commonplace.core.brief_item import BriefItem
        from commonplace.journals.chronicle.event import KIND

        newest = self.journal.list_newest(project, limit=_IN_A_BRIEF) if project else ()
        return [
            BriefItem(x.at.timestamp(), x.message, x.ref, KIND, tuple(x.own_tags)) for x in newest
        ]

    def is_there(self) -> bool:
        """Always: it is made at the first write."""
        return True

    def pages(self) -> OpensRefs:
        """What opens its refs."""
        from commonplace.journals.chronicle.pages import ChroniclePages

        return ChroniclePages(self.journal)

    def amender(self) -> ChronicleAmender:
        """What corrects its entries."""
        from commonplace.verbs.chronicle.amend import ChronicleAmender

        return ChronicleAmender(self.service())

    def gives_back(self) -> GivesImportsBack:
        """What takes imported entries out of it."""
        from commonplace.verbs.imports.giving_back import FromChronicle

        return FromChronicle(self.amender())

    def portable(self) -> Portable | None:
        """What exports and imports the journal."""
        from commonplace.journals.chronicle.portable import PortableChronicle

        return PortableChronicle(self.journal)

    def sources(self) -> Sequence[Source]:
        """What the index on this machine follows; one in a database has an outbox."""
        return [] if self.is_shared else self.entries()

    def entries(self) -> Sequence[Source]:
        """What the timeline and forgetting follow."""
        return [self._source]

    @locked_cached_property
    def _source(self) -> Source:
        from commonplace.journals.chronicle.source import ChronicleSource

        journal = self.journal  # what moves, moves first
        if self.is_shared:
            return shared_of(self._context.shared).chronicle_source(self._shared_store)
        return ChronicleSource(journal)

    def problems(self) -> Iterator[Finding]:
        """What is wrong with its files, where they lie, and whether a project log is written."""
        from commonplace.verbs.chronicle.trust import log_state

        if self.is_shared:
            return
        path = self.journal.path
        yield f"{path}{'' if may_exist(path) else ', not made yet'}"
        yield from self.journal.problems()
        yield from filter(None, [log_state(self.service())])

    def repair(self) -> Iterable[str]:
        """Repair what can be repaired of its database or its folder."""
        return () if self.is_shared else self.journal.repair()

    def close(self) -> None:
        """Close the database."""
        if "journal" in self.__dict__:
            self.journal.close()


def _folder(name: str | None) -> Path | None:
    return Path(name) if name and os.path.isabs(name) else None


def _working_folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None
