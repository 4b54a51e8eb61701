"""The wiring of the notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.app.cached import at_first_use, locked_cached_property
from commonplace.app.owner_context import lazy_source
from commonplace.app.wiring.memory.wiring import shared_of
from commonplace.core.digest import sha256_hex
from commonplace.core.files import may_exist, may_hold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.app.owner_context import OwnerContext
    from commonplace.core.ports import AmendsRefs, OpensRefs, Portable, Source
    from commonplace.core.values import Finding
    from commonplace.journals.notebook.journal import NotebookJournal
    from commonplace.journals.notebook.shared import SharedNotebook
    from commonplace.search.two_questions import TwoQuestionFinder
    from commonplace.verbs.imports.taking_back import GivesImportsBack
    from commonplace.verbs.notebook.ends import NotebookEnds
    from commonplace.verbs.notebook.service import NotebookService
    from commonplace.verbs.toolset import Toolset

MERGE_S = 40.0
"""How long a model may merge overviews: many clients give up a call after a minute."""


class NotebookWiring:
    """The notebook of one owner, there or not, its service and its tools."""

    name = "notebook"
    title = "The notebook"

    def __init__(self, context: OwnerContext) -> None:
        self._context = context
        self.wiring = context.wiring
        self._folder = context.settings.notebook.path or context.folder / "notebook"

    @property
    def is_shared(self) -> bool:
        """Whether it lies in a database that servers share."""
        return self._context.is_in_database(self.name)

    @locked_cached_property
    def journal(self) -> NotebookJournal | SharedNotebook:
        """The notebook of this owner, wherever it lies; there or not. Raises: Unavailable."""
        return self.shared if self.is_shared else self.repository

    @locked_cached_property
    def shared(self) -> SharedNotebook:
        """The notebook of this owner in the database.

        A repository from the time before the database moves into it. Raises: Unavailable, Conflict.
        """
        from commonplace.journals.notebook.shared import SharedNotebook

        context, settings = self._context, self._context.settings
        store = shared_of(context.shared).notebook_of(
            settings.owner, context.clock, settings.notebook.author
        )
        if may_exist(self.repository.folder.parent):
            from commonplace.journals.notebook.moving import move_notebook

            with context.moving(self.repository.folder):
                move_notebook(self.repository, store, unfile=self._unfile)
        return SharedNotebook(
            store,
            owner=settings.owner,
            zone=settings.timezone,
            clock=context.clock,
            screen=context.shared.screen,
        )

    def _unfile(self) -> None:
        """Take what lay in the repository out of the index on this machine."""
        context = self._context
        context.drop_from_index([*context.index.known().stamps(f"{self.name}:")])

    @locked_cached_property
    def _two_questions(self) -> TwoQuestionFinder:
        """What asks two questions at once of the index that holds it."""
        from commonplace.search.two_questions import TwoQuestionFinder

        context = self._context
        return TwoQuestionFinder(finder=context.finder_for(self.name), encoder=context.encoder)

    @locked_cached_property
    def repository(self) -> NotebookJournal:
        """The notebook of this owner in a git repository, there or not."""
        from commonplace.journals.notebook.journal import NotebookJournal

        context, settings, folder = self._context, self._context.settings, self._folder
        place = sha256_hex(str(folder).encode("utf-8", "surrogateescape"))[:8]
        return NotebookJournal(
            folder,
            ledger=context.folder / "ledgers" / f"{place}.db",
            owner=settings.owner,
            zone=settings.timezone,
            clock=context.clock,
            author=settings.notebook.author,
            is_own=settings.notebook.path is None,
            auto_gc=settings.notebook.auto_gc,
            screen=context.shared.screen,
        )

    def service(self) -> NotebookService:
        """The notebook's verbs, for tools, command line and page; making them opens nothing."""
        return self._service

    @locked_cached_property
    def _service(self) -> NotebookService:
        from commonplace.search import policy
        from commonplace.verbs.notebook.service import NotebookService

        context, settings = self._context, self._context.settings
        asked = {
            "context_weight": settings.notebook.context_weight,
            "content_weight": settings.notebook.content_weight,
            "half_life_days": settings.notebook.half_life_days,
            "minimum_salience": settings.notebook.minimum_salience,
        }
        least, most = settings.notebook.min_score, settings.notebook.max_results
        filing = context.filing_for(self.name)
        finder = at_first_use(lambda: self._two_questions)
        return NotebookService(
            notebook=self.journal,
            filing=lambda: filing,
            finder=lambda: finder,
            clock=context.clock,
            zone=settings.timezone,
            weights=policy.TwoQuestionWeights(**{k: x for k, x in asked.items() if x is not None}),
            min_score=policy.NOTEBOOK_FLOOR if least is None else least,
            most=most or policy.NOTEBOOK_MOST,
            is_own=settings.notebook.path is None,
            language=lambda: context.languages.find(better=True, within_s=MERGE_S),
            note_ends=self.ends.note,
            former=context.former,
        )

    @locked_cached_property
    def ends(self) -> NotebookEnds:
        """When its entries expire."""
        from commonplace.verbs.notebook.ends import NotebookEnds

        context = self._context
        return NotebookEnds(
            notebook=self.journal,
            book=context.expiry_book,
            replaced=context.replaced,
            unfile=lambda refs: context.filing.forget(refs),  # noqa: PLW0108  opened when called
        )

    def toolsets(self) -> Mapping[str, Callable[[], Toolset]]:
        """Its toolsets by name; making one opens nothing."""
        return {"notebook": self.toolset}

    def toolset(self) -> Toolset:
        """Its tools; making this opens nothing."""
        from commonplace.verbs.notebook.service import NotebookService

        return NotebookService.toolset(self.service)

    def is_there(self) -> bool:
        """Whether there may be one; this costs a look at one folder."""
        return self.is_shared or may_hold(self._folder)

    def pages(self) -> OpensRefs:
        """What opens its refs."""
        from commonplace.journals.notebook.pages import NotebookPages

        return NotebookPages(self.journal)

    def amender(self) -> AmendsRefs:
        """What corrects its entries."""
        from commonplace.verbs.notebook.amend import NotebookAmender

        return NotebookAmender(self.service())

    def gives_back(self) -> GivesImportsBack:
        """What takes imported entries out of it."""
        from commonplace.verbs.imports.giving_back import FromNotebook

        return FromNotebook(self.service())

    def portable(self) -> Portable | None:
        """What exports and imports the journal."""
        from commonplace.journals.notebook.portable import PortableNotebook
        from commonplace.journals.notebook.shared_portable import PortableSharedNotebook

        if self.is_shared:
            return PortableSharedNotebook(self.shared, self.repository.folder)
        return PortableNotebook(self.repository)

    def sources(self) -> Sequence[Source]:
        """What the index on this machine follows; one in a database has an outbox."""
        return () if self.is_shared else self.entries()

    def entries(self) -> Sequence[Source]:
        """What the timeline and forgetting follow, even if it is made while a server runs."""
        return [lazy_source(self, self._source)]

    def _source(self) -> Source:
        from commonplace.journals.notebook.source import NotebookSource

        if self.is_shared:
            return shared_of(self._context.shared).notebook_source(self.shared)
        return NotebookSource(self.repository, note_ends=self.ends.note)

    def problems(self) -> Iterator[Finding]:
        """Where the notebook lies, and what is wrong with it now; changes nothing."""
        from commonplace.journals.notebook.repair import find_problems, held_expired

        if self.is_there() and not self.is_shared:
            found = self.repository
            yield f"{found.folder}{'' if found.exists else ', not made yet'}"
            yield from find_problems(found)
            if found.exists:
                yield from held_expired(found)

    def repair(self) -> list[str]:
        """Repair what can be repaired; a sentence for each repair. Raises: Unavailable, Denied."""
        from commonplace.journals.notebook.repair import repair

        return repair(self.repository) if self.is_there() and not self.is_shared else []

    def close(self) -> None:
        """Close the ledger."""
        if "repository" in self.__dict__:
            self.repository.close()
