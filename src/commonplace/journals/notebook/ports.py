"""The ports of the notebook: what its verbs need of what keeps sections and entries.

Never reads a disk. Git keeps them for one person; a database keeps those of served users.
"""

from __future__ import annotations

from datetime import datetime  # noqa: TC003  a struct reads it at run time
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from commonplace.journals.notebook.format import NotebookEntry  # noqa: TC001  likewise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from commonplace.core.values import Replacement
    from commonplace.journals.notebook.format import CommitMessage
    from commonplace.journals.notebook.sections import (
        Backlinks,
        EntryLine,
        Section,
        SectionCount,
        SectionMoves,
        WrittenEntry,
    )
    from commonplace.journals.notebook.whole import WholeNotebook


class PlacedEntry(Struct, frozen=True, kw_only=True):
    """An entry, and where it stands among the others.

    Attributes:
        place: In the order of their writing.
        former: The ref of what it replaced; empty for nothing.
    """

    entry: NotebookEntry
    place: int
    former: str


class DatedOverview(Struct, frozen=True, kw_only=True):
    """An overview as it is now.

    Attributes:
        at: When the newest entry of its section was; without one when it was written.
        written: When the section was last written to.
        author: Who put it in place, in the notebook of a space; else empty.
    """

    section: str
    text: str
    at: datetime
    written: datetime
    author: str


class WritesNotebook(Protocol):
    """What writes to one notebook. Several processes may at once; each act is whole or not at all.

    Each raises Conflict, Invalid, Denied or Unavailable where it is refused.
    """

    def write(
        self, message: CommitMessage, *, at: datetime, overview: str | None, base_version: str
    ) -> WrittenEntry:
        """Add an entry, and put a new overview in place, None for the one that is there.

        An entry that is there by its id is returned as it is. Raises: also OverviewConflict where
        the overview is not the one with that version, or another text that was to be written.
        """
        ...

    def set_end(self, message: CommitMessage) -> None:
        """Set the end of an entry that a message names."""
        ...

    def put_overview(
        self, message: CommitMessage, overview: str, base_version: str
    ) -> tuple[str, ...]:
        """Put a text in place of an overview without an entry; what was left, in sentences.

        message: names the section, and may set an end as well. Raises: also OverviewConflict,
        NotFound.
        """
        ...

    def move(self, old: str, new: str, *, below: bool) -> SectionMoves:
        """Give a section another name, and with `below` those below it, all or none of them.

        Raises: also NotFound.
        """
        ...


class ReceivesNotebook(Protocol):
    """What a notebook that lay elsewhere moves into."""

    def list_sections(self) -> list[str]:
        """Every section that there is, by name."""
        ...

    def current_name(self, section: str) -> str:
        """What a section is called now; the name itself where it never moved."""
        ...

    def find_known(self, entry_ids: Sequence[str]) -> set[str]:
        """Those of these ids whose entries are there, or were deleted there."""
        ...

    def take_over(self, whole: WholeNotebook) -> None:
        """Add all of a notebook that lay elsewhere, in one transaction.

        What is known by its id stays as it is; where there is a mark, also away. Of a section that
        is there too the overview holds what both said. What has the mark of one that was taken over
        adds nothing.
        """
        ...


class NotebookStore(WritesNotebook, ReceivesNotebook, Protocol):
    """What keeps the notebook of one owner in a database. Thread-safe."""

    def find_section(self, name: str) -> Section | None:
        """A section as it is now."""
        ...

    def section_counts(self) -> dict[str, SectionCount]:
        """Each section that has an entry which has not expired."""
        ...

    def read_overviews(self, sections: Sequence[str]) -> dict[str, str]:
        """The overviews of those of these sections that there are."""
        ...

    def newest(self, section: str, *, start: int, length: int) -> list[EntryLine]:
        """Entries of a section, newest first, less those that have expired."""
        ...

    def find_lines(self, mark: str, sections: Iterable[str]) -> list[EntryLine]:
        """Entries of sections whose id, else hash as a commit, begins so; at most 50."""
        ...

    def find_entry(self, entry_id: str) -> NotebookEntry | None:
        """An entry by its id, also where it has expired."""
        ...

    def names_of(self, section: str) -> list[str]:
        """What a section is called, and then what it was called before it was moved."""
        ...

    def find_former(self, entry_id: str) -> EntryLine | None:
        """The entry with an id; where that has expired, the one whose place it had taken."""
        ...

    def find_around(self, section: str, entry_id: str) -> tuple[EntryLine | None, EntryLine | None]:
        """The entries before and after one, in the order of its section."""
        ...

    def find_successor(self, entry_id: str) -> EntryLine | None:
        """The entry that took the place of one, the newest of several."""
        ...

    def list_expired_successors(self, entry_id: str) -> Sequence[str]:
        """The ids of the entries that took the place of one, and have expired."""
        ...

    def read_dated(self, sections: Sequence[str] | None) -> list[DatedOverview]:
        """The overviews of some sections as they are now, blank ones too; None for all."""
        ...

    def read_placed(self, names: Sequence[str]) -> list[PlacedEntry]:
        """Those of some entries, by `section#id`, that there are and have not expired."""
        ...

    def list_placed(self, after: int, limit: int) -> list[PlacedEntry]:
        """The first of those after a place, in the order of their writing."""
        ...

    def mark(self) -> str:
        """A token that changes with every change; reads no text."""
        ...

    def changed_since(self, mark: str | None) -> list[str] | None:
        """What changed after a mark, as `section` or `section#id`; None for one that says not."""
        ...

    def overviews_left_by(self, section: str, entry_ids: Sequence[str]) -> Mapping[str, str]:
        """The overview of a section as each of some of its entries left it, by their ids."""
        ...

    def overviews_around(self, entry: NotebookEntry) -> tuple[str, str]:
        """The overview of an entry's section before it was written, and as it left it."""
        ...

    def list_backlinks(
        self, names: Sequence[str], entry_names: Sequence[str], *, length: int
    ) -> Backlinks:
        """The texts that link to a section by one of its names, or to an entry of it."""
        ...

    def list_replaced_since(
        self, section: str, *, before: datetime | None
    ) -> tuple[Replacement, ...]:
        """Entries of a section that were replaced since its overview was written, newest first."""
        ...

    def drop_context(self, entry_id: str) -> None:
        """Take the work context out of an entry, for good."""
        ...

    def forget(self, entry_ids: Sequence[str]) -> set[str]:
        """Remove entries; what had replaced one replaces what that one had replaced.

        The ids of those that were there.
        """
        ...

    def erase_versions(
        self, sections: Sequence[str], cut: Callable[[str], str], *, current: bool
    ) -> int:
        """Erase a text from what overviews are and were; how many versions changed or went.

        Args:
            sections: Those whose overviews go, with all that they were before.
            cut: Takes the text out of what every other overview was before.
            current: Whether out of what it is now, too.
        """
        ...

    def read_whole(self) -> WholeNotebook:
        """All of it but what has expired, without a mark."""
        ...
