"""The port by which an import notes what it adds, so that `undo` can take it back as one.

Keys and versions, never a word of an entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class NotesImport(Protocol):
    """What an import into one journal notes, group by group; noting never fails an import."""

    def put_planned(self, versions: Mapping[str, str]) -> None:
        """Note what is about to be added, so that a kill in between hides none of it.

        Args:
            versions: By the key of each entry that is not there, the version it will have; empty
                where the journal itself can say whether an entry is as it was added.
        """
        ...

    def put_added(self, versions: Mapping[str, str], *, updated: int = 0) -> None:
        """Note what was added, in place of what was planned last.

        Args:
            versions: The version of each entry that was added, by its key.
            updated: How many entries were there before, and were updated.
        """
        ...


class NotNoted:
    """Notes nothing: what is imported is not taken back as one. See `NotesImport`."""

    def put_planned(self, versions: Mapping[str, str]) -> None:
        """See the port."""

    def put_added(self, versions: Mapping[str, str], *, updated: int = 0) -> None:
        """See the port."""


NOT_NOTED = NotNoted()
