"""Keeps a copy of each project's own notes in our home: `git clean -fdx` takes the only other one.

Follows what lies on the disk, expired or not. Never copies what the repository itself holds, and
never writes into a project's folder.
"""

from __future__ import annotations

import contextlib
import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from commonplace.core.errors import CommonplaceError, NotFound
from commonplace.core.expiring import nothing_hidden, revealed
from commonplace.core.files import (
    locked,
    make_folder,
    remove_file,
    remove_leftovers,
    write_derived,
)
from commonplace.core.plain_files import remove_name
from commonplace.journals.private.copy_difference import (
    Difference,
    content_of,
    days_of,
    difference_of,
    is_same_folder,
    keep_days,
    note_in,
)
from commonplace.journals.private.copy_record import (
    RECORD,
    CopyRecord,
    KnownDay,
    new_record,
    read_record,
    write_record,
)
from commonplace.journals.private.folder_identity import FolderIdentity, identity_of
from commonplace.journals.private.places import (
    LARGEST_FILE,
    SCHEME,
    SUFFIX,
    EntryPlace,
    is_another_users,
    list_places,
    read_bytes,
    stamp_of,
)
from commonplace.journals.private.roots import digest_in, project_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from commonplace.journals.private.roots import Root

_log = logging.getLogger(__name__)

_NOT_SAID = "git does not say which of them the repository holds."


class GoneNotes(Struct, frozen=True, kw_only=True):
    """Notes of a project that are gone though nobody was seen to delete them.

    Attributes:
        count: How many.
        since: When that was noticed first.
    """

    count: int
    since: datetime


class WaitingNote(NamedTuple):
    """A note that only the copy has. changed_ns: its time of change."""

    place: EntryPlace
    content: bytes
    changed_ns: int


class LookedAt(NamedTuple):
    """What a look at a root came to.

    Attributes:
        tracked: How many of its notes the repository holds, so that no copy is kept.
        trouble: Why it could not be looked at; empty where it could.
    """

    tracked: int = 0
    trouble: str = ""


class ProjectCopies:
    """A folder of ours with a folder for each project's root, named by its digest.

    Thread-safe, and safe among processes: one lock for all, which no other is waited for under.

    folder: None for nowhere; then nothing is copied.
    """

    def __init__(self, folder: Path | None, clock: Callable[[], datetime]) -> None:
        self._folder = folder
        self._clock = clock

    def keep(self, place: EntryPlace, content: bytes, status: os.stat_result) -> None:
        """Copy a note that was just written; as `mirror` where it is another or gone by now.

        Never raises: what was written stays written, and the next look copies what is missing.
        """
        if self._covers(place.root):
            with _logged(), self._locked(place.root) as (copy, record):
                if not _is_the_file(place, status):
                    self._mirror(copy, place, record)
                    return
                _note_day(copy, place, record)
                self._copy(copy, place, content, status)

    def mirror(self, place: EntryPlace) -> None:
        """Copy one note as it is now, or remove the copy where it is not there; as `keep` else."""
        if self._covers(place.root):
            with _logged(), self._locked(place.root) as (copy, record):
                self._mirror(copy, place, record)

    @contextlib.contextmanager
    def changing(self, place: EntryPlace) -> Iterator[None]:
        """Remove the copy of a note, let the note be changed or deleted, then copy what it is.

        A process that is killed in between leaves no copy of a text that was to go. What has no
        copy gets none: the repository may hold it, which a look asks. Other owners of this home
        have copies of the same notes: theirs follow.

        Raises:
            Denied, Unavailable: The copy cannot be removed, so nothing may be changed.
        """
        is_copied = self._copy_of(place.root) is not None
        others = [each for each in self._of_others() if each.has(place)] if is_copied else []
        for each in others:
            each.forget_own(place.ref)
        try:
            with self._changing(place):
                yield
        finally:
            for each in others:
                each.mirror(place)

    @contextlib.contextmanager
    def _changing(self, place: EntryPlace) -> Iterator[None]:
        copy = self._copy_of(place.root)
        if copy is None or not os.path.isdir(copy.path.parent):
            yield
            return
        with locked(copy.path.parent):
            had = os.path.lexists(copy.path / place.relative)
            self._forget(place.relative, copy, place)
            try:
                yield
            finally:
                if had:
                    with _logged():
                        self._mirror(copy, place, read_record(copy.path))

    def forget(self, refs: Sequence[str]) -> None:
        """Remove the copies of notes, wherever their project is. Raises: Denied, Unavailable."""
        for each in (self, *self._of_others()):
            for ref in refs:
                each.forget_own(ref)

    def forget_own(self, ref: str) -> None:
        """Remove this owner's copy of a note, there or not. Raises: Denied, Unavailable."""
        scope, _, stem = ref.removeprefix(SCHEME).partition("/")
        copy = self._copy_of_scope(scope) if ref.startswith(SCHEME) else None
        relative = f"{stem}{SUFFIX}"
        if copy is not None and os.path.lexists(copy.path / relative):
            with locked(copy.path.parent):
                self._forget(relative, copy, EntryPlace(root=copy, relative=relative))

    def _of_others(self) -> list[ProjectCopies]:
        """The copies of the other owners of this home, who read the same projects."""
        if self._folder is None:
            return []
        found = sorted(self._folder.parent.parent.glob(f"*/{self._folder.name}"))
        return [ProjectCopies(x, self._clock) for x in found if x != self._folder]

    def has(self, place: EntryPlace) -> bool:
        """Whether this owner has a copy of a note."""
        copy = self._copy_of(place.root)
        return copy is not None and os.path.lexists(copy.path / place.relative)

    def look(self, root: Root, *, thorough: bool = False) -> LookedAt:
        """Bring the copy of a root up to date, and note what is gone; cheap where nothing changed.

        One note that is missing while its folder is the one it was counts as deleted by hand, and
        its copy goes. Where more is missing, or the folder too, all that is missing counts as gone.

        thorough: whether to list every day, for what was edited in place.
        """
        if not self._covers(root):
            return LookedAt()
        copy = self._copy_of(root)
        assert copy is not None
        try:
            seen = difference_of(copy, root, read_record(copy.path), thorough=thorough)
            if seen is None or not (seen.fresh or seen.missing or seen.back or thorough):
                if seen is not None and seen.has_new_days():
                    self._settle(root, frozenset(), frozenset(), thorough=False)
                return LookedAt()
            return self._settle(root, *_tracked(root, seen), thorough=thorough)
        except (CommonplaceError, OSError) as exc:
            _log.warning("The notes of a project could not be copied into the home: %s", exc)
            return LookedAt(trouble=str(exc))

    def gone(self, roots: Sequence[Root], *, looks: bool = True) -> GoneNotes | None:
        """What is gone of these roots and waits for the user; None for nothing.

        looks: whether to look at them first; else what the last look found.
        """
        found: list[str] = []
        for root in roots:
            if looks:
                self.look(root)
            if (copy := self._copy_of(root)) is not None:
                found += read_record(copy.path).gone.values()
        if not found:
            return None
        return GoneNotes(count=len(found), since=min(datetime.fromisoformat(x) for x in found))

    @contextlib.contextmanager
    def naming_gone(self, ref: str) -> Iterator[None]:
        """Look an entry up inside; of a note that only the copy has say how it comes back.

        Raises: what is raised inside.
        """
        try:
            yield
        except NotFound:
            root = self.root_of(ref.removeprefix(SCHEME).partition("/")[0])
            if root is None or not ref.startswith(SCHEME):
                raise
            self.look(root)
            if ref not in self.gone_refs(root):
                raise
            raise NotFound(
                f"{ref} is gone from its project {{place}}, and its copy is kept.",
                hint="`commonplace recover` in that project brings it back,"
                f" `commonplace forget {ref}` removes the copy.",
                place=root.path.parent,
            ) from None

    def is_restored(self, root: Root) -> bool:
        """Whether a restore or an import put the copy of a root here, which may lack all of it."""
        copy = self._copy_of(root)
        return copy is not None and read_record(copy.path).restored

    def waiting(self, root: Root) -> list[WaitingNote]:
        """What is gone of a root; of a restored one, whatever it lacks."""
        copy = self._copy_of(root)
        if copy is None or not os.path.isdir(copy.path):
            return []
        record = read_record(copy.path)
        names = [x.relative for x in list_places(copy)] if record.restored else [*record.gone]
        found = []
        for name in sorted(names):
            place = EntryPlace(root=root, relative=name)
            if not os.path.lexists(place.path):
                with contextlib.suppress(CommonplaceError):
                    content, status = read_bytes(EntryPlace(root=copy, relative=name))
                    found.append(WaitingNote(place, content, status.st_mtime_ns))
        return found

    def gone_refs(self, root: Root) -> list[str]:
        """The refs of what is gone of a root, as the last look found it."""
        copy = self._copy_of(root)
        names = [] if copy is None else sorted(read_record(copy.path).gone)
        return [EntryPlace(root=root, relative=name).ref for name in names]

    def accept(self, root: Root) -> None:
        """Take a root for the one that its restored copy belongs to from now on."""
        copy = self._copy_of(root)
        if copy is not None and os.path.isdir(copy.path):
            with locked(copy.path.parent):
                record = read_record(copy.path)
                record.restored, record.gone = False, {}
                record.days, record.folder = {}, FolderIdentity()
                write_record(copy.path, record)

    def add(self, place: EntryPlace, content: bytes, changed_ns: int) -> bool:
        """Keep a note until its project is opened; False where the copy has one of its name.

        Raises: Denied, Unavailable.
        """
        with self._locked(place.root) as (copy, record):
            target = copy.path / place.relative
            if os.path.lexists(target):
                return False
            record.restored = True
            write_record(copy.path, record)
            _put(target, content, changed_ns)
        return True

    def each(self) -> list[tuple[Root, Root]]:
        """Every root that has a copy, and the copy as a root; by its digest."""
        found = ((self._root_of_copy(copy), copy) for copy in self._each_copy())
        return [(root, copy) for root, copy in found if root is not None]

    def root_of(self, scope: str) -> Root | None:
        """The root of a scope that has a copy; None for any other."""
        copy = self._copy_of_scope(scope)
        return None if copy is None else self._root_of_copy(copy)

    def _root_of_copy(self, copy: Root) -> Root | None:
        """The root that a copy is of, as its record says; None where that names none."""
        path = Path(read_record(copy.path).path)
        if not path.is_absolute():
            return None
        return project_root(path, scope=copy.scope, base=path.parent, hidden=nothing_hidden)

    def _each_copy(self) -> list[Root]:
        """The copies of all roots, by their digests; reads no record."""
        try:
            names = sorted(os.listdir(self._folder)) if self._folder else []
        except OSError:
            return []
        return [copy for name in names if (copy := self._copy_of_scope(f"project@{name}"))]

    def holds(self, place: EntryPlace) -> bool:
        """Whether there is a copy of a note, and the note is as it was copied."""
        copy = self._copy_of(place.root)
        content = content_of(note_in(copy, place.relative)) if copy else None
        return content is not None and content == content_of(place)

    def _covers(self, root: Root) -> bool:
        return self._copy_of(root) is not None and root.link() is None

    def _copy_of(self, root: Root) -> Root | None:
        return self._copy_of_scope(root.scope)

    def _copy_of_scope(self, scope: str) -> Root | None:
        """The copy of a project's root, as a root of its own; None of any other."""
        digest = digest_in(scope)
        if not digest or self._folder is None:
            return None
        return project_root(self._folder / digest, scope=scope, base=None, hidden=nothing_hidden)

    @contextlib.contextmanager
    def _locked(self, root: Root) -> Iterator[tuple[Root, CopyRecord]]:
        """The copy of a root and its record, while nobody else changes any.

        Where there is none, the folder is made, and the record is to be written before a note is.
        """
        copy = self._copy_of(root)
        assert copy is not None
        make_folder(copy.path.parent)
        with locked(copy.path.parent):
            make_folder(copy.path)
            record = read_record(copy.path)
            yield copy, record if record.path else new_record(root)

    def _settle(
        self,
        root: Root,
        tracked: frozenset[str] | None,
        in_history: frozenset[str],
        *,
        thorough: bool,
    ) -> LookedAt:
        """Have the copy follow the root. tracked: None where git could not be asked."""
        held = tracked or frozenset()
        failed: dict[str, str] = {}
        with self._locked(root) as (copy, record):
            write_record(copy.path, record)
            remove_leftovers(copy.path)
            seen = difference_of(copy, root, record, thorough=thorough)
            if seen is None:
                return LookedAt()
            for name in seen.back:
                record.gone.pop(name, None)
            others = [x for x in self.each() if x[1].scope != copy.scope] if seen.fresh else []
            for name in (x for x in seen.fresh if x not in held):
                is_known = tracked is not None or os.path.lexists(copy.path / name)
                if why := self._copy_fresh(copy, root, name, others) if is_known else _NOT_SAID:
                    failed[name] = why
            ours = [x.relative for x in list_places(copy)] if thorough else seen.fresh
            for name in {*ours, *seen.missing} & (held | in_history):
                if name in held or name in seen.missing:
                    self._remove(copy, name)
            missing = [x for x in seen.missing if x not in held | in_history]
            if not os.path.isdir(copy.path):  # nothing of a root that is not there is left
                return LookedAt()
            if not record.restored:
                self._note_missing(copy, root, record, missing, held)
            keep_days(root, record, seen, {x.partition("/")[0] for x in failed})
            write_record(copy.path, record)
        there = sum(os.path.lexists(root.path / x) for x in held)
        return LookedAt(tracked=there, trouble=next(iter(failed.values()), ""))

    def _copy_fresh(
        self, copy: Root, root: Root, name: str, others: Sequence[tuple[Root, Root]]
    ) -> str:
        """Copy a note; why that could not be done, empty where it was."""
        try:
            place = note_in(root, name)
            self._copy(copy, place, *_read(place))
            self._drop_moved(copy, name, others)
        except (CommonplaceError, OSError) as exc:
            return str(exc)
        return ""

    def _note_missing(
        self,
        copy: Root,
        root: Root,
        record: CopyRecord,
        missing: Sequence[str],
        held: frozenset[str],
    ) -> None:
        """Note what is missing as gone, but one note that a hand deleted: its copy goes."""
        if len(missing) == 1:
            day = missing[0].partition("/")[0]
            known = record.days.get(day)
            # Of a folder that holds a note of the repository a clean leaves just that.
            is_mixed = any(x.startswith(f"{day}/") for x in held)
            if known and not is_mixed and is_same_folder(root.path / day, known):
                self._remove(copy, missing[0])
                return
        now = self._clock().astimezone(UTC).isoformat()
        record.gone |= dict.fromkeys(missing, now)

    def _mirror(self, copy: Root, place: EntryPlace, record: CopyRecord) -> None:
        """Copy one note as it is, and note its folder. Raises: OSError, CommonplaceError."""
        if not os.path.lexists(place.path):
            self._remove(copy, place.relative)
            return
        _note_day(copy, place, record)
        self._copy(copy, place, *_read(place))

    def _copy(self, copy: Root, place: EntryPlace, content: bytes, status: os.stat_result) -> None:
        if len(content) > LARGEST_FILE or is_another_users(status.st_uid):
            return
        _put(copy.path / place.relative, content, status.st_mtime_ns)

    def _forget(self, relative: str, copy: Root, place: EntryPlace) -> None:
        """Remove a copy, and those of the same note that a project had before it was moved.

        place: Where the note is, or its copy.
        """
        content = content_of(place)
        self._remove(copy, relative)
        for other in self._each_copy() if content else ():
            if other.scope != copy.scope and content_of(note_in(other, relative)) == content:
                self._remove(other, relative)

    def _drop_moved(self, copy: Root, relative: str, others: Sequence[tuple[Root, Root]]) -> None:
        """Remove what another root's copy has of a note that lies there no more, but here."""
        there = [x for x in others if os.path.lexists(x[1].path / relative)]
        content = content_of(note_in(copy, relative)) if there else None
        for root, other in there:
            if os.path.lexists(root.path / relative):
                continue
            if content and content_of(note_in(other, relative)) == content:
                self._remove(other, relative)

    def _remove(self, copy: Root, relative: str) -> None:
        """Remove a copy; with the last one of a root that is not there, all that is kept of it."""
        path = copy.path / relative
        remove_file(path)
        remove_leftovers(path.parent)
        record = read_record(copy.path)
        if record.gone.pop(relative, None):
            write_record(copy.path, record)
        with contextlib.suppress(OSError):  # others lie in it
            os.rmdir(path.parent)
            if not days_of(copy) and not os.path.lexists(record.path):
                remove_file(copy.path / RECORD)
                os.rmdir(copy.path)


def _read(place: EntryPlace) -> tuple[bytes, os.stat_result]:
    """A note's bytes and status, expired or not. Raises: CommonplaceError."""
    with revealed():
        return read_bytes(place)


def _is_the_file(place: EntryPlace, status: os.stat_result) -> bool:
    """Whether a note is the file of this status still. Raises: OSError."""
    try:
        found = os.lstat(place.path)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, status) and stamp_of(found) == stamp_of(status)


def _note_day(copy: Root, place: EntryPlace, record: CopyRecord) -> None:
    """Note the folder of a note's day, unless it is known. Raises: OSError, CommonplaceError."""
    day = place.path.parent.name
    if day not in record.days:
        found = identity_of(place.path.parent)
        record.days[day] = KnownDay(found.number, found.born_ns, 0)
        write_record(copy.path, record)


def _put(target: Path, content: bytes, at_ns: int) -> None:
    make_folder(target.parent)
    with contextlib.suppress(FileNotFoundError):
        remove_name(target)
    # Not synced: the note is there, and a copy that a power cut tears is made again at a look.
    # Synced, the first look at 10,000 notes took 137 s in place of 32.
    write_derived(target, content, mode=0o600)
    # The time of change may be all that gives an entry its time.
    with contextlib.suppress(OSError, OverflowError):
        os.utime(target, ns=(at_ns, at_ns))


def _tracked(root: Root, seen: Difference) -> tuple[frozenset[str] | None, frozenset[str]]:
    """What git holds now of a root, and of what is missing in any commit."""
    from commonplace.journals.private.tracked import tracked_notes

    tracked = tracked_notes(root)
    if tracked is None or not seen.missing:
        return tracked, frozenset()
    return tracked, tracked_notes(root, in_history=True) or frozenset()


@contextlib.contextmanager
def _logged() -> Iterator[None]:
    """Log what stops a copy: what was written stays written, and the next look copies it."""
    try:
        yield
    except (CommonplaceError, OSError) as exc:
        _log.warning("A note could not be copied into the home: %s", exc)
