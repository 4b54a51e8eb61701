"""The ports of the private journal: where the thoughts of one owner are, whatever is behind it.

Never reads a disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, tzinfo
    from pathlib import Path

    from commonplace.core.values import Interval
    from commonplace.journals.private.copied import Copy
    from commonplace.journals.private.format import PrivateEntry
    from commonplace.journals.private.note import PrivateNote
    from commonplace.journals.private.roots import Kind
    from commonplace.journals.private.write import ThoughtsWritten


class ThoughtStore(Protocol):
    """What keeps the private entries of one owner. Thread-safe; several processes may use one.

    None that has expired is read. What is said to be written is on the disk. Raises: Denied,
    Unavailable; of a ref also Invalid, NotFound.
    """

    zone: tzinfo

    @property
    def note(self) -> str:
        """A sentence for every answer; mostly empty."""
        ...

    @property
    def has_project(self) -> bool:
        """Whether notes on a project lie apart from all else."""
        ...

    def scopes(self, kind: Kind) -> tuple[str, ...]:
        """The scopes that a search of this kind looks at; none for any."""
        ...

    def path_of(self, ref: str) -> Path:
        """The absolute path of a ref, there or not. Raises: NotFound where entries have none."""
        ...

    def write(
        self,
        thoughts: Mapping[str, str],
        *,
        at: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> ThoughtsWritten:
        """Write thoughts, by the names of headings; the same key twice is one entry."""
        ...

    def supersede_by(
        self, ref: str, thoughts: Mapping[str, str], *, at: datetime | None = None
    ) -> tuple[PrivateEntry, ThoughtsWritten]:
        """Write thoughts in the place of an entry. Raises: as `supersede`."""
        ...

    def supersede(
        self, ref: str, content: str, *, at: datetime | None = None
    ) -> tuple[PrivateEntry, ThoughtsWritten]:
        """Write an entry in the place of another; both stay, and name each other.

        Returns: The former as it is now, and what was written; the same again writes nothing.

        Raises: Conflict where another entry has taken its place.
        """
        ...

    def read_entry(self, path_or_ref: str) -> PrivateEntry:
        """The entry under a ref or a path."""
        ...

    def open_written(self, path_or_ref: str) -> PrivateEntry:
        """The same, of the owner's other projects too."""
        ...

    def list_entries(
        self, *, limit: int, kind: Kind = "both", within: Interval | None = None
    ) -> list[PrivateEntry]:
        """The newest entries inside the interval, newest first."""
        ...

    def edit(self, ref: str, content: str, *, expected: str | None = None) -> PrivateEntry:
        """Replace an entry's text; the frontmatter stays where the new one has none.

        Raises: Conflict where it is not `expected` any more.
        """
        ...

    def delete(self, ref: str, *, expected: str | None = None) -> None:
        """Remove an entry; what replaced it replaces what it had replaced. Raises: as `edit`."""
        ...

    def find_successor(self, entry: PrivateEntry) -> str:
        """The ref of the entry that took its place, while that is there; else empty."""
        ...

    def mark_replaced(self, ref: str, successor: str) -> PrivateEntry:
        """Name in an entry which one took its place; empty for none."""
        ...

    def write_copy(self, copy: Copy, key: str) -> ThoughtsWritten:
        """Write an entry that another program had, screened already, once for each key."""
        ...

    def update_copy(self, there: PrivateEntry, copy: Copy) -> PrivateEntry:
        """Put what another program says now in the place of what it said."""
        ...

    def find_copy(self, key: str) -> PrivateEntry | Literal["never", "deleted here"]:
        """The entry that `write_copy` wrote with a key."""
        ...

    def find_written_copy(self, key: str) -> PrivateEntry | None:
        """The same; None where it is gone."""
        ...

    def release_keys(self, keys: Sequence[str]) -> None:
        """Let the keys of entries that are gone write again."""
        ...

    def find_kept(self, ref: str) -> PrivateEntry | None:
        """A project's note that only our copy has; None for any other."""
        ...

    def find_gone(self, ref: str) -> PrivateEntry | None:
        """The same, of one that its project has lost."""
        ...

    def forget_copies(self, refs: Sequence[str]) -> None:
        """Remove the copies of notes of projects."""
        ...


class SharedThoughts(ThoughtStore, Protocol):
    """A store in a database that several servers share: each entry is a note there."""

    def list_oldest(self, limit: int, after: tuple[datetime, str] | None) -> list[PrivateNote]:
        """The notes after a (time, ref), oldest first."""
        ...

    def find_around(self, entry: PrivateEntry) -> tuple[PrivateEntry | None, PrivateEntry | None]:
        """The nearest entries of its scope before and after it."""
        ...

    def add_notes(self, notes: Sequence[PrivateNote]) -> list[str]:
        """Write notes, less those whose ref is taken; the refs of those that were written.

        The key of one that another program had is taken from then on.
        """
        ...

    def find_notes(self, refs: Sequence[str]) -> list[PrivateNote]:
        """The notes with these refs that there are, in no order."""
        ...

    def find_known(self, refs: Sequence[str]) -> set[str]:
        """Those of these refs whose notes are there, or were deleted there."""
        ...

    def note_keys(self, digests: Mapping[str, tuple[Sequence[str], datetime]]) -> None:
        """Keep what keys stand for, by their sha256, unless they are known: refs and a time."""
        ...
