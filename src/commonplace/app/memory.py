"""The wiring of memories: this owner's, and any other user's alone."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from commonplace.app.own import awaited
from commonplace.core.owners import make_owner_folder, parse_owner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.app.own import Own
    from commonplace.core.ports import OpensRefs, OwnerIndex, Source
    from commonplace.journals.memory import MemoryJournal
    from commonplace.search.filing import Filing
    from commonplace.search.finder import Finder
    from commonplace.tools.memory import MemoryTools
    from commonplace.tools.memory_desk import MemoryDesk
    from commonplace.tools.toolset import Toolset

FOLDER = "memory"


class MemoryWiring:
    """The memory of one owner, its desk and its tools."""

    name = "memory"
    title = "The memory"

    def __init__(self, own: Own) -> None:
        self._own = own

    @cached_property
    def journal(self) -> MemoryJournal:
        """This owner's memory, there or not."""
        return self._journal_of(self._own.settings.owner)

    @cached_property
    def tools(self) -> MemoryTools:
        """Memory's tools."""
        from commonplace.tools.memory import MemoryTools  # noqa: PLC0415  if it is offered

        return MemoryTools(desk=self.desk)

    def desk(self) -> MemoryDesk:
        """What memory's tools work with."""
        with self._own.wiring:
            return self._desk

    @cached_property
    def _desk(self) -> MemoryDesk:
        own = self._own
        return self._desk_over(
            self.journal,
            filing=lambda: own.filing,
            finder=lambda: own.finder,
            index=lambda: own.index,
        )

    def desk_of(self, owner: str) -> MemoryDesk:
        """The memory of any user alone, in that user's own index.

        Close its filing and its store after use. Raises: Invalid for what is no owner.
        """
        journal = self._journal_of(parse_owner(owner))
        alone = self._own.alone(journal.owner, journal.source())
        return self._desk_over(
            journal,
            filing=lambda: alone.filing,
            finder=lambda: alone.finder,
            index=lambda: alone.index,
        )

    def toolsets(self) -> Mapping[str, Callable[[], Toolset]]:
        """Its toolsets by name; making one opens nothing."""
        return {
            "memory": lambda: self.tools.toolset,
            "memory-write": lambda: self.tools.write_toolset,
        }

    def is_there(self) -> bool:
        """Whether there may be one: whoever has none pays a look at one file."""
        offered = self.toolsets().keys() & {*self._own.settings.toolsets}
        return bool(offered) or (self._own.folder / FOLDER / "memory.db").is_file()

    def pages(self) -> OpensRefs:
        """What opens its refs."""
        return self.journal.pages()

    def sources(self) -> Sequence[Source]:
        """What the index follows, even if it is begun while a server runs."""
        return [awaited(self, lambda: self.journal.source())]  # noqa: PLW0108  opened when called

    def close(self) -> None:
        """Let go of the database."""
        if "journal" in self.__dict__:
            self.journal.close()

    def _journal_of(self, owner: str) -> MemoryJournal:
        from commonplace.journals.memory import MemoryJournal  # noqa: PLC0415  wired when needed

        own = self._own
        return MemoryJournal(
            own.shared.folder_of(owner) / FOLDER,
            owner=owner,
            clock=own.clock,
            prepare=lambda: make_owner_folder(own.settings.home / "users", owner),
        )

    def _desk_over(
        self,
        journal: MemoryJournal,
        *,
        filing: Callable[[], Filing],
        finder: Callable[[], Finder],
        index: Callable[[], OwnerIndex],
    ) -> MemoryDesk:
        from commonplace.search import policy  # noqa: PLC0415  wired when needed
        from commonplace.tools.memory_desk import MemoryDesk, MemoryNumbers  # noqa: PLC0415  as above

        own, settings = self._own, self._own.settings
        top_k, least, recency = (
            settings.memory_top_k,
            settings.memory_min_score,
            settings.memory_recency,
        )
        return MemoryDesk(
            store=journal,
            filing=filing,
            finder=finder,
            index=index,
            encoder=own.encoder,
            clock=own.clock,
            zone=settings.timezone,
            numbers=MemoryNumbers(
                top_k=policy.MEMORY_K if top_k is None else int(top_k),
                min_score=policy.MEMORY_FLOOR if least is None else least,
                recency=policy.MEMORY.recent if recency is None else recency,
            ),
            shows_cards=settings.debug,
        )
