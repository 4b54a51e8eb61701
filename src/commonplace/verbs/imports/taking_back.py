"""Takes back what an import added, journal by journal; the same import brings it again.

Never takes back what was edited or replaced here since, or what another import added. It goes on
where it was killed.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct, field

from commonplace.core.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.verbs.imports.records import ImportRecord, JournalRecord

_AT_ONCE = 5000
"""How many leave the index at once: it writes its whole file again each time."""
_NAMED = 3


class ImportedEntry(Struct, frozen=True, kw_only=True):
    """An entry that was imported, as it is now.

    Attributes:
        version: By which it is removed.
        is_as_added: Whether it says what it said when it was added.
        successor: The ref of the entry that took its place; empty for none, and where that would
            have changed the entry itself.
    """

    ref: str
    version: str
    is_as_added: bool
    successor: str = ""


class GivesImportsBack(Protocol):
    """A journal from which many imported entries are taken at once, by their keys."""

    @property
    def last_first(self) -> bool:
        """Whether what was added last goes first, since removing an entry alters its successor."""
        ...

    def find(self, versions: Mapping[str, str]) -> Mapping[str, ImportedEntry]:
        """The entries that are there, by their keys.

        Args:
            versions: The version that each was added with, by its key; empty where it is not known.

        Raises:
            Unavailable, Denied.
        """
        ...

    def remove(self, versions: Mapping[str, str]) -> tuple[Sequence[str], Sequence[str]]:
        """Delete those entries, by their refs, that have these versions.

        Returns:
            The refs of what went, and notes on what stays.

        Raises:
            Unavailable, Denied: Some of them may be gone.
        """
        ...

    def unfile(self, gone: Mapping[str, tuple[str, str]]) -> Sequence[str]:
        """Take what is gone out of the index, and let its keys write again.

        Args:
            gone: By their keys, the refs and versions that the entries had.

        Returns:
            Notes where something is still there.

        Raises:
            Unavailable, Denied.
        """
        ...


@runtime_checkable
class Derives(Protocol):
    """A journal that derives something from its entries."""

    def finish_deleting(self) -> tuple[str, ...]:
        """Derive again what quoted the entries that went; notes on what is not done."""
        ...


class JournalShare(Struct, kw_only=True):
    """What one journal still has of an import, or what was taken back of it there.

    Attributes:
        journal: Its name.
        entries: How many entries.
        edited: The refs of the first that were edited or replaced here since, and stay.
        edited_count: How many those are.
        updated: How many entries it only updated: they stay as they are.
    """

    journal: str
    entries: int = 0
    edited: list[str] = field(default_factory=list)
    edited_count: int = 0
    updated: int = 0

    def leave(self, ref: str) -> None:
        """Count an entry that stays."""
        self.edited_count += 1
        if len(self.edited) < _NAMED:
            self.edited.append(ref)


class ImportShares(Struct, frozen=True, kw_only=True):
    """What is still there of an import, or what was taken back of it.

    Attributes:
        source: What was imported.
        shares: What each journal has of it.
        is_going: Whether taking it back was begun before, and broke off.
        notes: Sentences on what is not done yet, and on what stays.
    """

    source: str
    shares: tuple[JournalShare, ...]
    is_going: bool = False
    notes: tuple[str, ...] = ()

    @property
    def entries(self) -> int:
        """How many entries can be taken back, or were."""
        return sum(share.entries for share in self.shares)


class ImportTakingBack:
    """Takes back one import.

    Args:
        record: Which entries it added.
        others: Which entries the other imports added.
        open_journal: Opens what gives them back, by the name of the journal.
        reopen: Lets an export by Commonplace be imported again, by its digest.
    """

    def __init__(
        self,
        record: ImportRecord,
        others: Sequence[ImportRecord],
        open_journal: Callable[[str], GivesImportsBack],
        *,
        reopen: Callable[[str], None],
    ) -> None:
        self._record = record
        self._source, self._export = record.head()
        if not self._source:
            raise NotFound(
                "What the last import added is no longer known.",
                hint="Look for it: `commonplace list`, and delete what is to go.",
            )
        self._reopen = reopen
        self._parts = [
            _JournalPart(
                record.into(name),
                [(each.id > record.id, each.into(name)) for each in others],
                open_journal(name),
            )
            for name in record.journals()
        ]

    def preview(self) -> ImportShares:
        """Count what is still there of it; changes nothing. Raises: Unavailable, Denied."""
        shares = []
        for part in self._parts:
            share = JournalShare(journal=part.record.journal)
            share.entries = sum(1 for _ in part.find_added(share))
            shares.append(share)
        is_going = any(part.record.going() for part in self._parts)
        return ImportShares(source=self._source, shares=tuple(shares), is_going=is_going)

    def take_back(self, progress: Callable[[int, int], None] | None, *, most: int) -> ImportShares:
        """Delete what is still as it was added, and let the same import bring it again.

        Args:
            progress: Called with how many are done, and how many are left.
            most: How many there are to take back, for `progress`.

        Raises:
            Unavailable, Denied: It can be called again, and goes on.
        """
        shares: list[JournalShare] = []
        notes: list[str] = []
        for part in self._parts:
            shares.append(JournalShare(journal=part.record.journal))
            for said in part.take_back(shares[-1]):
                notes += said
                done = sum(share.entries for share in shares)
                if progress is not None:
                    progress(done, max(most - done, 0))
        if self._export:
            self._reopen(self._export)
        self._record.remove()
        once = tuple(dict.fromkeys(notes))
        return ImportShares(source=self._source, shares=tuple(shares), notes=once)


class _JournalPart:
    """What an import added to one journal.

    Args:
        record: Which entries those are.
        others: Which the other imports added to it, each with whether it came later.
        journal: Gives them back.
    """

    def __init__(
        self,
        record: JournalRecord,
        others: Sequence[tuple[bool, JournalRecord]],
        journal: GivesImportsBack,
    ) -> None:
        self.record = record
        self._others = others
        self._journal = journal

    def take_back(self, share: JournalShare) -> Iterator[Sequence[str]]:
        """Take back what is as it was added, a batch at each step; the notes on each."""
        yield self._finish_going()
        there = self.find_added(share)
        while batch := dict(islice(there, _AT_ONCE)):
            yield self._remove(batch, share)
        if isinstance(self._journal, Derives):
            yield self._journal.finish_deleting()

    def _remove(self, batch: Mapping[str, ImportedEntry], share: JournalShare) -> Sequence[str]:
        going = {key: (entry.ref, entry.version) for key, entry in batch.items()}
        self.record.put_going(going)
        refs, notes = self._journal.remove(dict(going.values()))
        removed = {*refs}
        gone = {key: entry for key, entry in going.items() if entry[0] in removed}
        notes = [*notes, *self._journal.unfile(gone)]
        self.record.put_going({})
        share.entries += len(gone)
        left = {key: entry.version for key, entry in batch.items() if key not in gone}
        for entry in self._journal.find(left).values():
            share.leave(entry.ref)  # edited at this moment
        return notes

    def _finish_going(self) -> Sequence[str]:
        """Finish what a killed process had deleted; notes."""
        going = self.record.going()
        there = self._journal.find(dict.fromkeys(going, ""))
        gone = {key: entry for key, entry in going.items() if key not in there}
        if not gone:
            return ()
        notes = self._journal.unfile(gone)
        self.record.put_going({})
        return notes

    def find_added(self, share: JournalShare) -> Iterator[tuple[str, ImportedEntry]]:
        """Each entry that is as it was added, with its key; counts the others in `share`."""
        is_ours = _ours(self._others)
        seen: set[int] = set()  # of keys: what was lengthened was added twice
        going: set[int] = set()  # of refs: what replaced an entry may be of the same import
        for group in self.record.groups(last_first=self._journal.last_first):
            share.updated += group.updated
            asked = {
                key: version
                for key, version in group.versions.items()
                if hash(key) not in seen and is_ours(hash(key), group.line == "added")
            }
            seen |= {hash(key) for key in group.versions}
            found = self._journal.find(asked)
            for key in reversed([*asked]) if self._journal.last_first else asked:
                entry = found.get(key)
                if entry is None:
                    continue  # gone
                is_held = not entry.successor or hash(entry.successor) in going
                if entry.is_as_added and is_held:
                    going.add(hash(entry.ref))
                    yield key, entry
                else:
                    share.leave(entry.ref)


def _ours(others: Sequence[tuple[bool, JournalRecord]]) -> Callable[[int, bool], bool]:
    """Whether a key is an import's, by what others noted: hashes, as there can be a million.

    Args:
        others: Each with whether it came later.

    Returns:
        Says so of a key, given whether the import knows that it added it, or was about to.
    """
    earlier: set[int] = set()  # what those before it know that they added
    later: set[int] = set()
    planned: set[int] = set()  # what later ones found absent, and were about to add when killed
    for is_later, other in others:
        for group in other.groups():
            keys = {hash(key) for key in group.versions}
            if group.line == "added":
                (later if is_later else earlier).update(keys)
            elif is_later:
                planned.update(keys)
    unsure = earlier | planned
    return lambda key, is_known: key not in later and (is_known or key not in unsure)
