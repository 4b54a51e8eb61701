"""The wiring of memories that are files: one for each user, in that user's own folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commonplace.app.owner_context import SearchStack, lazy_source
from commonplace.core.files import may_exist
from commonplace.core.owner_folders import list_owners, make_owner_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import tzinfo

    from commonplace.app.owner_context import JournalWiring, OwnerContext
    from commonplace.app.process import ProcessContext
    from commonplace.core.clock import Clock
    from commonplace.core.ports import Source
    from commonplace.core.values import Problem
    from commonplace.journals.memory.journal import MemoryJournal
    from commonplace.journals.memory.source import MemorySource
    from commonplace.search.filing.filing import Filing

FOLDER = "memory"


class FileMemories:
    """Each user's memory in a file, its words and vectors in the index of all journals."""

    def __init__(self, shared: ProcessContext) -> None:
        self._shared = shared

    def store_of(self, owner: str, clock: Clock) -> MemoryJournal:
        """The store of one user, there or not."""
        from commonplace.journals.memory.journal import MemoryJournal

        return MemoryJournal(
            self._shared.folder_of(owner) / FOLDER,
            owner=owner,
            clock=clock,
            hidden=self._shared.hidden_of(owner, clock),
            prepare=lambda: make_owner_folder(self._shared.settings.home / "users", owner),
        )

    def is_there(self, owner: str) -> bool:
        """Whether anything was ever kept: a look at one file."""
        return may_exist(self._shared.folder_of(owner) / FOLDER / "memory.db")

    def is_known(self, owner: str) -> bool:
        """Whether anything may be kept of a user, in any journal."""
        return os.path.isdir(self._shared.folder_of(owner))

    def users(self) -> Sequence[str]:
        """The owner of each folder that holds a memory, sorted; a folder of no owner is skipped."""
        return [
            owner
            for owner in list_owners(self._shared.settings.home / "users")
            if self.is_there(owner)
        ]

    def of_owner(self, context: OwnerContext) -> SearchStack[Filing]:
        """What files and finds this owner's: with all journals."""
        return SearchStack(index=context.index, filing=context.filing, finder=context.finder)

    def with_journals(self, context: OwnerContext) -> None:
        """None: the index of all journals has it."""

    def alone(self, context: OwnerContext, store: MemoryJournal) -> SearchStack[Filing]:
        """What files and finds a user's memory alone."""
        return context.alone(store.owner, _source_of(store, context.settings.timezone))

    def sources(
        self, journal: JournalWiring, open_store: Callable[[], MemoryJournal]
    ) -> Sequence[Source]:
        """What the index of all journals follows."""
        zone = self._shared.settings.timezone
        return [lazy_source(journal, lambda: _source_of(open_store(), zone))]

    def problems(self, context: OwnerContext, store: MemoryJournal) -> Iterator[Problem | str]:
        """Where the file is, and what is wrong with it."""
        from commonplace.journals.memory.repair import find_problems

        yield f"{store.database.path}{'' if store.exists else ', not made yet'}"
        if store.exists:
            yield from find_problems(store)

    def close(self) -> None:
        """Nothing is shared."""


def _source_of(store: MemoryJournal, zone: tzinfo) -> MemorySource:
    from commonplace.journals.memory.source import MemorySource

    return MemorySource(store, store.database, zone)
