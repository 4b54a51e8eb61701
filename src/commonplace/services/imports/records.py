"""Owns which entries each import added, journal by journal, so that `undo` can take them back.

One file for each import: keys and versions, never a word of an entry. Read group by group.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from commonplace.core.errors import CommonplaceError
from commonplace.core.files import make_folder, remove_file, translated
from commonplace.core.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from commonplace.core.clock import Clock

FOLDER = "brought"
"""The name of the folder, in the owner's."""

_KEPT = 20
"""How many imports are kept, the newest."""

_log = logging.getLogger(__name__)


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
            self._record.try_put({"into": self.journal, "planned": versions})

    def put_added(self, versions: Mapping[str, str], *, updated: int = 0) -> None:
        """See the port; also of none, where what was planned was there already."""
        self._record.try_put({"into": self.journal, "added": versions, "updated": updated})

    def put_going(self, entries: Mapping[str, tuple[str, str]]) -> None:
        """Note what is about to be taken back; nothing once that is done. Raises: Unavailable.

        entries: The ref and the version of each entry, by its key.
        """
        self._record.put({"into": self.journal, "going": entries})

    def groups(self, *, last_first: bool = False) -> Iterator[AddedGroup]:
        """What was added, in the order it was written or from the end; read as it is asked for."""
        places: list[int] = []
        is_open = False
        for place, line in self._lines():
            if "planned" in line or "added" in line:
                if is_open and "added" in line:
                    places.pop()  # it came to its end
                places.append(place)
                is_open = "planned" in line
        for place in reversed(places) if last_first else places:
            line = self._record.line_at(place)
            yield AddedGroup(
                versions=line["planned"] if "planned" in line else line["added"],
                is_known="added" in line,
                updated=line.get("updated", 0),
            )

    def going(self) -> Mapping[str, tuple[str, str]]:
        """What was being taken back when a process was killed, as `put_going` has it."""
        found: Mapping[str, tuple[str, str]] = {}
        for _, line in self._lines():
            found = line.get("going", found)
        return found

    def _lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        return (each for each in self._record.lines() if each[1].get("into") == self.journal)


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
        self._append_or_log({"source": source, "export": export})

    def into(self, journal: str) -> JournalRecord:
        """What is added to one journal."""
        return JournalRecord(self, journal)

    def head(self) -> tuple[str, str]:
        """What was imported, as `begin` was given it; both empty where nothing is known."""
        for _, line in self.lines():
            return str(line.get("source", "")), str(line.get("export", ""))
        return "", ""

    def journals(self) -> list[str]:
        """The names of the journals that something was added to, in that order."""
        return [*dict.fromkeys(line["into"] for _, line in self.lines() if "into" in line)]

    def remove(self) -> None:
        """Forget the import: nothing of it is to be taken back. Raises: Unavailable, Denied."""
        remove_file(self._path)

    def try_put(self, line: Mapping[str, Any]) -> None:
        """Append a line; what cannot be noted is logged."""
        self.is_empty = self.is_empty and not any(
            line.get(x) for x in ("planned", "added", "updated")
        )
        self._append_or_log(line)

    def _append_or_log(self, line: object) -> None:
        if self._failed:
            return
        try:
            self.put(line)
        except CommonplaceError as exc:
            self._failed = True
            _log.warning("What is imported cannot be taken back as one: %s", exc)

    def put(self, line: object) -> None:
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

    def lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each line that can be read, and where it begins."""
        place = 0
        with suppress(OSError), open(self._path, "rb") as file:
            for content in file:
                with suppress(msgspec.MsgspecError):
                    yield place, msgspec.json.decode(content, type=dict[str, Any])
                place += len(content)

    def line_at(self, place: int) -> dict[str, Any]:
        """The line that begins there. Raises: Unavailable, Denied."""
        with translated(self._path), open(self._path, "rb") as file:
            file.seek(place)
            return msgspec.json.decode(file.readline(), type=dict[str, Any])


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
        return self.open(new_id(self._clock(), os.urandom(10)))

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
