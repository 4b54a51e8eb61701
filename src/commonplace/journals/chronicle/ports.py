"""The port of chronicle: where the entries of one owner are kept, whatever is behind it.

Never reads a disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.core.project_folders import ProjectFolders
    from commonplace.journals.chronicle.event import (
        Changes,
        Event,
        EventDraft,
        EventQuery,
        Mention,
        TagCount,
        UnlessSaid,
    )
    from commonplace.journals.chronicle.words import Words


class ChronicleStore(Protocol):
    """What keeps the entries of one owner. Thread-safe; several processes may use one at once.

    None that has expired is read. What is said to be written is on the disk. Raises: Conflict for
    a storage that is only read, Denied, Unavailable.
    """

    def find(self, wanted: str) -> Event:
        """The one entry with this id, or whose id alone begins so.

        Raises: NotFound, Invalid for several.
        """
        ...

    def get_many(self, identities: Sequence[str]) -> list[Event]:
        """The entries with just these ids that there are, in no order."""
        ...

    def newest(self, limit: int, question: EventQuery) -> list[Event]:
        """The newest entries that are asked for, newest first."""
        ...

    def oldest(self, limit: int, after: tuple[int, int]) -> list[Event]:
        """The entries after an (instant, place), oldest first."""
        ...

    def after(self, event: Event) -> Event | None:
        """The entry that follows this one in time."""
        ...

    def newest_of(self, project: ProjectFolders, limit: int) -> list[Event]:
        """The newest of a project that hold, newest first; of the newest entries there are."""
        ...

    def mentions(self, words: Words, question: EventQuery) -> list[Mention]:
        """The entries asked for that bear every word, newest first."""
        ...

    def find_successors(self, ids: Sequence[str]) -> dict[str, Event]:
        """The newest entry that took the place of each, by its id."""
        ...

    def tags(self) -> list[TagCount]:
        """All tags, most frequent first."""
        ...

    def add(self, draft: EventDraft, *, unless: UnlessSaid | None = None) -> tuple[Event, bool]:
        """Write an entry; (what was there, True) where its id is taken, or it is needless.

        unless: looked for so that of two processes that write the same at once, one does.
        """
        ...

    def add_all(self, drafts: Sequence[EventDraft], *, on_added: Callable[[Event], None]) -> int:
        """Write entries, less those whose id is taken; how many were written.

        on_added: called with each that was written.
        """
        ...

    def stamp_for(self, draft: EventDraft) -> str:
        """The stamp that an entry will have."""
        ...

    def edit(self, wanted: str, changes: Changes, *, expected: str | None) -> Event:
        """Change an entry. Raises: NotFound; Conflict where it is not `expected` any more."""
        ...

    def delete(self, wanted: str, *, expected: str | None) -> Event:
        """Remove an entry; answers what it was. Raises: as edit."""
        ...

    def delete_all(self, stamps: Mapping[str, str]) -> list[Event]:
        """Remove entries, by ids, less those whose stamp is another by now; what is gone."""
        ...

    def close(self) -> None:
        """Close what is open; may be called twice."""
        ...


class SharedChronicle(ChronicleStore, Protocol):
    """A store in a database that several servers share."""

    def find_deleted(self, identities: Sequence[str]) -> set[str]:
        """Which of these ids entries had that were deleted: a move from files brings none back."""
        ...
