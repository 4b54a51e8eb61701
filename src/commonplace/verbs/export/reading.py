"""Reads an export, which is hostile until every name, size, hash and line of it is checked.

Never unpacks compressed data, follows no link, and writes nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from commonplace.core.errors import Invalid, NotFound
from commonplace.core.files import translated
from commonplace.core.plain_files import NotRegularError, open_regular
from commonplace.core.text import opening
from commonplace.verbs.container import (
    CHUNK,
    LARGEST_MANIFEST,
    MANIFEST,
    ArchiveKind,
    checked_chunks,
)
from commonplace.verbs.export.lines import line_parser
from commonplace.verbs.export.manifest import parse_export_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from commonplace.verbs.export.manifest import ExportFile, ExportManifest

LONGEST_LINE = 128 * 1024 * 1024

_HINT = "Make the export again, or use another one; nothing was imported."
_EXPORT = ArchiveKind("export", made_by="Name what `commonplace export` made.")


class Export:
    """An open export: its manifest, and the files that it holds."""

    def __init__(
        self,
        path: Path,
        content: bytes,
        open_file: Callable[[str], contextlib.AbstractContextManager[IO[bytes]]],
    ) -> None:
        self.path = path
        self.manifest: ExportManifest = parse_export_manifest(content)
        self.digest = hashlib.sha256(content).hexdigest()
        self._open_file = open_file

    def check(self) -> None:
        """Read every file, and compare sizes and hashes. Raises: Invalid."""
        for each in self.manifest.files:
            for _ in self._chunks(each, lambda file: file.read(CHUNK)):
                pass

    def items(self, journal: str, item_type: Any) -> Iterator[Any]:
        """The entries of a journal, one by one; that they are all there is checked after the last.

        Raises:
            Invalid: A line is not an entry, is of another journal, or has the ref of an earlier
                one; or the file is not the one that was written.
        """
        parse = line_parser(item_type)
        # Hashes: a million refs as they are would take three times as much.
        seen: set[int] = set()
        for each in self.manifest.files:
            if each.role != "entries" or each.name.partition("/")[0] != journal:
                continue
            number = 0
            for line in self._chunks(each, lambda file: file.readline(LONGEST_LINE + 1)):
                number += 1
                where = f"Line {number:,} of {each.name}"
                if len(line) > LONGEST_LINE or not line.endswith(b"\n"):
                    raise Invalid(f"{where} breaks off, or is too long.", hint=_HINT)
                item = parse(line, where)
                if not item.ref.startswith(f"{journal}:"):
                    raise Invalid(
                        f"{where} is of another journal: {opening(item.ref, 80)!a}.", hint=_HINT
                    )
                if (known := hash(item.ref)) in seen:
                    raise Invalid(f"{where} has the ref of an earlier one.", hint=_HINT)
                seen.add(known)
                yield item
            if number != each.items:
                raise Invalid(
                    f"{each.name} has {number:,} lines, and should have {each.items:,}.", hint=_HINT
                )

    def _chunks(self, each: ExportFile, read: Callable[[IO[bytes]], bytes]) -> Iterator[bytes]:
        damaged = Invalid(
            f"The export {{place}} is damaged: {each.name} is not what was written.",
            hint=_HINT,
            place=self.path,
        )
        with self._open_file(each.name) as file:
            yield from checked_chunks(lambda: read(file), each.size, each.sha256, damaged)


@contextlib.contextmanager
def open_export(path: Path) -> Iterator[Export]:
    """Open an export, a folder or a zip, whose names are all safe.

    Raises: Invalid for one that is not an export, is cut off or made to do harm; NotFound, Denied.
    """
    if not os.path.isdir(path):
        with _EXPORT.opened(path, _sizes_in) as (archive, content):

            @contextlib.contextmanager
            def open_member(name: str) -> Iterator[IO[bytes]]:
                with _EXPORT.sound(path), archive.open(name) as file:
                    yield file

            yield Export(path, content, open_member)
        return
    if not os.path.lexists(path / MANIFEST):
        raise NotFound(
            "{place} is not an export: it has no manifest.json.",
            hint="Name what `commonplace export` made; of other programs the name comes first:"
            " `commonplace import obsidian FOLDER` takes Markdown.",
            place=path,
        )
    with _file_beneath(path, MANIFEST) as file:
        content = file.read(LARGEST_MANIFEST + 1)
    if len(content) > LARGEST_MANIFEST:
        raise _EXPORT.unsound(path, "its manifest is too large")
    yield Export(path, content, partial(_file_beneath, path))


def read_export_manifest(path: Path) -> ExportManifest:
    """What an export says of itself. Raises: as `open_export`."""
    with open_export(path) as export:
        return export.manifest


def _sizes_in(content: bytes) -> dict[str, int]:
    return {each.name: each.size for each in parse_export_manifest(content).files}


@contextlib.contextmanager
def _file_beneath(folder: Path, name: str) -> Iterator[IO[bytes]]:
    """Open a plain file of a folder, never through a link. Raises: Invalid, NotFound, Denied."""
    path = folder / name
    with translated(path):
        if os.path.islink(path) or (os.path.islink(path.parent) and path.parent != folder):
            raise _EXPORT.unsound(folder, f"{name} is a link")
        try:
            opened = open_regular(path, follows_links=False)
        except NotRegularError as exc:
            raise _EXPORT.unsound(folder, f"{name} is not a plain file") from exc
        with io.BufferedReader(opened) as file:
            yield file
