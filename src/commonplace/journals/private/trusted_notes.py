"""Owns which notes of repositories the user took for the user's own, each by its sha256.

Never trusts a note by itself, and never holds a word of one.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from commonplace.core.digest import sha256_hex
from commonplace.core.files import locked, make_folder, remove_file, replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_LARGEST = 1 << 24


class TrustedNotes:
    """A folder of ours with a file for each root: its path, and what each note read as then.

    folder: There or not; None for one that trusts nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._known: dict[str, tuple[str, dict[str, str]]] = {}

    def token(self, root: str) -> str:
        """What changes with the notes of a root that are trusted; empty where none is."""
        try:
            status = os.stat(self._path_of(root))
        except OSError:
            return ""
        return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"

    def of(self, root: str) -> Mapping[str, str]:
        """The sha256 of each note of a root that the user trusts, by its path below it."""
        token = self.token(root)
        known = self._known.get(root)
        if known is None or known[0] != token:
            named, notes = _parsed(_read(self._path_of(root)))
            known = (token, notes if named == root else {})
            self._known[root] = known
        return known[1]

    def each(self) -> dict[str, int]:
        """How many notes are trusted of each root, by its path."""
        try:
            names = os.listdir(self._folder) if self._folder else []
        except OSError:
            return {}
        found = (_parsed(_read(os.path.join(self._folder or "", name))) for name in names)
        return {root: len(notes) for root, notes in found if notes}

    def allow(self, root: str, notes: Mapping[str, str]) -> None:
        """Trust notes of a root, as they read now. Raises: Denied, Unavailable."""
        if self._folder is None or not notes:
            return
        make_folder(self._folder)
        with locked(self._folder):
            self._known.pop(root, None)
            kept = {**self.of(root), **notes}
            replace_file(self._folder / _name_of(root), _rendered(root, kept))

    def revoke(self, root: str) -> int:
        """Trust no note of a root any more; how many there were. Raises: Denied, Unavailable."""
        count = len(self.of(root))
        if self._folder is not None and count:
            with locked(self._folder):
                remove_file(self._folder / _name_of(root))
        return count

    def _path_of(self, root: str) -> str:
        return os.path.join(self._folder, _name_of(root)) if self._folder else ""


def path_in_trusted(content: bytes) -> str:
    """The root that a file of `TrustedNotes` is about; empty for none."""
    return _parsed(content)[0]


def trusted_of_path(content: bytes, path: str) -> tuple[str, bytes]:
    """The name and the content of that file for a root that lies there."""
    real = os.path.realpath(path)
    return _name_of(real), _rendered(real, _parsed(content)[1])


def _name_of(root: str) -> str:
    return sha256_hex(os.fsencode(root))[:32]


def _rendered(root: str, notes: Mapping[str, str]) -> bytes:
    return json.dumps({"root": root, "notes": {**notes}}).encode()


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as opened:
            return opened.read(_LARGEST)
    except OSError:
        return b""


def _parsed(content: bytes) -> tuple[str, dict[str, str]]:
    """The root that a file is about, and its notes; nothing of one that is broken."""
    try:
        found = json.loads(content)
        return str(found["root"]), {str(path): str(sha) for path, sha in found["notes"].items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "", {}
