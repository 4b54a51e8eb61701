"""What keeps an index behind a store, as those see it who write and who search; and its answers.

Never opens anything: protocols and values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.values import Change


class Filed(Struct, frozen=True):
    """The entry can be found, by words and by meaning.

    Args:
        proposal: The line that names the entry whose place it may take; empty for none.
    """

    proposal: str = ""

    @property
    def why(self) -> str:
        """Empty: nothing waits."""
        return ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the writer may settle."""
        return (self.proposal,) if self.proposal else ()


class Pending(Struct, frozen=True):
    """The entry is written, and not all of it can be found yet.

    Args:
        why: One sentence.
        passing: It will be found in a moment, so the writer need not know.
        by_words: Whether words find it already.
        cut: Whether words alone will find its end.
        proposal: As in `Filed`.
    """

    why: str
    passing: bool = False
    by_words: bool = True
    cut: bool = False
    proposal: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the writer must know."""
        yet = "Not found by meaning yet" if self.by_words else "Written, and no search finds it yet"
        notes = (self.proposal,) if self.proposal else ()
        notes = notes if self.passing else (*notes, f"{yet}: {self.why}")
        if not self.cut:
            return notes
        from commonplace.search.policy import CHUNKS_OF_AN_ENTRY as FIRST

        return (*notes, f"It is long: meaning finds its first {FIRST} parts, words all of it.")


class Deferred(Struct, frozen=True):
    """The entry is filed by the next search, in this process or another; its vector may follow."""

    @property
    def why(self) -> str:
        """Empty: nothing went wrong."""
        return ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing must be known."""
        return ()


Outcome: TypeAlias = Filed | Pending | Deferred
"""What became of an entry in the index: `why` something waits; `notes` for its writer."""


class Refreshing(Protocol):
    """What brings an index up to its journals before a search."""

    def refresh(self, wait_s: float) -> tuple[str, ...]:
        """File what was written, waiting at most so long; a sentence for what is not done."""
        ...

    def settle(self, identity: str, wait_s: float) -> tuple[str, ...]:
        """Wait a while for vectors that are being made; a sentence where some are missing."""
        ...


class FilingPort(Refreshing, Protocol):
    """What keeps an index behind a store, as those see it who write."""

    def file(self, changes: Sequence[Change]) -> Outcome:
        """File what was just written; never raises into the write."""
        ...

    def file_edited(self, changes: Sequence[Change]) -> Outcome:
        """File what was just edited; never raises into the write."""
        ...

    def forget(self, refs: Sequence[str]) -> Outcome:
        """Take deleted entries out of the index, every byte of their text; never raises."""
        ...

    def catch_up(self) -> int:
        """File everything that can be filed here; how much was. Raises: Unavailable."""
        ...

    def close(self) -> None:
        """Let go of what works in the background; may be called twice."""
        ...


class FilingObserver(Protocol):
    """What follows the journals beside the index."""

    def changed(self, changes: Sequence[Change]) -> None:
        """Note what was written, or was found written; never raises, and never waits long."""
        ...

    def scanned(self, source: str) -> None:
        """Note that a source moved on: what was never filed may be gone; as `changed`."""
        ...

    def gone(self, refs: Sequence[str]) -> str:
        """Leave nothing of these entries; why that failed, as a sentence, or empty."""
        ...
