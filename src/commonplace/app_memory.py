"""The wiring of users' memories: stores, and the desks over them.

Decides nothing that a room could decide; `app` hands in what all owners share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.owners import make_owner_folder, owner_folder, parse_owner

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.config import Settings
    from commonplace.core.clock import Clock
    from commonplace.core.ports import EncoderSlot, Index, OwnerIndex
    from commonplace.journals.memory import MemoryJournal
    from commonplace.search.filing import Filing
    from commonplace.search.finder import Finder
    from commonplace.tools.memory_desk import MemoryDesk

FOLDER = "memory"


class Memories:
    """The memory of every user below one home. indexes, encoder: shared, opened when used."""

    def __init__(
        self,
        settings: Settings,
        *,
        indexes: Callable[[], Index],
        encoder: Callable[[], EncoderSlot],
        holder: Callable[[], str],
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._indexes = indexes
        self._encoder = encoder
        self._holder = holder
        self._clock = clock

    def journal_of(self, owner: str) -> MemoryJournal:
        """The store of one user, there or not. Raises: Invalid for what is no owner."""
        from commonplace.journals.memory import MemoryJournal  # noqa: PLC0415  wired when needed

        owner = parse_owner(owner)
        users = self._settings.home / "users"
        return MemoryJournal(
            users / owner_folder(owner) / FOLDER,
            owner=owner,
            clock=self._clock,
            prepare=lambda: make_owner_folder(users, owner),
        )

    def desk(
        self,
        journal: MemoryJournal,
        *,
        filing: Callable[[], Filing],
        finder: Callable[[], Finder],
        index: Callable[[], OwnerIndex],
    ) -> MemoryDesk:
        """What works with a store, filed and found by these."""
        from commonplace.search import policy  # noqa: PLC0415  wired when needed
        from commonplace.tools.memory_desk import MemoryDesk, MemoryNumbers  # noqa: PLC0415  as above

        settings = self._settings
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
            encoder=self._encoder(),
            clock=self._clock,
            zone=settings.timezone,
            numbers=MemoryNumbers(
                top_k=policy.MEMORY_K if top_k is None else int(top_k),
                min_score=policy.MEMORY_FLOOR if least is None else least,
                recency=policy.MEMORY.recent if recency is None else recency,
            ),
            shows_cards=settings.debug,
        )

    def desk_of(self, owner: str) -> MemoryDesk:
        """The memory of any user alone, in that user's own index.

        Close its filing and its store after use. Raises: Invalid for what is no owner.
        """
        from commonplace.search.filing import Filing  # noqa: PLC0415  wired when needed
        from commonplace.search.finder import Finder  # noqa: PLC0415  as above

        journal = self.journal_of(owner)
        index = self._indexes().within(journal.owner)
        encoder = self._encoder()
        filing = Filing(
            index=index, sources=[journal.source()], encoder=encoder, holder=self._holder()
        )
        finder = Finder(index=index, encoder=encoder, filing=filing)
        return self.desk(journal, filing=lambda: filing, finder=lambda: finder, index=lambda: index)
