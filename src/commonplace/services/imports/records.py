"""Owns which entries each import from another program added, so that `undo` can take them back.

One file for each import: keys and versions, never a word of an entry. Read group by group.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from commonplace.core.clock import parse_time, render_time
from commonplace.core.errors import CommonplaceError
from commonplace.core.files import make_folder, remove_file, translated
from commonplace.core.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
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
        versions: The version of each entry that was added, by its key.
        keys: The keys that were about to be written when the import broke off.
        begun: When the writing began; None where the import did not break off.
        updated: How many entries were there before, and were updated.
    """

    versions: dict[str, str] = msgspec.field(default_factory=dict)
    keys: tuple[str, ...] = ()
    begun: datetime | None = None
    updated: int = 0


class ImportRecord:
    """What one import added; its writer never fails, since the entries are imported anyway.

    Args:
        path: A file of ours.
        clock: The present.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self.id = path.stem
        self._path = path
        self._clock = clock
        self._failed = False

    def begin(self, program: str, into: str) -> None:
        """Name what is imported, and the journal."""
        self._try_put({"program": program, "into": into})

    def put_keys(self, keys: Sequence[str]) -> None:
        """Note what is about to be written, so that a kill in between hides none of it."""
        now = self._clock()
        # The private journal knows when an entry was written to the millisecond.
        begun = now.replace(microsecond=now.microsecond // 1000 * 1000)
        self._try_put({"begun": render_time(begun), "keys": keys})

    def put_versions(self, versions: Mapping[str, str], *, updated: int) -> None:
        """Note what was written: the version of each entry that was added, by its key."""
        self._try_put({"versions": versions, "updated": updated})

    def put_going(self, keys: Sequence[str]) -> None:
        """Note what is about to be taken back; no keys once that is done. Raises: Unavailable."""
        self._put({"going": keys})

    def head(self) -> tuple[str, str]:
        """The program and the journal; both empty where nothing is known of the import."""
        for line in self._lines():
            return str(line.get("program", "")), str(line.get("into", ""))
        return "", ""

    def groups(self) -> Iterator[AddedGroup]:
        """What was added, in the order it was written; read as it is asked for."""
        begun: dict[str, Any] = {}
        for line in self._lines():
            if "keys" in line:
                yield from _broken_off(begun)
                begun = line
            elif "versions" in line:
                begun = {}
                yield AddedGroup(versions=line["versions"], updated=line["updated"])
        yield from _broken_off(begun)

    def going(self) -> tuple[str, ...]:
        """What was being taken back when a process was killed."""
        found: Sequence[str] = ()
        for line in self._lines():
            found = line.get("going", found)
        return tuple(found)

    def remove(self) -> None:
        """Forget the import: nothing of it is to be taken back. Raises: Unavailable, Denied."""
        remove_file(self._path)

    def _try_put(self, line: object) -> None:
        if self._failed:
            return
        try:
            self._put(line)
        except CommonplaceError as exc:
            self._failed = True
            _log.warning("What is imported cannot be taken back as one: %s", exc)

    def _put(self, line: object) -> None:
        make_folder(self._path.parent)
        with (
            translated(self._path),
            open(self._path, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as file,
        ):
            # Begins with a line break: half a line of a killed process spoils no other.
            file.write(b"\n" + msgspec.json.encode(line))
            file.flush()
            os.fsync(file.fileno())

    def _lines(self) -> Iterator[dict[str, Any]]:
        with suppress(OSError), open(self._path, "rb") as file:
            for line in file:
                with suppress(msgspec.MsgspecError):
                    yield msgspec.json.decode(line, type=dict[str, Any])


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
        return ImportRecord(self._folder / f"{record_id}.jsonl", self._clock)


def _broken_off(line: dict[str, Any]) -> Iterator[AddedGroup]:
    if line:
        yield AddedGroup(keys=tuple(line["keys"]), begun=parse_time(line["begun"]))
