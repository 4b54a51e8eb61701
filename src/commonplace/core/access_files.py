"""Owns who used what of an owner's over HTTP: a line for each call, in a file for each day.

Never holds a text of an entry: of what was asked and answered there are the refs alone.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.core.clock import render_time
from commonplace.core.files import locked, make_folder, remove_file, replace_file, translated
from commonplace.core.plain_files import add_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

FOLDER = "accesses"
"""The name of the folder, in the owner's."""

_SUFFIX = ".jsonl"


class Access(Struct, frozen=True, kw_only=True):
    """One call of a tool.

    Attributes:
        at: When it was over.
        owner: Whose entries it could reach.
        token: The id of the token that made it; empty where none was needed.
        label: What that token is for, in its maker's words.
        member: Who used it, where the owner is a space; else empty.
        tool: Its name.
        outcome: How it ended: `ok`, `asks`, or the code of an error.
        refs: Of the entries that it wrote or showed.
    """

    at: datetime
    owner: str
    token: str
    label: str
    tool: str
    outcome: str
    refs: tuple[str, ...]
    member: str = ""


class AccessFiles:
    """The accesses of one owner. Thread-safe, and beside other processes.

    Args:
        folder: Where they lie, and nothing else; made at the first access.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, access: Access) -> None:
        """Note one; waits for no disk. Raises: Unavailable, Denied."""
        facts = {
            "at": render_time(access.at),
            "owner": access.owner,
            **({"member": access.member} if access.member else {}),
            "token": access.token,
            "label": access.label,
            "tool": access.tool,
            "outcome": access.outcome,
            "refs": access.refs,
        }
        line = json.dumps(facts, separators=(",", ":"))
        make_folder(self.folder)
        with translated(self.folder), locked(self.folder):
            add_line(self._path(access.at.astimezone(UTC).date()), line)

    def find(self, refs: Collection[str]) -> Iterator[Path]:
        """The files that name one of these entries."""
        for path in self._list():
            with suppress(FileNotFoundError):
                lines = path.read_bytes().splitlines()
                if any(_without(line, refs) != line for line in lines):
                    yield path

    def erase(self, path: Path, refs: Collection[str]) -> None:
        """Take these entries out of a file; that there were calls stays. Raises: Unavailable."""
        with translated(path), locked(self.folder), suppress(FileNotFoundError):
            lines = path.read_bytes().splitlines()
            replace_file(path, b"".join(_without(line, refs) + b"\n" for line in lines))

    def drop_before(self, day: date) -> None:
        """Remove the files of the days before. Raises: Unavailable, Denied."""
        for path in self._list():
            if path.name < self._path(day).name:
                remove_file(path)

    def _list(self) -> list[Path]:
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        return [self.folder / name for name in sorted(names) if name.endswith(_SUFFIX)]

    def _path(self, day: date) -> Path:
        return self.folder / f"{day.isoformat()}{_SUFFIX}"


def _without(line: bytes, refs: Collection[str]) -> bytes:
    """A line without these refs, byte for byte as it was where it has none of them."""
    try:
        facts: dict[str, Any] = json.loads(line)
        kept = [each for each in facts["refs"] if each not in refs]
        if len(kept) == len(facts["refs"]):
            return line
    except (ValueError, RecursionError, KeyError, TypeError):
        return line
    return json.dumps({**facts, "refs": kept}, separators=(",", ":")).encode()
