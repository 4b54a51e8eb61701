"""Owns which entries each import added, journal by journal, so that `undo` can take them back.

One file for each import: keys and versions, never a word of an entry. Read group by group.
"""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias, assert_never

import msgspec
from msgspec import Struct

from commonplace.core.errors import CommonplaceError, Conflict
from commonplace.core.file_lock import take_lock
from commonplace.core.files import make_folder, regular_file, remove_file, translated, write_new
from commonplace.core.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from commonplace.core.clock import Clock

FOLDER = "brought"
"""The name of the folder, in the owner's."""

_KEPT = 20
"""How many imports are kept, the newest."""

_CLOSED_IN_CHILDREN = getattr(os, "O_CLOEXEC", 0)

_log = logging.getLogger(__name__)


class _Line(Struct, frozen=True, kw_only=True, tag_field="line"):
    """A line of a record."""


class _Begun(_Line, frozen=True, kw_only=True, tag="begun"):
    """What is imported; the first line. export: the digest of an export by Commonplace."""

    source: str
    export: str


class _Planned(_Line, frozen=True, kw_only=True, tag="planned"):
    """What is about to be added to a journal: the version of each entry, by its key."""

    into: str
    versions: dict[str, str]


class _Added(_Line, frozen=True, kw_only=True, tag="added"):
    """What was added to a journal, in place of what was planned; updated: how many beside."""

    into: str
    versions: dict[str, str]
    updated: int


class _Going(_Line, frozen=True, kw_only=True, tag="going"):
    """What is about to be taken back: the ref and the version of each entry, by its key."""

    into: str
    entries: dict[str, tuple[str, str]]


_Lines: TypeAlias = _Begun | _Planned | _Added | _Going


class AddedGroup(Struct, frozen=True, kw_only=True):
    """Entries that an import wrote together.

    Attributes:
        versions: The version of each entry that was added, by its key; where the import broke off,
            of each that was about to be, empty where it was not known beforehand.
        is_known: Whether the writing came to its end.
        updated: How many entries were there before, and were updated.
    """

    versions: dict[str, str]
    is_known: bool
    updated: int = 0


class JournalRecord:
    """What one import added to one journal; see `core.import_notes.NotesImport`.

    Args:
        record: Of the import.
        journal: The name of the journal.
    """

    def __init__(self, record: ImportRecord, journal: str) -> None:
        self.journal = journal
        self._record = record

    def put_planned(self, versions: Mapping[str, str]) -> None:
        """See the port."""
        if versions:
            self._record.try_put(_Planned(into=self.journal, versions=dict(versions)))

    def put_added(self, versions: Mapping[str, str], *, updated: int = 0) -> None:
        """See the port; also of none, where what was planned was there already."""
        self._record.try_put(_Added(into=self.journal, versions=dict(versions), updated=updated))

    def put_going(self, entries: Mapping[str, tuple[str, str]]) -> None:
        """Note what is about to be taken back; nothing once that is done. Raises: Unavailable.

        entries: The ref and the version of each entry, by its key.
        """
        self._record.put(_Going(into=self.journal, entries=dict(entries)))

    def groups(self, *, last_first: bool = False) -> Iterator[AddedGroup]:
        """What was added, in the order it was written or from the end; read as it is asked for."""
        places: list[int] = []
        is_planned = False
        for place, line in self._lines():
            if isinstance(line, _Going):
                continue
            if is_planned and isinstance(line, _Added):
                places.pop()  # what was planned is what was added
            places.append(place)
            is_planned = isinstance(line, _Planned)
        for place in reversed(places) if last_first else places:
            match self._record.line_at(place):
                case _Planned(versions=versions):
                    yield AddedGroup(versions=versions, is_known=False)
                case _Added(versions=versions, updated=updated):
                    yield AddedGroup(versions=versions, is_known=True, updated=updated)
                case _Begun() | _Going():
                    continue
                case other:
                    assert_never(other)

    def going(self) -> Mapping[str, tuple[str, str]]:
        """What was being taken back when a process was killed, as `put_going` has it."""
        found: Mapping[str, tuple[str, str]] = {}
        for _, line in self._lines():
            if isinstance(line, _Going):
                found = line.entries
        return found

    def _lines(self) -> Iterator[tuple[int, _Planned | _Added | _Going]]:
        for place, line in self._record.lines():
            if not isinstance(line, _Begun) and line.into == self.journal:
                yield place, line


class ImportRecord:
    """What one import added; its writer never fails, since the entries are imported anyway.

    Args:
        path: A file of ours.

    Attributes:
        is_empty: Whether nothing was noted here that may have been added.
    """

    def __init__(self, path: Path) -> None:
        self.id = path.stem
        self.is_empty = True
        self._path = path
        self._failed = False

    def begin(self, source: str, *, export: str = "") -> None:
        """Name what is imported: a client, a program, a kind of file.

        Args:
            source: Its name.
            export: The digest of an export by Commonplace; empty for anything else.
        """
        self._append_or_log(_Begun(source=source, export=export))

    def into(self, journal: str) -> JournalRecord:
        """What is added to one journal."""
        return JournalRecord(self, journal)

    def head(self) -> tuple[str, str]:
        """What was imported, as `begin` was given it; both empty where nothing is known."""
        for _, line in self.lines():
            return (line.source, line.export) if isinstance(line, _Begun) else ("", "")
        return "", ""

    def journals(self) -> list[str]:
        """The names of the journals that something was added to, in that order."""
        lines = (line for _, line in self.lines())
        return [*dict.fromkeys(x.into for x in lines if not isinstance(x, _Begun))]

    def remove(self) -> None:
        """Forget the import: nothing of it is to be taken back. Raises: Unavailable, Denied."""
        remove_file(self._path)

    def try_put(self, line: _Planned | _Added) -> None:
        """Append a line; what cannot be noted is logged."""
        if line.versions or (isinstance(line, _Added) and line.updated):
            self.is_empty = False
        self._append_or_log(line)

    def _append_or_log(self, line: _Lines) -> None:
        if self._failed:
            return
        try:
            self.put(line)
        except CommonplaceError as exc:
            self._failed = True
            _log.warning("What is imported cannot be taken back as one: %s", exc)

    def put(self, line: _Lines) -> None:
        """Append a line. Raises: Unavailable, Denied."""
        make_folder(self._path.parent)
        with (
            translated(self._path),
            open(self._path, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as file,
        ):
            # Begins with a line break: half a line of a killed process spoils no other.
            file.write(b"\n" + msgspec.json.encode(line))
            file.flush()
            os.fsync(file.fileno())

    def lines(self) -> Iterator[tuple[int, _Lines]]:
        """Each line that can be read, and where it begins; one that is damaged is left out."""
        place = 0
        with suppress(CommonplaceError), regular_file(self._path) as file:
            for content in file:
                with suppress(msgspec.MsgspecError, ValueError, RecursionError):
                    yield place, msgspec.json.decode(content, type=_Lines)
                place += len(content)

    def line_at(self, place: int) -> _Lines:
        """The line that begins there. Raises: Unavailable, Denied."""
        with regular_file(self._path) as file:
            file.seek(place)
            line: _Lines = msgspec.json.decode(file.readline(), type=_Lines)
            return line

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep an import that is running, or taken back, from being taken back by another process.

        Raises:
            Conflict: Another process has it.
            Unavailable, Denied.
        """
        with translated(self._path):
            try:
                descriptor = os.open(self._path, os.O_RDWR | _CLOSED_IN_CHILDREN)
            except FileNotFoundError:  # it was taken back, or nothing could be noted
                yield
                return
        try:
            if take_lock(descriptor) is False:
                what = self.head()[0] or "another command"
                raise Conflict(
                    f"The import of {what} is still running, or is just being taken back.",
                    hint="Wait until that command has ended, then run `commonplace undo` again.",
                )
            yield
        finally:
            os.close(descriptor)


class ImportRecords:
    """The imports of one owner.

    Args:
        folder: The owner's.
        clock: The present.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder / FOLDER
        self._clock = clock

    def new(self) -> ImportRecord:
        """A new record, still empty; the oldest are removed."""
        with suppress(OSError, CommonplaceError):
            for name in sorted(os.listdir(self._folder), reverse=True)[_KEPT - 1 :]:
                remove_file(self._folder / name)
        name = new_id(self._clock(), os.urandom(10))
        with suppress(CommonplaceError):  # what cannot be noted is imported all the same
            make_folder(self._folder)
            write_new(self._folder / f"{name}.jsonl", b"")
        return self.open(name)

    def others(self, record_id: str) -> list[ImportRecord]:
        """All records but one, the oldest first."""
        found: list[str] = []
        with suppress(OSError):
            found = sorted(os.listdir(self._folder))
        ids = [name.removesuffix(".jsonl") for name in found]
        return [self.open(each) for each in ids if each != record_id]

    def open(self, record_id: str) -> ImportRecord:
        """The record of an import, there or not."""
        return ImportRecord(self._folder / f"{record_id}.jsonl")
