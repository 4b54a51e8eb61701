"""The ports of memory: the store of one user, whatever is behind it, and what else it can do.

Never reads a disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from commonplace.core.ports import AsksTogether

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from commonplace.journals.memory.records import (
        Call,
        Kind,
        KindCount,
        Record,
        RecordDraft,
        Records,
        Saved,
    )


class LogsCalls(Protocol):
    """A store that logs the calls of tools for 30 days."""

    def note_call(self, call: Call) -> None:
        """Log a call, and delete old ones; never raises, and waits for no long lock."""
        ...

    def calls(self, limit: int = 100) -> list[Call]:
        """The calls that are logged, newest first. Raises: Unavailable."""
        ...


class Erases(Protocol):
    """A store that remembers which deleted texts are still to be erased from what is derived."""

    def to_erase(self) -> tuple[str, ...]:
        """Refs of what is deleted and whose bytes may remain somewhere; survives a kill."""
        ...

    def erased(self, refs: Sequence[str]) -> bool:
        """The index holds no byte of these; erases what is left here, and says whether none is."""
        ...


class MemoryStore(LogsCalls, Erases, Protocol):
    """The records of one user, and of no other. Thread-safe; several processes may use one at once.

    Every save and delete writes what it touched (user, kind, id; no text) into an outbox in the
    same transaction, and the index is fed from there: a save never waits for a model.
    """

    @property
    def owner(self) -> str:
        """Whose it is."""
        ...

    def save(self, draft: RecordDraft) -> Saved:
        """Keep a new record, or alter one, as one transaction. The same key twice is one record.

        A record is superseded once: a second draft that names it in `supersedes` keeps nothing, and
        gives the record that took its place.

        Raises: Invalid (also for a message that would be altered), NotFound, Unavailable.
        """
        ...

    def find(self, kind: Kind, ref_id: str) -> Record | None:
        """A record as it is now; None where there is none. Raises: Unavailable."""
        ...

    def find_all(self, named: Sequence[tuple[Kind, str]]) -> list[Record | None]:
        """The records of these kinds and ids as they are now, in this order; None for none.

        Raises: Unavailable.
        """
        ...

    def find_successor(self, kind: Kind, ref_id: str) -> Record | None:
        """The record that took the place of one; None for none. Raises: Unavailable."""
        ...

    def delete(self, kind: Kind, ref_id: str, *, expected: str = "") -> bool:
        """Delete a record for good, as one transaction; whether there was one.

        Args:
            kind: Of the record.
            ref_id: Likewise.
            expected: The version that was read, as `version_of` gives it; empty to delete any.

        Raises:
            Conflict: The record has changed since it was read.
            Unavailable.
        """
        ...

    def list_records(self, kind: Kind, *, limit: int, cursor: str = "") -> Records:
        """Records of a kind, newest first, drafts among them. Raises: Invalid, Unavailable."""
        ...

    def keep_all(self, records: Sequence[Record]) -> int:
        """Write records as they are, with their ids and times; returns how many were new.

        A record is skipped whose id is there, or whose former record was already replaced.
        Raises: Unavailable; the records before the failed one may have been written.
        """
        ...

    def count_kinds(self) -> list[KindCount]:
        """How much there is of each kind, in the order of KINDS. Raises: Unavailable."""
        ...

    def close(self) -> None:
        """Close files and connections; may be called twice."""
        ...


@runtime_checkable
class SharesTransactions(AsksTogether, Protocol):
    """A store on a server, which does several things as a whole too."""

    def one_transaction(self, kind: Kind, ref_id: str) -> AbstractContextManager[None]:
        """Have all that this thread does inside it be done as a whole, or not at all.

        Nobody else changes this record meanwhile. Raises: Lost where it is not known which.
        """
        ...
