"""The values of a user's memory, and the port of the store that keeps them, whatever is behind it.

Never reads a disk: how a record is checked, merged and indexed is the journal's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from commonplace.core.ports import Source

Kind: TypeAlias = Literal["message", "journal", "todo", "preference", "gratitude"]
Role: TypeAlias = Literal["user", "assistant"]

KINDS: tuple[Kind, ...] = ("message", "journal", "todo", "preference", "gratitude")
PREFERENCES_ID = "preferences"
"""The id of the one record of preferences that a user has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What was said in a chat; never altered."""

    id: str
    role: Role
    text: str
    at: datetime
    kind: Literal["message"] = "message"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """An entry of a user's journal; a draft is kept and never found."""

    id: str
    title: str
    body: str
    is_draft: bool
    at: datetime
    updated: datetime
    kind: Literal["journal"] = "journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo:
    """Something to do; it is found by its title, done or not."""

    id: str
    title: str
    done: bool
    at: datetime
    updated: datetime
    kind: Literal["todo"] = "todo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gratitude:
    """What a user is grateful for."""

    id: str
    text: str
    at: datetime
    updated: datetime
    kind: Literal["gratitude"] = "gratitude"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """What a user prefers. flags: anything that JSON holds, by name."""

    language: str
    religion: str | None
    flags: Mapping[str, Any]
    at: datetime
    updated: datetime
    id: str = PREFERENCES_ID
    kind: Literal["preference"] = "preference"


Record: TypeAlias = Message | JournalEntry | Todo | Gratitude | Preferences


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What somebody wants to be kept. fields: by name, as the kind has them; what is absent stays.

    ref_id: of what is altered; empty for a new one. at: None for now. key: the same twice is one.
    """

    kind: Kind
    fields: Mapping[str, Any]
    ref_id: str = ""
    at: datetime | None = None
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A record that is kept. is_new: False where it was altered, or its key had kept it before.

    record: None for one that its key had kept and that was deleted since: it does not come back.
    """

    ref_id: str
    record: Record | None
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Records newest first, and where the next ones begin; cursor is empty at the end."""

    records: tuple[Record, ...]
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindTally:
    """How many records of a kind a user has, drafts among them, and the time of the newest."""

    kind: Kind
    records: int
    drafts: int
    newest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool, as the log keeps it: no text that anybody wrote is in it.

    status: `ok`, or the code of an error. filters: kinds, instants and names of choices.
    """

    tool: str
    status: str
    duration_ms: int
    top_k_effective: int
    filters: Mapping[str, Any] = field(default_factory=dict)
    at: datetime | None = None


class MemoryStore(Protocol):
    """The records of one user, and of no other. Thread-safe; several processes may use one at once.

    Every save and delete writes what it touched (user, kind, id; no text) into an outbox in the
    same transaction, and `source` feeds the index from there: a save never waits for a model.
    """

    @property
    def owner(self) -> str:
        """Whose it is."""
        ...

    def save(self, draft: Draft) -> Saved:
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

    def source(self) -> Source:
        """The records that may be found, as the index follows them: its scan reads the outbox."""
        ...

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
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
        """Log a call, and let go of what is too old; never raises, and waits for no long lock."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A line of the outbox: that a record changed, not how. changes: how often, by now.

    has_words: the index has its words as of that change. anew: some may be lost, though it seems to
    have them.
    """

    owner: str
    kind: Kind
    ref_id: str
    changes: int
    gone: bool
    has_words: bool = False
    anew: bool = False


class ReadsNoted(Protocol):
    """The records that lines of the outbox stand for, of any user, each read as that user."""

    def read(self, noted: Sequence[Noted]) -> list[Record | None]:
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


@runtime_checkable
class Defers(Protocol):
    """A store whose saves leave the index to others: whoever searches, and a worker."""

    def unfiled(self, limit: int) -> list[Noted]:
        """What changed and whose words no index has yet, oldest first. Raises: Unavailable."""
        ...

    def filed(self, noted: Sequence[Noted]) -> None:
        """The words of these are in the index; what changed since is filed once more."""
        ...

    def read(self, noted: Sequence[Noted]) -> list[Record | None]:
        """The records of these as they are now, in this order. Raises: Unavailable."""
        ...


class Backlog(Protocol):
    """What changed in the memories of all users and waits for a worker: no text is in it.

    Several workers may share one: what one has leased no other is given, until that runs out.
    """

    def lease(self, limit: int, *, encoder: str, seconds: float) -> list[Noted]:
        """Take the oldest; where nothing waits, what has vectors of another encoder than this.

        encoder: empty without one: then only what has no words yet. Raises: Unavailable.
        """
        ...

    def done(self, noted: Sequence[Noted], *, encoder: str) -> list[Noted]:
        """These are filed; gives those that changed meanwhile, which wait again.

        They do so even if another has filed the change: an earlier text may lie over it by now.
        encoder: whose vectors they have now; empty if none.
        """
        ...

    def give_back(self, noted: Sequence[Noted]) -> None:
        """These were not begun: whoever leases next may have them."""
        ...

    def hold(self, noted: Sequence[Noted], *, seconds: float) -> None:
        """Keep what was leased here for so much longer, unless another has it by now."""
        ...

    def renew(self) -> int:
        """Let everything wait again, as where an index was lost; how much it is.

        What is deleted is among it, to leave the index. Raises: Unavailable.
        """
        ...


class Upkeep(Protocol):
    """What the workers of one database agree on: whose vectors are made, and what is tidied when.

    One encoder is in charge at a time: two that made vectors anew in turns would never end.
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
        """Let go of old calls, and of what the database keeps of what is deleted; how many were.

        Raises: Unavailable.
        """
        ...

    def find_outdated(self, encoder: str, *, kept_s: float) -> list[str]:
        """Users who may have vectors of other encoders, which nobody has needed for so long.

        None unless this one is in charge and has made all that others had made: that is noted,
        and so long after they are told, until they are cleared. Raises: Unavailable.
        """
        ...

    def note_cleared(self, encoder: str) -> None:
        """No vector of another encoder than this is left. Raises: Unavailable."""
        ...
