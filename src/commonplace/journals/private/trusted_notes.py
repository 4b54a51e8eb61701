"""Owns which notes of repositories the user took for the user's own, each by its sha256.

Never trusts a note by itself, and never holds a word of one.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from commonplace.core.files import locked, make_folder, replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from commonplace.journals.private.roots import Root

_LARGEST = 1 << 24


class TrustedNotes:
    """A file of ours: the folder of a root, the paths below it, and what each read as then.

    Args:
        file: There or not; None for one that trusts nothing.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._read: tuple[str, dict[str, dict[str, str]]] = ("", {})

    def token(self) -> str:
        """What changes with the file; empty where there is none."""
        try:
            status = os.stat(self._file) if self._file else None
        except OSError:
            status = None
        return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}" if status else ""

    def each(self) -> dict[str, dict[str, str]]:
        """The sha256 of each note by its path below a root, by the root's folder."""
        token = self.token()
        if token != self._read[0]:
            self._read = (token, self._parsed())
        return self._read[1]

    def of(self, root: Root) -> Mapping[str, str]:
        """The sha256 of each note of a root that the user trusts, by its path below it."""
        return self.each().get(root.real(), {})

    def allow(self, root: Root, notes: Mapping[str, str]) -> None:
        """Trust notes of a root, as they read now. Raises: Denied, Unavailable."""
        self._put(root, {**notes}, keeps=True)

    def revoke(self, root: Root) -> int:
        """Trust no note of a root any more; how many there were. Raises: Denied, Unavailable."""
        count = len(self.of(root))
        if count:
            self._put(root, {}, keeps=False)
        return count

    def _put(self, root: Root, notes: dict[str, str], *, keeps: bool) -> None:
        if self._file is None:
            return
        make_folder(self._file.parent)
        with locked(self._file.parent):
            found = self._parsed()
            found[root.real()] = {**(found.get(root.real(), {}) if keeps else {}), **notes}
            kept = {folder: each for folder, each in found.items() if each}
            replace_file(self._file, json.dumps(kept).encode())

    def _parsed(self) -> dict[str, dict[str, str]]:
        """What the file holds; nothing of one that is broken, which trusts nothing."""
        try:
            with open(self._file or os.devnull, "rb") as opened:
                found = json.loads(opened.read(_LARGEST))
            return {
                str(folder): {str(path): str(sha) for path, sha in notes.items()}
                for folder, notes in found.items()
            }
        except (OSError, ValueError, AttributeError, RecursionError):
            return {}
