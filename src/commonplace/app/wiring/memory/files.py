"""The wiring of memories that are files: one for each user, in that user's own folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.app.context import SearchStack, awaited
from commonplace.core.files import may_exist
from commonplace.core.owners import make_owner_folder
from commonplace.journals.memory.journal import MemoryJournal
from commonplace.journals.memory.repair import find_problems, list_unlisted
from commonplace.journals.memory.source import MemorySource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.app.context import JournalWiring, OwnerContext
    from commonplace.app.process import ProcessContext
    from commonplace.core.clock import Clock
    from commonplace.core.ports import Source
    from commonplace.core.values import Problem
    from commonplace.search.filing.filing import Filing

FOLDER = "memory"


class FileMemories:
    """Each user's memory in a file, its words and vectors in the index of all journals."""

    def __init__(self, shared: ProcessContext) -> None:
        self._shared = shared

    def store_of(self, owner: str, clock: Clock) -> MemoryJournal:
        """The store of one user, there or not."""
        return MemoryJournal(
            self._shared.folder_of(owner) / FOLDER,
            owner=owner,
            clock=clock,
            prepare=lambda: make_owner_folder(self._shared.settings.home / "users", owner),
        )

    def is_there(self, owner: str) -> bool:
        """Whether anything was ever kept: a look at one file."""
        return may_exist(self._shared.folder_of(owner) / FOLDER / "memory.db")

    def own(self, own: OwnerContext) -> SearchStack[Filing]:
        """What files and finds this owner's: with all journals."""
        return SearchStack(index=own.index, filing=own.filing, finder=own.finder)

    def beside(self, own: OwnerContext) -> None:
        """None: the index of all journals has it."""

    def alone(self, own: OwnerContext, store: MemoryJournal) -> SearchStack[Filing]:
        """What files and finds a user's memory alone."""
        return own.alone(store.owner, MemorySource(store, store.database))

    def sources(self, journal: JournalWiring, store: MemoryJournal) -> Sequence[Source]:
        """What the index of all journals follows."""
        return [awaited(journal, lambda: MemorySource(store, store.database))]

    def problems(self, own: OwnerContext, store: MemoryJournal) -> Iterator[Problem | str]:  # noqa: ARG002  the file says it
        """Where the file is, and what is wrong with it."""
        yield f"{store.database.path}{'' if store.exists else ', not made yet'}"
        if store.exists:
            yield from find_problems(store)

    def repair(self, store: MemoryJournal) -> list[str]:
        """List again for the index what its outbox lacks. Raises: Unavailable."""
        return list_unlisted(store)

    def close(self) -> None:
        """Nothing is shared."""
