"""Takes back what an import added, journal by journal; the same import brings it again.

Never takes back what was edited or replaced here since, or what another import added. It goes on
where it was killed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

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

    def remove(self, versions: Mapping[str, str]) -> Sequence[str]:
        """Delete those entries, by their refs, that have these versions; the refs of what went.

        Raises: Unavailable, Denied: some of them may be gone.
        """
        ...

    def unfile(self, gone: Mapping[str, str]) -> tuple[str, ...]:
        """Take what is gone out of the index; notes where something is still there.

        gone: By their refs, the versions that the entries had.
        """
        ...

    def release(self, keys: Sequence[str]) -> None:
        """Let the keys of entries that are gone write again. Raises: Unavailable, Denied."""
        ...

    def finish(self) -> tuple[str, ...]:
        """Derive again what quoted the entries; notes on what is not done, or stays."""
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


class ImportLeft(Struct, frozen=True, kw_only=True):
    """What is still there of an import.

    Attributes:
        source: What was imported.
        shares: What each journal has of it.
        is_going: Whether taking it back was begun before, and broke off.
    """

    source: str
    shares: tuple[JournalShare, ...]
    is_going: bool

    @property
    def entries(self) -> int:
        """How many entries can be taken back."""
        return sum(share.entries for share in self.shares)


class ImportTakenBack(Struct, frozen=True, kw_only=True):
    """What was taken back of an import.

    Attributes:
        source: What was imported.
        shares: What went of each journal, and what stays.
        notes: Sentences on what is not done yet, and on what stays.
    """

    source: str
    shares: tuple[JournalShare, ...]
    notes: tuple[str, ...]

    @property
    def entries(self) -> int:
        """How many entries went."""
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

    def preview(self) -> ImportLeft:
        """Count what is still there of it; changes nothing. Raises: Unavailable, Denied."""
        shares = []
        for part in self._parts:
            share = JournalShare(journal=part.name)
            share.entries = sum(1 for _ in part.there(share))
            shares.append(share)
        return ImportLeft(
            source=self._source,
            shares=tuple(shares),
            is_going=any(part.is_going() for part in self._parts),
        )

    def take_back(
        self, progress: Callable[[int, int], None] | None, *, most: int
    ) -> ImportTakenBack:
        """Delete what is still as it was added, and let the same import bring it again.

        Args:
            progress: Called with how many are done, and how many are left.
            most: How many there are to take back, for `progress`.

        Raises:
            Unavailable, Denied: It can be called again, and goes on.
        """
        shares: list[JournalShare] = []
        notes: list[str] = []

        def count() -> None:
            done = sum(share.entries for share in shares)
            if progress is not None:
                progress(done, max(most - done, 0))

        for part in self._parts:
            shares.append(JournalShare(journal=part.name))
            notes += part.take_back(shares[-1], count)
        if self._export:
            self._reopen(self._export)
        self._record.remove()
        return ImportTakenBack(source=self._source, shares=tuple(shares), notes=tuple(notes))


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
        self.name = record.journal
        self._record = record
        self._others = others
        self._journal = journal

    def is_going(self) -> bool:
        """Whether taking back was begun, and broke off."""
        return bool(self._record.going())

    def take_back(self, share: JournalShare, count: Callable[[], None]) -> tuple[str, ...]:
        """Take back what is as it was added; notes. count: called whenever some went."""
        notes = [*self._finish_going()]
        batch: dict[str, ImportedEntry] = {}
        for key, entry in self.there(share):
            batch[key] = entry
            if len(batch) == _AT_ONCE:
                notes += self._remove(batch, share)
                batch = {}
                count()
        if batch:
            notes += self._remove(batch, share)
        return tuple(dict.fromkeys([*notes, *self._journal.finish()]))

    def _remove(self, batch: Mapping[str, ImportedEntry], share: JournalShare) -> tuple[str, ...]:
        self._record.put_going({key: (x.ref, x.version) for key, x in batch.items()})
        versions = {x.ref: x.version for x in batch.values()}
        gone = set(self._journal.remove(versions))
        notes = self._journal.unfile({ref: versions[ref] for ref in gone})
        self._journal.release([key for key, entry in batch.items() if entry.ref in gone])
        self._record.put_going({})
        share.entries += len(gone)
        left = {key: entry.version for key, entry in batch.items() if entry.ref not in gone}
        for entry in self._journal.find(left).values():
            share.leave(entry.ref)  # edited at this moment
        return notes

    def _finish_going(self) -> tuple[str, ...]:
        """Finish what a killed process had deleted; notes."""
        going = self._record.going()
        there = self._journal.find(dict.fromkeys(going, ""))
        gone = {key: entry for key, entry in going.items() if key not in there}
        if not gone:
            return ()
        notes = self._journal.unfile(dict(gone.values()))
        self._journal.release([*gone])
        self._record.put_going({})
        return notes

    def there(self, share: JournalShare) -> Iterator[tuple[str, ImportedEntry]]:
        """Each entry that is as it was added, with its key; counts the others in `share`."""
        ours = _Ours.of(self._others)
        seen: set[int] = set()  # of keys: what was lengthened was added twice
        going: set[int] = set()  # of refs: what replaced an entry may be of the same import
        for group in self._record.groups(last_first=self._journal.last_first):
            share.updated += group.updated
            asked = {
                key: version
                for key, version in group.versions.items()
                if hash(key) not in seen and ours.has(hash(key), is_known=group.is_known)
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


class _Ours(Struct, frozen=True, kw_only=True):
    """Which keys are an import's, by what the others noted: hashes, as there can be a million.

    Attributes:
        earlier: What those before it know that they added.
        later: What those after it know that they added.
        planned: What those after it were about to add, since it was not there, when they broke off.
    """

    earlier: set[int]
    later: set[int]
    planned: set[int]

    @classmethod
    def of(cls, others: Sequence[tuple[bool, JournalRecord]]) -> _Ours:
        """Read what the other imports noted, each with whether it came later."""
        ours = cls(earlier=set(), later=set(), planned=set())
        for is_later, other in others:
            for group in other.groups():
                keys = {hash(key) for key in group.versions}
                if group.is_known:
                    (ours.later if is_later else ours.earlier).update(keys)
                elif is_later:
                    ours.planned.update(keys)
        return ours

    def has(self, key: int, *, is_known: bool) -> bool:
        """Whether an import added it. is_known: whether it knows so, or was about to."""
        if is_known:
            return key not in self.later
        return not (key in self.earlier or key in self.later or key in self.planned)
