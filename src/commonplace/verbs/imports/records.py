"""Owns which entries each import added, journal by journal, so that `undo` can take them back.

One file for each import: keys and versions, never a word of an entry. Read group by group.
"""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct, field

from commonplace.core.errors import CommonplaceError, Conflict
from commonplace.core.files import make_folder, regular_file, remove_file, translated, write_new
from commonplace.core.ids import new_id
from commonplace.core.plain_files import take_lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from commonplace.core.clock import Clock

FOLDER = "brought"
"""The name of the folder, in the owner's."""

_KEPT = 20
"""How many imports are kept, the newest."""

_log = logging.getLogger(__name__)


class ImportLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of a record: a group of entries, but for the first.

    Attributes:
        line: What it says: which import was `begun`, what was `planned` to be added to a journal,
            what was `added` in place of the plan before it, what is `going` to be taken back.
        source: What is imported.
        export: The digest of an export by Commonplace; empty for anything else.
        into: The journal.
        versions: The version of each entry, by its key; empty where it is not known beforehand.
        updated: How many entries were there before, and were updated.
        entries: Of those that are going the ref and the version, by the key.
    """

    line: Literal["begun", "planned", "added", "going"]
    source: str = ""
    export: str = ""
    into: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    updated: int = 0
    entries: dict[str, tuple[str, str]] = field(default_factory=dict)


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
            line = ImportLine(line="planned", into=self.journal, versions=dict(versions))
            self._record.put_or_log(line)

    def put_added(self, versions: Mapping[str, str], *, updated: int = 0) -> None:
        """See the port; also of none, where what was planned was there already."""
        self._record.put_or_log(
            ImportLine(line="added", into=self.journal, versions=dict(versions), updated=updated)
        )

    def put_going(self, entries: Mapping[str, tuple[str, str]]) -> None:
        """Note what is about to be taken back; nothing once that is done. Raises: Unavailable.

        entries: The ref and the version of each entry, by its key.
        """
        self._record.put(ImportLine(line="going", into=self.journal, entries=dict(entries)))

    def groups(self, *, last_first: bool = False) -> Iterator[ImportLine]:
        """What was added, and what was planned where the import broke off, as it is asked for."""
        places: list[int] = []
        is_planned = False
        for place, line in self._record.lines():
            if line.into == self.journal and line.line in ("planned", "added"):
                if is_planned and line.line == "added":
                    places.pop()  # what was planned is what was added
                places.append(place)
                is_planned = line.line == "planned"
        return map(self._record.line_at, reversed(places) if last_first else places)

    def going(self) -> Mapping[str, tuple[str, str]]:
        """What was being taken back when a process was killed, as `put_going` has it."""
        found: Mapping[str, tuple[str, str]] = {}
        for _, line in self._record.lines():
            if line.into == self.journal and line.line == "going":
                found = line.entries
        return found


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
        """Name what is imported: a client, a program, a kind of file; see `ImportLine`."""
        self.put_or_log(ImportLine(line="begun", source=source, export=export))

    def into(self, journal: str) -> JournalRecord:
        """What is added to one journal."""
        return JournalRecord(self, journal)

    def head(self) -> tuple[str, str]:
        """What was imported, as `begin` was given it; both empty where nothing is known."""
        return next(((line.source, line.export) for _, line in self.lines()), ("", ""))

    def journals(self) -> list[str]:
        """The names of the journals that something was added to, in that order."""
        return [*dict.fromkeys(line.into for _, line in self.lines() if line.into)]

    def remove(self) -> None:
        """Forget the import: nothing of it is to be taken back. Raises: Unavailable, Denied."""
        remove_file(self._path)

    def put_or_log(self, line: ImportLine) -> None:
        """Append a line; what cannot be noted is logged."""
        self.is_empty = self.is_empty and not (line.versions or line.updated)
        if self._failed:
            return
        try:
            self.put(line)
        except CommonplaceError as exc:
            self._failed = True
            _log.warning("What is imported cannot be taken back as one: %s", exc)

    def put(self, line: ImportLine) -> None:
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

    def lines(self) -> Iterator[tuple[int, ImportLine]]:
        """Each line that can be read, and where it begins; one that is damaged is left out."""
        place = 0
        with suppress(CommonplaceError), regular_file(self._path) as file:
            for content in file:
                with suppress(msgspec.MsgspecError, ValueError, RecursionError):
                    yield place, msgspec.json.decode(content, type=ImportLine)
                place += len(content)

    def line_at(self, place: int) -> ImportLine:
        """The line that begins there. Raises: Unavailable, Denied."""
        with regular_file(self._path) as file:
            file.seek(place)
            return msgspec.json.decode(file.readline(), type=ImportLine)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep an import that is running, or taken back, from being taken back by another process.

        Raises:
            Conflict: Another process has it.
            Unavailable, Denied.
        """
        with translated(self._path):
            try:
                descriptor = os.open(self._path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
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
        name = new_id(self._clock(), os.urandom(10))
        with suppress(CommonplaceError):  # what cannot be noted is imported all the same
            for each in self._ids()[: 1 - _KEPT]:
                remove_file(self._folder / f"{each}.jsonl")
            make_folder(self._folder)
            write_new(self._folder / f"{name}.jsonl", b"")
        return self.open(name)

    def others(self, record_id: str) -> list[ImportRecord]:
        """All records but one, the oldest first."""
        return [self.open(each) for each in self._ids() if each != record_id]

    def open(self, record_id: str) -> ImportRecord:
        """The record of an import, there or not."""
        return ImportRecord(self._folder / f"{record_id}.jsonl")

    def _ids(self) -> list[str]:
        try:
            return [name.removesuffix(".jsonl") for name in sorted(os.listdir(self._folder))]
        except OSError:
            return []
