"""The ports of memory: the store of one user, whatever is behind it, and what workers share.

Never reads a disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from commonplace.core.outbox import OutboxLine
    from commonplace.journals.memory.records import (
        Call,
        Kind,
        KindTally,
        Record,
        RecordDraft,
        Records,
        Saved,
    )


class MemoryStore(Protocol):
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

        Raises: Invalid (also for a message that would be altered), NotFound, Unavailable.
        """
        ...

    def find(self, kind: Kind, ref_id: str) -> Record | None:
        """A record as it is now; None where there is none. Raises: Unavailable."""
        ...

    def delete(self, kind: Kind, ref_id: str) -> bool:
        """Delete a record for good; whether there was one. Raises: Unavailable."""
        ...

    def list_records(self, kind: Kind, *, limit: int, cursor: str = "") -> Records:
        """Records of a kind, newest first, drafts among them. Raises: Invalid, Unavailable."""
        ...

    def close(self) -> None:
        """Close files and connections; may be called twice."""
        ...


@runtime_checkable
class TalliesKinds(Protocol):
    """A store that can say how much it keeps."""

    def tallies(self) -> list[KindTally]:
        """A tally of each kind, in the order of KINDS. Raises: Unavailable."""
        ...


@runtime_checkable
class KeepsCalls(Protocol):
    """A store that logs the calls of tools for 30 days."""

    def note_call(self, call: Call) -> None:
        """Log a call, and delete old ones; never raises, and waits for no long lock."""
        ...

    def calls(self, limit: int = 100) -> list[Call]:
        """The calls that are logged, newest first. Raises: Unavailable."""
        ...


@runtime_checkable
class AsksTogether(Protocol):
    """A store on a server, whose questions cost less when several share a transaction."""

    def together(self) -> AbstractContextManager[None]:
        """Have what this thread asks meanwhile share transactions; nothing long is waited for."""
        ...


@runtime_checkable
class Erases(Protocol):
    """A store that remembers which deleted texts are still to be erased from what is derived."""

    def to_erase(self) -> tuple[str, ...]:
        """Refs of what is deleted and whose bytes may remain somewhere; survives a kill."""
        ...

    def erased(self, refs: Sequence[str]) -> bool:
        """The index holds no byte of these; erases what is left here, and tells whether none is."""
        ...


class ReadsRecords(Protocol):
    """The records that lines of the outbox stand for, of any user, each read as that user."""

    def read(self, noted: Sequence[OutboxLine]) -> list[Record | None]:
        """The records of these as they are now, in this order. Raises: Unavailable."""
        ...


@runtime_checkable
class FindsAll(Protocol):
    """A store that finds many records at once."""

    def find_all(self, named: Sequence[tuple[Kind, str]]) -> list[Record | None]:
        """The records of these kinds and ids as they are now, in this order; None for none.

        Raises: Unavailable.
        """
        ...


class Backlog(Protocol):
    """What changed in the memories of all users and waits for a worker: no text is in it.

    Several workers may share one: what one has leased no other is given, until that runs out.
    """

    def lease(self, limit: int, *, encoder: str, seconds: float) -> list[OutboxLine]:
        """Take the oldest; where nothing waits, what has vectors of another encoder than this.

        encoder: empty without one: then only what has no words yet. Raises: Unavailable.
        """
        ...

    def done(self, noted: Sequence[OutboxLine], *, encoder: str) -> list[OutboxLine]:
        """These are filed; gives those that changed meanwhile, which wait again.

        They do so even if another has filed the change: an earlier text may lie over it by now.
        encoder: whose vectors they have now; empty if none.
        """
        ...

    def give_back(self, noted: Sequence[OutboxLine]) -> None:
        """These were not begun: the next that leases may have them."""
        ...

    def hold(self, noted: Sequence[OutboxLine], *, seconds: float) -> None:
        """Keep what was leased here for so much longer, unless another has it by now."""
        ...

    def renew(self) -> int:
        """Let everything wait again, as where an index was lost; how much it is.

        What is deleted is among it, to leave the index. Raises: Unavailable.
        """
        ...


class WorkerUpkeep(Protocol):
    """What the workers of one database agree on: whose vectors are made, and what is tidied when.

    One encoder is in charge at a time: two that made vectors again in turns would never end.
    """

    def take_charge(self, encoder: str, *, seconds: float) -> str:
        """Take or renew the lease of the encoder in charge; gives that one, this or another.

        All workers of one encoder share the lease; once it has run out, or was released, the next
        encoder that asks has it. Raises: Unavailable.
        """
        ...

    def release_charge(self, encoder: str) -> None:
        """Give the lease back, if it is this encoder's. Raises: Unavailable."""
        ...

    def tidying(self, *, every_s: float) -> AbstractContextManager[bool]:
        """Tidy up inside it, if it gives True: nobody else does, nor has for so long.

        Ended without an error, it is noted as done. Raises: Unavailable.
        """
        ...

    def tidy(self) -> int:
        """Delete old calls, and vacuum what the database keeps of what is deleted; how many were.

        Raises: Unavailable.
        """
        ...

    def find_outdated(self, encoder: str, *, kept_s: float) -> list[str]:
        """Users who may have vectors of other encoders, which nobody has needed for so long.

        None unless this one is in charge and has made all that others had made: that is noted,
        and so long after they are given, until they are cleared. Raises: Unavailable.
        """
        ...

    def note_cleared(self, encoder: str) -> None:
        """No vector of another encoder than this is left. Raises: Unavailable."""
        ...
