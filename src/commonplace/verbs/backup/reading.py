"""Reads a backup, which is hostile until every name, size and hash of it was checked.

Never unpacks what is compressed, follows no link, and writes nothing.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid
from commonplace.verbs.backup.manifest import parse_manifest
from commonplace.verbs.container import CHUNK, ArchiveKind, checked_chunks

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from commonplace.verbs.backup.manifest import FileEntry, Manifest

_BACKUP = ArchiveKind("backup", made_by="Name a file that `commonplace backup` made.")


class Backup:
    """An open backup: what it says that it holds, and the bytes of each file."""

    def __init__(
        self,
        path: Path,
        archive: zipfile.ZipFile,
        manifest: Manifest,
        contents: Mapping[str, bytes] | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.path = path
        self.manifest = manifest
        self._zip = archive
        self._contents = contents or {}
        self._names = names or {}

    def altered(
        self,
        manifest: Manifest,
        contents: Mapping[str, bytes],
        names: Mapping[str, str] | None = None,
    ) -> Backup:
        """The same, but for these files.

        Args:
            manifest: That with them.
            contents: Their bytes, by the names in it.
            names: What was under another name, by the name in it.
        """
        given, before = names or {}, self._contents
        moved = {new: before[old] for new, old in given.items() if old in before}
        return Backup(
            self.path,
            self._zip,
            manifest,
            {**before, **moved, **contents},
            {**self._names, **{new: self._names.get(old, old) for new, old in given.items()}},
        )

    def check(self) -> None:
        """Read every file, and compare sizes and hashes. Raises: Invalid."""
        for each in self.manifest.files:
            for _ in self.chunks(each):
                pass

    def chunks(self, each: FileEntry) -> Iterator[bytes]:
        """The bytes of a file; after the last, whether they were those that were backed up.

        Raises: Invalid.
        """
        if each.name in self._contents:
            yield self._contents[each.name]
            return
        damaged = Invalid(
            f"The backup {{place}} is damaged: {each.name!r} is not what was backed up.",
            hint="Use another backup.",
            place=self.path,
        )
        with (
            _BACKUP.sound(self.path),
            self._zip.open(self._names.get(each.name, each.name)) as file,
        ):
            yield from checked_chunks(lambda: file.read(CHUNK), each.size, each.sha256, damaged)


@contextlib.contextmanager
def open_backup(path: Path) -> Iterator[Backup]:
    """Open a backup whose names are all safe; `Backup.check` reads the rest.

    Raises: Invalid for what is no backup, was cut off, or was made to do harm; NotFound, Denied.
    """
    with _BACKUP.opened(path, _sizes_in) as (archive, content):
        yield Backup(path, archive, parse_manifest(content))


def read_backup_manifest(path: Path) -> Manifest:
    """What a backup says of itself. Raises: as `open_backup`."""
    with open_backup(path) as held:
        return held.manifest


def _sizes_in(content: bytes) -> dict[str, int]:
    return {each.name: each.size for each in parse_manifest(content).files}
