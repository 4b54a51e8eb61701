"""Owns the list of backups and exports made of a home: a line of JSON each, in `copies.jsonl`.

Never reads a copy; whether one is still there is all it says of it.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import CommonplaceError
from commonplace.core.files import locked, make_folder, replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.core.clock import Clock

BACKUP = "backup"
EXPORT = "export"
_MOST = 1000
"""How many copies the list holds; the oldest are dropped from it."""


class MadeCopy(Struct, frozen=True, kw_only=True):
    """A backup or an export that was made."""

    kind: str
    at: datetime
    path: str = ""

    @property
    def is_there(self) -> bool:
        """Whether there is a file or folder where it was put."""
        return bool(self.path) and os.path.lexists(self.path)


class Copies:
    """The list of the copies that were made of one home."""

    def __init__(self, home: Path, clock: Clock) -> None:
        self._path = home / "copies.jsonl"
        self._clock = clock

    def note(self, kind: str, path: str = "") -> None:
        """Note a copy that was made just now. Never raises, since the copy exists all the same."""
        made = json.dumps({"kind": kind, "at": self._clock().isoformat(), "path": path})
        with suppress(CommonplaceError, OSError):
            make_folder(self._path.parent)
            with locked(self._path.parent):
                lines = [*self._lines()[1 - _MOST :], made]
                replace_file(self._path, "".join(f"{line}\n" for line in lines).encode())

    def each(self) -> tuple[MadeCopy, ...]:
        """The copies that were noted, oldest first; a line that cannot be read is skipped."""
        with suppress(OSError):
            return tuple(copy for line in self._lines() if (copy := _read(line)) is not None)
        return ()

    def last_backup(self) -> MadeCopy | None:
        """The newest backup; None where none was noted."""
        backups = (copy for copy in self.each() if copy.kind == BACKUP)
        return max(backups, key=lambda copy: copy.at, default=None)

    def _lines(self) -> list[str]:
        try:
            return self._path.read_text("utf-8", "replace").splitlines()
        except FileNotFoundError:
            return []


def _read(line: str) -> MadeCopy | None:
    try:
        fields = json.loads(line)
        at = datetime.fromisoformat(fields["at"])
        kind, path = fields["kind"], fields.get("path", "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if at.tzinfo is None or not isinstance(kind, str) or not isinstance(path, str):
        return None
    return MadeCopy(kind=kind, at=at, path=path)
