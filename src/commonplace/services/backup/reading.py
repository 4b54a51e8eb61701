"""Reads a backup, which is hostile until every name, size and hash of it was checked.

Never unpacks what is compressed, follows no link, and writes nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zipfile
from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid
from commonplace.core.files import translated
from commonplace.services.backup.manifest import (
    LARGEST_MANIFEST,
    MANIFEST,
    MOST_FILES,
    parse_manifest,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from commonplace.services.backup.manifest import FileEntry, Manifest

_CHUNK = 1 << 20
_HINT = "It was damaged or made by hand; use another one."


class Backup:
    """An open backup: what it says that it holds, and the bytes of each file."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._zip = archive

    def check(self) -> None:
        """Read every file, and compare sizes and hashes. Raises: Invalid."""
        for each in self.manifest.files:
            for _ in self.chunks(each):
                pass

    def chunks(self, each: FileEntry) -> Iterator[bytes]:
        """The bytes of a file; after the last, whether they were those that were backed up.

        Raises: Invalid.
        """
        digest, left = hashlib.sha256(), each.size
        with _sound(self.path), self._zip.open(each.name) as file:
            while chunk := file.read(_CHUNK):
                left -= len(chunk)
                if left < 0:
                    break
                digest.update(chunk)
                yield chunk
        if left or digest.hexdigest() != each.sha256:
            raise Invalid(
                f"The backup {{place}} is damaged: {each.name!r} is not what was backed up.",
                hint="Use another backup.",
                place=self.path,
            )


@contextlib.contextmanager
def open_backup(path: Path) -> Iterator[Backup]:
    """Open a backup whose names are all safe; `Backup.check` reads the rest.

    Raises: Invalid for what is no backup, was cut off, or was made to do harm; NotFound, Denied.
    """
    with translated(path), open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        with _sound(path):
            archive = zipfile.ZipFile(file)
        with archive:
            yield Backup(path, archive, _manifest_of(path, archive, size))


def _manifest_of(path: Path, archive: zipfile.ZipFile, size: int) -> Manifest:
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if MANIFEST not in names:
        raise Invalid("{place} is not a backup of Commonplace.", hint=_MADE_BY, place=path)
    if len(infos) > MOST_FILES + 1 or len({*names}) != len(names):
        raise _unsound(path, "it holds a name twice, or too many files")
    # What is stored as it is cannot be larger than the file: no few bytes become a full disk.
    if any(i.compress_type != zipfile.ZIP_STORED or i.flag_bits & 1 for i in infos):
        raise _unsound(path, "it holds what is compressed or encrypted")
    if sum(info.file_size for info in infos) > size:
        raise _unsound(path, "its files are larger than itself")
    if archive.getinfo(MANIFEST).file_size > LARGEST_MANIFEST:
        raise _unsound(path, "its manifest is too large")
    with _sound(path):
        content = archive.read(MANIFEST)
    manifest = parse_manifest(content)
    sizes = {info.filename: info.file_size for info in infos if info.filename != MANIFEST}
    if sizes != {each.name: each.size for each in manifest.files}:
        raise _unsound(path, "its manifest does not fit what it holds")
    return manifest


_MADE_BY = "Name a file that `commonplace backup` made."


@contextlib.contextmanager
def _sound(path: Path) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError) as exc:
        raise Invalid(
            "{place} is not a whole backup: it is cut off or damaged, or another kind of file.",
            hint=_MADE_BY,
            place=path,
        ) from exc
    except (RuntimeError, ValueError, KeyError) as exc:
        raise _unsound(path, "it cannot be read") from exc


def _unsound(path: Path, what: str) -> Invalid:
    return Invalid(f"The backup {{place}} is refused: {what}.", hint=_HINT, place=path)
