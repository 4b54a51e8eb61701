"""Takes back what an import from another program added; the same import brings it again.

Never takes back what was edited or replaced here since, or what another import added. It goes on
where it was killed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from commonplace.core.errors import NotFound, Unavailable
from commonplace.core.ids import key_id
from commonplace.journals.private.copied import digest_of_copy
from commonplace.journals.timeline.entry import KEYS, ref_of, version_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from commonplace.search.filing.filing import Filed, Pending
    from commonplace.services.imports.records import AddedGroup, ImportRecord
    from commonplace.services.private.service import PrivateService
    from commonplace.services.timeline.service import TimelineService

_AT_ONCE = 5000
"""How many leave the index at once: it writes its whole file again each time."""
_NAMED = 3


class ImportedEntry(Struct, frozen=True, kw_only=True):
    """An entry that was imported, as it is now.

    Attributes:
        version: Empty where another entry has taken its place.
        written: When it was written here.
        is_as_written: Whether it was not edited since then.
    """

    ref: str
    version: str
    written: datetime
    is_as_written: bool


class ImportLeft(Struct, kw_only=True):
    """What is still there of an import, or what was taken back of it.

    Attributes:
        program, into: The name of the program, and of the journal.
        entries: How many entries.
        edited: The refs of the first that were edited or replaced here since, and stay.
        edited_count: How many those are.
        updated: How many entries it only updated: they stay as they are.
        is_going: Whether taking them back was begun before, and broke off.
        notes: Sentences on what is not done yet.
    """

    program: str
    into: str
    entries: int = 0
    edited: list[str] = field(default_factory=list)
    edited_count: int = 0
    updated: int = 0
    is_going: bool = False
    notes: tuple[str, ...] = ()

    def leave(self, ref: str) -> None:
        """Count an entry that stays."""
        self.edited_count += 1
        if len(self.edited) < _NAMED:
            self.edited.append(ref)


class GivesImportsBack(Protocol):
    """A journal from which many imported entries are taken at once, by their import keys."""

    def ref_of(self, key: str) -> str:
        """The ref of the entry that a key wrote; empty for none. Raises: Unavailable, Denied."""
        ...

    def find(self, key: str) -> ImportedEntry | None:
        """The entry that a key wrote; None where it is gone. Raises: Unavailable, Denied."""
        ...

    def remove(self, versions: Mapping[str, str]) -> Sequence[str]:
        """Delete those entries, by their refs, that have these versions; the refs of what went.

        Raises: Unavailable, Denied: some of them may be gone.
        """
        ...

    def unfile(self, refs: Sequence[str]) -> None:
        """Take what is gone out of the index. Raises: Unavailable where it is still there."""
        ...

    def release(self, keys: Sequence[str]) -> None:
        """Let the keys of entries that are gone write again. Raises: Unavailable, Denied."""
        ...

    def finish(self) -> tuple[str, ...]:
        """Derive again what quoted the entries; notes on what is not done yet."""
        ...


class FromTimeline(Struct, frozen=True):
    """Takes imported entries out of the timeline; see `GivesImportsBack`."""

    service: TimelineService

    def ref_of(self, key: str) -> str:
        """See the port."""
        return ref_of(self._id_of(key))

    def find(self, key: str) -> ImportedEntry | None:
        """See the port."""
        journal = self.service.journal
        entry = journal.find(self._id_of(key))
        if entry is None:
            return None
        version = "" if journal.find_successor(entry) else version_of(entry)
        return ImportedEntry(
            ref=entry.ref,
            version=version,
            written=entry.created,
            is_as_written=entry.updated == entry.created,
        )

    def remove(self, versions: Mapping[str, str]) -> Sequence[str]:
        """See the port."""
        return self.service.delete_many(versions)

    def unfile(self, refs: Sequence[str]) -> None:
        """See the port."""
        _check_filed(self.service.filing().forget(refs))

    def release(self, keys: Sequence[str]) -> None:
        """See the port."""
        self.service.journal.release([self._id_of(key) for key in keys])

    def finish(self) -> tuple[str, ...]:
        """See the port."""
        return self.service.finish_deleting()

    def _id_of(self, key: str) -> str:
        return key_id(KEYS, self.service.journal.owner, key)


class FromPrivate(Struct, frozen=True):
    """Takes imported entries out of the private journal; see `GivesImportsBack`."""

    service: PrivateService

    def ref_of(self, key: str) -> str:
        """See the port."""
        return self.service.journal.find_planned(key)

    def find(self, key: str) -> ImportedEntry | None:
        """See the port."""
        found = self.service.journal.find_written_copy(key)
        if found is None:
            return None
        was, now = digest_of_copy(found)
        return ImportedEntry(
            ref=found.ref,
            version="" if self.service.journal.find_successor(found) else found.version,
            written=found.written or found.at,
            is_as_written=was == now,
        )

    def remove(self, versions: Mapping[str, str]) -> Sequence[str]:
        """See the port."""
        return self.service.delete_many(versions)

    def unfile(self, refs: Sequence[str]) -> None:
        """See the port."""
        _check_filed(self.service.filing.forget(refs))

    def release(self, keys: Sequence[str]) -> None:
        """See the port."""
        self.service.journal.release(keys)

    def finish(self) -> tuple[str, ...]:
        """See the port."""
        return ()


class ImportTakingBack:
    """Takes back one import.

    Args:
        record: Which entries it added.
        others: Which entries the other imports added.
        journals: Opens what gives them back, by the name of the journal.
    """

    def __init__(
        self,
        record: ImportRecord,
        others: Sequence[ImportRecord],
        journals: Mapping[str, Callable[[], GivesImportsBack]],
    ) -> None:
        self._record = record
        program, into = record.head()
        if into not in journals:
            raise NotFound(
                "What the last import added is no longer known.",
                hint="Look for it: `commonplace list`, and delete what is to go.",
            )
        self._program, self._into = program, into
        self._others = [each for each in others if each.head() == (program, into)]
        self._journal = journals[into]()

    def preview(self) -> ImportLeft:
        """Count what is still there of it; changes nothing. Raises: Unavailable, Denied."""
        left = self._left()
        left.is_going = bool(self._record.going())
        left.entries = sum(1 for _ in self._there(left))
        return left

    def take_back(self, progress: Callable[[int, int], None] | None, *, most: int) -> ImportLeft:
        """Delete what is still as it was added, and let the same import bring it again.

        Args:
            progress: Called with how many are done, and how many are left.
            most: How many there are to take back, for `progress`.

        Raises:
            Unavailable, Denied: It can be called again, and goes on.
        """
        done = self._left()
        self._finish_going()
        batch: dict[str, ImportedEntry] = {}
        for key, entry in self._there(done):
            batch[key] = entry
            if len(batch) == _AT_ONCE:
                self._remove(batch, done)
                batch = {}
                if progress is not None:
                    progress(done.entries, max(most - done.entries, 0))
        if batch:
            self._remove(batch, done)
        done.notes = self._journal.finish()
        self._record.remove()
        return done

    def _remove(self, batch: Mapping[str, ImportedEntry], done: ImportLeft) -> None:
        self._record.put_going([*batch])
        gone = set(self._journal.remove({x.ref: x.version for x in batch.values()}))
        self._journal.unfile([*gone])
        self._journal.release([key for key, entry in batch.items() if entry.ref in gone])
        self._record.put_going(())
        done.entries += len(gone)
        for key, entry in batch.items():
            if entry.ref not in gone and self._journal.find(key) is not None:
                done.leave(entry.ref)  # edited at this moment

    def _finish_going(self) -> None:
        """Finish what a killed process had deleted."""
        gone = [key for key in self._record.going() if self._journal.find(key) is None]
        if gone:
            self._journal.unfile([ref for key in gone if (ref := self._journal.ref_of(key))])
            self._journal.release(gone)

    def _there(self, left: ImportLeft) -> Iterator[tuple[str, ImportedEntry]]:
        """Each entry that is as it was added, with its key; counts the others in `left`."""
        later = {  # hashes of keys, as there can be a million
            hash(key)
            for other in self._others
            if other.id > self._record.id
            for group in other.groups()
            for key in group.versions
        }
        for group in self._record.groups():
            left.updated += group.updated
            ends = self._ends_of(group)
            for key in group.versions or group.keys:
                entry = self._journal.find(key)
                if entry is None or hash(key) in later:
                    continue  # gone, and perhaps imported again
                if group.begun is not None and entry.written < group.begun:
                    continue  # there before this import
                if key in ends and entry.written >= ends[key]:
                    continue  # of another import
                if group.begun is not None:
                    is_same = bool(entry.version) and entry.is_as_written
                else:
                    is_same = entry.version == group.versions[key]
                if is_same:
                    yield key, entry
                else:
                    left.leave(entry.ref)

    def _ends_of(self, group: AddedGroup) -> Mapping[str, datetime]:
        """From when on an entry of a group that was cut off is another import's, by its key."""
        ends: dict[str, datetime] = {}
        if group.begun is None:
            return ends
        keys = {*group.keys}
        for other in self._others:
            for each in other.groups():
                if each.begun is None:  # it knows what it added
                    ends |= dict.fromkeys(keys & each.versions.keys(), group.begun)
                elif (each.begun, other.id) > (group.begun, self._record.id):
                    for key in keys & {*each.keys}:
                        ends[key] = min(ends.get(key, each.begun), each.begun)
        return ends

    def _left(self) -> ImportLeft:
        return ImportLeft(program=self._program, into=self._into)


def _check_filed(filed: Filed | Pending) -> None:
    """Raises: Unavailable where what was deleted may still be in the index."""
    if why := getattr(filed, "why", ""):
        raise Unavailable(
            f"What was taken back is still in the index: {why}",
            hint="Run `commonplace undo` again: it goes on.",
        )
