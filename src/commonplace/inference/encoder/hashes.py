"""Owns what is known of the weight files' sha256: verified once, remembered by size and mtime.

Never decides which hash is right, and never fails because its own records cannot be written.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import CommonplaceError
from commonplace.core.files import make_folder, replace_file

if TYPE_CHECKING:
    from pathlib import Path


class Hashes:
    """The hashes of files, kept in `<home>/models`; several processes may use one home.

    `verified.json` spares a warm start the reading of 90 MB. `trusted.json` holds the hash with
    which a file without a published one was first loaded.
    """

    def __init__(self, home: Path) -> None:
        self._verified = home / "models" / "verified.json"
        self._trusted = home / "models" / "trusted.json"

    def sha256(self, path: Path) -> str:
        """The file's hash in hex, from the record while size and mtime stand. Raises OSError."""
        stat = os.stat(path)
        now = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
        known = _read(self._verified).get(str(path), {})
        if isinstance(known, dict) and {**known, **now} == known and "sha256" in known:
            return str(known["sha256"])
        found = file_sha256(path)
        _update(self._verified, {str(path): {**now, "sha256": found}})
        return found

    def trusted(self, path: Path) -> str | None:
        """The hash this file had when it was first trusted; None before."""
        found = _read(self._trusted).get(str(path))
        return found if isinstance(found, str) else None

    def trust(self, hashes: dict[Path, str]) -> None:
        """Remember these files as the right ones from now on."""
        _update(self._trusted, {str(path): found for path, found in hashes.items()})


def file_sha256(path: Path) -> str:
    """The hash of a file in hex, whatever is on record. Raises OSError."""
    from hashlib import file_digest  # with OpenSSL, which takes as long as a command's rest

    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _read(record: Path) -> dict[str, Any]:
    try:
        found = json.loads(record.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _update(record: Path, entries: dict[str, Any]) -> None:
    # Two processes may lose each other's entry: it is then worked out again.
    known = _read(record)
    if {**known, **entries} == known:
        return
    content = json.dumps({**known, **entries}, indent=1, sort_keys=True)
    with contextlib.suppress(CommonplaceError):
        make_folder(record.parent)
        replace_file(record, content.encode())
