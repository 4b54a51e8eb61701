"""The wiring of memories: this owner's, and any other user's alone."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.app.lazy import made_once
from commonplace.core.errors import CommonplaceError
from commonplace.core.owners import parse_owner
from commonplace.core.values import Problem
from commonplace.journals.memory.ports import Erases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.app.context import JournalWiring, OwnerContext, SearchStack
    from commonplace.core.clock import Clock
    from commonplace.core.ports import OpensRefs, Source
    from commonplace.core.values import Finding
    from commonplace.journals.memory.ports import MemoryStore
    from commonplace.search.filing.words_only import Files
    from commonplace.services.memory.service import MemoryService
    from commonplace.tools.memory.tools import MemoryTools
    from commonplace.tools.toolset import Toolset


class Memories(Protocol):
    """Where the memories of all users are kept: one of `app.backends.MEMORIES`."""

    def store_of(self, owner: str, clock: Clock) -> MemoryStore:
        """The store of one user, there or not."""
        ...

    def is_there(self, owner: str) -> bool:
        """Whether anything may be kept of a user; a look at one file at the most."""
        ...

    def own(self, own: OwnerContext) -> SearchStack[Files]:
        """What files and finds the memory of an app's own owner."""
        ...

    def beside(self, own: OwnerContext) -> SearchStack[Files] | None:
        """An owner's memory where the index of all journals has none of it; None where it has."""
        ...

    def alone(self, own: OwnerContext, store: Any) -> SearchStack[Files]:
        """What files and finds any user's memory by itself."""
        ...

    def sources(self, journal: JournalWiring, store: Any) -> Sequence[Source]:
        """What of it the index of all journals follows."""
        ...

    def problems(self, own: OwnerContext, store: Any) -> Iterator[Finding]:
        """What is wrong with what an owner has here, each with its next step; and what is known."""
        ...

    def repair(self, store: Any) -> list[str]:
        """Repair what can be repaired of an owner's; a sentence for each thing done."""
        ...

    def close(self) -> None:
        """Close what all users share; may be called twice."""
        ...


class MemoryWiring:
    """The memory of one owner, its service and its tools."""

    name = "memory"
    title = "The memory"

    def __init__(self, own: OwnerContext) -> None:
        self._own = own
        self.wiring = own.wiring

    @made_once
    def journal(self) -> MemoryStore:
        """This owner's memory, there or not. Raises: Unavailable where an extra is missing."""
        return self._memories.store_of(self._own.settings.owner, self._own.clock)

    @made_once
    def tools(self) -> MemoryTools:
        """Memory's tools."""
        from commonplace.tools.memory.tools import MemoryTools

        return MemoryTools(service=self.service)

    def service(self) -> MemoryService:
        """What memory's tools work with."""
        return self._service

    @made_once
    def _service(self) -> MemoryService:
        own = self._own
        return self._service_over(self.journal, cache(lambda: self._memories.own(own)))

    def service_of(self, owner: str) -> MemoryService:
        """The memory of any user alone, in that user's own index.

        Close its filing and its store after use. Raises: Invalid for what is no owner.
        """
        store = self._memories.store_of(parse_owner(owner), self._own.clock)
        followed = self._memories.alone(self._own, store)
        return self._service_over(store, lambda: followed)

    def toolsets(self) -> Mapping[str, Callable[[], Toolset]]:
        """Its toolsets by name; making one opens nothing."""
        return {
            "memory": lambda: self.tools.toolset,
            "memory-write": lambda: self.tools.write_toolset,
        }

    def is_there(self) -> bool:
        """Whether there may be one: a user who has none pays a look at one file."""
        offered = self.toolsets().keys() & {*self._own.settings.toolsets}
        # What its driver is missing for is there: opening it says so.
        in_database = self._own.settings.database.url is not None
        return bool(offered) or in_database or self._memories.is_there(self._own.settings.owner)

    def pages(self) -> OpensRefs:
        """What opens its refs."""
        from commonplace.journals.memory.open import MemoryPages

        return MemoryPages(self.journal)

    def sources(self) -> Sequence[Source]:
        """What the index follows, even if it is begun while a server runs."""
        return self._memories.sources(self, self.journal)

    def problems(self) -> Iterator[Finding]:
        """What is wrong, each with its next step, and what is worth knowing; changes nothing."""
        try:
            yield from self._memories.problems(self._own, self.journal)
        except CommonplaceError as exc:
            yield Problem(what=exc.located, hint=exc.located_hint)

    def repair(self) -> list[str]:
        """Repair what can be repaired, then erase what deleted records left.

        Returns:
            A sentence for each thing done.

        Raises:
            Unavailable: The memory cannot be opened or written.
        """
        if not self._memories.is_there(self._own.settings.owner):
            return []
        done = self._memories.repair(self.journal)
        has_remains = isinstance(self.journal, Erases) and self.journal.to_erase()
        if has_remains and not self.service().erase():
            done.append("Erased what deleted records had left.")
        return done

    def close(self) -> None:
        """Close the database."""
        if "journal" in self.__dict__:
            self.journal.close()

    @property
    def _memories(self) -> Memories:
        return self._own.shared.memories

    def _service_over(
        self, store: MemoryStore, followed: Callable[[], SearchStack[Files]]
    ) -> MemoryService:
        from commonplace.search import policy
        from commonplace.services.memory.finding import MemoryNumbers
        from commonplace.services.memory.service import MemoryService

        own, settings = self._own, self._own.settings
        top_k, least, recency = (
            settings.memory.top_k,
            settings.memory.min_score,
            settings.memory.recency,
        )
        return MemoryService(
            store=store,
            filing=lambda: followed().filing,
            finder=lambda: followed().finder,
            index=lambda: followed().index,
            encoder=own.encoder,
            clock=own.clock,
            owner_zone=settings.timezone,
            numbers=MemoryNumbers(
                top_k=policy.MEMORY_K if top_k is None else int(top_k),
                min_score=policy.MEMORY_FLOOR if least is None else least,
                recency=policy.MEMORY.recent if recency is None else recency,
            ),
            shows_cards=settings.debug,
        )
