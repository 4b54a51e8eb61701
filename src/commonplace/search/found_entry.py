"""What a search found of any journal: the entry as it is now, by its own address, time and words.

Never says how it was found, which each journal's hit does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import datetime

    from commonplace.core.values import ChainLink


class LibraryEntry(Protocol):
    """What each entry has, of whichever journal it is."""

    @property
    def ref(self) -> str:
        """Its address."""
        ...

    @property
    def kind(self) -> str:
        """Which kind it is of."""
        ...

    @property
    def at(self) -> datetime:
        """Its time."""
        ...

    @property
    def text(self) -> str:
        """All that it says."""
        ...


_Entry = TypeVar("_Entry", bound=LibraryEntry)


class FoundEntry(Struct, Generic[_Entry], frozen=True, kw_only=True):
    """An entry that was found, as its journal has it now, and its place in a chain."""

    entry: _Entry
    replaces: ChainLink | None = None
    replaced_by: ChainLink | None = None

    @property
    def ref(self) -> str:
        """Its address."""
        return self.entry.ref

    @property
    def kind(self) -> str:
        """Its kind."""
        return self.entry.kind

    @property
    def at(self) -> datetime:
        """Its time."""
        return self.entry.at

    @property
    def text(self) -> str:
        """All that it says."""
        return self.entry.text
