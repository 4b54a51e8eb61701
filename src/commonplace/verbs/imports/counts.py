"""Owns the count of what was ever imported from other programs: one small file in our home.

Never says what is there now: what was deleted since was imported all the same.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
import msgspec.structs
from msgspec import Struct

from commonplace.core.errors import CommonplaceError
from commonplace.core.files import locked, make_folder, replace_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path


class ImportCount(Struct, frozen=True, kw_only=True):
    """How many entries of a program a journal was given, and when last (ISO 8601)."""

    program: str
    into: str
    entries: int
    last: str


class ImportCounts:
    """The counts of one owner.

    Args:
        folder: Where `imports.json` lies.
        clock: The present.
    """

    def __init__(self, folder: Path, clock: Callable[[], datetime]) -> None:
        self._path = folder / "imports.json"
        self._clock = clock

    def read(self) -> tuple[ImportCount, ...]:
        """What was imported, by program and journal; nothing where it cannot be read."""
        return tuple(row for _, row in sorted(self._read().items()))

    def add(self, program: str, into: str, entries: int) -> None:
        """Count entries that were imported just now. Never raises: they are imported."""
        if not entries:
            return
        with suppress(CommonplaceError):
            make_folder(self._path.parent)
            with locked(self._path.parent):
                there = self._read()
                before = there.get((program, into))
                there[program, into] = ImportCount(
                    program=program,
                    into=into,
                    entries=entries + (before.entries if before else 0),
                    last=self._clock().isoformat("T", "seconds"),
                )
                rows = [msgspec.structs.asdict(row) for _, row in sorted(there.items())]
                replace_file(self._path, json.dumps(rows, indent=1).encode(), mode=0o600)

    def _read(self) -> dict[tuple[str, str], ImportCount]:
        try:
            rows = msgspec.json.decode(self._path.read_bytes(), type=list[ImportCount])
        except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
            return {}
        return {(row.program, row.into): row for row in rows}
